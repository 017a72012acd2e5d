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
    if (address >= nhi::kPairLimit) return bytes <= memory_bytes_;  // of a window, open or not
    return lies_in(peers_[writer].peer->block.span().size(), address, bytes);
}

std::byte* TcpNetwork::locate(nhi::PeerId writer, std::uint64_t address,
                              std::uint64_t bytes) noexcept {
    if (address >= nhi::kPairLimit) return windows().find(address, bytes);
    FCI_ASSERT(peers_[writer].state() >= PeerState::attached);
    const std::span<std::byte> block = peers_[writer].peer->block.span();
    return lies_in(block.size(), address, bytes) ? block.data() + address : nullptr;
}

Status TcpNetwork::check(const nhi::Transfer& transfer,
                         std::span<const nhi::PeerId> targets) const noexcept {
    if (targets.empty()) return Status::invalid;
    Status answer = Status::ok;
    for (const nhi::PeerId id : targets) {
        const Peer* const peer = peers_[id].peer.get();
        const PeerState state = peers_[id].state();
        switch (state) {
            case PeerState::attached: break;
            case PeerState::ending:
            case PeerState::lost: return Status::lost;
            case PeerState::known: return Status::unreachable;
            case PeerState::connecting:
            case PeerState::joined: answer = Status::again; break;
        }
        const std::uint64_t room =
            state == PeerState::attached ? peer->block_bytes : nhi::kPairLimit;
        for (unsigned i = 0; i < transfer.parts(); ++i) {
            const nhi::Transfer::Part& part = transfer.part(i);
            const bool possible = part.indirect
                                      ? part.address < nhi::kIndicesMax
                                      : part.address >= nhi::kPairLimit ||
                                            lies_in(room, part.address, part.bytes);
            if (!possible) return Status::invalid;
        }
        if (answer == Status::ok && id != nhi::kSelf && !peer->connection->fits(transfer)) {
            answer = Status::again;
        }
    }
    return answer;
}

Status TcpNetwork::initiate_transfer(const nhi::Transfer& transfer) noexcept try {
    const nhi::GroupId group = transfer.destination();
    const std::span<const nhi::PeerId> targets = members(group);
    if (const Status answer = check(transfer, targets); answer != Status::ok) return answer;
    for (const nhi::PeerId id : targets) {
        if (id != nhi::kSelf) connections_.reserve(id, transfer);
    }
    // From here on nothing fails.
    for (const nhi::PeerId id : targets) {
        id == nhi::kSelf ? write_here(transfer) : connections_.write(id, transfer);
    }
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::again;
}

void TcpNetwork::write_here(const nhi::Transfer& transfer) noexcept {
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const std::uint64_t address =
            part.indirect ? windows().address(part.address) : part.address;
        const bool wraps = address + part.bytes < address;
        std::byte* const at = wraps ? nullptr : locate(nhi::kSelf, address, part.bytes);
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
