// The two typed views of a request block (§2.6.6, §2.6.9): who writes what.
//
//   part    | written by            | read by | order
//   slots   | the peer (LineWriter) | owner   | a line's control word last
//   ring    | the peer (LineWriter) | owner   | before the line that announces it
//   credit  | the peer (LineReader)  | owner   | words grow, each whole by itself
//   claims  | both, see ClaimWord    | both    | -
//
// A pair has two blocks. LineWriter writes the one at the peer and reads the credit in the own one;
// LineReader reads the own one and writes the credit at the peer. Neither can write the other's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/status.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/line.h"
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
                const nhi::Link& link) noexcept {
        FCI_ASSERT(peer_ == nhi::kNoPeer && peer != nhi::kNoPeer);  // once in its life
        FCI_ASSERT(layout.is_sound() && layout.slots != 0);
        FCI_ASSERT(own_block.size() >= sizeof(Credit) && is_aligned(own_block.data()));
        peer_ = peer;
        layout_ = layout;
        slots_until_ = layout.slots;
        ring_there_ = lap_ = layout.ring_first_bytes();
        ring_until_ = layout.ring_bytes;
        credit_ = reinterpret_cast<const Credit*>(own_block.data());
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
        if (has_capacity(bytes)) [[likely]] return true;
        return look_for_capacity(network, bytes);
    }
    [[nodiscard]] std::uint64_t disposed() const noexcept {
        return flag::load_acquire(credit_->disposed);
    }
    [[nodiscard]] std::uint64_t sent() const noexcept { return slots_; }

    /// The peer sleeps until a request wakes it; false where that cannot be seen.
    [[nodiscard]] bool asleep() const noexcept {
        return wants_event() && flag::load_relaxed(*wanted_events_) != nhi::Link::kAlways;
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
        const RingPlace place = next_place(bytes);
        FCI_ASSERT(place.end <= ring_until_);  // the peer has taken what lay there
        next_->word[kRingWord] = place.begin;
        std::memcpy(ring_at_ + (place.begin & (layout_.ring_bytes - 1)), data, bytes);
        ring_ = place.end;
    }
    /// What it may wait for on its way: data that follow (Transfer::let_wait()), or whatever comes
    /// (Transfer::let_linger()).
    enum class WaitsFor : std::uint8_t { nothing, data, anything };
    /// The same, however the peer is reached.
    Status put(nhi::NetworkInterface& network, std::uint32_t control,
               WaitsFor waits_for = WaitsFor::nothing) noexcept {
        if (lines_ == nullptr) {
            nhi::Transfer transfer(peer_);
            if (waits_for == WaitsFor::data) transfer.let_wait();
            if (waits_for == WaitsFor::anything) transfer.let_linger();
            return finish(network, transfer, control, ring_);
        }
        send(network, slot(), control);
        return Status::ok;
    }
    /// Data into the ring and the prepared request that announces it, as one transfer (§2.6.8).
    Status put(nhi::NetworkInterface& network, std::uint32_t control, std::span<const Part> data,
               std::uint64_t bytes, WaitsFor waits_for = WaitsFor::nothing) noexcept {
        FCI_ASSERT(waits_for != WaitsFor::data);
        const RingPlace place = next_place(bytes);
        FCI_ASSERT(place.end <= ring_until_);
        prepare().word[kRingWord] = place.begin;
        std::uint64_t offset = place.begin & (layout_.ring_bytes - 1);
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
        FCI_ASSERT(offset == (place.begin & (layout_.ring_bytes - 1)) + bytes);
        if (lines_ == nullptr) return finish(network, transfer, control, place.end);
        ring_ = place.end;
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
        // What the peer says there can only be wrong; it then loses requests, and nobody else does.
        const std::uint64_t taken = flag::load_acquire(credit_->slots);
        if (slots_ - taken >= layout_.slots) return false;
        slots_until_ = taken + layout_.slots;
        FCI_ASSERT(slot_known() && slots_until_ - slots_ <= layout_.slots);
        return true;
    }
    [[nodiscard]] RingPlace next_place(std::uint64_t bytes) const noexcept {
        return ring_place(ring_, bytes, layout_.ring_bytes, lap_);
    }
    [[nodiscard]] bool has_capacity(std::uint64_t bytes) const noexcept {
        return next_place(bytes).end <= ring_until_ && bytes <= lap_;
    }
    /// Once in each lap at least. A short lap stays in the first cache of both sides, so a lap
    /// becomes longer only where the peer has not yet taken what lies at its begin.
    [[gnu::noinline]] bool look_for_capacity(nhi::NetworkInterface& network,
                                             std::uint64_t bytes) noexcept {
        // Where the peer returns credit by messages of its own, these shall be few.
        if (begins_lap(bytes) && !reachable()) (void)lengthen_lap(network);
        do {
            ring_until_ = std::min(flag::load_acquire(credit_->ring) + layout_.ring_bytes,
                                   lap_end(next_place(bytes)));
            if (has_capacity(bytes)) {
                if (begins_lap(bytes)) shorten_lap(bytes);
                return true;
            }
        } while (lengthen_lap(network));
        return false;
    }
    [[nodiscard]] std::uint64_t lap_end(const RingPlace& place) const noexcept {
        return (place.begin | (layout_.ring_bytes - 1)) + 1;
    }
    [[nodiscard]] bool begins_lap(std::uint64_t bytes) const noexcept {
        return lap_end(next_place(bytes)) != lap_end({ring_, ring_});
    }
    /// By doubling. False: it has all of the ring, or there is no memory.
    bool lengthen_lap(nhi::NetworkInterface& network) noexcept {
        if (lap_ == ring_there_) {
            if (ring_there_ == layout_.ring_bytes ||
                network.provide(peer_, layout_.ring(ring_there_), ring_there_) != Status::ok) {
                return false;
            }
            ring_there_ *= 2;
        }
        lap_ *= 2;
        lagged_ = true;
        FCI_ASSERT(std::has_single_bit(lap_) && lap_ <= ring_there_);
        return true;
    }
    /// The next lap is half as long where the peer kept up in this one, and messages are far
    /// shorter than either.
    void shorten_lap(std::uint64_t bytes) noexcept {
        if (!lagged_ && lap_ > layout_.ring_first_bytes() && bytes <= lap_ / 8) lap_ /= 2;
        lagged_ = false;
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
                                    std::uint32_t control, std::uint64_t ring_after) noexcept {
        FCI_ASSERT(slot_known() && next_ == &staging_);
        FCI_ASSERT(ring_after >= ring_);
        staging_.control = control | (slots_ + 1) << 32;
        transfer.put(Layout::slot(slots_ & (layout_.slots - 1)), &staging_, sizeof staging_)
            .raise(kWakeEvent);
        const Status status = network.initiate_transfer(transfer);
        if (status == Status::ok) {
            ++slots_;
            ring_ = ring_after;
        }
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
    std::uint64_t ring_ = 0, ring_until_ = 0;    // written, may be written
    std::uint64_t ring_there_ = 0;               // bytes of the ring for which there is memory
    std::uint64_t lap_ = 0;                      // of them, that are gone round in
    bool lagged_ = false;                        // the peer, in this lap
    std::byte* ring_at_ = nullptr;
    nhi::PeerId peer_ = nhi::kNoPeer;
    Line staging_{};
};

