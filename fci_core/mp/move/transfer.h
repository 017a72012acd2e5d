// SPDX-License-Identifier: BSD-3-Clause
// Asks for the data of one long message, and measures from its begin to its end, so that the peer's
// CopyPath learns the cost of each path.
#pragma once

#include "fci_core/mp/engine.h"

namespace fci::mp {

/// Tells the sender of the message which way its data shall come. `order`: the receive.
inline void ask_for_data(Engine& engine, const Order& order, Peer& peer) noexcept {
    const ClearToSendRecord record{order.peer_handle,
                                   order.handle,
                                   reinterpret_cast<std::uint64_t>(order.data),
                                   order.wanted,
                                   order.piece_bytes,
                                   order.claim_name(),
                                   static_cast<std::uint8_t>(order.path),
                                   0};
    engine.outbox.put(peer, pack(Control{Kind::clear_to_send, 0, 0}, record));
}

inline void begin_transfer(Engine& engine, Order& order, Peer& peer) noexcept {
    if (order.chosen == Path::direct) return;  // no other path was possible
    order.timing.number = peer.path.begin(order.chosen);
    order.timing.started = engine.device.now();
    order.timing.paid_for_memory = false;
}

/// All of it is here. `order`: the receive.
inline void end_transfer(Engine& engine, Order& order) noexcept {
    Peer& peer = engine.peers[order.peer];
    peer.row->bytes_received += order.wanted;
    if (order.timing.started != 0 && order.error == kSuccess) {
        peer.path.end({order.chosen, order.timing.chosen_for, order.wanted, order.timing.number,
                       order.timing.started, engine.device.now(), !order.timing.paid_for_memory});
    }
    engine.orders.finish_later(order, order.error);
}

}  // namespace fci::mp
