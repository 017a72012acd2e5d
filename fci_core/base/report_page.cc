// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/report_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/memory_file.h"

namespace fci {

namespace {

/// In place of what is mapped at `place`; false: nothing changed.
bool lay_over(void* place, int file) noexcept {
    const int flags = MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    return mmap(place, ReportPage::size(), PROT_READ | PROT_WRITE, flags, file, 0) != MAP_FAILED;
}

template <std::size_t N>
void put(char (&to)[N], const std::string& text) noexcept {
    const std::size_t bytes = std::min(text.size(), N - 1);
    std::memcpy(to, text.data(), bytes);
    std::memset(to + bytes, 0, N - bytes);
}

}  // namespace

std::size_t ReportPage::size() noexcept {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return page;
}

ReportPage::ReportPage(void* place) noexcept : report_(static_cast<Report*>(place)) {
    FCI_ASSERT(sizeof(Report) <= size() && reinterpret_cast<std::uintptr_t>(place) % size() == 0);
    std::memset(place, 0, sizeof(Report));
    try {
        if (show()) return;
    } catch (const std::bad_alloc&) {  // the memory stays what it is
    }
    if (file_ >= 0) close(file_);
    file_ = -1;
}

ReportPage::~ReportPage() {
    hide();
}

bool ReportPage::show() {
    FCI_ASSERT(file_ < 0);
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size()) return false;
    file_ = open_memory_file(kReportName);
    if (file_ < 0) return false;
    // The page is there before it is mapped: no access to it can end in SIGBUS.
    if (posix_fallocate(file_, 0, static_cast<off_t>(size())) != 0) return false;
    // A child of fork() counts for itself, and does not show its parent's figures.
    fork_watch_.emplace([](void* page) noexcept { static_cast<ReportPage*>(page)->hide(); }, this);
    if (lay_over(report_, file_)) {
        if (seal_memory_file(file_)) return true;
        (void)lay_over(report_, -1);
    }
    fork_watch_.reset();
    return false;
}

/// The memory is this process's own again, with the same contents.
void ReportPage::hide() noexcept {
    if (file_ < 0) return;
    Report kept;
    std::memcpy(&kept, report_, sizeof kept);
    kept.head.magic = 0;
    if (lay_over(report_, -1)) std::memcpy(report_, &kept, sizeof kept);
    close(file_);
    file_ = -1;
}

void ReportPage::open(const std::string& driver, const std::string& protocol,
                      const std::string& wait_policy, const std::string& summary,
                      std::uint64_t job) noexcept {
    ReportHead& head = report_->head;
    head.version = kReportVersion;
    head.bytes = sizeof(Report);
    head.counters_digest = counters_digest();
    head.job = job;
    head.pid = static_cast<std::uint64_t>(getpid());
    put(head.driver, driver);
    put(head.protocol, protocol);
    put(head.wait_policy, wait_policy);
    put(head.summary, summary);
    flag::store_release(head.magic, kReportMagic);
}

void ReportPage::update(const ReportFigures& figures) noexcept {
    ReportFigures& shown = report_->head.figures;
    flag::store_relaxed(shown.known_peers, figures.known_peers);
    flag::store_relaxed(shown.connected_peers, figures.connected_peers);
    flag::store_relaxed(shown.peers_file, figures.peers_file);
    flag::store_relaxed(shown.memory.shared, figures.memory.shared);
    flag::store_relaxed(shown.memory.shared_peers, figures.memory.shared_peers);
    flag::store_relaxed(shown.memory.mapped, figures.memory.mapped);
    flag::store_relaxed(shown.memory.fixed, figures.memory.fixed);
    flag::store_relaxed(shown.memory.known, figures.memory.known);
    flag::store_relaxed(shown.memory.connected, figures.memory.connected);
    flag::store_relaxed(shown.memory.unexpected, figures.memory.unexpected);
}

}  // namespace fci