class LineReader {
public:
    /// `unexpected_bytes`: what the peer may use of this process's memory for messages that nobody
    /// asked for. `takes_stores`: it is told of credit by stores.
    void attach(nhi::PeerId peer, const Layout& layout, std::span<const std::byte> own_block,
                std::uint64_t unexpected_bytes, bool takes_stores) noexcept {
        FCI_ASSERT(peer_ == nhi::kNoPeer && peer != nhi::kNoPeer);  // once in its life
        FCI_ASSERT(layout.is_sound() && layout.slots >= 2);  // half of them are due at a time
        FCI_ASSERT(own_block.size() >= layout.block_bytes() && is_aligned(own_block.data()));
        peer_ = peer;
        layout_ = layout;
        // Whole messages in a line add to `disposed`, too, and only their number is looked at.
        const std::uint64_t lines = unexpected_bytes / 4 / kDisposedByLineMost;
        const std::uint64_t in_use = takes_stores ? kRingInUse : kRingInUseFar;
        half_ = {std::clamp<std::uint64_t>(lines, 1, layout.slots / 2),
                 std::min(layout.ring_bytes, in_use) / 2, unexpected_bytes / 2};
        due_ = half_;
        // The writer's first laps are short: it should not find that this side lags (look_for_capacity).
        if (takes_stores) due_.ring = std::min(half_.ring, layout.ring_first_bytes() / 2);
        FCI_ASSERT(half_.slots != 0 && half_.ring != 0);
        slots_at_ = reinterpret_cast<const Line*>(
            own_block.data() + static_cast<std::uint64_t>(Layout::slot(0)));
        ring_at_ = own_block.data() + static_cast<std::uint64_t>(layout.ring(0));
        slots_end_ = slots_at_ + layout.slots;
        next_ = slots_at_;
        stop_at_next();
    }

