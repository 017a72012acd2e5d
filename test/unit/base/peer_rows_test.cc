// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/peer_rows.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace fci {
namespace {

/// As from outside.
PeerRow read_it(const PeerRows& rows, unsigned number) {
    PeerRow row{};
    const std::string path = "/proc/self/fd/" + std::to_string(rows.file());
    const int fd = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(pread(fd, &row, sizeof row, static_cast<off_t>(number * sizeof row)),
              static_cast<ssize_t>(sizeof row));
    close(fd);
    return row;
}

TEST(PeerRows, add__others_see_what_is_counted) {
    PeerRows rows;
    EXPECT_EQ(rows.file(), ReportFigures::kNoFile);
    EXPECT_EQ(rows.memory(), 0u);
    constexpr unsigned kMany = 1000;  // several pages
    PeerRow& first = rows.add();
    EXPECT_EQ(first.bytes_sent, 0u);
    for (unsigned i = 1; i < kMany; ++i) rows.add().bytes_sent = i;
    first.waits = 7;
    EXPECT_EQ(read_it(rows, 0).waits, 7u) << "it has stayed where it was";
    EXPECT_EQ(read_it(rows, kMany - 1).bytes_sent, kMany - 1);
    EXPECT_GE(rows.memory(), kMany * sizeof(PeerRow));
    EXPECT_LT(rows.memory(), 2 * kMany * sizeof(PeerRow));
}

TEST(PeerRows, add__more_than_can_be_shown) {
    PeerRows rows;
    for (std::size_t i = 0; i < PeerRow::kShownMost; ++i) rows.add();
    rows.add().bytes_sent = 1;
    EXPECT_NE(rows.file(), ReportFigures::kNoFile);
}

TEST(PeerRows, file__nobody_else_writes_or_shrinks_it) {
    PeerRows rows;
    rows.add();
    const std::string path = "/proc/self/fd/" + std::to_string(rows.file());
    const int fd = open(path.c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    EXPECT_NE(ftruncate(fd, 0), 0);
    if ((fcntl(fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE) != 0) {
        EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
    }
    close(fd);
}

/// What a limit of so many makes of a row that is added under it.
void expect_unseen(int resource, rlim_t most) {
    rlimit before{};
    ASSERT_EQ(getrlimit(static_cast<__rlimit_resource>(resource), &before), 0);
    const rlimit less{most, before.rlim_max};
    PeerRows rows;
    ASSERT_EQ(setrlimit(static_cast<__rlimit_resource>(resource), &less), 0);
    PeerRow& row = rows.add();
    ASSERT_EQ(setrlimit(static_cast<__rlimit_resource>(resource), &before), 0);
    EXPECT_EQ(rows.file(), ReportFigures::kNoFile);
    row.bytes_sent = 1;
    EXPECT_NE(&rows.add(), &row);
    EXPECT_GT(rows.memory(), 0u);
}

TEST(PeerRows, add__without_descriptor_or_room_nobody_sees_it) {
    expect_unseen(RLIMIT_NOFILE, 0);
    expect_unseen(RLIMIT_FSIZE, 4096);  // writing beyond would be a signal that ends the program
}

TEST(PeerRows, hide__in_a_child_no_row_is_the_parents) {
    PeerRows rows;
    rows.add();
    const pid_t child = fork();
    if (child == 0) {
        rows.hide();
        rows.add().bytes_sent = 9;
        _exit(rows.file() == ReportFigures::kNoFile ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read_it(rows, 1).bytes_sent, 0u);
}

}  // namespace
}  // namespace fci
