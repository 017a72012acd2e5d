// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/ucx_data.h"

#include <new>

#include "fci_core/base/assert.h"

namespace fci::ucx {

Status UcxData::send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                     std::uint32_t events) noexcept {
    if (id == nhi::kSelf || id >= peers_.size() || data.bytes == 0) return Status::invalid;
    if (peers_.state(id) >= PeerState::ending) return Status::lost;
    if (peers_.state(id) != PeerState::attached) return Status::unreachable;
    Peer& peer = *peers_.find(id);
    FCI_ASSERT(!peer.is_by_tcp || beside() != nullptr);
    if (peer.is_by_tcp) return beside()->send(id, data, from, events);
    if (is_cut_off(id, peer)) return Status::lost;
    const DataHead head{{.key = peer.key_there, .number = peer.number_there,
                         .sequence = peer.sent + 1, .events = events, .parts = 0},
                        data};
    if (!turn_.rendezvous().send(peer.way, std::as_bytes(std::span(&head, 1)), from, data.bytes)) {
        return Status::again;
    }
    ++peer.sent;
    return Status::ok;
}

bool UcxData::has_taken(nhi::PeerId id) const noexcept {
    if (peers_.state(id) != PeerState::attached) return false;
    const Peer& peer = *peers_.find(id);
    if (peer.is_by_tcp) return beside()->has_taken(id);
    return peer.way != nullptr && Road::broken(peer.way) == nullptr &&
           Rendezvous::loans(peer.way) == 0;
}

/// Waits until UCX says so, which it does soon for a way that is closed; except over shared memory
/// to a peer that takes nothing. That one's queue is then full, and UCX reads no more for it; but
/// it may still write what the peer has sent.
void UcxData::give_back(nhi::PeerId id) noexcept {
    Peer* const peer = id != nhi::kSelf ? peers_.find(id) : nullptr;
    if (peer == nullptr) return;
    if (peer->is_by_tcp) return beside()->give_back(id);
    drop_all(*peer);
    let_go(*peer, turn_.tcp().now() + kGrace);
}

/// Of a peer that is lost this was done before.
void UcxData::let_go(Peer& peer, Nanoseconds end) noexcept {
    const bool has_loans = peer.way != nullptr && Rendezvous::loans(peer.way) != 0;
    if (peer.state == PeerState::lost || (!peer.is_fetching && !has_loans)) return;
    while (!has_let_go(peer, turn_.road())) {
        const bool may_write = peer.is_fetching && !peer.is_gone && target_ != nullptr;
        if (turn_.tcp().now() >= end && !may_write) return give_up_way(peer, turn_.road());
        (void)turn_.road().progress();
        (void)turn_.tcp().network().poll(turn_.tcp().now());
    }
}

/// At the end peers have some time to read what they were promised. Their own data are dropped
/// before, so that two processes that close at once do not wait for each other.
void UcxData::set_target(nhi::DataTarget* target) noexcept {
    target_ = target;
    if (beside() != nullptr) beside()->set_target(target);
    if (target != nullptr) return;
    peers_.for_each([this](nhi::PeerId, Peer& peer) { drop_all(peer); });
    const Nanoseconds end = turn_.tcp().now() + kGrace;
    while (has_loans() && turn_.tcp().now() < end) (void)turn_.road().progress();
    const Nanoseconds last = turn_.tcp().now() + kGrace;
    peers_.for_each([&](nhi::PeerId, Peer& peer) { let_go(peer, last); });
}

bool UcxData::has_loans() const noexcept {
    bool has_some = false;
    peers_.for_each([&](nhi::PeerId, const Peer& peer) {
        if (peer.state != PeerState::attached || peer.way == nullptr) return;
        has_some |= Road::broken(peer.way) == nullptr && Rendezvous::loans(peer.way) != 0;
    });
    return has_some;
}

// --- what comes ---

bool UcxData::came(nhi::PeerId from, const DataHead& head, const Load& load) noexcept try {
    FCI_ASSERT(from != nhi::kSelf && peers_.find(from) != nullptr);
    if (target_ == nullptr || load.bytes != head.data.bytes) return false;
    if (peers_.find(from)->way == nullptr) return false;  // its data were given back
    std::vector<Coming>& coming = peers_.find(from)->coming;
    with_coming_.reserve(with_coming_.size() + 1);
    coming.push_back({head, load});
    if (coming.size() == 1) with_coming_.push_back(from);
    return true;
} catch (const std::bad_alloc&) {
    turn_.road().mark_broken(peers_.find(from)->way, "out of memory for what it sends");
    return false;
}

unsigned UcxData::look() noexcept {
    unsigned begun = 0;
    waits_ = false;
    std::erase_if(with_coming_, [&](nhi::PeerId id) {
        begun += look_at(id, *peers_.find(id));
        return peers_.find(id)->coming.empty();
    });
    return begun;
}

unsigned UcxData::look_at(nhi::PeerId id, Peer& peer) noexcept {
    unsigned begun = 0;
    if (peer.is_cut || peer.way == nullptr) drop_all(peer);
    while (!peer.is_fetching && !peer.coming.empty() && target_ != nullptr) {
        const Coming next = peer.coming.front();
        if (target_->is_early(id, next.head.data)) {
            waits_ = true;
            break;
        }
        peer.coming.erase(peer.coming.begin());
        ++begun;
        std::byte* const to = target_->locate(id, next.head.data);
        if (to == nullptr) {
            turn_.rendezvous().drop(next.load);
            continue;
        }
        FCI_ASSERT(next.load.bytes == next.head.data.bytes);
        peer.fetched = next.head;
        peer.is_fetching = true;
        turn_.rendezvous().fetch(next.load, id, to);
    }
    return begun;
}

std::uint32_t UcxData::fetched(nhi::PeerId from, bool is_whole) noexcept {
    Peer& peer = *peers_.find(from);
    FCI_ASSERT(peer.is_fetching);
    peer.is_fetching = false;
    const bool is_wanted = target_ != nullptr && peer.state != PeerState::lost;
    const bool is_good = is_whole && is_wanted && target_->arrived(from, peer.fetched.data);
    if (!is_whole && peer.way != nullptr) {
        turn_.road().mark_broken(peer.way, "data of it could not be read");
    }
    return is_good ? peer.fetched.frame.events : 0;
}

void UcxData::drop_all(Peer& peer) noexcept {
    for (const Coming& each : peer.coming) turn_.rendezvous().drop(each.load);
    peer.coming.clear();
}

}  // namespace fci::ucx
