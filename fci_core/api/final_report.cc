// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/final_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fci_core/api/version.h"
#include "fci_core/base/log.h"

namespace fci::api {

namespace {

std::string line_of(const FinalReport& report, const Counters& counters) {
    const std::string pid = "pid " + std::to_string(getpid());
    const bool is_known = report.rank >= 0;
    std::string text = "counters of " +
                       (is_known ? "rank " + std::to_string(report.rank) + " (" + pid + ")" : pid) +
                       ":";
    for (unsigned i = 0; i < kCounters; ++i) {
        const std::uint64_t value = counter_value(counters, i);
        if (value == 0) continue;
        text += std::string(" ") + kCounterTexts[i].name + " " + std::to_string(value);
    }
    return text;
}

/// Without what JSON would have to escape.
std::string plain(const std::string& text) {
    std::string kept;
    for (const char c : text) {
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') kept += c;
    }
    return kept;
}

std::string host_name() {
    char name[256] = "";
    return gethostname(name, sizeof name - 1) == 0 ? plain(name) : "";
}

/// All other texts are words of FCI's own, so nothing needs to be escaped.
std::string json_of(const FinalReport& report, const Counters& counters,
                    const FinalReport::Names& names) {
    std::string text = "{\"pid\":" + std::to_string(getpid()) +
                       ",\"rank\":" + (report.rank < 0 ? "null" : std::to_string(report.rank)) +
                       ",\"ranks\":" + std::to_string(report.ranks) + ",\"host\":\"" +
                       host_name() + "\",\"version\":\"" FCI_VERSION_TEXT "\",\"for\":\"" +
                       plain(report.user_agent) + "\",\"seconds\":" +
                       std::to_string(report.seconds()) +
                       ",\"driver\":\"" + names.driver + "\",\"protocol\":\"" + names.protocol +
                       "\",\"wait\":\"" + names.wait + "\",\"counters\":{";
    for (unsigned i = 0; i < kCounters; ++i) {
        text += std::string(i == 0 ? "\"" : ",\"") + kCounterTexts[i].name +
                "\":" + std::to_string(counter_value(counters, i));
    }
    return text + "}}\n";
}

/// By one write, so that lines of several processes do not mix.
void append(const std::string& file, const std::string& line) {
    const int fd = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const bool written =
        fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    const int why = errno;
    if (fd >= 0) close(fd);
    if (written) return;
    log::line(true, "the report could not be written to '" + file + "' (FCI_REPORT): " +
                        std::strerror(why) + ". Name a file in a directory that this user may "
                        "write to and that has room.");
}

}  // namespace

void FinalReport::tell(const Counters& counters, const Names& names) const noexcept try {
    if (owner != getpid()) return;
    if (as_line) log::line(true, line_of(*this, counters));
    if (!file.empty()) append(file, json_of(*this, counters, names));
} catch (...) {
    // No memory: the program ends all the same.
}

}  // namespace fci::api
