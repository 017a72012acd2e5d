// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_run/call.h"

#include <cstdio>
#include <cstdlib>

#include "fci_core/base/parse.h"
#include "tools/launch/installation.h"
#include "tools/launch/mpirun.h"
#include "tools/launch/options.h"
#include "tools/launch/refusal.h"
#include "tools/launch/settings.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

constexpr const char* kUsage =
    R"text(usage: fci-run [-v] [-n RANKS] [--hosts LIST | --hostfile FILE] [--mpi NAME] [--plain]
               [-x NAME[=VALUE]] [FCI_NAME=VALUE ...] PROGRAM [ARGUMENT ...]
       fci-run [-v] [FCI_NAME=VALUE ...] mpirun|mpiexec|srun [OPTION ...] PROGRAM [ARGUMENT ...]

Finds out which MPI PROGRAM uses (Open MPI, MPICH, Intel MPI, or one of MPI's standard ABI; of a
Python script: the MPI that its mpi4py loads), sets what that MPI needs to send its messages over
FCI, and starts PROGRAM with the launcher of the same installation, or with the one that is given.
Open MPI gets FCI's own component, if there is one for its release; else, as the other MPIs, the
libfabric provider.

  -n RANKS    how many (also -np, --np); default: one for each core, with hosts one for each slot
  --hosts a,b:4,c
              start them on these hosts, on each as many as it has slots, 1 if no number is there
              (also --host, -H)
  --hostfile FILE
              the same from a file, with a line for each host as in those of Open MPI (b slots=4) or
              Hydra (b:4) (also -f, --machinefile)
  --mpi NAME  do not find out: openmpi, mpich or intel, and the launcher that PATH has; openmpi-ofi
              is Open MPI through the provider, openmpi-4.1 through the component for that release
  -x NAME[=VALUE]
              a variable for the program, on all hosts
  --plain     over the network of the program's own MPI instead of FCI, to compare with: only the
              launcher is found
  -v          say in one line what was found and set
  --version   of FCI, and its commit
  --help

Options may be written as -n2, -n 2, --np=2. Exit code: that of the launcher; 2: nothing was
started, and why.
)text";

/// Words of launchers, for which fci-run has none of its own.
constexpr const char* kOfLaunchers[] = {"--bind-to",
                                        "-bind-to",
                                        "--map-by",
                                        "-map-by",
                                        "--mca",
                                        "-mca",
                                        "--gmca",
                                        "-env",
                                        "-genv",
                                        "-envall",
                                        "-ppn",
                                        "--ppn",
                                        "-perhost",
                                        "-N",
                                        "--npernode",
                                        "-npernode",
                                        "--tag-output",
                                        "-l",
                                        "-prepend-rank",
                                        "--rankfile",
                                        "--oversubscribe",
                                        "-oversubscribe",
                                        "--report-bindings",
                                        "-launcher",
                                        "-iface",
                                        "--display-map",
                                        "-wdir",
                                        "--wdir",
                                        "--prtemca"};

[[noreturn]] void say(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::exit(std::fflush(stdout) == 0 ? 0 : 1);
}

[[noreturn]] void refuse_option(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    for (const char* known : kOfLaunchers) {
        if (name != known) continue;
        throw Refusal{"no option '" + word + "' of fci-run", "it is one of a launcher",
                      "give that launcher, and its options: fci-run mpirun " + word +
                          " ... -n 2 "
                          "./program"};
    }
    const std::string near =
        nearest(name, {"--hosts", "--hostfile", "--mpi", "--plain", "--version", "--help", "--np"});
    throw Refusal{"no option '" + word + "'; " +
                      (near.empty() ? "see fci-run --help" : "did you mean " + near + "?"),
                  "", ""};
}

unsigned ranks_in(const std::string& text) {
    const auto number = parse_number(text);
    if (!number || *number == 0 || *number > 1'000'000 || text.front() == '0') {
        throw Refusal{"-n '" + text + "' is no number of ranks", "a number from 1 on is wanted",
                      "fci-run -n 2 ./program"};
    }
    return static_cast<unsigned>(*number);
}

