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
    std::string component;  // for Open MPI: the directory of FCI's; empty: by libfabric
    std::string network;    // where Open MPI's own layers shall be; empty: they choose

    [[nodiscard]] bool is_native() const {
        return name.starts_with("openmpi") && !component.empty();
    }
    /// `network`: what FCI_NET says. Throws Refusal where the way cannot be taken.
    static Way find(const Installation& here, const std::string& name, const std::string& network);
};

/// For a component found in PATH's Open MPI, as fci-run finds it for a program.
std::string release_in_path();

/// Of one MPI ("openmpi...", "mpich", "intel"), without the provider.
SettingList settings_of(const std::string& mpi, const Way& way);
/// All that is to be in the environment.
SettingList environment_of(const Installation& here, const Way& way);
/// FI_PROVIDER_PATH with the provider's directory in front; empty: libfabric looks there by itself.
std::string provider_path(const Installation& here);

/// FCI_NAME=VALUE: the names are FCI's, and the values can be used. `checks_network`: also where
/// FCI_NET leads on this host. Sets them in the environment; throws Refusal.
void apply_assignments(const std::vector<std::string>& words, bool checks_network);

}  // namespace fci::tools
