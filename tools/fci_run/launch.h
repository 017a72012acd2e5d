// SPDX-License-Identifier: BSD-3-Clause
// Launch: the launcher is started, in the place of this process; or, where it calls ssh, as its
// child, so that one host that cannot be reached ends all of it with one sentence (remote-shell).
#pragma once

#include <string>
#include <vector>

#include "tools/launch/installation.h"
#include "tools/launch/mpi.h"

namespace fci::tools {

class Launch {
public:
    Launch(Mpi mpi, std::string launcher) : mpi_(mpi), launcher_(std::move(launcher)) {}

    /// It starts ranks on other hosts. What it calls ssh by is watched, unless the cluster has its
    /// own way, or the user said another one in a file.
    void watch(const Installation& here);
    /// Does not return where it is started in this process's place; else the exit code. Throws
    /// Refusal.
    [[nodiscard]] int run(const std::vector<std::string>& words) const;

private:
    [[nodiscard]] int attend(int child) const;
    void end(int child) const;

    const Mpi mpi_;
    const std::string launcher_;
    bool is_watched_ = false;
};

}  // namespace fci::tools
