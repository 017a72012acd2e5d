// SPDX-License-Identifier: BSD-3-Clause
// RingWriter: where a process writes on in the ring that a peer keeps for it, and how much of the
// ring it goes round in (request_block.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/status.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/line.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::gcs {

/// Ring positions grow for ever. A piece never wraps: where it would reach beyond the first `lap`
/// bytes of the ring, it starts at the ring's begin instead.
struct RingPlace {
    std::uint64_t begin, end;
};
constexpr RingPlace ring_place(std::uint64_t position, std::uint64_t bytes,
                               std::uint64_t ring_bytes, std::uint64_t lap) noexcept {
    const std::uint64_t offset = position & (ring_bytes - 1);
    if (offset + bytes > lap) position += ring_bytes - offset;
    return {position, position + ((bytes + kLineBytes - 1) & ~std::uint64_t{kLineBytes - 1})};
}
static_assert(ring_place(4096, 1, 4096, 4096).end == 4096 + kLineBytes, "whole lines");
static_assert(ring_place(64, 4000, 8192, 4096).begin == 64, "up to the end of the lap");
static_assert(ring_place(128, 4000, 8192, 4096).begin == 8192, "or from the next lap's begin");

class RingWriter {
public:
    /// `laps`: the peer's LineReader has the same.
    void attach(nhi::PeerId peer, const Layout& layout, const Credit& credit, Laps laps) noexcept {
        peer_ = peer;
        credit_ = &credit;
        laps_ = laps;
        ring_bytes_ = until_ = layout.ring_bytes;
        there_ = lap_ = layout.ring_first_bytes();
    }
    /// Of the next data.
    [[nodiscard]] RingPlace next_place(std::uint64_t bytes) const noexcept {
        return ring_place(at_, bytes, ring_bytes_, lap_);
    }
    /// The peer has taken what lay there, as far as is known without a look at the credit.
    [[nodiscard]] bool has_capacity(std::uint64_t bytes) const noexcept {
        return next_place(bytes).end <= until_ && bytes <= lap_;
    }
    /// Looks, and asks for more memory of the ring where that helps. Once in each lap at least.
    [[gnu::noinline]] bool look_for_capacity(nhi::NetworkInterface& network, const Layout& layout,
                                             std::uint64_t bytes) noexcept {
        const bool is_due = begins_lap(bytes) && ++laps_alike_ >= alike_most();  // another length
        if (is_due && laps_ != Laps::short_) (void)lengthen_lap(network, layout);
        until_ = free_until(next_place(bytes));
        // Where a peer lags, what is written again should have left its caches: if laps are short,
        // the longest one is the best then.
        const bool lags = laps_ == Laps::short_ && bytes <= lap_ && !has_capacity(bytes);
        while ((lags || !has_capacity(bytes)) && lengthen_lap(network, layout)) {
            until_ = free_until(next_place(bytes));
        }
        if (is_due && laps_ == Laps::short_ && !lags) shorten_lap(bytes);
        return has_capacity(bytes);
    }
    /// Data lie at `place`, which next_place() gave where has_capacity() had said yes.
    void advance_to(const RingPlace& place) noexcept {
        FCI_ASSERT(place.begin >= at_ && place.end >= place.begin);
        if (offset(place.begin) == 0) lap_ended_ = at_;
        at_ = place.end;
    }
    [[nodiscard]] std::uint64_t offset(std::uint64_t position) const noexcept {
        return position & (ring_bytes_ - 1);
    }

private:
    /// Up to where the peer has taken what lay in the lap of `place` before.
    [[nodiscard]] std::uint64_t free_until(const RingPlace& place) const noexcept {
        const std::uint64_t taken = flag::load_acquire(credit_->ring), end = lap_end(place.begin);
        // Before a lap can begin, all laps but the last one were taken whole.
        const bool has_begun = end == lap_end(at_ - 1);
        const bool is_behind = offset(place.begin) > offset(lap_ended_ - 1);
        if (has_begun && (taken >= lap_ended_ || is_behind)) return end;
        return std::min(taken + ring_bytes_, end);
    }
    /// New memory is slow, and so is a peer that lags behind a lap that is too short.
    [[nodiscard]] unsigned alike_most() const noexcept {
        return laps_ == Laps::by_transfers ? 1 : 4;
    }
    [[nodiscard]] std::uint64_t lap_end(std::uint64_t position) const noexcept {
        return (position | (ring_bytes_ - 1)) + 1;
    }
    [[nodiscard]] bool begins_lap(std::uint64_t bytes) const noexcept {
        return at_ != 0 && offset(next_place(bytes).begin) == 0;
    }
    /// By doubling. False: it has all of the ring, or there is no memory.
    bool lengthen_lap(nhi::NetworkInterface& network, const Layout& layout) noexcept {
        if (lap_ == there_) {
            if (there_ == ring_bytes_ ||
                network.provide(peer_, layout.ring(there_), there_) != Status::ok) {
                return false;
            }
            there_ *= 2;
        }
        lap_ *= 2;
        laps_alike_ = 0;
        FCI_ASSERT(std::has_single_bit(lap_) && lap_ <= there_);
        return true;
    }
    /// The peer kept up in several laps, and messages are far shorter than these.
    void shorten_lap(std::uint64_t bytes) noexcept {
        laps_alike_ = 0;
        if (lap_ > Layout::kRingFirst && bytes <= lap_ / 8) lap_ /= 2;
    }

    std::uint64_t at_ = 0, until_ = 0;  // written, may be written
    std::uint64_t lap_ended_ = 0;       // where the lap before this one did
    std::uint64_t ring_bytes_ = 0;
    std::uint64_t there_ = 0;           // bytes of the ring that have memory
    std::uint64_t lap_ = 0;             // bytes of them that a lap uses
    const Credit* credit_ = nullptr;
    nhi::PeerId peer_ = nhi::kNoPeer;
    Laps laps_ = Laps::short_;
    std::uint8_t laps_alike_ = 0;  // begun since it changed
};

}  // namespace fci::gcs
