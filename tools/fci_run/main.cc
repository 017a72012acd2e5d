// SPDX-License-Identifier: BSD-3-Clause
// fci-run: runs an MPI program over FCI, whichever MPI it was made for.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/fci_run/call.h"
#include "tools/fci_run/launch.h"
#include "tools/launch/binary.h"
#include "tools/launch/choice.h"
#include "tools/launch/refusal.h"
#include "tools/launch/settings.h"
#include "tools/launch/surroundings.h"

namespace {

using namespace fci::tools;  // NOLINT: a main program of that room

/// In the place of the program on a host: it is started where all is there that it needs. Else one
/// of the host's ranks says what is not, and all end by a signal: at another end Hydra would leave
/// the ranks of other hosts waiting for them.
constexpr const char* kStartOrSay = R"text(
end() {
    if [ "${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}}" = 0 ]; then
        printf "fci-run: %s on %s\n  cause    %s\n  remedy   %s\n" "$1" "$(uname -n)" "$2" "$3" >&2
    else
        sleep 1
    fi
    kill $$
}
[ -e "$0" ] || end "there is no FCI" "it has no $0" "install FCI at the same place on all hosts"
command -v -- "$1" >/dev/null || end "there is no program $1" "it is not in ${1%/*} or PATH there" \
    "put it at the same place on all hosts"
exec "$@")text";

using Words = std::vector<std::string>;

/// The file of FCI that a program needs on each host: the plug, or the netmod's library.
std::string plug_file(const Installation& here, const Choice& choice) {
    if (choice.mpi == Mpi::fci) {
        for (const Needed& one : libraries_of(choice.library)) {
            if (one.name.starts_with("libfci.so")) return one.path;
        }
        return "";
    }
    if (choice.way == "openmpi-ofi" || choice.mpi != Mpi::open_mpi) return here.provider_file();
    return here.component_for(release_in(choice.way)) + "/mca_pml_fci.so";
}

bool is_variable_name(const std::string& name) {
    return name.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
           std::string::npos;
}

/// A launcher of Open MPI hands on its own variables only, and those that -x names. A variable that
/// the call names itself stays. `has_new_path`: LD_LIBRARY_PATH was changed for the program.
Words handed_on(const Call& call, bool has_new_path) {
    Words names = call.handed_on;
    if (environment("OMPI_MCA_mca_base_env_list").empty()) {  // an error beside -x
        for (char** entry = environ; *entry != nullptr; ++entry) {
            const std::string line = *entry, name = line.substr(0, line.find('='));
            const bool is_own = name.starts_with("FCI_") || name.starts_with("FI_");
            if (is_own && is_variable_name(name)) names.push_back(name);
        }
        if (has_new_path) names.emplace_back("LD_LIBRARY_PATH");
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    Words words;
    for (const std::string& name : names) {
        const bool is_said =
            std::any_of(call.words.begin(), call.words.end(), [&](const std::string& word) {
                return call.has_launcher && (word == name || word.starts_with(name + "=") ||
                                             word == "mca_base_env_list");
            });
        if (!is_said) words.insert(words.end(), {"-x", name});
    }
    return words;
}

/// Slurm starts an MPI's ranks by an interface that it has to be told.
Words interface_of_slurm(const Choice& choice, const Call& call) {
    for (const std::string& word : call.words) {
        if (word.starts_with("--mpi")) return {};
    }
    if (!environment("SLURM_MPI_TYPE").empty()) return {};
    const std::string wanted = choice.mpi == Mpi::open_mpi ? "pmix" : "pmi2";
    const std::string known = said_by({choice.launcher.path, "--mpi=list"});
    if (known.find(wanted) != std::string::npos) return {"--mpi=" + wanted};
    throw Refusal{
        choice.launcher.path + " cannot start programs of " + name_of(choice.mpi),
        "its --mpi=list has no " + wanted,
        "install Slurm's plugin for it, or start by the MPI's launcher: salloc ... fci-run "
        "-n 2 " +
            choice.program};
}

/// `settings`: of the MPI, and the call's own.
std::string said_of(const Choice& choice, const Call& call, const SettingList& settings) {
    std::string set;
    for (const Setting& one : settings) set += one.name + "='" + one.value + "' ";
    if (set.empty()) set = "nothing ";
    set.pop_back();
    return "fci-run: " + choice.title() +
           (choice.library.empty() ? "" : " (" + choice.library + ")") +
           (choice.note.empty() ? "" : " " + choice.note) + ", started by " + choice.launcher.path +
           (call.hosts.empty() ? "" : " on " + call.hosts.text()) +
           (call.plain               ? ", without FCI"
            : choice.mpi == Mpi::fci ? ""
                                     : ", through " + choice.plug) +
           "; set: " + set + "\n";
}

/// The launcher's words, by which it starts the program.
Words words_for(const Installation& here, const Call& call, const Choice& choice,
                const Words& handed, unsigned ranks) {
    Words words = handed;
    if (call.has_launcher) {
        words.insert(words.end(), call.words.begin() + 1, call.words.end());
        return words;
    }
    words.insert(words.begin(), {"-n", std::to_string(ranks)});
    const std::string needed = call.hosts.empty() || call.plain ? "" : plug_file(here, choice);
    if (!needed.empty()) words.insert(words.end(), {"sh", "-c", kStartOrSay, needed});
    words.insert(words.end(), call.words.begin(), call.words.end());
    return words;
}

int run(const Call& call) {
    const Installation here = Installation::find();
    insist_on_program(call.subject());
    if (call.plain && !call.assignments.empty()) {
        throw Refusal{call.assignments.front() + " is an option of FCI",
                      "with --plain the program does not use it", "leave one of them out"};
    }
    SettingList assigned;
    if (!call.plain) {
        const bool is_for_this_host = call.hosts.empty() && !call.has_launcher;
        assigned = apply_assignments(call.assignments, is_for_this_host);
    }
    const std::string path = environment("LD_LIBRARY_PATH");
    const Choice choice = choose(here, {call.words, call.has_launcher, call.way, call.plain});
    SettingList settings = settings_for(here, choice);
    for (const Setting& one : settings) set_variable(one.name, one.value);
    settings.insert(settings.end(), assigned.begin(), assigned.end());
    if (call.verbose || !choice.note.empty()) {
        std::fputs(said_of(choice, call, settings).c_str(), stderr);
    }
    Launch launch(choice.mpi, choice.launcher.path);
    if (!call.hosts.empty()) {
        call.hosts.hand_over(choice.mpi);
        if (!call.plain) launch.watch(here);
    }
    const unsigned ranks = call.ranks != 0       ? call.ranks
                           : !call.hosts.empty() ? call.hosts.slots()
                                                 : usable_cores();
    if (choice.mpi == Mpi::open_mpi && call.hosts.empty() && ranks > usable_cores()) {
        set_variable("OMPI_MCA_rmaps_base_oversubscribe", "1");  // 4.1 reads this, 5 the next
        set_variable("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    }
    Words handed;
    if (is_slurm(choice.launcher)) {
        handed = interface_of_slurm(choice, call);
    } else if (choice.mpi == Mpi::open_mpi) {
        handed = handed_on(call, environment("LD_LIBRARY_PATH") != path);
    }
    return launch.run(words_for(here, call, choice, handed, ranks));
}

}  // namespace

int main(int argc, char** argv) try {
    return run(read_call(argc, argv));
} catch (const Refusal& refusal) {
    std::fputs(refusal.text("fci-run").c_str(), stderr);
    return 2;
}
