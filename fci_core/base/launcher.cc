#include "fci_core/base/launcher.h"

#include <initializer_list>

#include "fci_core/base/environment.h"
#include "fci_core/base/parse.h"

namespace fci {

namespace {

/// What the jobs of one launcher have in common. Open MPI 5 counts them behind an '@', Open MPI 4
/// in the lower half of a number.
std::string family(const std::string& job) {
    const auto number = parse_number(job);
    if (number && *number >> 16 != 0) return std::to_string(*number >> 16);
    return job.substr(0, job.find('@'));
}

/// What the first variable that is set says; -1: none is, or that is no rank.
int first_rank(const Lookup& variable, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const std::string text = variable(name);
        if (text.empty()) continue;
        const auto rank = parse_number(text);
        return rank && *rank < 0x80000000u ? static_cast<int>(*rank) : -1;
    }
    return -1;
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

}  // namespace fci
