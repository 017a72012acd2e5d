// SPDX-License-Identifier: BSD-3-Clause
// Plan: the stages that one process goes through in one collective of a group with levels
// (§2.6.12): up in the table of its part, across between the parts, down again. It is a pure
// function of the kind of collective and of where the process stands; run.h goes through it.
#pragma once

#include <array>
#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/steps.h"

namespace fci::group {

enum class Stage : std::uint8_t {
    up,       // the table of a part combines what its members bring, at the leader
    hand,     // the root of a broadcast, which is no leader, hands it to its part by the table
    across,   // leaders exchange messages, in steps
    between,  // leaders meet in a table of theirs
    chain,    // the data go from host to host, with hints
    down,     // the leader tells its part, by the table
};

/// The direction of a collective's data.
enum class Flow : std::uint8_t {
    to_all,     // a barrier, or a reduction to all
    to_root,    // a reduction to one member
    from_root,  // a broadcast
    forming,    // the first one of a group: leaders tell each other what they have
};

/// The way of broadcasts between hosts. All members know whether there are hints, and leaders that
/// are not unsure know the same way.
enum class Way : std::uint8_t {
    plain,      // no hints: down a tree from the root, which leads its host
    by_chain,   // from leader to leader with hints
    by_tree,    // from leader to leader down a tree, as nobody hears hints for now
    is_unsure,  // this leader missed which way it is, and says so to all that may wait for it
};

/// Where a process stands in one collective.
struct Standing {
    unsigned parts, part;   // how many there are, and its own
    unsigned root_part;     // if there is a root
    bool root_is_first;     // of its part
    bool is_first, is_root;
    bool has_table;         // its part has several members
    bool by_messages;       // between parts; else there is a table of leaders
    bool is_lost;           // this part lacks the group, as a member died while it was formed
    Way way;                // of broadcasts
};

struct Plan {
    static constexpr unsigned kMost = 6;

    Flow flow = Flow::to_all;
    std::array<Stage, kMost> stages{};
    unsigned count = 0;
    Steps steps{};               // of Stage::across
    bool leads = false;          // this process speaks for its part
    bool first_leads = false;    // of each part, also of the root's
    bool ignores_input = false;  // in Stage::across: nothing that comes can help it
    bool has_trailer = false;    // behind the data that come across

    [[nodiscard]] static Plan of(Flow flow, const Standing& at) noexcept;
    void add(Stage stage) noexcept {
        FCI_ASSERT(count < kMost);
        stages[count++] = stage;
    }
};

}  // namespace fci::group
