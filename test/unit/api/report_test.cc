// SPDX-License-Identifier: BSD-3-Clause
// What open contexts show of themselves, seen as from outside.
#include "fci_core/base/report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/unit/api/context.h"

namespace fci {
namespace {

constexpr std::uint64_t kJob = 0x4711;

/// In the order in which they were opened.
std::vector<Report> reports() {
    std::vector<Report> found;
    for (int fd = 0; fd < 256; ++fd) {
        std::error_code ignored;
        const std::string path = "/proc/self/fd/" + std::to_string(fd);
        const auto target = std::filesystem::read_symlink(path, ignored).string();
        if (target.find(std::string("memfd:") + kReportName) == std::string::npos) continue;
        found.emplace_back();
        EXPECT_EQ(pread(fd, &found.back(), sizeof(Report), 0),
                  static_cast<ssize_t>(sizeof(Report)));
    }
    return found;
}

/// One message from the first to the second.
void send_one(fci_icl_context* from, fci_icl_context* to) {
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(to, card);
    fci_icl_peer peer = 0;
    ASSERT_EQ(fci_icl_add_peer(from, card, &peer), FCI_ICL_OK);
    const int answer = fci_icl_send_bytes(from, peer, 0, 0, 7, 0, "x", 1, nullptr, nullptr);
    ASSERT_GE(answer, 0);
    fci_icl_status status{};
    for (int i = 0; i < 1'000'000; ++i) {
        fci_icl_progress(from);
        fci_icl_progress(to);
        if (fci_icl_probe(to, FCI_ICL_ANY_SOURCE, 0, 7, 0, &status, nullptr) == FCI_ICL_OK) return;
    }
    FAIL() << "the message did not arrive";
}

TEST(Report, open__head_of_each_context) {
    const Context one = open_context(kJob), other = open_context(kJob);
    const std::vector<Report> seen = reports();
    ASSERT_EQ(seen.size(), 2u);
    for (const Report& report : seen) {
        EXPECT_EQ(report.head.magic, kReportMagic);
        EXPECT_EQ(report.head.job, 0x4711u);
        EXPECT_STREQ(report.head.driver, "shm");
        EXPECT_STREQ(report.head.summary, fci_icl_summary(one.get()));
        EXPECT_EQ(report.head.figures.known_peers, 0u);
        EXPECT_GT(report.head.figures.memory.shared, 0u);
        EXPECT_GT(report.head.figures.memory.fixed, sizeof(Counters));
        EXPECT_EQ(report.head.figures.memory.shared_peers, 0u);
    }
}

TEST(Report, message__counters_and_what_peers_take) {
    const Context one = open_context(kJob), other = open_context(kJob);
    ASSERT_NO_FATAL_FAILURE(send_one(one.get(), other.get()));
    const std::vector<Report> seen = reports();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].counters.sent_inline, 1u);
    EXPECT_EQ(seen[1].counters.received_unexpected, 1u);
    for (unsigned i = 0; i < kCounters; ++i) {
        EXPECT_EQ(reinterpret_cast<const std::uint64_t*>(&seen[0].counters)[i],
                  fci_icl_counter(one.get(), i));
    }
    for (const Report& report : seen) {
        const ReportFigures& figures = report.head.figures;
        EXPECT_EQ(figures.known_peers, 1u);
        EXPECT_EQ(figures.connected_peers, 1u);
        EXPECT_GT(figures.memory.shared_peers, 0u);
        EXPECT_GT(figures.memory.mapped, figures.memory.shared_peers);
        EXPECT_GT(figures.memory.known, 0u);
        EXPECT_GT(figures.memory.connected, 0u);
    }
}

TEST(Report, close__nothing_is_left) {
    { const Context one = open_context(kJob); }
    EXPECT_TRUE(reports().empty());
}

TEST(Report, fork__child_shows_nothing_and_may_close) {
    const Context one = open_context(kJob);
    const pid_t child = fork();
    if (child == 0) {
        const bool silent = reports().empty();
        // As exit() would, with a context that somebody closes in a handler.
        fci_icl_close(one.get(), 0);
        _exit(silent ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(reports().size(), 1u);
    EXPECT_EQ(reports()[0].head.magic, kReportMagic);
}

/// The lines of a file.
std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

TEST(final_report, file__a_line_for_each_that_closes) {
    const std::string path = testing::TempDir() + "fci-report-" + std::to_string(getpid());
    setenv("FCI_REPORT", path.c_str(), 1);
    setenv("PMI_RANK", "3", 1);
    setenv("FCI_DRIVER", "shm", 1);  // a rank whose launcher says so little may need the network
    {
        const Context a = open_context(kJob), b = open_context(kJob);
        send_one(a.get(), b.get());
        const pid_t child = fork();
        if (child == 0) {
            fci_icl_close(a.get(), 0);
            _exit(0);
        }
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
        EXPECT_TRUE(lines_of(path).empty());
    }
    unsetenv("FCI_REPORT");
    unsetenv("PMI_RANK");
    unsetenv("FCI_DRIVER");
    const std::vector<std::string> lines = lines_of(path);
    std::filesystem::remove(path);
    ASSERT_EQ(lines.size(), 2u);
    const std::string begin = "{\"pid\":" + std::to_string(getpid()) +
                              ",\"rank\":3,\"ranks\":0,\"host\":\"";
    unsigned sent = 0;
    for (const std::string& line : lines) {
        EXPECT_EQ(line.compare(0, begin.size(), begin), 0) << line;
        EXPECT_NE(line.find("\",\"version\":\"" + std::string(fci_icl_library_version()) +
                            "\",\"for\":\"\",\"seconds\":0."),
                  std::string::npos)
            << line;
        EXPECT_NE(line.find(",\"driver\":\"shm\",\"protocol\":"), std::string::npos) << line;
        EXPECT_EQ(line.substr(line.size() - 2), "}}");
        sent += line.find("\"sent_inline\":1,") != std::string::npos;
    }
    EXPECT_EQ(sent, 1u);
}

TEST(final_report, stats__a_line_that_names_the_rank) {
    const std::string pid = "pid " + std::to_string(getpid());
    for (const auto& [rank, named] : {std::pair{"3", "rank 3 (" + pid + ")"}, {"", pid}}) {
        setenv("FCI_STATS", "yes", 1);
        setenv("PMI_RANK", rank, 1);
        setenv("FCI_DRIVER", "shm", 1);
        testing::internal::CaptureStderr();
        open_context(kJob);
        const std::string said = testing::internal::GetCapturedStderr();
        for (const char* name : {"FCI_STATS", "PMI_RANK", "FCI_DRIVER"}) unsetenv(name);
        EXPECT_NE(said.find("fci: counters of " + named + ":"), std::string::npos) << said;
    }
}

TEST(final_report, file__that_cannot_be_written_is_told_once_closed) {
    setenv("FCI_REPORT", "/nowhere/report", 1);
    testing::internal::CaptureStderr();
    open_context(kJob);
    unsetenv("FCI_REPORT");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("'/nowhere/report' (FCI_REPORT): No such file"), std::string::npos) << said;
}

}  // namespace
}  // namespace fci
