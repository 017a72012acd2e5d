// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: long messages. The receiver asks for one once its receive is known; then the message
// takes the path that is cheapest for this peer and length (figs. 2.20, 2.40).
//
//   direct  receiver: request  ->  sender: data, as the network can
//   ring    receiver: request  ->  sender: piece, piece, ...  (each in its pool, or in the ring)
//   pull    receiver copies    ->  receiver: taken
//   shared  receiver: request, both copy from their end; a side that is done says sent / taken
//
// A side that the kernel does not let copy says so, and the message takes another path
// (shared_copies.h).
#pragma once

#include "fci_core/mp/engine.h"
#include "fci_core/mp/move/shared_copies.h"
#include "fci_core/mp/move/streams.h"
#include "fci_core/mp/self_copies.h"

namespace fci::mp {

class Rendezvous {
public:
    Rendezvous(Engine& engine, Streams& streams, SharedCopies& copies, SelfCopies& own)
        : engine_(engine), streams_(streams), copies_(copies), own_(own) {}

    /// Sets order.path and its claim and piece size, for `bytes` from `peer`. If no claim word is
    /// free, the receiver copies alone.
    void choose_path(Order& order, Peer& peer, std::uint64_t bytes);

    /// The receive was matched with a message that was announced; order.length and its envelope
    /// are set. `send`, `address`: of the announcement.
    void begin_receive(Order& order, Peer& peer, std::uint32_t send, std::uint64_t address);
    /// The sender matched the message with this receive's offer, and has begun already; or does so
    /// once the offer is there, where the two crossed.
    void begin_offered_receive(Order& order, const AnnounceRecord& record);
    /// The receiver's buffer is known, so the data of this send starts at once (§2.6.3).
    void begin_offered_send(Order& order, Peer& peer, const OfferRecord& offer);

    /// The announcement said that the data follows.
    void begin_push(Order& order, Peer& peer);

    // If an offer and the announcement that it fits cross, both sides see it, and neither asks.
    // This holds for messages that go directly and are not empty: else the announcement uses the
    // offer up.

    /// True for a receive with which an announcement without an offer was matched.
    [[nodiscard]] static bool has_crossed(const Order& order) noexcept {
        return order.offer_stands && order.path == Path::direct && order.length != 0 &&
               order.bytes != 0;
    }
    /// The peer made the offer before it knew of `send`; 0: a message that came with its data.
    void on_crossing(Peer& peer, std::uint32_t send, const OfferRecord& offer);
    /// The sender had declined the offers.
    void ask_for_crossed(Peer& peer) noexcept;

    // False: it fails its checks.
    [[nodiscard]] bool on_clear_to_send(Peer& peer, const gcs::Line& line);
    /// The receiver needs nothing of this send any more.
    [[nodiscard]] bool on_taken(Peer& peer, const gcs::Line& line);
    /// The receiver has forgotten the send request, as this side has asked.
    [[nodiscard]] bool on_unsent(Peer& peer, const gcs::Line& line);

private:
    void begin_send(Order& order, Peer& peer, std::uint16_t claim);

    Engine& engine_;
    Streams& streams_;
    SharedCopies& copies_;
    SelfCopies& own_;
};

}  // namespace fci::mp
