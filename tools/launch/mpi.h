// SPDX-License-Identifier: BSD-3-Clause
// Mpi: which MPI a library is, and how FCI gets into it.
#pragma once

#include <string>

namespace fci::tools {

enum class Mpi {
    none,
    open_mpi,
    mpich,  // of device ch4:ofi, which loads the provider
    intel,
    fci,    // an MPICH with FCI as its device, which needs nothing
    ch4,    // an MPICH without libfabric, which can load nothing
    other,  // FCI has no way into it
};

/// By the words that the library holds.
Mpi mpi_of(const std::string& library);
/// As --mpi has it: "openmpi", "mpich" or "intel".
const char* word_of(Mpi mpi);
/// "Open MPI", "MPICH".
std::string name_of(Mpi mpi);
/// The MPI that names the launcher: all MPICHs have Hydra.
Mpi launcher_of(Mpi mpi);
/// Programs of the one are started by the launcher of the other.
bool are_related(Mpi one, Mpi other);

/// "4.1" of "4.1.4".
std::string release_of(const std::string& version);

}  // namespace fci::tools
