// SPDX-License-Identifier: BSD-3-Clause
// Streams: long messages that travel in parts which the sender writes (fig. 2.20): pieces in its
// pool, where the receiver maps that, or in the ring; or data, where the network brings these from
// buffer to buffer. Of data to one peer, one message goes after the other.
#pragma once

#include <cstdint>

#include "fci_core/mp/engine.h"

namespace fci::mp {

class Streams {
public:
    explicit Streams(Engine& engine) noexcept : engine_(engine) {}

    /// `order.wanted` bytes may go now.
    void begin(Peer& peer, Order& order) noexcept;
    /// Writes as many pieces of each message as there is room for.
    void push(Peer& peer);
    /// The next piece of a message, for a receive. False: it fails its checks.
    [[nodiscard]] bool on_piece(Peer& peer, const gcs::Line& line);

    /// Bytes of one piece in the ring, at most.
    static std::uint32_t piece_bytes(const Peer& peer) noexcept;

private:
    void push(Peer& peer, Order& order);
    bool push_data(Peer& peer, Order& order);
    std::uint64_t next_piece(Peer& peer, const Order& order);
    std::uint64_t piece_in_pool(Peer& peer, const Order& order, const gcs::PiecePool::Piece& piece);
    std::uint64_t piece_in_ring(Peer& peer, const Order& order);
    std::uint64_t piece_in_cell(Peer& peer, const Order& order);
    const std::byte* find_piece(Peer& peer, Order& order, const gcs::Line& line);
    void choose_landing(Peer& peer, Order& order) noexcept;
    void land(Peer& peer, Order& order, const std::byte* data, std::uint64_t bytes) noexcept;

    Engine& engine_;
    WarmBuffers warm_;
};

}  // namespace fci::mp
