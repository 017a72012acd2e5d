// SPDX-License-Identifier: BSD-3-Clause
// Processes: the tests' own process with an endpoint, and a child with another.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "test/provider/support.h"

namespace fci::test {

/// A second process with an endpoint, that knows ours and we its.
class Processes : public ::testing::Test {
protected:
    /// `work` runs in the child, with its endpoint and our number there.
    void spawn(const std::function<void(Side&, fi_addr_t)>& work,
               const std::function<void(OpenOptions&)>& change = {}) {
        int to_child[2], to_parent[2];
        ASSERT_EQ(pipe(to_child), 0);
        ASSERT_EQ(pipe(to_parent), 0);
        const pid_t parent = getpid();
        child_ = fork();
        ASSERT_GE(child_, 0);
        if (child_ == 0) {
            alarm(300);
            int result = 1;
            {
                OpenOptions wishes;
                if (change) change(wishes);
                Side side(wishes);
                Side* const here = &side;
                write_all(to_parent[1], here->name, 16);
                sockaddr_in there;
                read_all(to_child[0], &there, sizeof there);
                fi_addr_t number = FI_ADDR_NOTAVAIL;
                if (fi_av_insert(side.av, &there, 1, &number, 0, nullptr) == 1) {
                    work(side, number);
                    result = HasFailure() ? 2 : 0;
                }
            }
            if (getppid() != parent) result = 3;
            _exit(result);
        }
        char name[16];
        read_all(to_parent[0], name, sizeof name);
        OpenOptions wishes;
        if (change) change(wishes);
        if (!side_) side_ = std::make_unique<Side>(wishes);
        ASSERT_EQ(fi_av_insert(side_->av, name, 1, &number_, 0, nullptr), 1);
        write_all(to_child[1], side_->name, 16);
        for (const int descriptor : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) {
            ::close(descriptor);
        }
    }
    int join() {
        int status = 0;
        EXPECT_EQ(waitpid(child_, &status, 0), child_);
        child_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    void kill_child() {
        kill(child_, SIGKILL);
        EXPECT_EQ(join(), -SIGKILL);
    }
    void TearDown() override {
        if (child_ > 0) kill_child();
    }

    static void insist(Side& side, const std::function<ssize_t()>& call) {
        ssize_t result = -FI_EAGAIN;
        EXPECT_TRUE(eventually([&] {
            result = call();
            if (result == -FI_EAGAIN) side.progress();
            return result != -FI_EAGAIN;
        }));
        EXPECT_EQ(result, 0) << fi_strerror(static_cast<int>(-result));
    }

    std::unique_ptr<Side> side_;
    fi_addr_t number_ = FI_ADDR_NOTAVAIL;
    pid_t child_ = 0;

private:
    static void write_all(int descriptor, const void* data, std::size_t bytes) {
        ASSERT_EQ(::write(descriptor, data, bytes), static_cast<ssize_t>(bytes));
    }
    static void read_all(int descriptor, void* data, std::size_t bytes) {
        ASSERT_EQ(::read(descriptor, data, bytes), static_cast<ssize_t>(bytes));
    }
};

}  // namespace fci::test