void add_hosts(const std::string& option, const std::string& value, bool is_file, Call* call) {
    if (!call->hosts.empty()) {
        throw Refusal{option + " '" + value + "' are hosts for a second time",
                      "--hosts or --hostfile is wanted, once", "put all of them into one list"};
    }
    call->hosts = is_file ? Hosts::in_file("--hostfile", value) : Hosts::in_list("--hosts", value);
    call->hosts_by = option;
}

void hand_on(const std::string& word, Call* call) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name.empty()) {
        throw Refusal{"-x '" + word + "' names no variable", "-x NAME or -x NAME=VALUE is wanted",
                      "fci-run -x OMP_NUM_THREADS=2 ./program"};
    }
    if (equals != std::string::npos) set_variable(name, word.substr(equals + 1));
    call->handed_on.push_back(name);
}

void read_option(Options* options, Call* call) {
    if (options->has({"-h", "--help", "-help"})) say(kUsage);
    if (options->has({"-V", "--version"})) say(Installation::find().version_text("fci-run"));
    if (options->has({"-v", "--verbose"})) {
        call->verbose = true;
    } else if (options->has({"--plain"})) {
        call->plain = true;
    } else if (const auto ranks = options->value({"-np", "--np", "-n"})) {
        call->ranks = ranks_in(*ranks);
    } else if (const auto file = options->value(
                   {"--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"})) {
        add_hosts("--hostfile", *file, true, call);
    } else if (const auto list = options->value({"--hosts", "--host", "-hosts", "-host", "-H"})) {
        add_hosts("--hosts", *list, false, call);
    } else if (const auto variable = options->value({"-x"})) {
        hand_on(*variable, call);
    } else if (const auto way = options->value({"--mpi"})) {
        if (!is_way(*way)) {
            throw Refusal{"--mpi '" + *way + "': there are " + kWays, "", ""};
        }
        call->way = *way;
    } else {
        refuse_option(options->word());
    }
}

/// "-n 2" behind the program is the program's; mostly it was meant for fci-run.
void point_out(const Call& call) {
    if (call.has_launcher || call.ranks != 0) return;
    for (std::size_t i = 1; i + 1 < call.words.size(); ++i) {
        const std::string& word = call.words[i];
        if (word != "-n" && word != "-np" && word != "--np") continue;
        if (!parse_number(call.words[i + 1])) continue;
        std::fprintf(stderr,
                     "fci-run: note: '%s %s' stands behind %s, so it is the program's; for "
                     "fci-run: fci-run %s %s %s ...\n",
                     word.c_str(), call.words[i + 1].c_str(), call.words[0].c_str(), word.c_str(),
                     call.words[i + 1].c_str(), call.words[0].c_str());
        return;
    }
}

void check(const Call& call) {
    if (call.ranks > (call.hosts.empty() ? call.ranks : call.hosts.slots())) {
        throw Refusal{
            std::to_string(call.ranks) + " ranks do not fit on the hosts",
            "there are " + std::to_string(call.hosts.slots()) + " slots: " + call.hosts.text(),
            "a smaller -n, or more slots: NAME:SLOTS"};
    }
    if (!call.has_launcher) return;
    const std::string launcher = call.subject();
    if (call.ranks != 0) {
        throw Refusal{"-n " + std::to_string(call.ranks) + " stands before " + launcher,
                      "a launcher has its own -n",
                      "fci-run " + launcher + " -n " + std::to_string(call.ranks) + " ..."};
    }
    if (!call.hosts.empty()) {
        throw Refusal{
            call.hosts_by + " stands before " + launcher,
            "a launcher has its own: Open MPI's --host and --hostfile, Hydra's -hosts and "
            "-f, Slurm's --nodelist",
            "leave out " + launcher + ", and fci-run takes the right one; or " + call.hosts_by};
    }
}

}  // namespace

Call read_call(int argc, char** argv) {
    Call call;
    Options options(argc, argv);
    while (!options.is_over()) {
        if (options.word().starts_with("FCI_") && options.word().find('=') != std::string::npos) {
            call.assignments.push_back(options.take());
        } else if (options.is_option()) {
            read_option(&options, &call);
        } else {
            break;
        }
    }
    call.words = options.rest();
    if (call.words.empty()) {
        std::fputs(kUsage, stderr);
        std::exit(2);
    }
    call.has_launcher = is_launcher_name(call.subject());
    check(call);
    point_out(call);
    return call;
}

}  // namespace fci::tools
