// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/settings.h"

#include <algorithm>
#include <cstdlib>

#include "fci_core/api/icl.h"
#include "tools/launch/mpi.h"
#include "tools/launch/mpirun.h"
#include "tools/launch/open_mpi_files.h"
#include "tools/launch/options.h"
#include "tools/launch/refusal.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

/// The full name, which wins: what the one without opal_ says, Open MPI 5.0 tells PMIx, too, which
/// then complains in each rank.
constexpr const char* kComponentPath = "OMPI_MCA_opal_mca_base_component_path";
constexpr const char* kOlderPath = "OMPI_MCA_mca_base_component_path";

/// A file of Open MPI's form has a line for a parameter whose name begins so.
bool file_sets(const std::string& file, const std::string& name) {
    for (const std::string& line : split(content_of(file), "\n")) {
        const std::size_t at = line.find_first_not_of(" \t");
        if (at != std::string::npos && line.compare(at, name.size(), name) == 0) return true;
    }
    return false;
}

/// In a file of the user's own.
bool user_sets(const std::string& name) {
    const std::string home = environment("HOME");
    return file_sets(home + "/.openmpi/mca-params.conf", name) ||
           file_sets(home + "/.prte/mca-params.conf", name);
}

/// The user has told Open MPI which networks to take, or which not: both were an error.
bool was_told(const std::string& variable) {
    const std::string name = variable.substr(variable.find("_MCA_") + 5);
    return !environment((variable + "_include").c_str()).empty() ||
           !environment((variable + "_exclude").c_str()).empty() || user_sets(name + "_include") ||
           user_sets(name + "_exclude");
}

/// Debian's file leaves out the only way of 4.1's that carries windows between hosts, and the user
/// has said nothing of it. The file's other wish stays; within a host other ways win.
bool lacks_far_windows(const Way& way) {
    const bool is_later = way.is_native() && way.release.front() >= '5';
    if (is_later || !environment("OMPI_MCA_osc").empty()) return false;
    if (file_sets(environment("HOME") + "/.openmpi/mca-params.conf", "osc")) return false;
    const std::string debians = content_of("/etc/openmpi/openmpi-mca-params.conf");
    for (const std::string& line : split(debians, "\n")) {
        const std::vector<std::string> words = split(line, " \t=");
        if (words.size() != 2 || words[0] != "osc" || words[1].front() != '^') continue;
        for (const std::string& one : split(words[1].substr(1), ",")) {
            if (one.starts_with("pt2pt")) return true;
        }
    }
    return false;
}

bool has_part(const std::string& path, const std::string& part) {
    const std::vector<std::string> parts = split(path, ":");
    return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// Open MPI reads its path up to the first directory that is not there. On a host without FCI that
/// must not be in front of Open MPI's own, or not even its launcher's parts are found.
std::string behind_its_own(const std::string& folder, const std::string& path) {
    constexpr const char* kOwn = "SYS_DEFAULT";
    if (has_part(path, folder)) return path;
    if (!has_part(path, kOwn)) return folder + (path.empty() ? "" : ":" + path);
    const std::size_t end = path.find(kOwn) + std::string(kOwn).size();
    return path.substr(0, end) + ":" + folder + path.substr(end);
}

SettingList settings_of_open_mpi(const Way& way) {
    SettingList list;
    if (!way.component.empty()) {
        list.push_back({"OMPI_MCA_pml", "fci"});
        if (!Installation::is_own_place(way.component)) {
            std::string path = environment(kComponentPath);
            if (path.empty()) path = environment(kOlderPath);
            if (path.empty()) path = "SYS_DEFAULT:USER_DEFAULT";
            list.push_back({kComponentPath, behind_its_own(way.component, path)});
        }
    } else {
        list.push_back({"OMPI_MCA_pml", "cm"});
        list.push_back({"OMPI_MCA_mtl", "ofi"});
        list.push_back({"OMPI_MCA_mtl_ofi_provider_include", "fci"});
    }
    for (const char* layer : {"OMPI_MCA_btl_tcp_if", "OMPI_MCA_oob_tcp_if", "PRTE_MCA_prte_if"}) {
        if (way.network.empty() || was_told(layer)) continue;
        list.push_back({std::string(layer) + "_include", way.network});
    }
    if (lacks_far_windows(way)) list.push_back({"OMPI_MCA_osc", "^ucx"});
    return list;
}

/// Where Open MPI's launcher and its own TCP shall be, if FCI_NET says where FCI is. A name or a
/// subnet stays what it is; a pattern or an address becomes the address and prefix of the interface
/// that FCI takes here, of which Open MPI heeds the prefix only. Nothing where FCI takes none,
/// which each rank says, or one that leads nowhere else.
std::string own_network() {
    const std::string wanted = environment("FCI_NET");
    if (wanted.empty()) return "";
    std::string taken;
    struct fci_icl_interface interface {};
    for (unsigned i = 0; fci_icl_interface(i, &interface) == FCI_ICL_OK; ++i) {
        if (interface.chosen != 0) taken = interface.address;
    }
    if (taken.empty() || taken.starts_with("127.")) return "";
    if (wanted.find('/') != std::string::npos) return wanted;
    if (wanted.find_first_of("*?") != std::string::npos) return taken;
    return wanted.find_first_not_of("0123456789.") == std::string::npos ? taken : wanted;
}

/// Characters that lines for a shell may hold.
bool is_plain(const std::string& word) {
    return word.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
               "_=.,:/@+*?-") == std::string::npos;
}

