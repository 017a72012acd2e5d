// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/job_page.h"
#include "test/unit/seed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

namespace fci::tools::info {
namespace {

Report good_report() {
    Report report{};
    report.head.magic = kReportMagic;
    report.head.version = kReportVersion;
    report.head.bytes = sizeof report;
    report.head.counters_digest = counters_digest();
    std::strcpy(report.head.driver, "shm");
    std::strcpy(report.head.summary, "0.1.0, driver shm");
    return report;
}

PageState check(const Report& report, Report* page, std::size_t bytes = sizeof(Report)) {
    return check_page({reinterpret_cast<const std::byte*>(&report), bytes}, page);
}

TEST(JobPage, check__a_report_is_copied) {
    Report report = good_report(), page;
    report.counters.sleeps = 7;
    ASSERT_EQ(check(report, &page), PageState::good);
    EXPECT_EQ(page.counters.sleeps, 7u);
    EXPECT_STREQ(page.head.summary, "0.1.0, driver shm");
}

TEST(JobPage, check__too_short) {
    Report page;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, sizeof page - 1}) {
        EXPECT_EQ(check(good_report(), &page, bytes), PageState::damaged) << bytes;
    }
}

TEST(JobPage, check__magic_version_size_counters) {
    Report report = good_report(), page;
    report.head.magic = 0;
    EXPECT_EQ(check(report, &page), PageState::not_open);
    report.head.magic = kReportMagic + 1;
    EXPECT_EQ(check(report, &page), PageState::damaged);
    report = good_report();
    ++report.head.version;
    EXPECT_EQ(check(report, &page), PageState::other_version);
    report = good_report();
    ++report.head.bytes;
    EXPECT_EQ(check(report, &page), PageState::other_version);
    report = good_report();
    ++report.head.counters_digest;
    EXPECT_EQ(check(report, &page), PageState::other_version);
}

TEST(JobPage, check__texts_must_end) {
    Report report = good_report(), page;
    std::memset(report.head.driver, 'x', sizeof report.head.driver);
    EXPECT_EQ(check(report, &page), PageState::damaged);
    report = good_report();
    std::memset(report.head.protocol, 'x', sizeof report.head.protocol);
    EXPECT_EQ(check(report, &page), PageState::damaged);
    report = good_report();
    std::memset(report.head.wait_policy, 'x', sizeof report.head.wait_policy);
    EXPECT_EQ(check(report, &page), PageState::damaged);
    report = good_report();
    std::memset(report.head.summary, 'x', sizeof report.head.summary);
    EXPECT_EQ(check(report, &page), PageState::damaged);
}

TEST(JobPage, check__nothing_that_a_terminal_obeys) {
    Report report = good_report(), page;
    std::strcpy(report.head.summary, "a\x1b[2Jb\nc\xff");
    ASSERT_EQ(check(report, &page), PageState::good);
    EXPECT_STREQ(page.head.summary, "a?[2Jb?c?");
    EXPECT_EQ(printable("x\ty\x7f"), "x?y?");
}

TEST(JobPage, check__random_bytes) {
    std::mt19937_64 random(seeded(4711));
    Report page;
    for (int i = 0; i < 2000; ++i) {
        Report report = good_report();
        auto* const bytes = reinterpret_cast<unsigned char*>(&report);
        for (int changes = 1 + i % 64; changes > 0; --changes) {
            bytes[random() % sizeof report] = static_cast<unsigned char>(random());
        }
        if (check(report, &page) != PageState::good) continue;
        EXPECT_LT(std::strlen(page.head.summary), sizeof page.head.summary);
        EXPECT_LT(std::strlen(page.head.driver), sizeof page.head.driver);
    }
}

/// A memory file with these bytes.
int file_of(const void* bytes, std::size_t size, int seals) {
    const int fd = memfd_create(kReportName, MFD_ALLOW_SEALING);
    EXPECT_EQ(write(fd, bytes, size), static_cast<ssize_t>(size));
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

TEST(JobPage, read__only_what_is_sealed) {
    const Report report = good_report();
    Report page;
    constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
    int fd = file_of(&report, sizeof report, kSize);
    EXPECT_EQ(read_page(fd, &page), PageState::good);
    close(fd);
    fd = file_of(&report, sizeof report, 0);
    EXPECT_EQ(read_page(fd, &page), PageState::damaged);
    close(fd);
    fd = file_of(&report, 100, kSize);
    EXPECT_EQ(read_page(fd, &page), PageState::damaged);
    close(fd);
    const std::vector<char> large(2 << 20);
    fd = file_of(large.data(), large.size(), kSize);
    EXPECT_EQ(read_page(fd, &page), PageState::damaged);
    close(fd);
}

std::vector<PeerRow> read_back(const std::vector<PeerRow>& rows, std::size_t more = 0) {
    std::vector<char> bytes(rows.size() * sizeof rows[0] + more);
    std::memcpy(bytes.data(), rows.data(), rows.size() * sizeof rows[0]);
    const int fd = file_of(bytes.data(), bytes.size(), 0);
    std::vector<PeerRow> seen = read_rows(fd);
    close(fd);
    return seen;
}

TEST(JobPage, rows__up_to_the_first_that_is_none) {
    std::vector<PeerRow> rows(3);
    std::strcpy(rows[0].way, "t\x1b[2Jcp");
    std::strcpy(rows[1].way, "memory");
    rows[1].bytes_sent = 7;
    for (const std::size_t more : {std::size_t{0}, sizeof(PeerRow) - 1}) {
        const std::vector<PeerRow> seen = read_back(rows, more);
        ASSERT_EQ(seen.size(), 2u);
        EXPECT_STREQ(seen[0].way, "t?[2Jcp");
        EXPECT_EQ(seen[1].bytes_sent, 7u);
    }
    std::memset(rows[1].way, 'x', sizeof rows[1].way);
    EXPECT_EQ(read_back(rows).size(), 1u);
    rows[0].state = static_cast<PeerRow::State>(3);
    EXPECT_TRUE(read_back(rows).empty());
}

TEST(JobPage, rows__of_what_is_no_file) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_TRUE(read_rows(ends[0]).empty());  // and does not wait
    close(ends[0]);
    close(ends[1]);
    EXPECT_TRUE(read_rows(-1).empty());
}

TEST(JobPage, read__what_is_no_file) {
    Report page;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(read_page(ends[0], &page), PageState::damaged);  // and does not wait
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(read_page(-1, &page), PageState::damaged);
    const int null = open("/dev/zero", O_RDONLY);
    EXPECT_EQ(read_page(null, &page), PageState::damaged);
    close(null);
}

}  // namespace
}  // namespace fci::tools::info
