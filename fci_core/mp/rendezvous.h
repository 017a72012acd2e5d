// Rendezvous: long messages, asked for once their receive is known, then moved by the way that is
// cheapest for this peer and length (figs. 2.20, 2.40).
//
//   direct  receiver: request  ->  sender: data, as the network can
//   ring    receiver: request  ->  sender: piece, piece, ...  (each in its pool, or in the ring)
//   pull    receiver copies    ->  receiver: taken
//   shared  receiver: request, both copy from their end; who finished says sent / taken
//
// Whom the kernel refuses to copy says so, and the message goes on another way (shared_copies.h).
#pragma once

#include "fci_core/mp/engine.h"
#include "fci_core/mp/shared_copies.h"
#include "fci_core/mp/streams.h"

namespace fci::mp {

class Rendezvous {
public:
    Rendezvous(Engine& engine, Streams& streams, SharedCopies& copies)
        : engine_(engine), streams_(streams), copies_(copies) {}

    /// order.path and what goes with it, for `bytes` from `peer`. Where no claim word is free, the
    /// receiver copies alone.
    void choose_path(Order& order, Peer& peer, std::uint64_t bytes);

    /// The receive was matched with a message that was announced; order.length and its envelope
    /// are set. `send`, `address`: of the announcement.
    void begin_receive(Order& order, Peer& peer, std::uint32_t send, std::uint64_t address);
    /// The sender matched the message with this receive's offer, and has begun already.
    void begin_offered_receive(Order& order, const AnnounceRecord& record);
    /// The receiver's buffer is known, so the data of this send starts at once (§2.6.3).
    void begin_offered_send(Order& order, Peer& peer, const OfferRecord& offer);

    // False: it fails its checks.
    [[nodiscard]] bool on_clear_to_send(Peer& peer, const gcs::Line& line);
    /// The receiver needs nothing of this send any more.
    [[nodiscard]] bool on_taken(Peer& peer, const gcs::Line& line);
    /// The receiver has forgotten the send request, as this side has asked.
    [[nodiscard]] bool on_unsent(Peer& peer, const gcs::Line& line);

private:
    void limit(Order& order) const noexcept;
    void begin_send(Order& order, Peer& peer, std::uint16_t claim);

    Engine& engine_;
    Streams& streams_;
    SharedCopies& copies_;
};

}  // namespace fci::mp
