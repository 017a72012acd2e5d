// SPDX-License-Identifier: BSD-3-Clause
// SecondRun: a seed runs once more in a child that begins with the same memory as its parent. For
// the tcp driver leaves out of a frame what is as in the frame before, addresses too: the same
// seed takes another course where the heap gives out an address again, or does not.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace fci::simulation {

class SecondRun {
public:
    /// `digest`: of the run, in the child.
    template <class Digest>
    explicit SecondRun(Digest digest) {
        int ends[2];
        if (pipe(ends) != 0) return;
        std::fflush(nullptr);  // else the child would print it again
        child_ = fork();
        if (child_ == 0) {
            const std::uint64_t value = digest();
            _exit(write(ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
        }
        close(ends[1]);
        from_ = ends[0];
    }
    SecondRun(const SecondRun&) = delete;
    SecondRun& operator=(const SecondRun&) = delete;

    /// Whether it ended, and with this digest.
    [[nodiscard]] bool ends_with(std::uint64_t digest) {
        std::uint64_t value = 0;
        return child_ > 0 && read(from_, &value, sizeof value) == sizeof value && value == digest;
    }
    ~SecondRun() {
        if (from_ >= 0) close(from_);
        if (child_ <= 0) return;
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }

private:
    pid_t child_ = -1;
    int from_ = -1;
};

}  // namespace fci::simulation
