// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_run/launch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tools/launch/refusal.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

constexpr timespec kPatience{2, 0};  // for a launcher that ends in order

/// Open MPI's names of the parameter: those of 4.1 and of 5.0.
constexpr const char* kAgents[] = {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"};

bool is_in_allocation() {
    for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE"}) {
        if (!environment(name).empty()) return true;
    }
    return false;
}

/// The user, or a file of the user's, says by what Open MPI reaches hosts.
bool agent_is_set() {
    for (const char* name : kAgents) {
        if (!environment(name).empty()) return true;
    }
    const std::string home = environment("HOME");
    for (const char* file : {"/.openmpi/mca-params.conf", "/.prte/mca-params.conf"}) {
        const std::string said = content_of(home + file);
        if (said.find("plm_rsh_agent") != std::string::npos) return true;
        if (said.find("plm_ssh_agent") != std::string::npos) return true;
    }
    return false;
}

[[noreturn]] void start(const std::string& launcher, const std::vector<std::string>& words) {
    std::vector<char*> arguments{const_cast<char*>(launcher.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(launcher.c_str(), arguments.data());
    const Refusal refusal{launcher + " cannot be started", std::strerror(errno), ""};
    std::fputs(refusal.text("fci-run").c_str(), stderr);
    _exit(refusal.code);
}

/// Removes the session that a killed prterun leaves behind: a folder named by its number.
void remove_session(int child) {
    std::string place = environment("TMPDIR");
    if (place.empty()) place = "/tmp";
    std::error_code none;
    std::filesystem::remove_all(place + "/ompi." + std::to_string(child), none);
}

sigset_t attended() {
    sigset_t set;
    sigemptyset(&set);
    for (const int one : {SIGUSR1, SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT}) sigaddset(&set, one);
    return set;
}

}  // namespace

void Launch::watch(const Installation& here) {
    const std::string shell = here.shared("remote-shell");
    if (is_in_allocation() || !is_program(shell)) return;
    std::string calls, needs;
    if (mpi_ == Mpi::open_mpi) {
        // Open MPI's daemons look on their own hosts for the agent that a variable names. By the
        // name ssh they find theirs, where FCI may be missing.
        calls = find_program("ssh");
        if (calls.empty() || agent_is_set()) return;
        needs = "Open MPI's daemon";
        set_variable("PATH", here.shared("shell") + ":" + environment("PATH"));
    } else if (mpi_ == Mpi::fci || mpi_ == Mpi::mpich) {
        const std::string launcher = environment("HYDRA_LAUNCHER");
        if (!launcher.empty() && launcher != "ssh" && launcher != "rsh") return;
        calls = environment("HYDRA_LAUNCHER_EXEC");
        if (calls.empty()) calls = launcher.empty() ? "ssh" : launcher;
        set_variable("HYDRA_LAUNCHER_EXEC", shell);
    } else {
        return;
    }
    set_variable("REMOTE_SHELL_CALLS", calls);
    set_variable("REMOTE_SHELL_NEEDS", needs);
    set_variable("REMOTE_SHELL_TELLS", std::to_string(getpid()));
    is_watched_ = true;
}

/// Each launcher prints nothing at another signal.
void Launch::end(int child) const {
    const sigset_t set = attended();
    const std::string name = content_of("/proc/" + std::to_string(child) + "/comm");
    kill(child, mpi_ != Mpi::open_mpi ? SIGHUP : name.starts_with("prterun") ? SIGKILL : SIGTERM);
    for (int i = 0; i < 2 && waitpid(child, nullptr, WNOHANG) == 0; ++i) {
        sigtimedwait(&set, nullptr, &kPatience);
        kill(child, i == 0 ? SIGTERM : SIGKILL);
    }
    if (mpi_ == Mpi::open_mpi) remove_session(child);
}

int Launch::attend(int child) const {
    const sigset_t set = attended();
    for (;;) {
        siginfo_t from{};
        const int signal = sigwaitinfo(&set, &from);
        if (signal == SIGUSR1) {
            end(child);
            return 2;
        }
        // A terminal tells the launcher by itself.
        if (signal > 0 && signal != SIGCHLD && from.si_code <= 0) kill(child, signal);
        int status = 0;
        if (waitpid(child, &status, WNOHANG) != child) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

int Launch::run(const std::vector<std::string>& words) const {
    std::fflush(nullptr);
    if (!is_watched_) start(launcher_, words);
    const sigset_t set = attended();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &set, &before);
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child < 0) throw Refusal{"no process can be started", std::strerror(errno), ""};
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, nullptr);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != self) _exit(2);
        start(launcher_, words);
    }
    return attend(child);
}

}  // namespace fci::tools
