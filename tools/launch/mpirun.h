// SPDX-License-Identifier: BSD-3-Clause
// Mpirun: a launcher: the one that would start a program here, that has started this process, or
// that belongs to an MPI's library.
#pragma once

#include <string>

#include "tools/launch/mpi.h"

namespace fci::tools {

struct Launcher {
    std::string path;  // empty: there is none
    Mpi mpi = Mpi::none;
    std::string title;    // "MPICH 4.0.2"; empty: it does not say
    std::string version;  // of its MPI: "4.0.2"; empty: likewise
    bool in_job = false;
};

/// By what it says of itself.
Launcher launcher_at(const std::string& path);
/// Whether a word of a command line names one.
bool is_launcher_name(const std::string& word);
/// Slurm's srun, which is of no MPI.
bool is_slurm(const Launcher& launcher);
/// The one of this MPI, or of its relative, in the installation that a library belongs to (may be
/// empty), or the first of PATH. Its path is empty where there is none.
Launcher launcher_for(Mpi mpi, const std::string& library);

/// In a job the one among the ancestors of this process; else the first of PATH.
Launcher find_launcher();

/// A program of the same installation, or the first one in PATH; or nothing.
std::string find_beside(const Launcher& launcher, const std::string& name);

/// The libfabric that its MPI loads: one of its own, as wheels have, or the loader's by its name.
std::string libfabric_of(const Launcher& launcher);

/// The device for which an MPICH was built: "ch4:ucx ofi". Empty: it does not say.
std::string device_of(const Launcher& launcher);

}  // namespace fci::tools
