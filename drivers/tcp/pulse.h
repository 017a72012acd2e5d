// Pulse: whether a peer's host still answers. That a process takes nothing is no sign: it may
// compute for hours, and its window is closed meanwhile. But its kernel acknowledges what is sent,
// and answers when it is asked for room.
#pragma once

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"

namespace fci::tcp {

class Pulse {
public:
    static constexpr Nanoseconds kLookEvery = 500'000'000;
    static constexpr Nanoseconds kSilenceMost = 9'500'000'000;
    static_assert(kSilenceMost + 2 * kLookEvery < 11'000'000'000, "noticed within 11 s");

    /// What the kernel knows of a connection.
    struct Sign {
        bool is_owed = false;       // something that was sent is unanswered
        Nanoseconds heard_ago = 0;  // since the last answer
    };

    /// False: for kSilenceMost something has been owed, and nothing came.
    bool look(Nanoseconds now, const Sign& sign) noexcept {
        FCI_ASSERT(now > 0 && owed_since_ <= now && sign.heard_ago >= 0);
        // What was sent after a long silence is not owed since then.
        if (!sign.is_owed) {
            owed_since_ = 0;
        } else if (owed_since_ == 0 || now - sign.heard_ago > owed_since_) {
            owed_since_ = now;
        }
        return owed_since_ == 0 || now - owed_since_ < kSilenceMost;
    }

private:
    Nanoseconds owed_since_ = 0;  // 0: nothing is
};

}  // namespace fci::tcp