void insist_on_option(const std::string& name, const std::string& word) {
    if (is_of_others(name)) return;
    struct fci_icl_option option {};
    std::vector<std::string> names;
    for (unsigned i = 0; fci_icl_option(i, &option) == FCI_ICL_OK; ++i) {
        if (name == option.env) return;
        names.emplace_back(std::string(option.env).substr(4));
    }
    const std::string near = nearest(name.substr(4), names);
    throw Refusal{word + ": there is no option " + name, "fci_info -c lists all of them",
                  near.empty() ? "leave it out" : "FCI_" + near + " may be what was meant"};
}

/// Of one MPI, without the provider.
SettingList settings_of(const std::string& mpi, const Way& way) {
    if (mpi.starts_with("openmpi")) return settings_of_open_mpi(way);
    if (mpi == "intel") return {{"I_MPI_FABRICS", "ofi"}, {"I_MPI_OFI_PROVIDER", "fci"}};
    return {{"MPIR_CVAR_CH4_NETMOD", "ofi"}, {"MPIR_CVAR_NOLOCAL", "1"}};
}

/// FI_PROVIDER_PATH with the provider's directory in front; empty: libfabric looks there by itself.
/// It looks only there once that is set, so its own place stays in view.
std::string provider_path(const Installation& here) {
    std::string rest = environment("FI_PROVIDER_PATH");
    if (rest.empty()) {
        for (const char* pattern :
             {"/usr/lib/*/libfabric", "/usr/lib64/libfabric", "/usr/lib/libfabric"}) {
            for (const std::string& folder : paths_like(pattern)) {
                if (real_path(folder) == real_path(here.plugs())) return "";
                rest += (rest.empty() ? "" : ":") + folder;
            }
        }
    }
    if (has_part(rest, here.plugs())) return rest;
    return here.plugs() + (rest.empty() ? "" : ":" + rest);
}

/// Of the first launcher of Open MPI in PATH.
std::string release_in_path() {
    const Launcher launcher = launcher_for(Mpi::open_mpi, "");
    return launcher.path.empty() ? "" : OpenMpiFiles("", launcher).release();
}

}  // namespace

bool is_way(const std::string& name) {
    const std::vector<std::string> ways = split(kWays, " ");
    if (std::find(ways.begin(), ways.end(), name) != ways.end()) return true;
    constexpr std::string_view kRelease = "openmpi-";
    if (!name.starts_with(kRelease)) return false;
    const std::vector<std::string> parts = split(name.substr(kRelease.size()), ".");
    return parts.size() == 2 &&
           name.find_first_not_of("0123456789.", kRelease.size()) == std::string::npos;
}

std::string release_in(const std::string& way) {
    const bool has_one = way.starts_with("openmpi-") && way != "openmpi-ofi";
    return has_one ? way.substr(way.find('-') + 1) : "";
}

bool is_of_others(const std::string& variable) {
    return variable.starts_with("FCI_TEST_") || variable.starts_with("FCI_BENCH_");
}

Way Way::find(const Installation& here, const std::string& name) {
    Way way{name, release_in(name), "", own_network()};
    const bool is_named = !way.release.empty();
    if (name.empty() || name == "openmpi") way.release = release_in_path();
    way.component = here.component_for(way.release);
    if (is_named && way.component.empty()) {
        throw Refusal{"FCI was not built for Open MPI " + way.release,
                      "there is no " + here.plugs() + "/" + name + "/mca_pml_fci.so",
                      "build FCI with --with-openmpi=MPICC, that release's mpicc, or let it use "
                      "libfabric: --mpi openmpi-ofi",
                      1};
    }
    if (!way.is_native() && !here.has_provider()) {
        throw Refusal{here.provider_file() + " is missing",
                      "FCI was built without the libfabric provider, or moved",
                      std::string("install it again") +
                          (way.component.empty() ? "" : "; Open MPI needs none: --mpi openmpi"),
                      1};
    }
    return way;
}

SettingList environment_of(const Installation& here, const Way& way) {
    SettingList list;
    if (!way.is_native()) {
        list.push_back({"FI_PROVIDER", "fci"});
        const std::string path = provider_path(here);
        if (!path.empty()) list.push_back({"FI_PROVIDER_PATH", path});
    }
    const std::vector<std::string> mpis =
        way.name.empty() ? std::vector<std::string>{"openmpi", "mpich", "intel"}
                         : std::vector<std::string>{way.name};
    for (const std::string& mpi : mpis) {
        for (Setting& one : settings_of(mpi, way)) list.push_back(std::move(one));
    }
    return list;
}

SettingList apply_assignments(const std::vector<std::string>& words, bool checks_network) {
    SettingList list;
    bool has_net = false;
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        if (!is_plain(word)) {
            throw Refusal{"'" + word + "' holds characters that options never need", "", ""};
        }
        if (!word.starts_with("FCI_") || equals == std::string::npos) {
            throw Refusal{"'" + word + "' is not FCI_NAME=VALUE", "", ""};
        }
        list.push_back({word.substr(0, equals), word.substr(equals + 1)});
        const Setting& one = list.back();
        insist_on_option(one.name, word);
        set_variable(one.name, one.value);
        has_net = has_net || one.name == "FCI_NET";
    }
    char* error = nullptr;
    if (fci_icl_check(&error) != FCI_ICL_OK) {
        const std::string text = error != nullptr ? error : "FCI cannot be used here";
        std::free(error);
        throw Refusal{text, "", ""};
    }
    const char* line = nullptr;
    if (has_net && checks_network && fci_icl_network(&line) != FCI_ICL_OK) {
        throw Refusal{line, "", ""};
    }
    return list;
}

}  // namespace fci::tools
