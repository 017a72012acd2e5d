// SPDX-License-Identifier: BSD-3-Clause
// LineWriter: a process's view of the block that a peer keeps for it (request_block.h): requests,
// their data, and how much room there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/status.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/line.h"
#include "fci_core/gcs/ring_writer.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::gcs {

class LineWriter {
public:
    LineWriter() = default;
    LineWriter(const LineWriter&) = delete;
    LineWriter& operator=(const LineWriter&) = delete;

    struct Part {
        const void* from;
        std::size_t bytes;
    };

    void attach(nhi::PeerId peer, const Layout& layout, std::span<const std::byte> own_block,
                const nhi::Link& link, Laps laps) noexcept {
        FCI_ASSERT(peer_ == nhi::kNoPeer && peer != nhi::kNoPeer);  // once in its life
        FCI_ASSERT(layout.is_sound() && layout.slots != 0);
        FCI_ASSERT(own_block.size() >= sizeof(Credit) && is_aligned(own_block.data()));
        peer_ = peer;
        layout_ = layout;
        slots_until_ = layout.slots;
        credit_ = reinterpret_cast<const Credit*>(own_block.data());
        ring_.attach(peer, layout, *credit_, laps);
        if (link.block == nullptr) return;
        FCI_ASSERT(link.block_bytes >= layout.block_bytes() && is_aligned(link.block));
        FCI_ASSERT(link.wanted_events != nullptr);
        lines_ = reinterpret_cast<Line*>(link.block + static_cast<std::uint64_t>(Layout::slot(0)));
        next_ = lines_;
        end_ = lines_ + layout.slots;
        ring_at_ = link.block + static_cast<std::uint64_t>(layout.ring(0));
        wanted_events_ = link.wanted_events;
    }

    [[nodiscard]] bool slot_free() noexcept { return slot_known() || look_for_slots(); }
    /// A slot is free, as far as is known without a look at the credit.
    [[nodiscard]] bool slot_known() const noexcept { return slots_ != slots_until_; }
    [[nodiscard]] bool ring_free(nhi::NetworkInterface& network, std::uint64_t bytes) noexcept {
        if (ring_.has_capacity(bytes)) [[likely]] return true;
        return ring_.look_for_capacity(network, layout_, bytes);
    }
    [[nodiscard]] std::uint64_t disposed() const noexcept {
        return flag::load_acquire(credit_->disposed);
    }
    [[nodiscard]] std::uint64_t sent() const noexcept { return slots_; }

    /// The peer sleeps until a request wakes it; false where that cannot be seen.
    [[nodiscard]] bool asleep() const noexcept {
        return wants_event() && flag::load_relaxed(*wanted_events_) != nhi::Link::kAlways;
    }

    /// For what the peer finds without a request, if it sleeps.
    void wake_sleeper(nhi::NetworkInterface& network) noexcept {
        if (lines_ == nullptr || wants_event()) wake(network);
    }

    /// The peer's block can be written directly: send() and write_ring() may be used.
    [[nodiscard]] bool reachable() const noexcept { return lines_ != nullptr; }

