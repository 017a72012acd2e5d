// SPDX-License-Identifier: BSD-3-Clause
// Whether MPICH and Intel MPI, as they are set up here, would use libfabric for their messages.
#include <initializer_list>

#include "tools/fci_info/doctor.h"

namespace fci::tools::info {

namespace {

struct Wanted {
    const char *variable, *value, *otherwise;
};

/// fci-run sets variables that are not set; one that is set to something else would stay so.
void examine(const char* mpi, std::initializer_list<Wanted> variables, Findings* findings) {
    std::string fine;
    bool wrong = false;
    for (const Wanted& wanted : variables) {
        const std::string value = environment(wanted.variable);
        if (value.empty()) continue;
        const std::string said = std::string(wanted.variable) + "=" + value;
        if (value == wanted.value) {
            fine += (fine.empty() ? "" : ", ") + said;
        } else {
            add_setting_problem(findings, mpi, said + ": " + wanted.otherwise, kRemedy);
            wrong = true;
        }
    }
    if (!wrong && !fine.empty()) add_ok(findings, mpi, fine);
}

}  // namespace

void examine_mpich(Findings* findings) {
    examine("MPICH",
            {{"MPIR_CVAR_CH4_NETMOD", "ofi", "no message goes through libfabric"},
             {"MPIR_CVAR_NOLOCAL", "1", "messages within the host stay in MPICH's own memory"}},
            findings);
}

void examine_intel(Findings* findings) {
    examine("Intel MPI",
            {{"I_MPI_FABRICS", "ofi", "messages within the host stay in Intel MPI's own memory"},
             {"I_MPI_OFI_PROVIDER", "fci", "another provider than FCI"}},
            findings);
    if (environment("I_MPI_FABRICS").empty() && !environment("I_MPI_ROOT").empty()) {
        add_setting_problem(
            findings, "Intel MPI",
            "set up here (I_MPI_ROOT) without I_MPI_FABRICS: messages within the host stay "
            "in its own memory",
            kRemedy);
    }
}

}  // namespace fci::tools::info
