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

    /// For a launcher that starts ranks on other hosts: it calls remote-shell instead of ssh,
    /// unless a batch system starts its daemons, or the user has named another command than ssh.
    void watch(const Installation& here);
    /// Starts the launcher. Returns its exit code where watch() has found something to watch;
    /// otherwise the launcher takes the place of this process. Throws Refusal.
    [[nodiscard]] int run(const std::vector<std::string>& words) const;

private:
    [[nodiscard]] int attend(int child) const;
    void end(int child) const;

    const Mpi mpi_;
    const std::string launcher_;
    bool is_watched_ = false;
};

}  // namespace fci::tools
