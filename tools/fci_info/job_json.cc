// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "fci_core/api/icl.h"
#include "tools/fci_info/job_output.h"

namespace fci::tools::info {

using nlohmann::ordered_json;

namespace {

std::string hexadecimal(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(number));
    return text;
}

ordered_json figures_json(const ReportFigures& figures) {
    const MemoryUse& memory = figures.memory;
    return {{"known_peers", figures.known_peers},
            {"connected_peers", figures.connected_peers},
            {"shared_bytes", memory.shared},
            {"shared_bytes_for_peers", memory.shared_peers},
            {"mapped_bytes_of_peers", memory.mapped},
            {"private_bytes", memory.private_bytes()},
            {"private_bytes_fixed", memory.fixed},
            {"private_bytes_for_known_peers", memory.known},
            {"private_bytes_for_connected_peers", memory.connected},
            {"private_bytes_for_unexpected_messages", memory.unexpected}};
}

ordered_json peer_json(const PeerRow& peer) {
    return {{"rank", peer.rank < 0 ? ordered_json(nullptr) : ordered_json(peer.rank)},
            {"pid", peer.pid == 0 ? ordered_json(nullptr) : ordered_json(peer.pid)},
            {"way", peer.way},
            {"host", address_of(peer)},
            {"port", ntohs(peer.port)},
            {"state", word_for(peer.state)},
            {"bytes_sent", peer.bytes_sent},
            {"bytes_received", peer.bytes_received},
            {"waits", peer.waits}};
}

ordered_json context_json(const JobContext& one) {
    const ReportHead& head = one.report.head;
    ordered_json all = {{"rank", one.rank < 0 ? ordered_json(nullptr) : ordered_json(one.rank)},
                        {"pid", one.pid},
                        {"program", one.program},
                        {"cookie", hexadecimal(head.job)},
                        {"driver", head.driver},
                        {"protocol", head.protocol},
                        {"wait_policy", head.wait_policy},
                        {"summary", head.summary},
                        {"sent", one.sent()},
                        {"received", one.received()}};
    all.update(figures_json(head.figures));
    all["peers"] = ordered_json::array();
    for (const PeerRow& peer : one.peers) all["peers"].push_back(peer_json(peer));
    all["counters"] = ordered_json::object();
    for (unsigned i = 0; i < kCounters; ++i) {
        all["counters"][kCounterTexts[i].name] = counter_value(one.report.counters, i);
    }
    return all;
}

ordered_json job_json(const Job& job) {
    const JobMemory memory = memory_of(job);
    ordered_json all;
    all["name"] = job.name.empty() ? ordered_json(nullptr) : ordered_json(job.name);
    all["launcher"] = nullptr;
    if (job.launcher != 0) {
        all["launcher"] = {{"pid", job.launcher}, {"program", job.launcher_program}};
    }
    all["processes"] = job.processes();
    all["contexts"] = ordered_json::array();
    for (const JobContext& one : job.contexts) all["contexts"].push_back(context_json(one));
    all["sum"] = figures_json(job.sum());
    all["bytes_per_rank"] = memory.per_rank;
    all["bytes_per_connected_peer"] = memory.per_connected_peer;
    all["bytes_per_known_peer"] = memory.per_known_peer;
    return all;
}

}  // namespace

std::string jobs_json(const Jobs& jobs) {
    ordered_json all = {{"version", fci_icl_library_version()}};
    all["jobs"] = ordered_json::array();
    for (const Job& job : jobs.jobs) all["jobs"].push_back(job_json(job));
    all["contexts_of_other_versions"] = jobs.other_version;
    all["damaged_reports"] = jobs.damaged;
    all["processes_of_other_users"] = jobs.other_users;
    return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fci::tools::info
