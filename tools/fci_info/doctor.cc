// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/doctor.h"

#include <optional>

namespace fci::tools::info {

namespace {

Findings of_provider(const std::string& wanted, const std::string& libfabric) {
    Findings findings;
    if (const std::string path = find_provider(wanted, &findings); !path.empty()) {
        examine_provider(path, libfabric, &findings);
        examine_filters(path, libfabric, &findings);
    }
    return findings;
}

/// The parts, put together.
class Collection {
public:
    /// Adds findings that always matter.
    void add(const Findings& part) { findings_.insert(findings_.end(), part.begin(), part.end()); }
    /// Adds findings about a part: they are problems only if it is `used`, which they would
    /// prevent.
    void add_of(const Findings& part, bool used) {
        add(used ? part : as_notes(part));
        if (!used) return;
        for (const Finding& finding : part) {
            if (finding.severity == Severity::problem) get_worse(finding.fci_env_mends);
        }
    }
    void get_worse(bool fci_env_mends) {
        if (!fci_env_mends) {
            health_ = Health::broken;
        } else if (health_ == Health::sound) {
            health_ = Health::settings;
        }
    }
    Health health() const { return health_; }
    Findings take() { return std::move(findings_); }

private:
    Findings findings_;
    Health health_ = Health::sound;
};

void add_open_mpi(const OpenMpi& mpi, Plug plug, Collection* all) {
    Findings component, layers, windows;
    examine_component(mpi, plug == Plug::component, &component);
    examine_layers(mpi, &layers);
    examine_windows(mpi, &windows);
    all->add_of(component, plug == Plug::component || !mpi.starts);
    all->add_of(layers, plug == Plug::provider);
    all->add(as_notes(windows));  // all else goes without
}

void add_others(Mpi used, Collection* all) {
    Findings mpich, intel;
    examine_mpich(&mpich);
    examine_intel(&intel);
    all->add_of(mpich, used == Mpi::mpich);
    all->add_of(intel, used == Mpi::intel);
}

}  // namespace

Diagnosis examine(const Survey& survey, const std::string& provider) {
    const Launcher launcher = find_launcher();
    const bool is_open_mpi = launcher.mpi == Mpi::open_mpi || launcher.mpi == Mpi::none;
    std::optional<Inquiry> inquiry;  // libfabric is loaded meanwhile, which takes as long
    if (is_open_mpi) inquiry.emplace(launcher);
    const Findings by_libfabric = of_provider(provider, libfabric_of(launcher));
    Findings here;
    examine_core(survey, &here);
    examine_host(&here);
    const OpenMpi mpi = inquiry ? inquiry->answer() : OpenMpi{};
    const Plug plug = plug_of(launcher, mpi);

    Collection all;
    all.add(here);
    if (!survey.error.empty()) all.get_worse(false);
    if (plug != Plug::provider && !provider.empty()) {
        all.add(by_libfabric);  // named, so it matters, but not to what is used
    } else {
        all.add_of(by_libfabric, plug == Plug::provider);
    }
    if (inquiry) add_open_mpi(mpi, plug, &all);
    add_others(launcher.mpi, &all);
    const Health health = all.health();
    return {all.take(), uses_of(launcher, mpi, plug, health)};
}

}  // namespace fci::tools::info
