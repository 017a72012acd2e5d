// SPDX-License-Identifier: BSD-3-Clause
// Settings: what each MPI must be told to send its messages over FCI. Each reads its own variables
// only, so all of them can be set at once. docs/mpis.md says why.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/installation.h"

namespace fci::tools {

struct Setting {
    std::string name, value;
};
using SettingList = std::vector<Setting>;

/// Names for --mpi, besides those of a release: "openmpi-4.1".
inline constexpr const char* kWays = "openmpi openmpi-ofi mpich intel";
bool is_way(const std::string& name);

/// The way of an MPI that is asked for, as it can be taken here.
struct Way {
    std::string name;       // "openmpi", "openmpi-ofi", "openmpi-4.1", "mpich", "intel"; empty: all
    std::string release;    // of Open MPI, where FCI's component is meant: "4.1"
    std::string component;  // its directory; empty: there is none, and libfabric carries Open MPI
    std::string network;    // where Open MPI's own layers shall be; empty: they choose

    [[nodiscard]] bool is_native() const {
        return name.starts_with("openmpi") && !component.empty();
    }
    /// Throws Refusal where the way cannot be taken.
    static Way find(const Installation& here, const std::string& name);
};

/// "4.1" of "openmpi-4.1"; empty for every other way.
std::string release_in(const std::string& way);

/// All that is to be in the environment.
SettingList environment_of(const Installation& here, const Way& way);

/// A variable that begins as FCI's do, but belongs to the tests or to bench/.
bool is_of_others(const std::string& variable);

/// Words FCI_NAME=VALUE: their names are FCI's, and the values can be used. `checks_network`: also
/// where FCI_NET leads on this host. They are in the environment then. Throws Refusal.
SettingList apply_assignments(const std::vector<std::string>& words, bool checks_network);

}  // namespace fci::tools
