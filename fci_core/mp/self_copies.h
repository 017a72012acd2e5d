// SPDX-License-Identifier: BSD-3-Clause
// SelfCopies: messages of a process to itself, copied once, from the one buffer into the other.
// Those for which no receive is posted go on as to any peer.
#pragma once

#include <cstdint>

#include "fci_core/mp/engine.h"

namespace fci::mp {

struct SendArguments;

class SelfCopies {
public:
    explicit SelfCopies(Engine& engine) noexcept : engine_(engine) {}

    /// A send of so many bytes into the receive that waits for it; the receive's completion is told
    /// in the next turn. False: none waits, or an older message may be on its way to it.
    bool send(Peer& self, const SendArguments& send, std::uint64_t bytes) noexcept;
    /// The data of an announced send, for the receive that was matched with it. Both end. False:
    /// there is no such send any more.
    bool receive(Order& order, Peer& self, std::uint32_t send) noexcept;

private:
    Engine& engine_;
};

}  // namespace fci::mp