    /// The next request, to be filled in: it lies in the slot itself where that can be reached.
    /// slot_free() must have said yes. Nobody sees it before put().
    [[nodiscard]] Line& prepare() noexcept { return *next_; }
    /// The same, and its number; for a reachable peer.
    struct Slot {
        Line* line;
        std::uint64_t number;
    };
    [[nodiscard]] Slot slot() const noexcept { return {next_, slots_ + 1}; }
    /// Sends what slot() gave and the caller has filled in. `control`: the lower half of its
    /// control word. Best called last: nothing then need survive the wake-up.
    void send(nhi::NetworkInterface& network, const Slot& slot, std::uint32_t control) noexcept {
        flag::store_release(slot.line->control, control | slot.number << 32);
        slots_ = slot.number;
        next_ = slot.line + 1 != end_ ? slot.line + 1 : lines_;
        flag::compiler_fence();
        if (wants_event()) [[unlikely]] wake(network);
    }
    /// The data of the prepared request; ring_free() must have said yes. For reachable peers.
    void write_ring(const void* data, std::uint64_t bytes) noexcept {
        FCI_ASSERT(ring_.has_capacity(bytes));  // the peer has taken what lay there
        const RingPlace place = ring_.next_place(bytes);
        next_->word[kRingWord] = place.begin;
        std::memcpy(ring_at_ + ring_.offset(place.begin), data, bytes);
        ring_.advance_to(place);
    }
    /// A request may wait on its way: for data that follow (Transfer::let_wait()), or for anything
    /// that comes (Transfer::let_linger()).
    enum class WaitsFor : std::uint8_t { nothing, data, anything };
    /// The same, however the peer is reached.
    Status put(nhi::NetworkInterface& network, std::uint32_t control,
               WaitsFor waits_for = WaitsFor::nothing) noexcept {
        if (lines_ == nullptr) {
            nhi::Transfer transfer(peer_);
            if (waits_for == WaitsFor::data) transfer.let_wait();
            if (waits_for == WaitsFor::anything) transfer.let_linger();
            return finish(network, transfer, control);
        }
        send(network, slot(), control);
        return Status::ok;
    }
    /// Data into the ring and the prepared request that announces it, as one transfer (§2.6.8).
    Status put(nhi::NetworkInterface& network, std::uint32_t control, std::span<const Part> data,
               std::uint64_t bytes, WaitsFor waits_for = WaitsFor::nothing) noexcept {
        FCI_ASSERT(waits_for != WaitsFor::data);
        FCI_ASSERT(ring_.has_capacity(bytes));
        const RingPlace place = ring_.next_place(bytes);
        prepare().word[kRingWord] = place.begin;
        std::uint64_t offset = ring_.offset(place.begin);
        nhi::Transfer transfer(peer_);
        if (waits_for == WaitsFor::anything) transfer.let_linger();
        for (const Part& part : data) {
            if (part.bytes == 0) continue;
            if (lines_ != nullptr) {
                std::memcpy(ring_at_ + offset, part.from, part.bytes);
            } else {
                transfer.put(layout_.ring(offset), part.from, part.bytes);
            }
            offset += part.bytes;
        }
        FCI_ASSERT(offset == ring_.offset(place.begin) + bytes);
        if (lines_ == nullptr) {
            const Status status = finish(network, transfer, control);
            if (status == Status::ok) ring_.advance_to(place);
            return status;
        }
        ring_.advance_to(place);
        send(network, slot(), control);
        return Status::ok;
    }
    Status put(nhi::NetworkInterface& network, const Line& line) noexcept {
        Line& prepared = prepare();
        std::memcpy(prepared.word, line.word, sizeof prepared.word);
        return put(network, static_cast<std::uint32_t>(line.control));
    }

private:
    [[gnu::noinline]] bool look_for_slots() noexcept {
        // If the peer's word is wrong, only the peer loses requests.
        const std::uint64_t taken = flag::load_acquire(credit_->slots);
        if (slots_ - taken >= layout_.slots) return false;
        slots_until_ = taken + layout_.slots;
        FCI_ASSERT(slot_known() && slots_until_ - slots_ <= layout_.slots);
        return true;
    }
    [[nodiscard]] bool wants_event() const noexcept {
        return (flag::load_relaxed(*wanted_events_) & (1u << kWakeEvent)) != 0;
    }
    [[gnu::noinline, gnu::cold]] void wake(nhi::NetworkInterface& network) noexcept {
        nhi::Transfer transfer(peer_);
        (void)network.initiate_transfer(transfer.raise(kWakeEvent));
        if (flag::load_relaxed(*wanted_events_) != nhi::Link::kAlways) return;
        const nhi::Link link = network.link(peer_);
        if (link.wanted_events != nullptr) wanted_events_ = link.wanted_events;
    }
    [[gnu::noinline]] Status finish(nhi::NetworkInterface& network, nhi::Transfer& transfer,
                                    std::uint32_t control) noexcept {
        FCI_ASSERT(slot_known() && next_ == &staging_);
        staging_.control = control | (slots_ + 1) << 32;
        transfer.put(Layout::slot(slots_ & (layout_.slots - 1)), &staging_, sizeof staging_)
            .raise(kWakeEvent);
        const Status status = network.initiate_transfer(transfer);
        if (status == Status::ok) ++slots_;
        return status;
    }

    static constexpr std::uint64_t kAwake = 0;

    Line* next_ = &staging_;  // where the next request is prepared
    std::uint64_t slots_ = 0, slots_until_ = 0;  // sent, may be sent
    Line* end_ = nullptr;     // of the slots
    const std::uint64_t* wanted_events_ = &kAwake;
    Line* lines_ = nullptr;   // the peer's slots, where they can be reached
    Layout layout_{};
    const Credit* credit_ = nullptr;
    RingWriter ring_;
    std::byte* ring_at_ = nullptr;
    nhi::PeerId peer_ = nhi::kNoPeer;
    Line staging_{};
};

}  // namespace fci::gcs
