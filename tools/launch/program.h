// SPDX-License-Identifier: BSD-3-Clause
// Program: which MPI's library a program is linked to; of a Python script, the one of its mpi4py.
#pragma once

#include <string>

namespace fci::tools {

struct Program {
    std::string name;     // as it was called
    std::string file;     // where it lies; empty: nowhere
    std::string library;  // its libmpi; empty: none is to be seen
    std::string lacking;  // the name of a libmpi that the loader does not find
};

/// Throws Refusal where a Python program cannot load its mpi4py.
Program look_at(const std::string& name);

/// Looks for a library that the loader does not find beside the program, the launcher (may be
/// empty), and in $I_MPI_ROOT and $VIRTUAL_ENV; puts the directory into LD_LIBRARY_PATH, and says
/// whether.
bool find_lacking(Program* program, const std::string& launcher);

/// Throws Refusal where there is no program of that name, or nobody may run it.
void insist_on_program(const std::string& name);

}  // namespace fci::tools
