// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/tcp_network.h"

#include <cstring>
#include <new>

#include "fci_core/base/assert.h"

namespace fci::tcp {

namespace {

bool lies_in(std::uint64_t room, std::uint64_t address, std::uint64_t bytes) noexcept {
    return address <= room && bytes <= room - address;
}

}  // namespace

bool TcpNetwork::is_possible(nhi::PeerId writer, std::uint64_t address,
                             std::uint64_t bytes) const noexcept {
    if (address >= nhi::kPairLimit) return bytes <= memory_bytes_;  // in a window, open or not
    return lies_in(peers_[writer].peer->block.span().size(), address, bytes);
}

std::byte* TcpNetwork::locate(nhi::PeerId writer, std::uint64_t address,
                              std::uint64_t bytes) noexcept {
    if (address >= nhi::kPairLimit) return windows().find(address, bytes);
    FCI_ASSERT(peers_[writer].state() >= PeerState::attached);
    const std::span<std::byte> block = peers_[writer].peer->block.span();
    return lies_in(block.size(), address, bytes) ? block.data() + address : nullptr;
}

Status TcpNetwork::check(const nhi::Transfer& transfer) const noexcept {
    const nhi::PeerId id = transfer.destination();
    if (id >= peers_.size()) return Status::invalid;
    const Peer* const peer = peers_[id].peer.get();
    const PeerState state = peers_[id].state();
    Status answer = Status::ok;
    switch (state) {
        case PeerState::attached: break;
        case PeerState::ending:
        case PeerState::lost: return Status::lost;
        case PeerState::known: return Status::unreachable;
        case PeerState::connecting:
        case PeerState::joined: answer = Status::again; break;
    }
    const std::uint64_t room = state == PeerState::attached ? peer->block_bytes : nhi::kPairLimit;
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        if (part.address < nhi::kPairLimit && !lies_in(room, part.address, part.bytes)) {
            return Status::invalid;
        }
    }
    if (answer != Status::ok || id == nhi::kSelf) return answer;
    return peer->connection->fits(transfer) ? Status::ok : Status::again;
}

Status TcpNetwork::initiate_transfer(const nhi::Transfer& transfer) noexcept try {
    if (const Status answer = check(transfer); answer != Status::ok) return answer;
    const nhi::PeerId id = transfer.destination();
    if (id == nhi::kSelf) {
        write_here(transfer);
        return Status::ok;
    }
    connections_.reserve(id, transfer);
    connections_.write(id, transfer);  // nothing fails here
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::again;
}

void TcpNetwork::write_here(const nhi::Transfer& transfer) noexcept {
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const bool wraps = part.address + part.bytes < part.address;
        std::byte* const at = wraps ? nullptr : locate(nhi::kSelf, part.address, part.bytes);
        if (at != nullptr) std::memcpy(at, part.from, part.bytes);
    }
    FCI_ASSERT(transfer.parts() <= nhi::Transfer::kPartsMax);
    raise(transfer.events());
}

nhi::Link TcpNetwork::link(nhi::PeerId id) noexcept {
    if (id >= peers_.size() || peers_[id].state() != PeerState::attached) return {};
    return {.block_bytes = peers_[id].peer->block_bytes, .direct = id != nhi::kSelf};
}

}  // namespace fci::tcp
