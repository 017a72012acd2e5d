// SPDX-License-Identifier: BSD-3-Clause
// Pace: when each of two networks is polled. A poll of the kernel costs as much as two short
// messages by shared memory, so it is done by time, and often only while something is expected.
#pragma once

#include "drivers/node/peers.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"

namespace fci::node {

class Pace {
public:
    /// In real time: each network is polled when its time has come.
    Pace() = default;
    /// In simulated time, which goes on only when a network is polled: both in every turn.
    static Pace always() noexcept {
        Pace pace;
        pace.always_ = true;
        return pace;
    }

    /// How long the far network counts as active after it was read from, or written to.
    static constexpr Nanoseconds kLately = 100'000;
    static constexpr Nanoseconds kOften = 1'000;      // between polls while it is active
    static constexpr Nanoseconds kSeldom = 20'000;    // between polls while it has peers
    static constexpr Nanoseconds kAtTheDoor = 200'000;  // without peers: a caller may come
    static_assert(kOften < kSeldom && kSeldom < kLately && kLately < kAtTheDoor);

    /// True: that side is to be polled now.
    bool begin(Side side, const Peers& peers, Nanoseconds now) noexcept {
        const bool due = always_ || now - polled_[side] >= every(side, peers, now) ||
                         now < polled_[side];
        if (due) polled_[side] = now;
        return due;
    }
    /// The poll of the far network found something; `now` as in begin().
    void heard(Nanoseconds now) noexcept { active_ = now; }
    /// Something was given to the far network.
    void wrote() noexcept { wrote_ = true; }
    /// A sleep has ended: the next turn polls both networks, to see the reason.
    void hurry() noexcept { polled_ = {kLongAgo, kLongAgo}; }

private:
    using State = Peers::State;
    static constexpr Nanoseconds kLongAgo = -1'000'000'000'000;

    Nanoseconds every(Side side, const Peers& peers, Nanoseconds now) noexcept {
        if (side == kNear) {
            if (peers.in(kNear, State::connecting) != 0) return 0;
            return peers.in(kNear, State::attached) != 0 ? kOften : kAtTheDoor;
        }
        if (wrote_) active_ = now;
        wrote_ = false;
        const bool met = peers.in(kFar, State::attached) != 0;
        if (met && peers.in(kNear, State::attached) == 0) return 0;  // nothing else to look for
        if (now - active_ < kLately || peers.in(kFar, State::connecting) != 0) return kOften;
        return met ? kSeldom : kAtTheDoor;
    }

    bool always_ = false;
    bool wrote_ = false;
    Nanoseconds active_ = kLongAgo;
    std::array<Nanoseconds, 2> polled_{kLongAgo, kLongAgo};
};

}  // namespace fci::node
