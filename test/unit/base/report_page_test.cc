// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/report_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

namespace fci {
namespace {

/// Memory for one page, as an owner has it.
class Place {
public:
    Place() : memory_(::operator new(ReportPage::size(), alignment())) {
        std::memset(memory_, 0xee, ReportPage::size());
    }
    ~Place() { ::operator delete(memory_, alignment()); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    [[nodiscard]] void* get() const { return memory_; }

private:
    static std::align_val_t alignment() { return std::align_val_t{ReportPage::size()}; }
    void* memory_;
};

/// The descriptors of this process that show a report.
std::vector<std::string> shown() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
        if (target.find(std::string("memfd:") + kReportName) != std::string::npos) {
            found.push_back(entry.path());
        }
    }
    return found;
}

Report read_it(const std::string& path) {
    Report report{};
    const int fd = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(pread(fd, &report, sizeof report, 0), static_cast<ssize_t>(sizeof report));
    close(fd);
    return report;
}

TEST(ReportPage, open__others_see_counters_and_head) {
    const Place place;
    ReportPage page(place.get());
    ASSERT_TRUE(page.shown());
    EXPECT_EQ(static_cast<void*>(&page.report()), place.get());
    ASSERT_EQ(shown().size(), 1u);
    EXPECT_EQ(read_it(shown()[0]).head.magic, 0u) << "not whole yet";

    page.open("shm", "two-sided", "spin", std::string(1000, 'x'), 0x4711);
    ++page.report().counters.sent_inline;
    const Report seen = read_it(shown()[0]);
    EXPECT_EQ(seen.head.magic, kReportMagic);
    EXPECT_EQ(seen.head.version, kReportVersion);
    EXPECT_EQ(seen.head.bytes, sizeof(Report));
    EXPECT_EQ(seen.head.counters_digest, counters_digest());
    EXPECT_EQ(seen.head.job, 0x4711u);
    EXPECT_EQ(seen.head.pid, static_cast<std::uint64_t>(getpid()));
    EXPECT_STREQ(seen.head.driver, "shm");
    EXPECT_STREQ(seen.head.protocol, "two-sided");
    EXPECT_STREQ(seen.head.wait_policy, "spin");
    EXPECT_EQ(std::string(seen.head.summary), std::string(sizeof seen.head.summary - 1, 'x'));
    EXPECT_EQ(seen.counters.sent_inline, 1u);
}

TEST(ReportPage, update__each_figure_in_its_place) {
    const Place place;
    ReportPage page(place.get());
    page.update({2, 1, 7, {10, 5, 20, 30, 40, 50, 60}});
    const ReportFigures seen = read_it(shown()[0]).head.figures;
    EXPECT_EQ(seen.known_peers, 2u);
    EXPECT_EQ(seen.connected_peers, 1u);
    EXPECT_EQ(seen.peers_file, 7u);
    EXPECT_EQ(seen.memory.shared, 10u);
    EXPECT_EQ(seen.memory.shared_peers, 5u);
    EXPECT_EQ(seen.memory.mapped, 20u);
    EXPECT_EQ(seen.memory.private_bytes(), 180u);
    EXPECT_EQ(seen.memory.unexpected, 60u);
}

TEST(ReportPage, show__sealed_and_only_for_reading) {
    const Place place;
    const ReportPage page(place.get());
    const int fd = open(shown()[0].c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    const int seals = fcntl(fd, F_GET_SEALS);
    EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    EXPECT_NE(ftruncate(fd, 0), 0);
    if ((seals & F_SEAL_FUTURE_WRITE) != 0) {
        EXPECT_EQ(mmap(nullptr, ReportPage::size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                  MAP_FAILED);
        EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
    }
    close(fd);
}

TEST(ReportPage, end__memory_is_ordinary_again) {
    const Place place;
    {
        ReportPage page(place.get());
        page.open("shm", "", "", "", 1);
        page.report().counters.sleeps = 7;
    }
    EXPECT_TRUE(shown().empty());
    auto* const report = static_cast<Report*>(place.get());
    EXPECT_EQ(report->counters.sleeps, 7u);
    EXPECT_EQ(report->head.magic, 0u);
    report->counters.sleeps = 8;
}

TEST(ReportPage, fork__child_counts_for_itself_and_shows_nothing) {
    const Place places[2];
    ReportPage first(places[0].get()), second(places[1].get());
    first.open("shm", "", "", "", 1);
    first.report().counters.yields = 5;
    const pid_t child = fork();
    if (child == 0) {
        bool fine = shown().empty() && !first.shown() && first.report().counters.yields == 5;
        fine = fine && first.report().head.magic == 0;
        for (ReportPage* page : {&first, &second}) page->report().counters.yields += 100;
        fine = fine && first.report().counters.yields == 105;
        first.~ReportPage();
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(first.report().counters.yields, 5u);
    EXPECT_EQ(second.report().counters.yields, 0u);
    EXPECT_EQ(read_it(shown()[0]).head.driver[0] + read_it(shown()[1]).head.driver[0], 's');
}

TEST(ReportPage, show__without_descriptors_or_room_it_is_private) {
    const pid_t child = fork();
    if (child == 0) {
        const Place place;
        const rlimit no_files{0, 0};
        setrlimit(RLIMIT_NOFILE, &no_files);
        ReportPage page(place.get());
        page.open("shm", "", "", "", 1);
        const Counters none{};
        const bool zeroed = std::memcmp(&page.report().counters, &none, sizeof none) == 0;
        _exit(!page.shown() && zeroed ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    const pid_t other = fork();
    if (other == 0) {
        const Place place;
        const rlimit no_room{100, 100};
        setrlimit(RLIMIT_FSIZE, &no_room);
        const ReportPage page(place.get());
        _exit(page.shown() ? 1 : 0);
    }
    ASSERT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace fci
