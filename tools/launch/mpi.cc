// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/mpi.h"

#include "tools/launch/binary.h"

namespace fci::tools {

namespace {

/// An MPICH names the modules of its device: "ch4:ofi", "ch4:ucx ofi", "ch4:ofi,ucx".
bool has_module_ofi(const Binary& library) {
    for (const char* device : {"ch4:ofi", "ch4:ucx ofi", "ch4:ucx,ofi", "ch4:fci ofi"}) {
        if (library.holds(device)) return true;
    }
    return false;
}

}  // namespace

Mpi mpi_of(const std::string& library) {
    const Binary file(library);
    if (file.holds("ompi_mpi_init")) return Mpi::open_mpi;
    if (file.holds("Intel(R) MPI Library")) return Mpi::intel;
    if (!file.holds("ch4:") || file.holds("MVAPICH")) return Mpi::other;
    if (file.holds("ch4:fci")) return Mpi::fci;
    return has_module_ofi(file) ? Mpi::mpich : Mpi::ch4;
}

const char* word_of(Mpi mpi) {
    switch (mpi) {
        case Mpi::open_mpi:
            return "openmpi";
        case Mpi::intel:
            return "intel";
        default:
            return "mpich";
    }
}

std::string name_of(Mpi mpi) {
    switch (mpi) {
        case Mpi::open_mpi:
            return "Open MPI";
        case Mpi::intel:
            return "Intel MPI";
        default:
            return "MPICH";
    }
}

Mpi launcher_of(Mpi mpi) {
    return mpi == Mpi::open_mpi || mpi == Mpi::intel ? mpi : Mpi::mpich;
}

bool are_related(Mpi one, Mpi other) {
    return launcher_of(one) == launcher_of(other) ||
           (one != Mpi::open_mpi && other != Mpi::open_mpi);
}

std::string release_of(const std::string& version) {
    return version.substr(0, version.find('.', version.find('.') + 1));
}

}  // namespace fci::tools
