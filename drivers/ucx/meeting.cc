// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/meeting.h"

#include <new>
#include <utility>

#include "drivers/host/draw.h"
#include "drivers/ucx/frame.h"
#include "drivers/ucx/hello.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::ucx {

namespace {

constexpr const char* kNoWayBack = "it finds no way to this process";

}  // namespace

void Meeting::begin(nhi::PeerId id) {
    FCI_ASSERT(id != nhi::kSelf && peers_.state(id) <= PeerState::connecting);
    under_way_.reserve(under_way_.size() + 1);
    Peer& peer = peers_.make(id);
    peer.state = PeerState::connecting;
    peer.said.place = tcp_.network().link(id).block_bytes;
    if (tcp_.about(id).tail_bytes < kTail) return turn_back(id, peer, "it has none");
    under_way_.push_back(id);
}

void Meeting::end(nhi::PeerId id) {
    Peer* const peer = peers_.find(id);
    if (peer == nullptr || peer->state != PeerState::connecting) return;
    const Verdict theirs = verdict_of(id);
    if (peer->said.found == Verdict::works && theirs == Verdict::works) {
        join(id, *peer);
    } else if (theirs == Verdict::fails && or_tcp_) {
        turn_back(id, *peer, kNoWayBack);
    }
}

void Meeting::tend(Nanoseconds now) noexcept {
    std::erase_if(under_way_, [&](nhi::PeerId id) {
        try {
            return !go_on(id, now);
        } catch (const std::bad_alloc&) {
            return false;  // a later turn may find memory
        }
    });
}

bool Meeting::go_on(nhi::PeerId id, Nanoseconds now) {
    Peer& peer = *peers_.find(id);
    if (peer.state != PeerState::connecting) return false;  // it has gone meanwhile
    if (peer.said.found == Verdict::unknown) judge(id, peer, now);
    if (peer.said.found == Verdict::unknown) return true;
    if (!peer.said.verdict) say_verdict(id, peer);
    if (!peer.said.verdict) return true;
    if (peer.said.found == Verdict::works) {
        const Verdict theirs = verdict_of(id);
        if (theirs == Verdict::unknown) return true;  // if it never says so, TCP tells of its end
        if (theirs == Verdict::works) {
            join(id, peer);
            return false;
        }
        peer.said.why_not = kNoWayBack;
    }
    hint(id, peer.said.why_not);
    turn_back(id, peer, peer.said.why_not);
    return false;
}

void Meeting::judge(nhi::PeerId id, Peer& peer, Nanoseconds now) {
    if (peer.give_up == 0 && !prepare(peer, now)) return;
    std::string error;
    if (!peer.said.hello) say_hello(id, peer);
    if (peer.said.hello && peer.way == nullptr) hear(id, peer, &error);
    if (peer.way != nullptr) {
        FCI_ASSERT(peer.said.hello && peer.block_bytes != 0);
        if (peer.sent == 0) send_first(peer);
        if (peer.sent != 0 && road_.is_flushed(peer.way) && peer.heard != 0) {
            peer.said.found = Verdict::works;
            return;
        }
        const char* const broken = Road::broken(peer.way);
        if (broken != nullptr) error = broken;
    }
    if (error.empty() && verdict_of(id) == Verdict::fails) error = kNoWayBack;
    if (error.empty() && now >= peer.give_up) error = "no answer";
    if (error.empty()) return;
    peer.said.why_not = std::move(error);
    peer.said.found = Verdict::fails;
}

void Meeting::join(nhi::PeerId id, Peer& peer) {
    FCI_ASSERT(peer.state == PeerState::connecting);
    notices_.add({id, Status::ok, {}});
    peer.state = PeerState::joined;
}

/// The two do not go by UCX.
void Meeting::turn_back(nhi::PeerId id, Peer& peer, const std::string& why) {
    if (or_tcp_) {
        join(id, peer);
        if (peer.way != nullptr) road_.close(std::exchange(peer.way, nullptr));
        FCI_ASSERT(!peer.is_by_tcp);
        peer.is_by_tcp = true;
        peer.block_bytes = peer.said.place;  // the tail begins where it ends
        return;
    }
    notices_.add({id, Status::unreachable,
                  tcp_.describe(id) + " was met by TCP, but there is no way by UCX (" + why +
                      "); UCX_NET_DEVICES and UCX_TLS choose one, FCI_DRIVER=tcp goes without"});
    peer.state = PeerState::ending;
}

