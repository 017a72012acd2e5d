// SPDX-License-Identifier: BSD-3-Clause
// Sends: inside the request, through the ring, or announced (§2.6.5, figs. 2.39 and 2.40).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fci_core/mp/active_messages.h"
#include "fci_core/mp/asks.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/offers.h"
#include "fci_core/mp/rendezvous.h"
#include "fci_core/mp/self_copies.h"

namespace fci::mp {

struct SendArguments {
    nhi::PeerId peer;
    std::uint32_t space, flags;
    std::uint64_t match, immediate;
    std::span<const iovec> data;
    std::span<const std::byte> header{};  // of an active message
};

/// A message for the peer's handler `id`.
inline SendArguments active_message(nhi::PeerId peer, std::uint32_t id, std::uint32_t flags,
                                    std::span<const std::byte> header,
                                    std::span<const iovec> data) noexcept {
    return {peer, kActiveSpace, flags, ActiveMessages::match_of(id, header.size()),
            0,    data,         header};
}

class Sends {
public:
    Sends(Engine& engine, Rendezvous& rendezvous, SelfCopies& own);

    /// To a peer that is not lost. kDone, kAccepted with *handle, or an error.
    int send(Peer& to, const SendArguments& send, const Completion& completion,
             std::uint32_t* handle);
    /// Sends the messages that wait for the peer, in order, while there is room. False: some wait
    /// on.
    bool push(Peer& peer);
    /// Cancels a send that has not begun, or whose message may not be matched yet.
    void cancel(Order& order);
    /// For a caller that is about to sleep: room has come since a send was refused, and nothing
    /// else would wake the caller. True once only: a send that still cannot go out must not keep it
    /// awake.
    [[nodiscard]] bool can_send_refused() noexcept;

private:
    int send_here(Peer& self, const SendArguments& send, std::uint64_t bytes,
                  const Completion& completion, std::uint32_t* handle);
    int put_order(Peer& peer, const SendArguments& send, std::uint64_t bytes,
                  const Completion& completion, std::uint32_t* handle);
    Status put(Peer& peer, const SendArguments& send, std::uint64_t bytes, const Order* order);
    Status put_in_ring(Peer& peer, const SendArguments& send, Control control, std::uint64_t bytes);
    Status put_in_cell(Peer& peer, const SendArguments& send, Control control, unsigned word,
                       gcs::Cells::Cell& cell);
    Status put_in_pool(Peer& peer, const SendArguments& send, Control control, unsigned word);
    Order& keep(Order& order) noexcept;
    Status emit(Peer& peer, Order& order);
    [[nodiscard]] bool may_push(Peer& peer, const Order& order) const noexcept;
    Status announce(Peer& peer, Order& order);
    bool serve(Peer& peer);

    struct Refused {
        Peer* peer = nullptr;  // nullptr: no send was refused
        std::uint64_t bytes = 0;
    };

    Engine& engine_;
    Rendezvous& rendezvous_;
    SelfCopies& own_;
    Refused refused_;                 // the caller sends this one again when there is room
    std::vector<std::byte> scratch_;  // short messages of several ranges are gathered here
};

}  // namespace fci::mp
