// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/offers.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::mp {

// --- the receiver's side ---

bool Offers::is_worth_it(Order& order, Peer* source) {
    if (order.bytes < engine_.limits.offer_bytes || source == nullptr ||
        (engine_.may_push(*source) && order.bytes <= kPushMost) ||
        (engine_.protocol.sends_data() && order.bytes <= source->credit.eager_bytes()) ||
        !engine_.protocol.offers_receives() || !source->attached || source->id == nhi::kSelf ||
        source->offers_out >= Peer::kOffersMost || engine_.posted.blocks_offer(order.pattern)) {
        return false;
    }
    rendezvous_.choose_path(order, *source, order.bytes);
    return order.path != Path::pull;
}

void Offers::make(Order& order, Peer& source) {
    FCI_ASSERT(order.state == OrderState::posted && order.pattern.source == source.id);
    order.offered = true;
    order.direct_bytes = Order::kNever;
    ++source.offers_out;
    FCI_ASSERT(source.offers_out <= Peer::kOffersMost);
    ++engine_.counters.receives_offered;
    const OfferRecord record{
        order.pattern.match, order.pattern.ignore, reinterpret_cast<std::uint64_t>(order.data),
        order.bytes,         order.handle,         static_cast<std::uint32_t>(source.in.taken()),
        order.piece_bytes,   order.claim_name(),   static_cast<std::uint8_t>(order.path),
        source.offer_epoch};
    const auto flags = static_cast<std::uint8_t>(order.pattern.space << kSpaceShift);
    engine_.outbox.put(source, pack(Control{Kind::offer, flags, 0}, record));
}

bool Offers::on_decline(Peer& peer, const gcs::Line& line) {
    const std::uint64_t epoch = unpack<HandleRecord>(line).handle;
    if (epoch != peer.offer_epoch) return true;  // this decline was handled before
    ++peer.offer_epoch;
    ++engine_.counters.receives_declined;
    engine_.posted.for_each([&](PostedNode& node) {
        if (node.pattern.source == peer.id) node.offer_stands = false;
    });
    peer.data.crossed_in_vain = !peer.data.crossed.empty();
    engine_.work.set_busy();
    asks_.ask_again(peer);
    return true;
}

bool Offers::on_withdrawn(Peer& peer, const gcs::Line& line) {
    Order* const order = engine_.orders.find(unpack<HandleRecord>(line).handle, peer, false);
    // It may have been matched meanwhile.
    if (order == nullptr || order->state != OrderState::withdrawing) return true;
    engine_.posted.remove(*order);
    engine_.orders.finish_later(*order, kCanceled);
    return true;
}

// --- the sender's side ---

namespace {

std::vector<Offer>::iterator oldest(Peer& peer, std::uint32_t space, std::uint64_t match) {
    const Envelope message{nhi::kSelf, space, match};
    return std::find_if(peer.offers.begin(), peer.offers.end(),
                        [&](const Offer& offer) { return offer.pattern.fits(message); });
}

}  // namespace

const OfferRecord* Offers::find(Peer& peer, std::uint32_t space, std::uint64_t match) noexcept {
    const auto found = oldest(peer, space, match);
    return found == peer.offers.end() ? nullptr : &found->record;
}

std::optional<OfferRecord> Offers::use(Peer& peer, std::uint32_t space, std::uint64_t match) {
    const auto used = oldest(peer, space, match);
    if (used == peer.offers.end()) return std::nullopt;
    const OfferRecord record = used->record;
    peer.offers.erase(used);
    return record;
}

bool Offers::decline(Peer& peer, std::uint8_t epoch) {
    peer.declined_epoch = epoch;
    engine_.outbox.tell(peer, Kind::decline, epoch);
    return true;
}

bool Offers::on_offer(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<OfferRecord>(line);
    const Pattern pattern{nhi::kSelf, Control::of(line).space(), record.match, record.ignore};
    if (pattern.space == kActiveSpace || record.receive == 0 || !has_way(peer, record)) {
        return false;
    }
    if (record.epoch == peer.declined_epoch) return true;
    peer.takes_notes = true;
    const std::uint64_t sent = peer.out.sent();
    const std::uint32_t unseen = static_cast<std::uint32_t>(sent) - record.seen;
    if (unseen > sent) return decline(peer, record.epoch);  // it names requests that were not sent
    // A place holds one note, so the loop meets a missing one after kSentNotes at the latest.
    for (std::uint64_t number = sent - unseen; number++ != sent;) {
        SentNote& note = peer.notes[number % Peer::kSentNotes];
        if (note.number != number) return decline(peer, record.epoch);
        if (note.used || !pattern.fits(nhi::kSelf, note.space, note.match)) continue;
        note.used = true;
        rendezvous_.on_crossing(peer, note.send, record);
        return true;
    }
    if (peer.offers.size() >= Peer::kOffersMost) return decline(peer, record.epoch);
    peer.offers.push_back({pattern, record});  // may throw: the request then comes again
    FCI_ASSERT(peer.offers.size() <= Peer::kOffersMost);
    peer.fast_path = false;
    if (!peer.unasked.empty()) engine_.work.set_busy();
    return true;
}

bool Offers::on_withdraw(Peer& peer, const gcs::Line& line) {
    const std::uint64_t handle = unpack<HandleRecord>(line).handle;
    std::erase_if(peer.offers,
                  [&](const Offer& offer) { return offer.record.receive == handle; });
    engine_.outbox.tell(peer, Kind::withdrawn, handle);
    return true;
}

}  // namespace fci::mp
