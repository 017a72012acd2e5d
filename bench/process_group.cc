// SPDX-License-Identifier: BSD-3-Clause
#include "bench/process_group.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace fci::bench {

bool run_processes(const std::vector<int>& cores, const Part& part) {
    if (cores.empty() || cores.size() > kCrewMost) return false;
    void* memory = mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto& page = *static_cast<SharedPage*>(memory);

    std::fflush(nullptr);
    bool fine = true;
    std::vector<pid_t> children;
    for (unsigned number = 1; fine && number < cores.size(); ++number) {
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted benchmark leaves nothing behind
            if (cores[number] >= 0) pin_to(cores[number]);
            const bool good = part(number, page);
            std::fflush(nullptr);
            _exit(good ? 0 : 1);
        }
        fine = child > 0;
        if (fine) children.push_back(child);
    }
    if (fine) {
        if (cores[0] >= 0) pin_to(cores[0]);
        fine = part(0, page);
    }
    for (const pid_t child : children) {
        if (!fine) kill(child, SIGKILL);
        int state = 0;
        fine = waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0 &&
               fine;
    }
    munmap(memory, sizeof(SharedPage));
    return fine;
}

}  // namespace fci::bench
