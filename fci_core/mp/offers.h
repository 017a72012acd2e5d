// SPDX-License-Identifier: BSD-3-Clause
// Offers: receive requests that reach the sender before its send request (§2.6.3, one-sided), so
// that the sender writes at once into the receiver's buffer.
//
// Both sides must match the same receive with the same send although they decide apart. These rules
// keep them equal:
//  - An offer is made only for a receive that names its source, and only if no receive posted
//    earlier and not offered could take the same message (PostedList::blocks_offer). So for
//    every message that the offer fits, the receiver's answer is "the oldest offer that fits".
//  - The sender asks the offers, oldest first, for every send request it puts out, long or short.
//  - Send requests that were under way when the offer was made are found by number: the offer says
//    how many requests the receiver had taken, the sender keeps a note of each of the last
//    kSentNotes, but of those that went by fast_path.h only from the first offer on. The first
//    message that fits has used up the offer.
//  - Where a note is missing before that, the sender declines, and refuses all offers until the
//    receiver, having heard of it, starts a new epoch in which those receives count as not offered.
//  - A cancelled receive that was offered waits for the sender's word: withdraw, withdrawn.
// An offer that the sender does not use costs nothing but the request: the message then comes as if
// there had been none.
#pragma once

#include <optional>

#include "fci_core/mp/asks.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/rendezvous.h"

namespace fci::mp {

class Offers {
public:
    Offers(Engine& engine, Rendezvous& rendezvous, Asks& asks)
        : engine_(engine), rendezvous_(rendezvous), asks_(asks) {}

    // The receiver's side.

    /// Whether the receive, which is not posted yet, is to be offered to its source. If so, its
    /// path is chosen. A message that this side copies alone needs no offer.
    [[nodiscard]] bool is_worth_it(Order& order, Peer* source);
    /// Sends the offer to the source. The receive is posted.
    void make(Order& order, Peer& source);
    [[nodiscard]] bool on_decline(Peer& peer, const gcs::Line& line);
    [[nodiscard]] bool on_withdrawn(Peer& peer, const gcs::Line& line);

    // The sender's side.

    /// The oldest offer that the message fits is used up by it.
    static std::optional<OfferRecord> use(Peer& peer, std::uint32_t space, std::uint64_t match);
    /// The oldest offer that the message fits, which stays; nullptr: there is none.
    static const OfferRecord* find(Peer& peer, std::uint32_t space, std::uint64_t match) noexcept;
    [[nodiscard]] bool on_offer(Peer& peer, const gcs::Line& line);
    [[nodiscard]] bool on_withdraw(Peer& peer, const gcs::Line& line);

private:
    bool decline(Peer& peer, std::uint8_t epoch);

    Engine& engine_;
    Rendezvous& rendezvous_;
    Asks& asks_;
};

}  // namespace fci::mp
