// SPDX-License-Identifier: BSD-3-Clause
// UCX's library is opened where its driver is, and nowhere else: it changes the C library's mmap.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "drivers/node/node.h"
#include "drivers/tcp/tcp.h"
#include "drivers/ucx/ucx.h"

namespace fci::ucx {
namespace {

bool is_mapped(const std::string& library) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(library) != std::string::npos) return true;
    }
    return false;
}

/// The first instructions of mmap, where UCX's hook would stand.
std::array<std::byte, 16> begin_of_mmap() {
    std::array<std::byte, 16> bytes;
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(&mmap), bytes.size());
    return bytes;
}

TEST(ucx_library, not_chosen__is_not_opened) {
    const auto before = begin_of_mmap();
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    std::string text;
    EXPECT_NE(tcp::open_tcp(settings, &status, &text), nullptr) << text;
    EXPECT_NE(node::open_node(settings, &status, &text), nullptr) << text;
    EXPECT_FALSE(is_mapped("libucp"));
    EXPECT_EQ(before, begin_of_mmap());
}

TEST(ucx_library, probe__leaves_nothing_of_it_here) {
    const auto before = begin_of_mmap();
    std::string note;
    const bool works = probe_ucx(&note);
    EXPECT_FALSE(note.empty()) << "by what it goes, or why not";
    EXPECT_TRUE(waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) << "a child is left";
    EXPECT_FALSE(is_mapped("libucp"));
    EXPECT_EQ(before, begin_of_mmap());
    if (!works) GTEST_SKIP() << note;
}

}  // namespace
}  // namespace fci::ucx
