// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/meeting.h"

#include <cstring>
#include <new>

#include "drivers/host/draw.h"
#include "drivers/ucx/frame.h"
#include "drivers/ucx/hello.h"
#include "fci_core/base/assert.h"

namespace fci::ucx {

void Meeting::begin(nhi::PeerId id) {
    FCI_ASSERT(id != nhi::kSelf && peers_.state(id) <= PeerState::connecting);
    under_way_.reserve(under_way_.size() + 1);
    peers_.make(id).state = PeerState::connecting;
    under_way_.push_back(id);
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
    if (peer.give_up == 0 && !prepare(peer, now)) return true;
    std::string error;
    if (!peer.has_said_hello) say_hello(id, peer);
    if (peer.has_said_hello && peer.way == nullptr) hear(id, peer, &error);
    if (peer.way != nullptr) {
        FCI_ASSERT(peer.has_said_hello && peer.block_bytes != 0);
        if (peer.sent == 0) send_first(peer);
        if (peer.sent != 0 && road_.is_flushed(peer.way) && peer.heard != 0) {
            notices_.add({id, Status::ok, {}});
            peer.state = PeerState::joined;
            return false;
        }
        const char* const broken = Road::broken(peer.way);
        if (broken != nullptr) error = broken;
    }
    if (error.empty() && now >= peer.give_up) error = "no answer";
    if (error.empty()) return true;
    notices_.add({id, Status::unreachable,
                  tcp_.describe(id) + " was met by TCP, but there is no way by UCX (" + error +
                      "); UCX_NET_DEVICES and UCX_TLS choose one, FCI_DRIVER=tcp goes without"});
    peer.state = PeerState::ending;
    return false;
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
                            .block_bytes = block_bytes_, .number = id, .unused = 0,
                            .farewell = 0};
    constexpr std::size_t kRest = sizeof hello.address_bytes;
    static_assert(offsetof(Hello, address_bytes) == 0);
    nhi::Transfer transfer(id);
    transfer.put(nhi::LcsAddress{sizeof hello}, address.data(), address.size())
        .put(nhi::LcsAddress{kRest}, &hello.key, sizeof hello - kRest)
        .put(nhi::LcsAddress{0}, &hello.address_bytes, kRest);
    peer.has_said_hello = tcp_.network().initiate_transfer(transfer) == Status::ok;
}

void Meeting::hear(nhi::PeerId id, Peer& peer, std::string* error) {
    const std::span<std::byte> block = tcp_.block(id);
    Hello hello;
    if (block.size() < kHelloBlock) return;
    std::memcpy(&hello, block.data(), sizeof hello);
    if (hello.address_bytes == 0) return;
    if (hello.address_bytes > kAddressMost || hello.block_bytes == 0 ||
        hello.block_bytes > nhi::kPairLimit) {
        *error = "its hello makes no sense";
        return;
    }
    peer.key_there = hello.key;
    peer.number_there = hello.number;
    peer.block_bytes = hello.block_bytes;
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
