// SPDX-License-Identifier: BSD-3-Clause
// Mpirun: the launcher that would start a program here, or that has started this one.
#pragma once

#include <string>

namespace fci::info {

enum class Mpi { none, open_mpi, mpich, intel, other };

struct Launcher {
    std::string path;  // empty: there is none
    Mpi mpi = Mpi::none;
    std::string title;  // "MPICH 4.0.2"; empty: it does not say
    bool in_job = false;
};

/// In a job the one among the ancestors of this process; else the first of PATH.
Launcher find_launcher();

/// A program of the same installation, or the first one in PATH; or nothing.
std::string find_beside(const Launcher& launcher, const std::string& name);

/// What an MPICH was built for: "ch4:ucx ofi". Empty: it does not say.
std::string device_of(const Launcher& launcher);

}  // namespace fci::info
