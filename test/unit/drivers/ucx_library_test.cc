// SPDX-License-Identifier: BSD-3-Clause
// UCX's library is opened where its driver is, and nowhere else: it changes the C library's mmap.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// The process that asks goes on.
TEST(ucx_library, probe__comes_back) {
    const pid_t child = fork();
    if (child == 0) {
        std::string note;
        (void)probe_ucx(&note);
        _exit(7);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
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
    for (const char* const missing : {"UCX cannot be opened", "this FCI was built without UCX"}) {
        if (note.rfind(missing, 0) == 0) GTEST_SKIP() << note;
    }
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer ends a child that starts a thread";
#endif
    EXPECT_TRUE(works) << note;
    EXPECT_EQ(note.rfind("UCX 1.", 0), 0u) << note;
    EXPECT_NE(note.find("libucp.so"), std::string::npos) << note;
    EXPECT_NE(note.find("), "), std::string::npos) << note;
    EXPECT_NE(note.find("RDMA"), std::string::npos) << note;
}

TEST(ucx_library, probe__without_a_descriptor_says_so) {
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit none{0, files.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    std::string note;
    const bool works = probe_ucx(&note);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_FALSE(works);
    if (note.rfind("this FCI was built without UCX", 0) == 0) GTEST_SKIP() << note;
    EXPECT_EQ(note, "no pipe: Too many open files");
}

/// As an ordinary user without a process more.
TEST(ucx_library, probe__without_a_process_says_so) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const rlimit none{0, 0};
        const bool is_user = geteuid() != 0 || setuid(65534) == 0;
        const bool is_limited = is_user && setrlimit(RLIMIT_NPROC, &none) == 0;
        std::string note = "it cannot be limited";
        if (is_limited && probe_ucx(&note)) note = "it works";
        (void)!write(ends[1], note.data(), note.size());
        _exit(0);
    }
    ::close(ends[1]);
    char text[200] = {};
    const ssize_t bytes = read(ends[0], text, sizeof text - 1);
    ::close(ends[0]);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    ASSERT_GT(bytes, 0);
    const std::string note(text);
    if (note.rfind("this FCI was built without UCX", 0) == 0) GTEST_SKIP() << note;
    EXPECT_EQ(note, "no process to try UCX in: Resource temporarily unavailable");
}

}  // namespace
}  // namespace fci::ucx
