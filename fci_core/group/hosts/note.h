// SPDX-License-Identifier: BSD-3-Clause
// Note: what members of a group tell each other outside of its collectives.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "fci_core/group/hints/hint_slots.h"
#include "fci_core/group/table/offers.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

/// How far one who speaks for its host has come with a long broadcast. To its root.
struct Said {
    std::uint64_t number;   // counted from 1; 0: nothing is said of one
    std::uint32_t at;       // up to there it has all; or where what it wants begins
    std::uint32_t wanted;   // so much from there, which is answered by a message; 0: nothing
    std::uint64_t heard;    // so much has come by hints
};

/// Set by the owner: where the table is, of name 0 where there is none. By another member: it
/// cannot join the table of this name. By the last one of a chain: nobody had a hint of that
/// broadcast, and whether anybody hears hints at all. By one in it: it lacks that broadcast, which
/// may linger at the one before. By the one that speaks for the root of long ones: too much of them
/// is lost.
struct Note {
    std::uint64_t key;
    Table table;
    std::uint64_t cannot;   // 0: the owner speaks. Else the rank of who does, counted from 1
    std::uint64_t unheard;  // 0, or the broadcast; then nothing else but the key is said
    std::uint64_t lacked;   // likewise
    Said said;              // likewise, if it has a number
    std::uint64_t is_lossy;  // likewise
    Hears hears;             // with `unheard`: the most that any member hears
    std::array<std::uint16_t, 3> unused;
};

/// It fails only where the peer is lost, which whoever waits for it sees.
inline void tell(mp::MessagePassing& messages, nhi::PeerId peer, const Note& note) {
    (void)messages.send(mp::active_message(peer, mp::ActiveMessages::kOfGroups, 0,
                                           std::as_bytes(std::span(&note, 1)), {}),
                        {}, nullptr);
}

/// Of a long broadcast. To one who wants a part of it: that this does not come. To where it comes
/// from, by one who takes no part in it, and need not have the group at all: so this is a message,
/// which waits there for the other one.
inline void send_nothing(mp::MessagePassing& messages, nhi::PeerId peer, std::uint64_t match) {
    (void)messages.send({peer, mp::kGroupSpace, mp::kSendImmediate, match, 0, {}}, {}, nullptr);
}

}  // namespace fci::group
