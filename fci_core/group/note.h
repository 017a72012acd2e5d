// Note: what members of a group tell each other outside of its collectives.
#pragma once

#include <cstdint>
#include <span>

#include "fci_core/group/offers.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

/// Set by the owner: where the table is, of name 0 where there is none. By another member: it
/// cannot join the table of this name. By the last one of a chain: nobody had a hint of that
/// broadcast. By one in it: it lacks that broadcast, which may linger at the one before.
struct Note {
    std::uint64_t key;
    Table table;
    std::uint64_t cannot;   // 0: the owner speaks. Else the rank of who does, counted from 1
    std::uint64_t unheard;  // 0, or the broadcast; then nothing else but the key is said
    std::uint64_t lacked;   // likewise
};

/// It fails only where the peer is lost, which whoever waits for it sees.
inline void tell(mp::MessagePassing& messages, nhi::PeerId peer, const Note& note) {
    (void)messages.send(mp::active_message(peer, mp::ActiveMessages::kOfGroups, 0,
                                           std::as_bytes(std::span(&note, 1)), {}),
                        {}, nullptr);
}

}  // namespace fci::group
