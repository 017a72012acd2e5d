// SPDX-License-Identifier: BSD-3-Clause
// Choice: which MPI a call is about, with which launcher, and how FCI gets into it: the knowledge
// that fci-run acts by, and fci_info --which shows.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/installation.h"
#include "tools/launch/mpirun.h"
#include "tools/launch/program.h"
#include "tools/launch/settings.h"

namespace fci::tools {

struct Choice {
    Mpi mpi = Mpi::none;
    std::string program;  // as it was called
    std::string file;     // where it lies
    std::string library;  // its libmpi; empty: only the launcher is known
    Launcher launcher;
    std::string way;   // for fci-env's settings: "openmpi-4.1", "mpich"; empty: nothing is set
    std::string plug;  // "FCI's component", "the libfabric provider", "FCI as its device", or ""
    std::string note;  // why another installation than the program's own is taken; or ""

    /// "Open MPI 4.1.4"
    [[nodiscard]] std::string title() const;
};

struct Question {
    std::vector<std::string> words;  // the program, or a launcher, and what follows
    bool has_launcher = false;
    std::string way;     // asked for by --mpi; empty: find out
    bool plain = false;  // only MPI and launcher
};

/// May set LD_LIBRARY_PATH, PATH and I_MPI_ROOT for what is chosen. Throws Refusal.
Choice choose(const Installation& here, const Question& question);
/// The variables for the environment of the chosen MPI.
SettingList settings_for(const Installation& here, const Choice& choice);

}  // namespace fci::tools
