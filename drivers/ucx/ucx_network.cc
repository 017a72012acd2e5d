// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/ucx_network.h"

#include "drivers/ucx/frame.h"
#include "fci_core/base/assert.h"
#include "fci_core/nhi/places.h"

namespace fci::ucx {

// --- windows and events ---

Status UcxNetwork::open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                               std::span<std::byte> local) noexcept {
    Status status = Bookkeeping::open_window(number, base, local);
    if (status != Status::ok || beside_ == nullptr) return status;
    status = beside_->open_window(number, base, local);
    if (status != Status::ok) (void)Bookkeeping::close_window(number);
    return status;
}

Status UcxNetwork::close_window(nhi::WindowNumber number) noexcept {
    const Status status = Bookkeeping::close_window(number);
    return status == Status::ok && beside_ != nullptr ? beside_->close_window(number) : status;
}

Status UcxNetwork::configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept {
    const Status status = Bookkeeping::configure_event(event, signal);
    if (status != Status::ok || beside_ == nullptr) return status;
    return beside_->configure_event(event, signal);
}

Status UcxNetwork::mask_event_interrupt(nhi::EventId event, bool masked) noexcept {
    if (beside_ != nullptr) (void)beside_->mask_event_interrupt(event, masked);
    const Status status = Bookkeeping::mask_event_interrupt(event, masked);
    if (status == Status::ok && !masked && may_wake()) turn_.watch();
    return status;
}

nhi::Link UcxNetwork::link(nhi::PeerId id) noexcept {
    if (peers_.state(id) != PeerState::attached) return {};
    return {.block_bytes = peers_.find(id)->block_bytes, .direct = id != nhi::kSelf};
}

// --- sending ---

Status UcxNetwork::check(const nhi::Transfer& transfer) const noexcept {
    const nhi::PeerId id = transfer.destination();
    if (id >= peers_.size()) return Status::invalid;
    const PeerState state = peers_.state(id);
    if (state == PeerState::known) return Status::unreachable;
    if (state >= PeerState::ending) return Status::lost;
    const bool is_there = state == PeerState::attached;
    if (is_there && is_cut_off(id, *peers_.find(id))) return Status::lost;
    const std::uint64_t room = is_there ? peers_.find(id)->block_bytes : nhi::kPairLimit;
    if (!nhi::fits_block(transfer, room)) return Status::invalid;
    return is_there ? Status::ok : Status::again;
}

Status UcxNetwork::initiate_transfer(const nhi::Transfer& transfer) noexcept {
    if (const Status answer = check(transfer); answer != Status::ok) return answer;
    if (transfer.destination() == nhi::kSelf) {
        nhi::write_here(windows(), peers_.find(nhi::kSelf)->block.span(), transfer);
        raise(transfer.events());
        return Status::ok;
    }
    Peer& peer = *peers_.find(transfer.destination());
    FCI_ASSERT(peer.is_by_tcp ? beside_ != nullptr : peer.way != nullptr);
    if (peer.is_by_tcp) return beside_->initiate_transfer(transfer);
    const std::size_t bytes = frame_bytes(transfer);
    std::byte* const frame = turn_.road().begin(peer.way, bytes);
    if (frame == nullptr) return Status::again;
    write_frame({.key = peer.key_there, .number = peer.number_there, .sequence = ++peer.sent,
                 .events = 0, .parts = 0},
                transfer, frame);
    turn_.road().send(peer.way, bytes);
    return Status::ok;  // where the way is broken the peer's end will be told
}

}  // namespace fci::ucx
