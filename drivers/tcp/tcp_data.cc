// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/tcp_data.h"

#include <new>

#include "fci_core/base/assert.h"

namespace fci::tcp {

Connection* TcpData::connection_to(nhi::PeerId id) const noexcept {
    const bool is_other = id < peers_.size() && id != nhi::kSelf;
    if (!is_other || peers_[id].state() != PeerState::attached) return nullptr;
    FCI_ASSERT(peers_[id].peer->connection);
    return &*peers_[id].peer->connection;
}

Status TcpData::send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                     std::uint32_t events) noexcept try {
    if (id == nhi::kSelf || id >= peers_.size() || data.bytes == 0) return Status::invalid;
    if (peers_[id].state() >= PeerState::ending) return Status::lost;
    const Connection* const connection = connection_to(id);
    if (connection == nullptr) return Status::unreachable;
    if (connection->is_refused() || connection->borrows()) return Status::again;
    connections_.reserve_for_data(id);
    connections_.write(id, data, from, events);
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::again;
}

bool TcpData::has_taken(nhi::PeerId id) const noexcept {
    const Connection* const connection = connection_to(id);
    return connection != nullptr && connection->has_taken_data();
}

void TcpData::set_target(nhi::DataTarget* target) noexcept {
    target_ = target;
    if (target == nullptr) connections_.keep_data();
}

void TcpData::give_back(nhi::PeerId id) noexcept {
    if (Connection* const connection = connection_to(id)) connection->give_data_back();
}

}  // namespace fci::tcp
