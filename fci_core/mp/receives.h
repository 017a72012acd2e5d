// SPDX-License-Identifier: BSD-3-Clause
// Receives: messages that arrive are matched with posted receives (§2.6.2, §2.6.5, §2.6.13).
#pragma once

#include <cstdint>
#include <span>

#include "fci_core/mp/active_messages.h"
#include "fci_core/mp/arrived_pool.h"
#include "fci_core/mp/asks.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/move/data_in.h"
#include "fci_core/mp/offers.h"
#include "fci_core/mp/rendezvous.h"

namespace fci::mp {

class Receives {
public:
    Receives(Engine& engine, Rendezvous& rendezvous, Asks& asks, Offers& offers,
             ActiveMessages& active)
        : engine_(engine), rendezvous_(rendezvous), asks_(asks), offers_(offers), active_(active) {}
    ~Receives();

    // Before a call with a completion the caller has reserved a line of the outbox.

    /// kDone with *outcome, kAccepted with *handle, or an error. `source`: not lost; nullptr: any.
    int receive(Peer* source, const Pattern& pattern, std::span<const iovec> to,
                const Completion& completion, std::uint32_t* handle);
    /// Receives a message that waits here; returns as receive() does. Without memory it waits on.
    int take_arrived(Arrived& message, std::span<const iovec> to, const Completion& completion,
                     std::uint32_t* handle, Outcome* outcome);
    /// Throws the message away: its sender completes as if it had been received.
    void discard(Arrived& message);
    /// Throws all messages away that match; returns how many.
    int discard_matching(const Pattern& pattern);
    /// kSuccess with *outcome, or kNoMessage. `claimed` may be nullptr; else it gets the message.
    int probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed);
    /// Cancels a receive that waits for its message.
    void cancel(Order& order);

    // Handlers of requests. False: the request fails its checks. They throw bad_alloc before
    // anything has happened.
    [[nodiscard]] bool on_send(Peer& peer, const gcs::Line& line);
    [[nodiscard]] bool on_announce(Peer& peer, const gcs::Line& line);
    /// The peer asks that a send request be forgotten. If it was matched already the answer is on
    /// its way and this one is not needed.
    [[nodiscard]] bool on_unsend(Peer& peer, const gcs::Line& line);

    /// The peer is lost, and with it the data on their way from it.
    void lose(Peer& peer) noexcept { data_.lose(peer); }

    [[nodiscard]] std::size_t memory() const noexcept { return pool_.memory(); }  // bytes

private:
    struct Short;
    void take_short(Peer& peer, const Short& message);
    [[nodiscard]] bool take_push(Peer& peer, const Envelope& envelope, const gcs::Line& line);
    void take_posted(Order& order, const Envelope& envelope, const gcs::Line& line) noexcept;
    Arrived& new_announced(const Envelope& envelope, const gcs::Line& line, std::uint64_t bytes);
    Arrived& new_arrived(const Envelope& envelope, std::uint64_t bytes);
    void dispose(Arrived& message);

    Engine& engine_;
    Rendezvous& rendezvous_;
    Asks& asks_;
    Offers& offers_;
    ActiveMessages& active_;
    ArrivedPool pool_;
    DataIn data_{engine_, pool_};
};

}  // namespace fci::mp
