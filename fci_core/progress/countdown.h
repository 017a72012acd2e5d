// SPDX-License-Identifier: BSD-3-Clause
// Countdown: empty turns, counted down to the next one in which there is more to do than to count
// it (§2.6.10): the network is to be polled, or the row of empty turns is so long that the caller
// waits.
#pragma once

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::progress {

class Countdown {
public:
    /// A row that never ends.
    static constexpr unsigned kNever = ~0u;

    explicit Countdown(unsigned polls_every) noexcept : until_poll_(polls_every) {
        FCI_ASSERT(polls_every != 0);
    }

    /// An empty turn. True: it is the last one that was planned. All that most turns do.
    [[nodiscard]] bool count() noexcept { return --left_ == 0; }

    /// Of the planned turns, those that were counted and those that were not.
    [[nodiscard]] unsigned passed() const noexcept { return planned_ - left_; }
    [[nodiscard]] unsigned left() const noexcept { return left_; }
    /// All that were planned were empty, and become a part of the row.
    void end() noexcept {
        row_so_far_ += planned_;
        until_poll_ -= std::min(planned_, until_poll_);
    }
    /// The next turns are counted until the network or the row wants more; one only, where
    /// `at_once` says so. `row`: so many empty turns in a row want it.
    void plan(unsigned row, bool at_once) noexcept {
        row_ = row;
        const unsigned to_row = row_ == kNever       ? kNever
                                : row_ > row_so_far_ ? row_ - row_so_far_
                                                     : 1;
        set(at_once ? 1 : std::min(until_poll_, to_row));
    }
    /// A turn found something: the row is broken.
    void found() noexcept {
        FCI_ASSERT(left_ != 0 && left_ <= planned_);
        until_poll_ = passed() < until_poll_ ? until_poll_ - passed() : 1;
        row_so_far_ = 0;
        set(std::min(until_poll_, row_));
    }
    /// Of those planned the next one is the last.
    void cut_short() noexcept {
        planned_ -= left_ - 1;
        left_ = 1;
    }

    /// The row of empty turns, those not counted that are still planned.
    [[nodiscard]] unsigned row() const noexcept { return row_so_far_; }
    [[nodiscard]] bool is_row_due() const noexcept { return row_so_far_ >= row_; }
    void break_row() noexcept { row_so_far_ = 0; }

    [[nodiscard]] bool is_poll_due() const noexcept { return until_poll_ == 0; }
    /// The network was polled, and wants it again after so many.
    void polled(unsigned every) noexcept {
        FCI_ASSERT(every != 0);
        until_poll_ = every;
    }
    void poll_next() noexcept { until_poll_ = 1; }
    /// An empty turn that belongs to no row. True: the network is to be polled.
    [[nodiscard]] bool count_to_poll() noexcept { return --until_poll_ == 0; }

private:
    void set(unsigned turns) noexcept {
        FCI_ASSERT(turns != 0);  // it is counted down to 0
        left_ = planned_ = turns;
    }

    unsigned left_ = 1;
    unsigned planned_ = 1;       // what left_ was in the beginning
    unsigned row_ = kNever;      // empty turns in a row after which the caller is taken to wait
    unsigned row_so_far_ = 0;
    unsigned until_poll_;
};

}  // namespace fci::progress
