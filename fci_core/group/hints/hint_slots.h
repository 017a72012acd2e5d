// SPDX-License-Identifier: BSD-3-Clause
// HintSlots: what hints bring of a group's broadcasts before their messages come (§2.6.11;
// nhi/hints.h). Each of the next ones has a slot here, so that a member that is behind misses none
// of them.
//
// A broadcast is a number, counted alike by all members, from 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/notes.h"
#include "fci_core/group/table/flag_table.h"
#include "fci_core/nhi/hints.h"

namespace fci::group {

/// Behind the data of a broadcast in a group that has hints.
struct Trailer {
    std::uint16_t is_heard;  // written by each on the way: somebody so far has had a hint of it
    Hears hears;             // likewise: the most that anybody so far hears
    std::uint32_t by_tree;   // written by the root: the next ones go down a tree, without hints
};
static_assert(sizeof(Trailer) == 8);

class HintSlots final : public nhi::HintListener {
public:
    /// Of data and trailer. Nothing longer gets here.
    static constexpr std::size_t kMost = Entry::kLong + sizeof(Trailer);
    static_assert(kMost <= nhi::Hints::kShortMost);

    HintSlots(nhi::Hints& hints, const nhi::HintMember& member) noexcept
        : hints_(hints), name_(member.group.name) {
        // Where none can be heard the messages do.
        if (hints_.join(member, *this) != Status::ok) return;
        for (std::uint64_t number = 1; number <= kSlots; ++number) expect(number);
    }
    HintSlots(const HintSlots&) = delete;
    HintSlots& operator=(const HintSlots&) = delete;
    ~HintSlots() override { hints_.leave(name_); }

    [[nodiscard]] bool has(std::uint64_t number) const noexcept {
        return slots_[number % kSlots].number == number;
    }
    [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t number) const noexcept {
        FCI_ASSERT(has(number));
        const Slot& slot = slots_[number % kSlots];
        return {slot.bytes.data(), slot.length};
    }
    /// At this broadcast. Lately: one of the last ones, or of later ones, or any a while ago. A
    /// crowded process loses hundreds in a row.
    [[nodiscard]] Hears hears(std::uint64_t number, Nanoseconds now) noexcept {
        const std::uint64_t latest = hints_.heard(name_);
        if (latest != latest_) latest_ = latest, heard_at_ = now;
        if (latest_ == 0) return Hears::never;
        const bool is_late = number >= latest_ + kLately && now - heard_at_ >= kWhile;
        return is_late ? Hears::formerly : Hears::lately;
    }
    /// The next member lacks what lingers: no broadcast up to this one does, also the one that is
    /// waited for now.
    void be_plain(std::uint64_t until) noexcept { plain_until_ = until; }
    [[nodiscard]] bool is_plain(std::uint64_t number) const noexcept {
        return number <= plain_until_;
    }
    /// It is not needed any more.
    void pass(std::uint64_t number) noexcept { expect(number + kSlots); }
    /// To all others. Whether that works is for nobody to know.
    void send(std::uint64_t number, std::span<const std::byte> bytes) noexcept {
        (void)hints_.hint({name_, number, 0, static_cast<std::uint32_t>(bytes.size()), 0}, bytes);
    }

    void arrived(const nhi::Hint& hint, std::size_t bytes) noexcept override {
        if (bytes != hint.total) return;  // nobody of this group sends pieces
        Slot& slot = slots_[hint.number % kSlots];
        slot.length = bytes;
        slot.number = hint.number;
        hints_.withdraw(name_, hint.number);  // a second copy of it does not get here
    }

private:
    static constexpr std::size_t kSlots = nhi::Hints::kIndices;
    static constexpr std::uint64_t kLately = 64;  // broadcasts
    static constexpr Nanoseconds kWhile = 10'000'000'000;

    struct Slot {
        std::uint64_t number = 0;  // that is here; 0: none is
        std::size_t length = 0;
        std::array<std::byte, kMost> bytes;
    };
    void expect(std::uint64_t number) noexcept {
        (void)hints_.expect(name_, number, slots_[number % kSlots].bytes);
    }

    nhi::Hints& hints_;
    const std::uint64_t name_;
    std::array<Slot, kSlots> slots_{};
    std::uint64_t latest_ = 0;  // that was heard, when hears() looked last
    Nanoseconds heard_at_ = 0;  // when it looked, and had not seen that before
    std::uint64_t plain_until_ = 0;
};

}  // namespace fci::group
