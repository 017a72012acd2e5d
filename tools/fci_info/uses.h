// SPDX-License-Identifier: BSD-3-Clause
// Uses: what carries the messages of a program that mpirun starts here, or of the job that this
// process belongs to, and how to make that FCI.
#pragma once

#include <string>

#include "tools/launch/mpirun.h"
#include "tools/fci_info/open_mpi.h"

namespace fci::tools::info {

/// How FCI gets into an MPI.
enum class Plug { component, provider, device };

const char* name_of(Plug plug);

/// The reason that keeps this plug from being used, once it is chosen.
enum class Health {
    sound,     // nothing
    settings,  // only what fci-env sets right
    broken,
};

struct Uses {
    Launcher launcher;
    Plug plug = Plug::provider;  // by which this MPI gets FCI, or would
    bool fci = false;
    std::string text;  // one line
};

/// The plug that is chosen here; where none is, the better one of those that can be.
Plug plug_of(const Launcher& launcher, const OpenMpi& mpi);

Uses uses_of(const Launcher& launcher, const OpenMpi& mpi, Plug plug, Health health);

}  // namespace fci::tools::info
