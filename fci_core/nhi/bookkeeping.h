// SPDX-License-Identifier: BSD-3-Clause
// Bookkeeping: windows and events of a driver whose network knows nothing of them.
#pragma once

#include <bit>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/network_interface.h"
#include "fci_core/nhi/windows.h"

namespace fci::nhi {

class Bookkeeping : public NetworkInterface {
public:
    Status open_window(WindowNumber number, LcsAddress base,
                       std::span<std::byte> local) noexcept override {
        return windows_.open(number, base, local);
    }
    Status close_window(WindowNumber number) noexcept override { return windows_.close(number); }
    Status configure_event(EventId event, EventSignal signal) noexcept override {
        if (event >= kEventsMax) return Status::invalid;
        counting_ = with(counting_, event, signal.flag);
        interrupting_ = with(interrupting_, event, signal.interrupt);
        wanted_events_ = counting_ | (interrupting_ & ~masked_);
        return Status::ok;
    }
    Status mask_event_interrupt(EventId event, bool masked) noexcept override {
        if (event >= kEventsMax) return Status::invalid;
        masked_ = with(masked_, event, masked);
        wanted_events_ = counting_ | (interrupting_ & ~masked_);
        return Status::ok;
    }
    [[nodiscard]] std::uint32_t event_count(EventId event) const noexcept override {
        return event < kEventsMax ? counts_[event] : 0;
    }

protected:
    /// `memory`: of the device, for windows.
    explicit Bookkeeping(std::span<std::byte> memory) noexcept : windows_(memory) {}

    [[nodiscard]] const Windows& windows() const noexcept { return windows_; }
    /// Takes events that have come. True: a process that sleeps must be woken.
    bool take_events(std::uint32_t events) noexcept {
        for (std::uint32_t left = events & counting_; left != 0; left &= left - 1) {
            ++counts_[static_cast<unsigned>(std::countr_zero(left))];
        }
        return (events & interrupting_ & ~masked_) != 0;
    }
    /// True: some event would wake a sleeper.
    [[nodiscard]] bool may_wake() const noexcept { return (interrupting_ & ~masked_) != 0; }
    /// The events that anything is wanted of (Link::wanted_events).
    [[nodiscard]] const std::uint64_t& wanted_events() const noexcept { return wanted_events_; }

private:
    static std::uint32_t with(std::uint32_t set, EventId event, bool on) noexcept {
        FCI_ASSERT(event < kEventsMax);
        const std::uint32_t bit = std::uint32_t{1} << event;
        return on ? set | bit : set & ~bit;
    }

    static_assert(kEventsMax <= 8 * sizeof(std::uint32_t));
    Windows windows_;
    std::uint32_t counting_ = 0, interrupting_ = 0, masked_ = 0;
    std::uint64_t wanted_events_ = 0;
    std::array<std::uint32_t, kEventsMax> counts_{};
};

}  // namespace fci::nhi
