// How the data of one long message begins and ends to arrive: measured, so that the peer's CopyPath
// learns what its ways cost.
#pragma once

#include "fci_core/mp/engine.h"

namespace fci::mp {

inline void begin_transfer(Engine& engine, Order& order, Peer& peer) noexcept {
    order.transfer = peer.path.begin(order.chosen);
    order.started = engine.device.now();
}

/// All of it is here. `order`: the receive.
inline void end_transfer(Engine& engine, Order& order) noexcept {
    if (order.started != 0 && order.error == kSuccess) {
        engine.peers[order.peer].path.end(order.chosen, order.chosen_for, order.wanted,
                                          order.transfer, order.started, engine.device.now());
    }
    engine.orders.finish_later(order, order.error);
}

}  // namespace fci::mp
