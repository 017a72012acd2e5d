// SPDX-License-Identifier: BSD-3-Clause
// Findings about the core and the machine.
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "fci_core/base/launcher.h"
#include "tools/fci_info/doctor.h"

namespace fci::tools::info {

namespace {

/// The variables that name this process's job, as the core sees them.
std::string job_text() {
    if (!environment("FCI_JOB").empty()) return "FCI_JOB='" + environment("FCI_JOB") + "'";
    for (const char* name : kJobVariables) {
        if (!environment(name).empty()) return std::string(name) + "=" + environment(name);
    }
    return "no launcher: all processes of this user count as one job";
}

/// From a process that is no descendant of the other: what two ranks are to each other. The bytes
/// that are written are there already.
bool kernel_copy_works(bool write_there, int* error) {
    static char word[] = "across";
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return false;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        char copied[sizeof word] = {};
        if (write_there) std::strcpy(copied, word);
        const iovec here{copied, sizeof copied}, there{word, sizeof word};
        const auto copy = write_there ? process_vm_writev : process_vm_readv;
        errno = 0;
        const ssize_t got = copy(parent, &here, 1, &there, 1, 0);
        int result = got == sizeof word && std::strcmp(copied, word) == 0 ? 0 : errno;
        if (got < 0 && result == 0) result = EIO;
        const ssize_t told = write(pipe_ends[1], &result, sizeof result);
        _exit(told == sizeof result ? 0 : 1);
    }
    close(pipe_ends[1]);
    if (child < 0 || read(pipe_ends[0], error, sizeof *error) != sizeof *error) *error = ECHILD;
    close(pipe_ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    return *error == 0;
}

std::string yama_text() {
    std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
    std::string scope;
    return file >> scope ? ", kernel.yama.ptrace_scope is " + scope : "";
}

/// A driver that is taken only where FCI_DRIVER names it keeps no other program from FCI.
Findings not_usable(const Driver& driver) {
    Findings findings;
    add_problem(&findings, "driver " + driver.name, "not usable: " + driver.reason,
                "Use another driver, or remove the cause.");
    return driver.name == "ucx" ? as_notes(findings) : findings;
}

}  // namespace

void examine_core(const Survey& survey, Findings* findings) {
    std::string usable;
    for (const Driver& driver : survey.drivers) {
        if (driver.usable) {
            usable += (usable.empty() ? "" : ", ") + driver.name;
            if (!driver.reason.empty()) usable += " (" + driver.reason + ")";
        } else {
            const Findings found = not_usable(driver);
            findings->insert(findings->end(), found.begin(), found.end());
        }
    }
    if (!usable.empty()) add_ok(findings, "drivers", "usable: " + usable);
    if (survey.error.empty()) {
        add_ok(findings, "core", survey.summary);
    } else {
        add_problem(findings, "core", survey.error,
                    "Do what the message says; fci_info -c lists all options.");
    }
    if (survey.network_is_refused) {
        add_problem(findings, "network", survey.network,
                    "Do what the message says; fci_info -i lists the interfaces.");
    } else {
        add_ok(findings, "network", survey.network);
    }
    for (const std::string& name : survey.unknown) {
        add_problem(findings, "variable " + name, "is no option of FCI and has no effect",
                    "Look for the right name in fci_info -c, or unset it.");
    }
}

void examine_host(Findings* findings) {
    utsname system{};
    uname(&system);
    add_ok(findings, "job", "uid " + std::to_string(geteuid()) + ", " + job_text());
    int error = 0;
    if (kernel_copy_works(false, &error)) {
        const bool both = kernel_copy_works(true, &error);
        add_ok(findings, "kernel copy",
               (both ? "permitted, Linux "
                     : std::string("permitted to read, not to write (") + std::strerror(error) +
                           "): long messages are copied by their receiver alone, Linux ") +
                   system.release);
    } else {
        add_ok(findings, "kernel copy",
               std::string("not permitted (") + std::strerror(error) + yama_text() +
                   "): long messages take two copies through the pool instead of one");
    }
    struct statvfs shm {};
    const bool there = statvfs("/dev/shm", &shm) == 0;
    const unsigned long long size = there ? 1ull * shm.f_blocks * shm.f_frsize >> 20 : 0;
    add_ok(findings, "/dev/shm and memlock",
           "do not matter: the shared memory has no file and is not pinned (/dev/shm here: " +
               (there ? std::to_string(size) + " MiB" : std::string("none")) + ")");
}

}  // namespace fci::tools::info
