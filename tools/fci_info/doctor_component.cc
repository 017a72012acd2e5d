// SPDX-License-Identifier: BSD-3-Clause
// Open MPI's component of FCI: whether there is one for the Open MPI that is used here, and whether
// that loads it.
#include "tools/fci_info/doctor.h"

namespace fci::tools::info {

namespace {

constexpr const char* kWhat = "Open MPI component";
constexpr const char* kRebuild =
    "Build FCI for this Open MPI (./configure --with-openmpi=MPICC), or let it use libfabric: "
    "fci-run --mpi openmpi-ofi.";

std::string name_of(const OpenMpi& mpi) {
    return "Open MPI " + mpi.version + " (" + mpi.info + ")";
}

/// There is one, and the path does not lead to it.
bool lies_elsewhere(const OpenMpi& mpi) {
    return mpi.starts && !mpi.own.empty() &&
           (":" + mpi.path.value + ":").find(":" + mpi.own + ":") == std::string::npos;
}

std::string remedy_for(const OpenMpi& mpi) {
    if (!mpi.starts) {
        return "Mend this path, or unset it: it is set in " + mpi.path.where + ".";
    }
    return lies_elsewhere(mpi) ? kRemedy : kRebuild;
}

void examine_chosen(const OpenMpi& mpi, Findings* findings) {
    add_ok(findings, "Open MPI", "pml = " + mpi.pml.value + " (" + mpi.pml.where + ")");
    if (mpi.version.empty()) {
        add_problem(findings, kWhat, "chosen, but no ompi_info in PATH says whether it loads",
                    "Put the programs of the Open MPI that is used into PATH.");
    } else if (mpi.error.empty()) {
        add_ok(findings, kWhat, name_of(mpi) + " loads it");
    } else {
        add_problem(findings, kWhat, name_of(mpi) + " does not load it: " + mpi.error,
                    remedy_for(mpi));
        findings->back().fci_env_mends = lies_elsewhere(mpi);
    }
}

void examine_other(const OpenMpi& mpi, bool ask, Findings* findings) {
    if (mpi.own.empty()) {
        add_ok(findings, kWhat, "none for " + name_of(mpi) + ", which can use libfabric");
        return;
    }
    const std::string file = mpi.own + "/mca_pml_fci.so";
    const std::string error = ask ? load_error(mpi, path_to_own(mpi)) : "";
    if (!error.empty()) {
        add_problem(findings, kWhat, name_of(mpi) + " does not load " + file + ": " + error,
                    kRebuild);
    } else {
        add_ok(findings, kWhat, file + (ask ? ", which loads" : "") + ", not chosen");
    }
}

}  // namespace

void examine_component(const OpenMpi& mpi, bool ask, Findings* findings) {
    const std::string asked_for = environment("OMPI_MCA_pml");
    if (list_names(mpi.pml.value, "fci")) {
        examine_chosen(mpi, findings);
    } else if (!mpi.starts) {
        add_problem(findings, kWhat, name_of(mpi) + " starts nothing: " + mpi.error,
                    remedy_for(mpi));
    } else if (list_names(asked_for, "fci")) {  // a file that wins over the environment
        add_problem(findings, kWhat,
                    "OMPI_MCA_pml=" + asked_for + " has no effect: pml = " + mpi.pml.value +
                        " in " + mpi.pml.where + " wins",
                    "Take pml out of that file.");
    } else if (!mpi.version.empty()) {
        examine_other(mpi, ask, findings);
    }
}

}  // namespace fci::tools::info