    /// Of the ring that a peer uses whose messages are taken as they come.
    static constexpr std::uint64_t kRingInUse = 64 * 1024;
    // Where each return is a message of its own, a fresh cache line is the smaller gain.
    static constexpr std::uint64_t kRingInUseFar = 512 * 1024;
    /// What a message that lies in its line may dispose of.
    static constexpr std::uint64_t kDisposedByLineMost = 2 * kLineBytes;

    /// The next request is here.
    [[nodiscard]] bool ready() const noexcept { return is_next(*next_); }
    /// Where it lies, or will lie, until advance(): the peer may still scribble on it.
    [[nodiscard]] const Line& next() const noexcept { return *next_; }
    /// next() is here.
    [[nodiscard]] bool is_next(const Line& line) const noexcept {
        return flag::load_part_acquire<std::uint32_t>(line.control, 1) ==
               static_cast<std::uint32_t>(number_);
    }
    /// The same, of a control word that was read.
    [[nodiscard]] bool is_next(std::uint64_t control) const noexcept {
        return static_cast<std::uint32_t>(control >> 32) == static_cast<std::uint32_t>(number_);
    }
    /// Nothing of it, a line's memory and `bytes`, is kept. True where credit_due() may have become
    /// true by that.
    bool advance_disposing(std::uint64_t bytes) noexcept {
        more_disposed_ += bytes;
        return advance();
    }
    /// Copies it out, once: what the peer may still scribble is not looked at again. What it keeps
    /// of this process's memory is for dispose(), later.
    [[nodiscard]] Line take() noexcept {
        const Line line = *next_;
        more_disposed_ -= kLineBytes;
        advance();
        return line;
    }
    /// What take() and ring() did with one request, so that it can be undone.
    struct Place {
        const Line* line;
        std::uint64_t ring;
    };
    [[nodiscard]] Place place() const noexcept { return {next_, ring_}; }
    /// The request taken since place() is the next one again.
    void go_back(const Place& to) noexcept {
        FCI_ASSERT(taken() != 0 && to.line >= slots_at_ && to.line < slots_end_);
        next_ = to.line;
        ring_ = to.ring;
        more_disposed_ += kLineBytes;
        --number_;
        stop_at_next();
    }
    /// Where the `bytes` lie that come with this request. They stay until the credit is returned.
    /// nullptr: they cannot be where it says.
    [[nodiscard]] const std::byte* ring(const Line& line, std::uint64_t bytes) noexcept {
        const std::uint64_t begin = flag::load_relaxed(line.word[kRingWord]);
        const std::uint64_t offset = begin & (layout_.ring_bytes - kLineBytes);
        if (begin - ring_ > layout_.ring_bytes || bytes > layout_.ring_bytes - offset)
            [[unlikely]] {
            return nullptr;
        }
        const std::uint64_t whole = (bytes + kLineBytes - 1) & ~std::uint64_t{kLineBytes - 1};
        const std::byte* const data = ring_at_ + offset;
        ring_ = begin + whole;
        expect(data + whole, bytes);
        return data;
    }
    /// The next message that is not in its line will probably be there, and as long.
    void expect(const std::byte* data, std::uint64_t bytes) noexcept {
        ahead_ = data;
        ahead_bytes_ = bytes <= kAheadMost ? static_cast<std::uint32_t>(bytes) : 0;
    }
    /// Asks for what is expected together with the next line, so that it comes with that line and
    /// not after it. Nothing of it is read: at the end of the ring it is memory behind that.
    void look_ahead() const noexcept {
        for (std::uint32_t at = 0; at < ahead_bytes_; at += kLineBytes) {
            __builtin_prefetch(ahead_ + at);
        }
    }
    /// Of longer messages nothing is asked for: the peer is still writing the last lines when the
    /// first ones come, and would have to fetch back what was taken from it too early.
    static constexpr std::uint64_t kAheadMost = 4 * kLineBytes;
    void dispose(std::uint64_t bytes) noexcept { more_disposed_ += bytes; }
    [[nodiscard]] std::uint64_t taken() const noexcept { return number_ - 1; }
    /// Of both blocks of the pair; its pool is the peer's.
    [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

    /// Half of something was used up since the peer was last told.
    [[nodiscard]] bool credit_due() const noexcept {
        return number_ > due_.slots || ring_ >= due_.ring || disposed() >= due_.disposed;
    }
    Status return_credit(nhi::NetworkInterface& network) noexcept {
        const Credit now{taken(), ring_, disposed()};
        nhi::Transfer transfer(peer_);
        transfer.put(Layout::credit(), &now, sizeof now).raise(kWakeEvent);
        const Status status = network.initiate_transfer(transfer);
        if (status == Status::ok) {
            due_ = {taken() + half_.slots, ring_ + half_.ring, disposed() + half_.disposed};
            FCI_ASSERT(number_ <= due_.slots);
            stop_at_next();
        }
        return status;
    }

private:
    static constexpr Line kNothing{};

    [[nodiscard]] std::uint64_t disposed() const noexcept {
        return taken() * kLineBytes + more_disposed_;
    }
    bool advance() noexcept {
        ++number_;
        if (++next_ != stop_) [[likely]] return false;
        stop_at_next();
        return true;
    }
    /// The last line, or the one that makes credit due: between them only `next_` is looked at.
    [[gnu::noinline]] void stop_at_next() noexcept {
        if (next_ == slots_end_) next_ = slots_at_;
        FCI_ASSERT(next_ == slots_at_ + (number_ - 1) % layout_.slots);
        stop_ = slots_end_;
        if (number_ > due_.slots) return;  // it could not be returned: whoever owes it tries again
        const std::uint64_t lines = due_.slots + 1 - number_;
        if (lines < static_cast<std::uint64_t>(stop_ - next_)) stop_ = next_ + lines;
        FCI_ASSERT(next_ < stop_);
    }

    const Line* next_ = &kNothing;
    std::uint64_t number_ = 1;  // of the next request; the upper half of its control word
    const Line* stop_ = nullptr;
    const std::byte* ahead_ = nullptr;
    std::uint32_t ahead_bytes_ = 0;
    Credit due_{};
    // Disposed of beyond a line for each request taken, which is what a short message is charged;
    // below zero where requests were not disposed of.
    std::uint64_t more_disposed_ = 0, ring_ = 0;
    const Line *slots_end_ = nullptr, *slots_at_ = nullptr;
    const std::byte* ring_at_ = nullptr;
    nhi::PeerId peer_ = nhi::kNoPeer;
    Layout layout_{};
    Credit half_{};
};

}  // namespace fci::gcs
