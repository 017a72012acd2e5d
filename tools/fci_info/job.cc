// SPDX-License-Identifier: BSD-3-Clause
// Finding jobs under /proc. Processes come and go meanwhile: whatever cannot be read is not there.
#include "tools/fci_info/job.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "fci_core/base/launcher.h"
#include "tools/fci_info/job_page.h"

namespace fci::tools::info {

namespace {

constexpr std::size_t kEnvironmentMost = 4 << 20;
constexpr int kAncestorsMost = 64;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

class File {
public:
    explicit File(const std::string& path)
        : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    ~File() {
        if (fd_ >= 0) close(fd_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

    [[nodiscard]] std::string all() const {
        std::string text;
        char piece[4096];
        ssize_t got = 0;
        while (fd_ >= 0 && text.size() < kEnvironmentMost &&
               (got = read(fd_, piece, sizeof piece)) > 0) {
            text.append(piece, static_cast<std::size_t>(got));
        }
        return text;
    }

private:
    int fd_;
};

std::string link_of(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t bytes = readlink(path.c_str(), target, sizeof target);
    return {target, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

/// The entries of a directory of /proc that are numbers.
std::vector<pid_t> numbers_in(const std::string& path) {
    std::vector<pid_t> numbers;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
    if (directory == nullptr) return numbers;
    while (const dirent* entry = readdir(directory.get())) {
        if (const auto number = number_of<pid_t>(entry->d_name)) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// The name of a process, and the launcher that started it.
class Origin {
public:
    explicit Origin(pid_t pid)
        : folder_(folder_of(pid)),
          environment_(File(folder_ + "/environ").all()),
          status_(File(folder_ + "/status").all()) {}

    [[nodiscard]] std::string job() const { return job_name(lookup()); }
    [[nodiscard]] long rank() const { return rank_in_job(lookup()); }
    [[nodiscard]] std::string variable(std::string_view name) const {
        for (std::size_t at = 0; at < environment_.size();) {
            const std::size_t end = std::min(environment_.find('\0', at), environment_.size());
            const std::string_view line(environment_.data() + at, end - at);
            if (line.starts_with(name) && line.substr(name.size()).starts_with("=")) {
                return std::string(line.substr(name.size() + 1));
            }
            at = end + 1;
        }
        return {};
    }
    [[nodiscard]] pid_t parent() const { return number_of<pid_t>(last_word("PPid:")).value_or(0); }
    /// As the process itself sees it, in its own namespace.
    [[nodiscard]] std::uint64_t own_pid() const {
        return number_of<std::uint64_t>(last_word("NSpid:")).value_or(0);
    }
    [[nodiscard]] std::string program() const {
        std::string path = link_of(folder_ + "/exe");
        constexpr std::string_view kDeleted = " (deleted)";
        if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
        path = path.substr(path.rfind('/') + 1);
        if (path.empty()) path = last_word("Name:");
        return printable(path);
    }

private:
    [[nodiscard]] Lookup lookup() const {
        return [this](const char* name) { return variable(name); };
    }
    [[nodiscard]] std::string last_word(std::string_view label) const {
        const std::size_t at = ("\n" + status_).find("\n" + std::string(label));
        if (at == std::string::npos) return {};
        const std::string line = status_.substr(at, status_.find('\n', at) - at);
        return line.substr(line.find_last_of(" \t") + 1);
    }

    std::string folder_, environment_, status_;
};

/// The first ancestor that has no rank: it gave the ranks to the others. 0: there is none.
pid_t launcher_of(const Origin& process) {
    if (process.rank() < 0) return 0;
    pid_t pid = process.parent();
    for (int i = 0; pid > 1 && i < kAncestorsMost; ++i) {
        const Origin ancestor(pid);
        if (ancestor.rank() < 0) return pid;
        pid = ancestor.parent();
    }
    return 0;
}

bool is_memory_file(const std::string& path, const char* name) {
    return link_of(path) == std::string("/memfd:") + name + " (deleted)";
}

/// The rows of a context's peers.
std::vector<PeerRow> peers_of(pid_t pid, const Report& report) {
    const std::uint64_t file = report.head.figures.peers_file;
    const std::string path = folder_of(pid) + "/fd/" + std::to_string(file);
    if (file == ReportFigures::kNoFile || !is_memory_file(path, kPeersName)) return {};
    return read_rows(File(path).get());
}

/// The open contexts of a process. A child of fork() may hold those of its parent: they say so.
std::vector<Report> reports_of(pid_t pid, std::uint64_t own_pid, Jobs* jobs) {
    std::vector<Report> reports;
    std::set<std::pair<dev_t, ino_t>> seen;
    const std::string folder = folder_of(pid) + "/fd";
    for (const int fd : numbers_in(folder)) {
        const std::string path = folder + "/" + std::to_string(fd);
        if (!is_memory_file(path, kReportName)) continue;
        const File file(path);
        struct stat about {};
        if (fstat(file.get(), &about) != 0 || !seen.emplace(about.st_dev, about.st_ino).second) {
            continue;
        }
        Report report;
        switch (read_page(file.get(), &report)) {
            case PageState::good:
                if (report.head.pid == own_pid) reports.push_back(report);
                break;
            case PageState::not_open: break;
            case PageState::other_version: ++jobs->other_version; break;
            case PageState::damaged: ++jobs->damaged; break;
        }
    }
    return reports;
}

/// The launcher's name for a job tells jobs apart; without a launcher, the cookie does.
Job& job_of(const Origin& process, std::uint64_t cookie, std::vector<Job>* jobs) {
    Job job;
    job.name = printable(process.job());
    job.launcher = launcher_of(process);
    job.cookie = cookie;
    const auto key = [](const Job& of) {
        const bool named = !of.name.empty();
        return std::tuple(of.name, named ? 0 : of.launcher,
                          named || of.launcher != 0 ? 0 : of.cookie);
    };
    const auto known = std::find_if(jobs->begin(), jobs->end(),
                                    [&](const Job& other) { return key(other) == key(job); });
    if (known != jobs->end()) return *known;
    if (job.launcher != 0) job.launcher_program = Origin(job.launcher).program();
    jobs->push_back(std::move(job));
    return jobs->back();
}

}  // namespace

const char* word_for(PeerRow::State state) noexcept {
    switch (state) {
        case PeerRow::State::unmet: return "unmet";
        case PeerRow::State::connected: return "connected";
        case PeerRow::State::lost: return "lost";
    }
    return "?";
}

std::string address_of(const PeerRow& peer) {
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &peer.host, text, sizeof text);
    return text;
}

std::uint64_t JobContext::sent() const noexcept {
    const Counters& counted = report.counters;
    return counted.sent_inline + counted.sent_eager + counted.sent_announced + counted.sent_pushed +
           counted.sent_one_sided;
}

std::uint64_t JobContext::received() const noexcept {
    return report.counters.received_expected + report.counters.received_unexpected;
}

ReportFigures Job::sum() const noexcept {
    ReportFigures all{};
    for (const JobContext& context : contexts) {
        const ReportFigures& one = context.report.head.figures;
        all.known_peers += one.known_peers;
        all.connected_peers += one.connected_peers;
        all.memory += one.memory;
    }
    return all;
}

std::uint64_t Job::processes() const noexcept {
    std::set<pid_t> pids;
    for (const JobContext& context : contexts) pids.insert(context.pid);
    return pids.size();
}

JobMemory memory_of(const Job& job) noexcept {
    const ReportFigures sum = job.sum();
    const MemoryUse& memory = sum.memory;
    JobMemory shares;
    if (const auto ranks = job.processes(); ranks != 0) {
        shares.per_rank = (memory.shared + memory.private_bytes()) / ranks;
    }
    if (sum.connected_peers != 0) {
        shares.per_connected_peer = (memory.shared_peers + memory.connected) / sum.connected_peers;
    }
    if (sum.known_peers != 0) shares.per_known_peer = memory.known / sum.known_peers;
    return shares;
}

Jobs find_jobs(const JobSearch& search) {
    Jobs found;
    for (const pid_t pid : numbers_in("/proc")) {
        struct stat about {};
        if (stat(folder_of(pid).c_str(), &about) != 0) continue;
        if (about.st_uid != geteuid() && !search.all_users) {
            ++found.other_users;
            continue;
        }
        if (access((folder_of(pid) + "/fd").c_str(), R_OK) != 0) {
            found.other_users += about.st_uid != geteuid();
            continue;
        }
        const Origin origin(pid);
        for (const Report& report : reports_of(pid, origin.own_pid(), &found)) {
            job_of(origin, report.head.job, &found.jobs)
                .contexts.push_back({pid, origin.rank(), origin.program(), report,
                                     peers_of(pid, report)});
        }
    }
    for (Job& job : found.jobs) {
        std::stable_sort(job.contexts.begin(), job.contexts.end(),
                         [](const JobContext& a, const JobContext& b) {
                             return std::pair(a.rank, a.pid) < std::pair(b.rank, b.pid);
                         });
    }
    if (search.pid != 0) {
        std::erase_if(found.jobs, [&](const Job& job) {
            return std::none_of(job.contexts.begin(), job.contexts.end(),
                                [&](const JobContext& one) { return one.pid == search.pid; });
        });
    }
    return found;
}

}  // namespace fci::tools::info
