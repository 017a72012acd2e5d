// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/incoming.h"

#include <cstring>

#include "drivers/ucx/ucx_network.h"

namespace fci::ucx {

/// The peer that has sent it, and whose next frame it is; kNoPeer: it is nobody's. A frame counts
/// only with the key that its sender was told by TCP.
nhi::PeerId Incoming::sender_of(const FrameHead& head) noexcept {
    Peer* const peer = head.number != nhi::kSelf ? peers_.find(head.number) : nullptr;
    const bool is_met = peer != nullptr && !peer->block.span().empty();
    if (!is_met || peer->state == PeerState::lost || head.key != peer->key) return nhi::kNoPeer;
    if (head.sequence == peer->heard + 1) {
        ++peer->heard;
        return head.number;
    }
    // UCX keeps the order, or the rest is worth nothing.
    if (peer->way != nullptr) {
        turn_.road().mark_broken(peer->way, "its frames come out of order");
    }
    return nhi::kNoPeer;
}

void Incoming::frame_came(std::span<const std::byte> bytes) noexcept {
    const FrameReader frame(bytes);
    const nhi::PeerId from = frame.is_sound() ? sender_of(frame.head()) : nhi::kNoPeer;
    if (from == nhi::kNoPeer) return;
    const std::span<std::byte> block = peers_.find(from)->block.span();
    frame.for_each_part([&](std::uint64_t address, std::span<const std::byte> part) {
        std::byte* const at = network_.find_place(block, address, part.size());
        if (at != nullptr) std::memcpy(at, part.data(), part.size());
    });
    network_.raise(frame.head().events);
}

bool Incoming::data_came(std::span<const std::byte> bytes, const Load& load) noexcept {
    DataHead head;
    if (bytes.size() != sizeof head) return false;
    std::memcpy(&head, bytes.data(), sizeof head);
    const nhi::PeerId from = sender_of(head.frame);
    return from != nhi::kNoPeer && data_.came(from, head, load);
}

void Incoming::fetched(nhi::PeerId from, bool is_whole) noexcept {
    network_.raise(data_.fetched(from, is_whole));
}

}  // namespace fci::ucx
