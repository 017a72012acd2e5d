// Offers: receive requests that reach the sender before its send request (§2.6.3, one-sided), so
// that the sender writes at once into the receiver's buffer.
//
// Both sides must match the same receive with the same send although they decide apart. What keeps
// them equal:
//  - An offer is made only for a receive that names its source, and only if no receive posted
//    earlier and not offered could take the same message (PostedList::blocks_announcement). So for
//    every message that the offer fits, the receiver's answer is "the oldest offer that fits".
//  - The sender asks the offers, oldest first, for every send request it puts out, long or short.
//  - Send requests that were under way when the offer was made are found by number: the offer says
//    how many requests the receiver had taken, the sender keeps notes of the sends among the last
//    kSentNotes, from the first offer on. One of them that fits has used up the offer.
//  - Where the notes do not reach back, the sender declines, and refuses all offers until the
//    receiver, having heard of it, starts a new epoch in which those receives count as not offered.
//  - A cancelled receive that was offered waits for the sender's word: withdraw, withdrawn.
// An offer that the sender does not use costs nothing but the request: the message then comes as if
// there had been none.
#include <algorithm>

#include "fci_core/mp/claims.h"
#include "fci_core/mp/message_passing.h"

namespace fci::mp {

// --- the receiver's side ---

/// What this side copies alone needs no offer.
bool MessagePassing::should_offer(Order& order, Peer& peer) {
    choose_path(order, peer, order.bytes);
    return order.path != Path::pull;
}

void MessagePassing::offer(Order& order, Peer& peer) {
    order.offered = true;
    order.direct_bytes = Order::kNever;
    ++peer.offers_out;
    ++counters_.receives_announced;
    const std::uint16_t claim =
        order.path == Path::shared
            ? ClaimWord::name(static_cast<unsigned>(order.claim_index), order.claims_generation)
            : 0;
    const OfferRecord record{order.pattern.match,
                             order.pattern.ignore,
                             reinterpret_cast<std::uint64_t>(order.data),
                             order.bytes,
                             order.handle,
                             static_cast<std::uint32_t>(peer.in.taken()),
                             order.piece_bytes,
                             claim,
                             static_cast<std::uint8_t>(order.path),
                             peer.offer_epoch};
    const auto flags = static_cast<std::uint8_t>(order.pattern.space << kSpaceShift);
    put_control(peer, pack(Control{Kind::offer, flags, 0}, record));
}

void MessagePassing::offer_closed(Order& order) {
    order.offered = false;
    // An offered receive names its source, so that is who has the offer.
    --peers_[order.pattern.source]->offers_out;
}

void MessagePassing::on_decline(Peer& peer, const gcs::Line& line) {
    const std::uint64_t epoch = unpack<HandleRecord>(line).handle;
    if (epoch != peer.offer_epoch) return;  // heard of already
    ++peer.offer_epoch;
    ++counters_.receives_declined;
    posted_.for_each([&](PostedNode& node) {
        if (node.pattern.source == peer.rank) node.announced = false;
    });
}

void MessagePassing::on_withdrawn(Peer& peer, const gcs::Line& line) {
    Order* const order =
        find(static_cast<std::uint32_t>(unpack<HandleRecord>(line).handle), peer, false);
    if (order == nullptr || order->state != OrderState::withdrawing) return;  // matched meanwhile
    posted_.remove(*order);
    finish_later(*order, kCanceled);
}

// --- the sender's side ---

std::vector<Offer>::iterator MessagePassing::find_offer(Peer& peer, std::uint32_t space,
                                                        std::uint64_t match) {
    const Envelope message{nhi::kSelf, space, match};
    return std::find_if(peer.offers.begin(), peer.offers.end(),
                        [&](const Offer& offer) { return offer.pattern.fits(message); });
}

/// A send request that carries its data uses up the offer that it will be matched with.
bool MessagePassing::use_offer(Peer& peer, std::uint32_t space, std::uint64_t match) {
    if (peer.offers.empty()) return false;
    const auto used = find_offer(peer, space, match);
    if (used == peer.offers.end()) return false;
    peer.offers.erase(used);
    return true;
}

void MessagePassing::decline(Peer& peer, std::uint8_t epoch) {
    peer.declined_epoch = epoch;
    tell(peer, Kind::decline, epoch);
}

void MessagePassing::on_offer(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<OfferRecord>(line);
    const Pattern pattern{nhi::kSelf, Control::of(line).space(), record.match, record.ignore};
    if (pattern.space >= kActiveSpace || record.receive == 0 || !names_a_way(record)) {
        return bad_request(peer);
    }
    if (record.epoch == peer.declined_epoch) return;
    const auto sent = static_cast<std::uint32_t>(peer.out.sent());
    if (!peer.takes_notes) {
        peer.takes_notes = true;
        peer.noted_from = sent;
    }
    const std::uint32_t unseen = sent - record.seen;
    if (unseen > std::min(Peer::kSentNotes, sent - peer.noted_from)) {
        return decline(peer, record.epoch);
    }
    for (std::uint32_t number = record.seen; number++ != sent;) {
        SentNote& note = peer.notes[number % Peer::kSentNotes];
        if (note.number != number || note.used ||
            !pattern.fits(nhi::kSelf, note.space, note.match)) {
            continue;
        }
        note.used = true;
        return;
    }
    if (peer.offers.size() >= Peer::kOffersMost) return decline(peer, record.epoch);
    peer.offers.push_back({pattern, record});  // may throw: the request then comes again
    peer.fast_path = false;
}

void MessagePassing::on_withdraw(Peer& peer, const gcs::Line& line) {
    const std::uint64_t handle = unpack<HandleRecord>(line).handle;
    std::erase_if(peer.offers,
                  [&](const Offer& offer) { return offer.record.receive == handle; });
    tell(peer, Kind::withdrawn, handle);
}

}  // namespace fci::mp
