// SPDX-License-Identifier: BSD-3-Clause
// Hosts: on which hosts a job is to run, each with its slots, as a list on the command line or a
// file in either of the launchers' forms says; and how a launcher is told.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/mpi.h"

namespace fci::tools {

class Hosts {
public:
    struct Host {
        std::string name;
        unsigned slots;
    };

    /// "a,b:4,c"; `option` is how it was called. Throws Refusal.
    static Hosts in_list(const std::string& option, const std::string& list);
    /// Lines as "a slots=4" or "a:4"; # begins a comment. Throws Refusal.
    static Hosts in_file(const std::string& option, const std::string& file);

    [[nodiscard]] bool empty() const { return hosts_.empty(); }
    [[nodiscard]] unsigned slots() const;       // of all
    [[nodiscard]] unsigned most_slots() const;  // of one
    [[nodiscard]] std::string text() const;     // "a:1,b:4"

    /// A file in no directory, which launchers read by the name of a descriptor that stays open:
    /// nothing is left of it, however they end. The ranks know by that that what they spawn may be
    /// on another host. Throws Refusal.
    void hand_over(Mpi mpi) const;

private:
    void add(const std::string& where, const std::string& line, const std::string& remedy);

    std::vector<Host> hosts_;
};

}  // namespace fci::tools
