// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/leaving.h"

#include <cstddef>
#include <utility>

#include "drivers/ucx/hello.h"
#include "fci_core/base/assert.h"

namespace fci::ucx {

/// A peer that is being met has nothing under way. Of one that is joined the listener hears first
/// that it attached.
void Leaving::begin(ddi::Notice notice, Nanoseconds now) {
    Peer& peer = peers_.make(notice.id);
    peer.is_gone = true;
    if (peer.state >= PeerState::ending || peer.end) return;
    if (peer.state == PeerState::connecting) {
        peer.state = PeerState::ending;
        notices_.add(std::move(notice));
        return;
    }
    await_rest(std::move(notice), now + kGrace);
}

void Leaving::await_rest(ddi::Notice notice, Nanoseconds give_up) {
    Peer& peer = *peers_.find(notice.id);
    under_way_.push_back(notice.id);
    if (peer.state == PeerState::attached) peer.state = PeerState::ending;
    peer.end = std::move(notice);
    peer.give_up = give_up;
}

void Leaving::tend(Nanoseconds now) {
    if (road_.has_broken()) look_for_broken(now);
    std::erase_if(under_way_, [&](nhi::PeerId id) {
        Peer& peer = *peers_.find(id);
        FCI_ASSERT(peer.end && peer.end->id == id && peer.state < PeerState::lost);
        if (peer.state != PeerState::ending) return false;
        if (!peer.is_cut && !is_all_here(id, peer) && now < peer.give_up) return false;
        if (!is_cut_off(peer, now)) return false;
        notices_.add(*std::exchange(peer.end, std::nullopt));
        return true;
    });
}

/// Nothing is read or written for the peer any more. Of a peer that is gone UCX may never say so:
/// what it has queued for shared memory waits for room that nobody makes, and is not touched.
bool Leaving::is_cut_off(Peer& peer, Nanoseconds now) {
    if (!std::exchange(peer.is_cut, true)) peer.give_up = now + kGrace;
    if (has_let_go(peer, road_)) return true;
    if (!peer.is_gone || now < peer.give_up) return false;
    give_up_way(peer, road_);
    return true;
}

/// Of a peer that has died, what it sent last is here if UCX has nothing more.
bool Leaving::is_all_here(nhi::PeerId id, const Peer& peer) const {
    if (peer.is_by_tcp) return true;  // TCP tells of an end after all that the peer has sent
    FCI_ASSERT(tcp_.block(id).size() >= kTail);
    const Hello hello = hello_in(tcp_.block(id));
    if (hello.farewell == 0) return road_.progress() == 0;
    const bool is_heard = static_cast<std::uint32_t>(hello.farewell - 1) == peer.heard;
    return is_heard && peer.coming.empty() && !peer.is_fetching;
}

/// TCP has some time to say why a way broke, and whether the process has died.
void Leaving::look_for_broken(Nanoseconds now) {
    for_each_way([&](nhi::PeerId id, Peer& peer) {
        const char* const broken = Road::broken(peer.way);
        if (broken == nullptr || peer.state != PeerState::attached) return;
        if (peer.give_up == 0) peer.give_up = now + kGrace;
        if (now < peer.give_up) return;
        // Nothing more is to come.
        await_rest(ddi::died(id, tcp_.describe(id), std::string("UCX says: ") + broken), now);
    });
}

void Leaving::say_farewell(nhi::PeerId id, const Peer& peer) noexcept {
    FCI_ASSERT(peer.way != nullptr);
    const std::uint64_t farewell = std::uint64_t{peer.sent} + 1;
    nhi::Transfer transfer(id);
    transfer.put(nhi::LcsAddress{peer.said.place + offsetof(Hello, farewell)}, &farewell,
                 sizeof farewell);
    (void)tcp_.network().initiate_transfer(transfer);
}

bool Leaving::takes_more(const Peer& peer) {
    return peer.state < PeerState::ending && !peer.end && Road::broken(peer.way) == nullptr;
}

/// A flush mostly needs the peer, and UCX waits without end for one that has closed, of which TCP
/// knows.
void Leaving::flush() noexcept {
    const Nanoseconds end = tcp_.now() + kGrace;
    for_each_way([&](nhi::PeerId, Peer& peer) { road_.begin_flush(peer.way); });
    for (bool is_done = false; !is_done && tcp_.now() < end;) {
        (void)road_.progress();
        (void)tcp_.network().poll(tcp_.now());
        is_done = true;
        for_each_way([&](nhi::PeerId, Peer& peer) {
            is_done = is_done && (road_.is_flushed(peer.way) || !takes_more(peer));
        });
    }
}

void Leaving::say_goodbye() noexcept {
    flush();
    for_each_way([&](nhi::PeerId id, Peer& peer) {
        const bool is_met = peer.state == PeerState::joined || peer.state == PeerState::attached;
        if (is_met && takes_more(peer)) say_farewell(id, peer);
        road_.close(std::exchange(peer.way, nullptr));
    });
    (void)tcp_.network().poll(tcp_.now());
    const Nanoseconds end = tcp_.now() + kGrace;
    while ((road_.is_closing() || !road_.is_idle()) && tcp_.now() < end) (void)road_.progress();
}

}  // namespace fci::ucx
