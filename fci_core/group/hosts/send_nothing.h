// SPDX-License-Identifier: BSD-3-Clause
// send_nothing: a message that brings no data of a long broadcast, but ends the wait for them.
#pragma once

#include <cstdint>

#include "fci_core/mp/message_passing.h"

namespace fci::group {

/// To a member that wants a part of it: that this does not come. To the leader from which it comes,
/// by one that takes no part in it, and need not have the group at all: so this is a message, which
/// waits there for the leader. `match`: of its messages. May throw bad_alloc.
inline void send_nothing(mp::MessagePassing& messages, nhi::PeerId peer, std::uint64_t match) {
    (void)messages.send({peer, mp::kGroupSpace, mp::kSendImmediate, match, 0, {}}, {}, nullptr);
}

}  // namespace fci::group
