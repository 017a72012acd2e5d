// SPDX-License-Identifier: BSD-3-Clause
// Sleeper: how a process falls asleep so that requests and flags wake it (§2.7.4): it unmasks its
// wake event, looks once more, and sleeps. The next turn ends that.
#pragma once

#include <cstdint>
#include <utility>

#include "fci_core/base/counters.h"
#include "fci_core/ddi/device.h"
#include "fci_core/progress/alert.h"
#include "fci_core/progress/countdown.h"
#include "fci_core/progress/wait.h"

namespace fci::progress {

class Sleeper {
public:
    /// All outlive it. `wake`: the event that peers raise here while it is not masked.
    Sleeper(ddi::Device& device, nhi::EventId wake, Counters& counters, Countdown& countdown,
            Alert& alert) noexcept;

    /// The waits that are slept over.
    [[nodiscard]] Waits& waits() noexcept { return waits_; }
    /// Other threads wait while this one makes progress.
    void share() noexcept { is_shared_ = true; }
    [[nodiscard]] bool is_shared() const noexcept { return is_shared_; }

    /// Sleeps, over this wait as well. False: there is something to do. Requests go on to wake this
    /// process: it may sleep again soon.
    [[nodiscard]] bool sleep(Nanoseconds timeout, Wait* over = nullptr) noexcept;
    /// Before sleeping on the device's descriptor: false when there is work. The next turn ends it,
    /// unless other threads share this object: then it lasts until disarm().
    [[nodiscard]] bool arm() noexcept;
    /// Nobody sleeps on the descriptor any more.
    void disarm() noexcept {
        if (std::exchange(is_held_, false)) end();
    }

    /// Requests need not wake this process.
    [[nodiscard]] bool is_awake() const noexcept { return wake_ == Wake::off; }
    /// It was prepared to sleep since the last turn.
    [[nodiscard]] bool is_armed() const noexcept { return wake_ == Wake::armed; }
    /// From now on they need not.
    void end() noexcept;
    /// In a child of fork(): it never sleeps, and nothing that is shared is touched any more.
    void stop() noexcept;

private:
    [[nodiscard]] bool begin(Wait* over) noexcept;

    // Whether requests wake this process. Armed: before a sleep, until the next turn. Left on:
    // between two sleeps of one wait. To switch it on makes all other cores pass a barrier, and
    // that takes as long as the hypervisor keeps one of them.
    enum class Wake : std::uint8_t { off, left_on, armed };

    ddi::Device& device_;
    Counters& counters_;
    Countdown& countdown_;
    Alert& alert_;
    const nhi::EventId event_;
    Wake wake_ = Wake::off;
    bool is_shared_ = false;
    bool is_held_ = false;  // another thread sleeps, by arm(): no turn of this one switches it off
    bool is_stopped_ = false;
    Waits waits_;
};

}  // namespace fci::progress
