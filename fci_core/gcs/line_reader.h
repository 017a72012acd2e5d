// SPDX-License-Identifier: BSD-3-Clause
// LineReader: a process's view of the block that it keeps for a peer (request_block.h): requests
// from there, and the credit that goes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/status.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/line.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::gcs {

class LineReader {
public:
    /// `unexpected_bytes`: memory here that the peer may use for unexpected messages. `laps`: those
    /// of the writer. `link`: where credit for the peer is written.
    void attach(nhi::PeerId peer, const Layout& layout, std::span<const std::byte> own_block,
                std::uint64_t unexpected_bytes, Laps laps, const nhi::Link& link) noexcept {
        FCI_ASSERT(peer_ == nhi::kNoPeer && peer != nhi::kNoPeer);  // once in its life
        FCI_ASSERT(layout.is_sound() && layout.slots >= 2);  // half of them are due at a time
        FCI_ASSERT(own_block.size() >= layout.block_bytes() && is_aligned(own_block.data()));
        peer_ = peer;
        layout_ = layout;
        if (link.block != nullptr) {
            told_ = reinterpret_cast<Credit*>(link.block +
                                              static_cast<std::uint64_t>(Layout::credit()));
        }
        // Whole messages in a line add to `disposed`, too, and only their number is looked at.
        const std::uint64_t lines = unexpected_bytes / 4 / kDisposedByLineMost;
        const std::uint64_t in_use = laps == Laps::by_transfers ? kRingInUseFar : kRingInUse;
        half_ = {std::clamp<std::uint64_t>(lines, 1, layout.slots / 2),
                 std::min(layout.ring_bytes, in_use) / 2, unexpected_bytes / 2};
        due_ = half_;
        // The writer's first lap is short, and it should not find at its end that this side lags.
        if (laps == Laps::short_) due_.ring = std::min(half_.ring, layout.ring_first_bytes() / 2);
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
    /// Bytes of which a message in its line may dispose, at most.
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
    /// Copies the request out, once: the peer may still scribble over it, and it is not read again.
    /// Unexpected memory that the message takes is given back by dispose(), later.
    [[nodiscard]] Line take() noexcept {
        const Line line = *next_;
        more_disposed_ -= kLineBytes;
        advance();
        return line;
    }
    /// The state before take() and ring() of one request, by which they can be undone.
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
    /// Where this side can store, the caller wakes the peer (LineWriter::wake_sleeper).
    Status return_credit(nhi::NetworkInterface& network) noexcept {
        const Credit now{taken(), ring_, disposed()};
        if (told_ != nullptr) {
            flag::store_release(told_->slots, now.slots);
            flag::store_release(told_->ring, now.ring);
            flag::store_release(told_->disposed, now.disposed);
        } else {
            nhi::Transfer transfer(peer_);
            transfer.put(Layout::credit(), &now, sizeof now).raise(kWakeEvent);
            const Status status = network.initiate_transfer(transfer);
            if (status != Status::ok) return status;
        }
        due_ = {now.slots + half_.slots, now.ring + half_.ring, now.disposed + half_.disposed};
        FCI_ASSERT(number_ <= due_.slots);
        stop_at_next();
        return Status::ok;
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
        if (number_ > due_.slots) return;  // it could not be returned: the next turn tries again
        const std::uint64_t lines = due_.slots + 1 - number_;
        if (lines < static_cast<std::uint64_t>(stop_ - next_)) stop_ = next_ + lines;
        FCI_ASSERT(next_ < stop_);
    }

    const Line* next_ = &kNothing;
    std::uint64_t number_ = 1;  // of the next request; the upper half of its control word
    const Line* stop_ = nullptr;
    const std::byte* ahead_ = nullptr;
    Credit due_{};
    // Disposed of beyond a line for each request taken, which is what a short message is charged;
    // below zero where requests were not disposed of.
    std::uint64_t more_disposed_ = 0, ring_ = 0;
    const Line *slots_end_ = nullptr, *slots_at_ = nullptr;
    const std::byte* ring_at_ = nullptr;
    Credit* told_ = nullptr;  // the peer's, where this side can store
    nhi::PeerId peer_ = nhi::kNoPeer;
    std::uint32_t ahead_bytes_ = 0;
    Layout layout_{};
    Credit half_{};
};

}  // namespace fci::gcs
