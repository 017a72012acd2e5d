// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/launcher.h"

#include <arpa/inet.h>

#include <initializer_list>
#include <sstream>
#include <string_view>

#include "fci_core/base/environment.h"
#include "fci_core/base/parse.h"

namespace fci {

namespace {

/// The part of the name that the jobs of one launcher share. Open MPI 5 counts them behind an '@',
/// Open MPI 4 in the lower half of a number.
std::string family(const std::string& job) {
    const auto number = parse_number(job);
    if (number && *number >> 16 != 0) return std::to_string(*number >> 16);
    return job.substr(0, job.find('@'));
}

/// The rank in the first variable that is set; -1: none is set, or it is no rank.
int first_rank(const Lookup& variable, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const std::string text = variable(name);
        if (text.empty()) continue;
        const auto rank = parse_number(text);
        return rank && *rank < 0x80000000u ? static_cast<int>(*rank) : -1;
    }
    return -1;
}

/// Or 0.
unsigned positive(const std::string& text) {
    const auto number = parse_number(text);
    return number && *number < 1 << 20 ? static_cast<unsigned>(*number) : 0;
}

}  // namespace

std::string own_variable(const char* name) {
    const char* const value = environment_value(name);
    return value != nullptr ? value : "";
}

std::string job_name(const Lookup& variable) {
    for (const char* name : kJobVariables) {
        const std::string job = variable(name);
        if (!job.empty()) return name == kJobVariables[0] ? family(job) : job;
    }
    return {};
}

int rank_in_job(const Lookup& variable) {
    return first_rank(variable,
                      {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
}

int rank_on_host(const Lookup& variable) {
    return first_rank(variable, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
                                 "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
}

unsigned ranks_in_job(const Lookup& variable) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
        if (const unsigned ranks = positive(variable(name)); ranks != 0) return ranks;
    }
    if (variable("SLURM_PROCID").empty()) return 0;  // in an allocation, not started by it
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
        if (const unsigned ranks = positive(variable(name)); ranks != 0) return ranks;
    }
    return 0;
}

unsigned slurm_tasks_on_node(const std::string& text, unsigned node) {
    std::istringstream groups(text);
    for (std::string group; std::getline(groups, group, ',');) {  // "2(x3)" or "1"
        const std::size_t bracket = group.find("(x");
        const unsigned tasks = positive(group.substr(0, bracket));
        unsigned nodes = 1;
        if (bracket != std::string::npos) {
            if (group.back() != ')') return 0;
            nodes = positive(group.substr(bracket + 2, group.size() - bracket - 3));
        }
        if (tasks == 0 || nodes == 0) return 0;
        if (node < nodes) return tasks;
        node -= nodes;
    }
    return 0;
}

unsigned ranks_on_host(const Lookup& variable) {
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE",
                             "MV2_COMM_WORLD_LOCAL_SIZE"}) {
        if (const unsigned ranks = positive(variable(name)); ranks != 0) return ranks;
    }
    if (variable("SLURM_PROCID").empty()) return 0;  // in an allocation, not started by it
    const std::string id = variable("SLURM_NODEID");
    const unsigned node = positive(id);
    if (node == 0 && id != "0") return 0;
    for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
        if (const unsigned ranks = slurm_tasks_on_node(variable(name), node)) return ranks;
    }
    return 0;
}

bool has_more_hosts(const Lookup& variable) {
    for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                             "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}) {
        if (!variable(name).empty()) return true;
    }
    return positive(variable("SLURM_JOB_NUM_NODES")) > 1;
}

bool was_spawned(const Lookup& variable) {
    return positive(variable("PMI_SPAWNED")) != 0 || !variable("OMPI_PARENT_PORT").empty();
}

std::vector<std::uint32_t> numeric_addresses(const std::string& text) {
    constexpr std::size_t kMost = 64;
    std::vector<std::uint32_t> addresses;
    const auto add_list = [&](std::size_t begin) {
        std::istringstream list(text.substr(begin, text.find_first_of(":;", begin) - begin));
        for (std::string item; addresses.size() < kMost && std::getline(list, item, ',');) {
            in_addr address{};
            if (inet_pton(AF_INET, item.c_str(), &address) != 1) continue;
            const bool is_loopback = ntohl(address.s_addr) >> 24 == 127;
            if (!is_loopback && address.s_addr != 0) addresses.push_back(address.s_addr);
        }
    };
    static constexpr std::string_view kScheme = "://";
    std::size_t at = text.find(kScheme);
    if (at == std::string::npos) add_list(0);
    for (; at != std::string::npos; at = text.find(kScheme, at)) add_list(at += kScheme.size());
    return addresses;
}

std::vector<std::uint32_t> launcher_addresses(const Lookup& variable) {
    // Open MPI 4; the daemons of Open MPI 5; PMIx, whose server is the daemon of this host; Slurm;
    // Hydra.
    for (const char* name :
         {"OMPI_MCA_orte_hnp_uri", "PRTE_MCA_prte_hnp_uri", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
          "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2", "PMIX_SERVER_URI",
          "SLURM_LAUNCH_NODE_IPADDR", "PMI_PORT"}) {
        auto addresses = numeric_addresses(variable(name));
        if (!addresses.empty()) return addresses;
    }
    return {};
}

bool was_bound_at_launch(const Lookup& variable) {
    return !variable("OMPI_MCA_orte_bound_at_launch").empty();
}

}  // namespace fci
