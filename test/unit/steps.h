// SPDX-License-Identifier: BSD-3-Clause
// Steps: a child and its parent, one after the other.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace fci {

/// Made before the fork; each step is a byte of a pipe, or a few. A wait has a limit.
class Steps {
public:
    Steps() {
        EXPECT_EQ(pipe2(down_.data(), 0), 0);
        EXPECT_EQ(pipe2(up_.data(), 0), 0);
    }
    /// In another image of the child.
    Steps(int child_in, int child_out) : down_{child_in, -1}, up_{-1, child_out} {}
    ~Steps() {
        for (const int fd : {down_[0], down_[1], up_[0], up_[1]}) close(fd);
    }
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;

    bool child_waits() const { return take(down_[0], 1); }
    void child_goes_on() const { give(up_[1], 1); }
    int child_in() const { return down_[0]; }
    int child_out() const { return up_[1]; }

    bool waits() const { return take(up_[0], 1); }
    void go_on() const { give(down_[1], 1); }
    int in() const { return up_[0]; }
    int out() const { return down_[1]; }
    /// waits() has nothing to wait for.
    bool is_next() const { return is_there(up_[0], 0); }

    static bool take(int in, std::size_t bytes, void* to = nullptr) {
        std::array<char, 64> ignored;
        void* const place = to != nullptr ? to : ignored.data();
        return is_there(in, kHangMs) && read(in, place, bytes) == static_cast<ssize_t>(bytes);
    }
    static void give(int out, std::size_t bytes, const void* from = "step") {
        EXPECT_EQ(write(out, from, bytes), static_cast<ssize_t>(bytes));
    }

private:
    static constexpr int kHangMs = 200'000;

    static bool is_there(int fd, int within_ms) {
        pollfd one{fd, POLLIN, 0};
        return poll(&one, 1, within_ms) == 1;
    }

    std::array<int, 2> down_{-1, -1}, up_{-1, -1};
};

}  // namespace fci
