// SPDX-License-Identifier: BSD-3-Clause
// Pulse: whether a peer's host still answers. A process that takes nothing is no sign: it may
// compute for hours, and its window is closed meanwhile. But its kernel acknowledges bytes that are
// sent, and answers when it is asked for room.
#pragma once

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"

namespace fci::tcp {

class Pulse {
public:
    static constexpr Nanoseconds kLookEvery = 500'000'000;

    /// A host is silent that has owed an answer for so long; that is seen within a second.
    explicit Pulse(Nanoseconds silence) : silence_most_(silence - kLookEvery) {
        FCI_ASSERT(silence >= 2 * kLookEvery);
    }

    /// The state of a connection, as the kernel knows it.
    struct Sign {
        bool is_owed = false;       // something that was sent is unanswered
        Nanoseconds heard_ago = 0;  // since the last answer
    };

    /// False: for so long something has been owed, and nothing came.
    bool look(Nanoseconds now, const Sign& sign) noexcept {
        FCI_ASSERT(now > 0 && owed_since_ <= now && sign.heard_ago >= 0);
        // Bytes sent after a long silence are owed from now on, not since the last answer.
        if (!sign.is_owed) {
            owed_since_ = 0;
        } else if (owed_since_ == 0 || now - sign.heard_ago > owed_since_) {
            owed_since_ = now;
        }
        return owed_since_ == 0 || now - owed_since_ < silence_most_;
    }

private:
    Nanoseconds silence_most_;
    Nanoseconds owed_since_ = 0;  // 0: nothing is
};

}  // namespace fci::tcp