/// Once: a network that is set up wrongly is so for many peers.
void Meeting::hint(nhi::PeerId id, const std::string& why) {
    log::line(or_tcp_ && !std::exchange(has_hinted_, true),
              tcp_.describe(id) + " is reached by TCP, and others may be: it has UCX, as this "
              "process has, but there is no way by it (" + why + "); UCX_NET_DEVICES and UCX_TLS "
              "choose one, FCI_FAR=tcp goes without");
}

/// False: the kernel has no random numbers now.
bool Meeting::prepare(Peer& peer, Nanoseconds now) {
    if (peer.block.span().empty()) peer.block = tcp::Pages(block_bytes_);
    if (!host::draw(&peer.key)) return false;
    peer.give_up = now + limit_;
    return true;
}

/// The length of the address comes last, and makes the hello valid.
void Meeting::say_hello(nhi::PeerId id, Peer& peer) noexcept {
    const std::span<const std::byte> address = road_.address();
    FCI_ASSERT(!address.empty() && address.size() <= kAddressMost);
    const Hello hello{.address_bytes = address.size(), .key = peer.key,
                            .block_bytes = block_bytes_, .number = id,
                            .verdict = Verdict::unknown, .farewell = 0};
    constexpr std::size_t kRest = sizeof hello.address_bytes;
    static_assert(offsetof(Hello, address_bytes) == 0);
    nhi::Transfer transfer(id);
    const std::uint64_t at = peer.said.place;
    transfer.put(nhi::LcsAddress{at + sizeof hello}, address.data(), address.size())
        .put(nhi::LcsAddress{at + kRest}, &hello.key, sizeof hello - kRest)
        .put(nhi::LcsAddress{at}, &hello.address_bytes, kRest);
    peer.said.hello = tcp_.network().initiate_transfer(transfer) == Status::ok;
}

/// A later turn says it where TCP has no room now.
void Meeting::say_verdict(nhi::PeerId id, Peer& peer) noexcept {
    nhi::Transfer transfer(id);
    transfer.put(nhi::LcsAddress{peer.said.place + offsetof(Hello, verdict)}, &peer.said.found,
                 sizeof peer.said.found);
    peer.said.verdict = tcp_.network().initiate_transfer(transfer) != Status::again;
}

/// The word of the peer, which may be any number: what is none of the others is `fails`.
Verdict Meeting::verdict_of(nhi::PeerId id) const noexcept {
    const Verdict verdict = hello_in(tcp_.block(id)).verdict;
    const bool is_known = verdict == Verdict::unknown || verdict == Verdict::works;
    return is_known ? verdict : Verdict::fails;
}

void Meeting::hear(nhi::PeerId id, Peer& peer, std::string* error) {
    const Hello hello = hello_in(tcp_.block(id));
    if (hello.address_bytes == 0) return;
    if (hello.address_bytes > kAddressMost || hello.block_bytes == 0 ||
        hello.block_bytes > nhi::kPairLimit) {
        *error = "its hello makes no sense";
        return;
    }
    peer.key_there = hello.key;
    peer.number_there = hello.number;
    peer.block_bytes = hello.block_bytes;
    const std::span<std::byte> block = tcp_.block(id).last(kTail);
    peer.way = road_.open_way(block.data() + sizeof hello, error);
}

/// A later turn sends it where memory is short now.
void Meeting::send_first(Peer& peer) noexcept {
    FCI_ASSERT(peer.sent == 0);
    const nhi::Transfer nothing(nhi::kSelf);
    std::byte* const frame = road_.begin(peer.way, frame_bytes(nothing));
    if (frame == nullptr) return;
    write_frame({.key = peer.key_there, .number = peer.number_there, .sequence = ++peer.sent,
                 .events = 0, .parts = 0},
                nothing, frame);
    road_.send(peer.way, frame_bytes(nothing));
    road_.begin_flush(peer.way);
}

}  // namespace fci::ucx
