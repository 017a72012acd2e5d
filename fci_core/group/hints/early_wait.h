// SPDX-License-Identifier: BSD-3-Clause
// EarlyWait: the wait of one member for a broadcast that may come in two ways (§2.6.11), by a hint
// and by a message from the one before it in a chain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/group/hints/early.h"
#include "fci_core/nhi/types.h"

namespace fci::group {

class EarlyWait {
public:
    EarlyWait() noexcept = default;  // there is nothing that may come early
    /// `lingers`: the message to the next one, which nobody waits for where hints are heard.
    EarlyWait(Early& early, std::uint64_t number, bool lingers) noexcept
        : early_(&early), number_(number), lingers_(lingers) {}

    explicit operator bool() const noexcept { return early_ != nullptr; }
    [[nodiscard]] bool lingers() const noexcept { return lingers_ && !early_->is_plain(number_); }
    /// The hint is here.
    [[nodiscard]] bool has_hint() const noexcept { return early_->has(number_); }
    [[nodiscard]] std::span<const std::byte> hint() const noexcept {
        return early_->bytes(number_);
    }
    /// Into the trailer of what came, for the members behind this one: whether it hears hints.
    void note_in(std::byte* at, Nanoseconds now) noexcept {
        Trailer trailer;
        std::memcpy(&trailer, at, sizeof trailer);
        trailer.is_heard = trailer.is_heard != 0 || has_hint();
        trailer.hears = std::max(trailer.hears, early_->hears(number_, now));
        std::memcpy(at, &trailer, sizeof trailer);
    }

    /// Neither is here. `from`: who sends the message.
    void wait(nhi::PeerId from, Nanoseconds now) noexcept {
        if (from_ == nhi::kNoPeer) since_ = now, asks_after_ = kAskFirst;
        from_ = from;
    }
    void end() noexcept { from_ = nhi::kNoPeer; }
    [[nodiscard]] bool waits() const noexcept { return from_ != nhi::kNoPeer; }
    [[nodiscard]] nhi::PeerId from() const noexcept { return from_; }
    /// It is to be asked for, now: its hint is lost, and its message may linger. A member that has
    /// the next hint knows that at once. To ask once is enough, unless the member that was asked
    /// had no memory for the answer.
    [[nodiscard]] bool must_ask(Nanoseconds now) noexcept {
        FCI_ASSERT(waits());
        const bool is_overtaken = asks_after_ == kAskFirst && early_->has(number_ + 1);
        if (now - since_ < asks_after_ && !is_overtaken) return false;
        asks_after_ *= 2;
        return true;
    }

private:
    static constexpr Nanoseconds kAskFirst = 2'000'000;

    Early* early_ = nullptr;
    std::uint64_t number_ = 0;  // of the broadcast
    bool lingers_ = false;
    nhi::PeerId from_ = nhi::kNoPeer;
    Nanoseconds since_ = 0, asks_after_ = 0;
};

}  // namespace fci::group
