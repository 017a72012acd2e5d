// SPDX-License-Identifier: BSD-3-Clause
// Open MPI: what the one that is used here says of itself: it is asked, by its ompi_info, since the
// environment, four files and its build decide together.
#pragma once

#include <optional>
#include <string>

#include "tools/launch/mpirun.h"
#include "tools/launch/surroundings.h"

namespace fci::tools::info {

struct Setting {
    std::string value, where;  // where empty: nobody set it
};

struct OpenMpi {
    std::string info;     // its ompi_info; empty: there is none
    std::string version;  // "4.1.4"; empty: that says nothing
    std::string own;      // directory of FCI's component for this release; empty: there is none
    std::string error;    // why it does not load FCI's component by that path; empty: it does
    bool starts = true;   // false: it finds not even the parts of mpirun by that path
    bool loads = true;    // components at all: it was not built with --disable-dlopen
    bool libfabric = false;
    Setting path, pml, mtl, osc;  // the first: of its components
    std::string providers;   // those that it takes of libfabric's, by name; empty: does not say
};

/// The question to an Open MPI, which takes it a quarter of a second.
class Inquiry {
public:
    explicit Inquiry(const Launcher& launcher);
    OpenMpi answer();  // once

private:
    OpenMpi mpi_;
    std::optional<Asked> asked_;
};

/// Why it does not load FCI's component by this path of directories; empty: it does.
std::string load_error(const OpenMpi& mpi, const std::string& path);
/// The path with FCI's component for this Open MPI in front.
std::string path_to_own(const OpenMpi& mpi);

/// By a list as "a,b" or "^a,b"; an empty one allows all.
bool list_allows(const std::string& list, const std::string& name);
/// In "a,b", not in "^a,b".
bool list_names(const std::string& list, const std::string& name);

}  // namespace fci::tools::info
