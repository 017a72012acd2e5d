// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/job_output.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "tools/fci_info/output.h"

namespace fci::tools::info {

namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kPeersMost = 24;  // that are shown unasked

std::string kib(std::uint64_t bytes) { return std::to_string((bytes + 1023) / 1024); }

/// Columns as wide as what stands in them; words to the left, numbers to the right.
std::string table(const std::vector<Row>& rows, std::size_t words_from, std::size_t words_to) {
    std::vector<std::size_t> width(rows.front().size());
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    std::string text;
    for (const Row& row : rows) {
        std::string line = " ";
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool word = i >= words_from && i < words_to;
            const std::string blanks(width[i] - row[i].size(), ' ');
            line += " " + (word ? row[i] + blanks : blanks + row[i]) + " ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

Row row_of(const JobContext& one) {
    const ReportFigures& figures = one.report.head.figures;
    const Counters& counters = one.report.counters;
    return {one.rank < 0 ? "-" : std::to_string(one.rank),
            std::to_string(one.pid),
            one.program,
            one.report.head.driver,
            std::to_string(figures.known_peers) + "/" + std::to_string(figures.connected_peers),
            kib(figures.memory.shared),
            kib(figures.memory.private_bytes()),
            std::to_string(counters.sleeps) + "/" + std::to_string(counters.yields),
            std::to_string(one.sent()),
            std::to_string(one.received())};
}

Row sum_of(const Job& job) {
    const ReportFigures sum = job.sum();
    std::uint64_t sleeps = 0, yields = 0, sent = 0, received = 0;
    for (const JobContext& one : job.contexts) {
        sleeps += one.report.counters.sleeps;
        yields += one.report.counters.yields;
        sent += one.sent();
        received += one.received();
    }
    return {"sum",
            "",
            "",
            "",
            std::to_string(sum.known_peers) + "/" + std::to_string(sum.connected_peers),
            kib(sum.memory.shared),
            kib(sum.memory.private_bytes()),
            std::to_string(sleeps) + "/" + std::to_string(yields),
            std::to_string(sent),
            std::to_string(received)};
}

std::string hexadecimal(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
    return text;
}

std::string title(const Job& job) {
    std::string text = "Job";
    if (!job.name.empty()) text += " " + job.name;
    if (job.launcher != 0) {
        text += " of " + job.launcher_program + " (pid " + std::to_string(job.launcher) + ")";
    }
    if (job.name.empty() && job.launcher == 0) {
        text += " without a launcher, cookie " + hexadecimal(job.cookie);
    }
    const std::uint64_t processes = job.processes();
    return text + ": " + std::to_string(processes) + (processes == 1 ? " process" : " processes") +
           "\n  " + job.contexts.front().report.head.summary + "\n";
}

std::string memory_text(const Job& job) {
    const JobMemory memory = memory_of(job);
    const ReportFigures sum = job.sum();
    std::string text = "  memory per rank: " + std::to_string(memory.per_rank) + " bytes\n";
    if (sum.connected_peers != 0) {
        text += "  memory per peer: " + std::to_string(memory.per_connected_peer) +
                " bytes of it for each that is connected, " +
                std::to_string(memory.per_known_peer) + " for each that is known\n";
    }
    return text;
}

std::string name_of(const JobContext& one) {
    const std::string pid = "pid " + std::to_string(one.pid);
    return one.rank < 0 ? pid : "rank " + std::to_string(one.rank) + ", " + pid;
}

std::string counters_text(const Job& job) {
    std::string text;
    for (const JobContext& one : job.contexts) {
        text += "\n  counters of " + name_of(one) + "\n";
        for (unsigned i = 0; i < kCounters; ++i) {
            const std::uint64_t value = counter_value(one.report.counters, i);
            if (value == 0) continue;
            text += "    " + padded(kCounterTexts[i].name, 22) + std::to_string(value) + "\n";
        }
    }
    return text;
}

/// A peer that is reached by memory is shown without its address, which says nothing.
std::string way_of(const PeerRow& peer) {
    const std::string way = peer.way;
    if (way == "memory" || peer.host == 0) return way;
    return way + " " + address_of(peer) + ":" + std::to_string(ntohs(peer.port));
}

Row row_of(const PeerRow& peer) {
    return {peer.rank < 0 ? "-" : std::to_string(peer.rank),
            peer.pid == 0 ? "-" : std::to_string(peer.pid),
            way_of(peer),
            word_for(peer.state),
            kib(peer.bytes_sent),
            kib(peer.bytes_received),
            std::to_string(peer.waits)};
}

/// "reached by memory: 3 peers, 12 KiB sent, 12 KiB received, 0 waits"
std::string ways_text(const Job& job) {
    struct Sum {
        std::uint64_t peers = 0, sent = 0, received = 0, waits = 0;
    };
    std::map<std::string, Sum> ways;
    for (const JobContext& one : job.contexts) {
        for (const PeerRow& peer : one.peers) {
            Sum& sum = ways[peer.way];
            ++sum.peers;
            sum.sent += peer.bytes_sent;
            sum.received += peer.bytes_received;
            sum.waits += peer.waits;
        }
    }
    std::string text;
    for (const auto& [way, sum] : ways) {
        text += "  reached by " + way + ": " + std::to_string(sum.peers) +
                (sum.peers == 1 ? " peer, " : " peers, ") + kib(sum.sent) + " KiB sent, " +
                kib(sum.received) + " KiB received, " + std::to_string(sum.waits) + " waits\n";
    }
    return text;
}

std::string peers_text(const Job& job, bool all) {
    std::size_t peers = 0;
    for (const JobContext& one : job.contexts) peers += one.peers.size();
    std::string text = ways_text(job);
    if (peers > kPeersMost && !all) return text + "  each peer: fci_info --job --peers\n";
    for (const JobContext& one : job.contexts) {
        if (one.peers.empty()) continue;
        std::vector<Row> rows = {
            {"rank", "pid", "way", "state", "sent KiB", "received KiB", "waits"}};
        for (const PeerRow& peer : one.peers) rows.push_back(row_of(peer));
        text += "\n  peers of " + name_of(one) + "\n" + table(rows, 2, 4);
    }
    return text;
}

std::string job_text(const Job& job, JobDetails details) {
    std::vector<Row> rows = {{"rank", "pid", "program", "driver", "known/connected", "shared KiB",
                              "private KiB", "sleeps/yields", "sent", "received"}};
    for (const JobContext& one : job.contexts) rows.push_back(row_of(one));
    rows.push_back(sum_of(job));
    return title(job) + "\n" + table(rows, 2, 4) + "\n" + memory_text(job) +
           peers_text(job, details.peers) + (details.counters ? counters_text(job) : "");
}

std::string nothing_text(const JobSearch& search) {
    if (search.pid != 0) {
        return "Process " + std::to_string(search.pid) +
               " does not run over FCI, has ended, or cannot be looked into.\n";
    }
    return std::string("No process ") + (search.all_users ? "that can be looked into" :
                                                            "of this user") +
           " runs over FCI on this host.\n";
}

std::string notes_text(const Jobs& jobs) {
    std::string text;
    const auto note = [&](unsigned count, const char* one, const char* many) {
        if (count != 0) text += "Note: " + std::to_string(count) + (count == 1 ? one : many) + "\n";
    };
    note(jobs.other_version, " context belongs to another version of FCI; its fci_info shows it.",
         " contexts belong to other versions of FCI; their fci_info shows them.");
    note(jobs.damaged, " descriptor has the name of a report of FCI, and is none.",
         " descriptors have the name of a report of FCI, and are none.");
    note(jobs.other_users, " process of another user was not looked into.",
         " processes of other users were not looked into.");
    return text;
}

}  // namespace

std::string jobs_text(const Jobs& jobs, const JobSearch& search, JobDetails details) {
    std::string text;
    for (const Job& job : jobs.jobs) text += job_text(job, details) + "\n";
    if (jobs.jobs.empty()) text = nothing_text(search);
    return text + notes_text(jobs);
}

}  // namespace fci::tools::info
