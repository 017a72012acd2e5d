// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/tcp_network.h"

#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/places.h"

namespace fci::tcp {

bool TcpNetwork::is_possible(nhi::PeerId writer, std::uint64_t address,
                             std::uint64_t bytes) const noexcept {
    if (address >= nhi::kPairLimit) return bytes <= memory_bytes_;  // in a window, open or not
    return nhi::lies_in(peers_[writer].peer->block.span().size(), address, bytes);
}

std::byte* TcpNetwork::locate(nhi::PeerId writer, std::uint64_t address,
                              std::uint64_t bytes) noexcept {
    FCI_ASSERT(address >= nhi::kPairLimit || peers_[writer].state() >= PeerState::attached);
    return nhi::find_place(windows(), peers_[writer].peer->block.span(), address, bytes);
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
    const std::uint64_t room = state == PeerState::attached ? peer->block_bytes + peer->tail_bytes
                                                            : nhi::kPairLimit;
    if (!nhi::fits_block(transfer, room)) return Status::invalid;
    if (answer != Status::ok || id == nhi::kSelf) return answer;
    return peer->connection->fits(transfer) ? Status::ok : Status::again;
}

Status TcpNetwork::initiate_transfer(const nhi::Transfer& transfer) noexcept try {
    if (const Status answer = check(transfer); answer != Status::ok) return answer;
    const nhi::PeerId id = transfer.destination();
    if (id == nhi::kSelf) {
        FCI_ASSERT(peers_[id].peer != nullptr);
        nhi::write_here(windows(), peers_[id].peer->block.span(), transfer);
        raise(transfer.events());
        return Status::ok;
    }
    connections_.reserve(id, transfer);
    connections_.write(id, transfer);  // nothing fails here
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::again;
}

nhi::Link TcpNetwork::link(nhi::PeerId id) noexcept {
    if (id >= peers_.size() || peers_[id].state() != PeerState::attached) return {};
    return {.block_bytes = peers_[id].peer->block_bytes, .direct = id != nhi::kSelf};
}

}  // namespace fci::tcp
