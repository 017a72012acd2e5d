// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/job_page.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace fci::tools::info {

namespace {

constexpr off_t kMost = 1 << 20;  // no machine has larger pages

template <std::size_t N>
bool clean(char (&text)[N]) {
    if (std::memchr(text, 0, N) == nullptr) return false;
    for (char& c : text) {
        if (c != 0 && (c < ' ' || c > '~')) c = '?';
    }
    return true;
}

}  // namespace

PageState check_page(std::span<const std::byte> bytes, Report* page) {
    if (bytes.size() < sizeof *page) return PageState::damaged;
    std::memcpy(page, bytes.data(), sizeof *page);
    ReportHead& head = page->head;
    if (head.magic == 0) return PageState::not_open;
    if (head.magic != kReportMagic) return PageState::damaged;
    if (head.version != kReportVersion || head.bytes != sizeof *page ||
        head.counters_digest != counters_digest()) {
        return PageState::other_version;
    }
    const bool whole = clean(head.driver) && clean(head.protocol) && clean(head.wait_policy) &&
                       clean(head.summary);
    return whole ? PageState::good : PageState::damaged;
}

PageState read_page(int file, Report* page) {
    // Only a memory file has seals. It is read, not mapped: nothing can be taken away meanwhile.
    constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
    const int seals = fcntl(file, F_GET_SEALS);
    struct stat about {};
    if (seals < 0 || (seals & kSize) != kSize || fstat(file, &about) != 0 ||
        !S_ISREG(about.st_mode) || about.st_size > kMost) {
        return PageState::damaged;
    }
    std::array<std::byte, sizeof(Report)> bytes;
    const ssize_t got = pread(file, bytes.data(), bytes.size(), 0);
    return check_page({bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got)}, page);
}

std::vector<PeerRow> read_rows(int file) {
    struct stat about {};
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return {};
    std::vector<PeerRow> rows;
    // Those that are there have no gap between them.
    for (PeerRow row; rows.size() < PeerRow::kShownMost; rows.push_back(row)) {
        const auto at = static_cast<off_t>(rows.size() * sizeof row);
        if (pread(file, &row, sizeof row, at) != sizeof row || row.way[0] == 0) break;
        if (!clean(row.way) || row.state > PeerRow::State::lost) break;
    }
    return rows;
}

std::string printable(std::string text) {
    for (char& c : text) {
        if (c < ' ' || c > '~') c = '?';
    }
    return text;
}

}  // namespace fci::tools::info
