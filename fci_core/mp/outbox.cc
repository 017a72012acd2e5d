// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/outbox.h"

#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/mp/records.h"

namespace fci::mp {

Outbox::~Outbox() {
    while (WaitingLine* const line = free_.pop_front()) delete line;
}

void Outbox::put(Peer& peer, const gcs::Line& line) noexcept {
    if (peer.lost) return;
    if (peer.control.empty() && peer.attached && peer.out.slot_free()) {
        if (peer.out.put(network_, line) == Status::ok) return peer.note_other();
    }
    WaitingLine& waiting = take();
    waiting.line = line;
    peer.control.push_back(waiting);
    peer.fast_path = false;
    work_.set_busy();
}

void Outbox::tell(Peer& peer, Kind kind, std::uint64_t handle, std::uint8_t flags) noexcept {
    put(peer, pack(Control{kind, flags, 0}, HandleRecord{handle}));
}

bool Outbox::push(Peer& peer) noexcept {
    while (!peer.control.empty() && peer.out.slot_free()) {
        if (peer.out.put(network_, peer.control.front().line) != Status::ok) return false;
        peer.note_other();
        give(*peer.control.pop_front());
    }
    return peer.control.empty();
}

void Outbox::forget(Peer& peer) noexcept {
    while (WaitingLine* const line = peer.control.pop_front()) give(*line);
}

WaitingLine& Outbox::take() noexcept {
    FCI_ASSERT(!free_.empty());  // reserve() was called
    --free_lines_;
    return *free_.pop_front();
}

void Outbox::give(WaitingLine& line) noexcept {
    FCI_ASSERT(free_lines_ < lines_);
    if (free_lines_ == kKeep) {
        --lines_;
        delete &line;
        return;
    }
    ++free_lines_;
    free_.push_back(line);
}

[[gnu::noinline]] bool Outbox::grow() noexcept {
    auto* const line = new (std::nothrow) WaitingLine;
    if (line == nullptr) return false;
    free_.push_back(*line);
    ++free_lines_;
    ++lines_;
    return true;
}

}  // namespace fci::mp
