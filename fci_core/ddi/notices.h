// SPDX-License-Identifier: BSD-3-Clause
// Notices: what the listener of a device is to hear, kept until it may.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fci_core/ddi/device.h"

namespace fci::ddi {

/// Of a peer: attached (ok), or lost, and why (PeerListener::peer_lost).
struct Notice {
    nhi::PeerId id;
    Status why;
    std::string reason;
};

/// Its end where it said goodbye: that concerns only who waits for it.
inline Notice closed(nhi::PeerId id, const std::string& name) {
    return {id, Status::not_found, name + " has closed its connection"};
}
/// Its end where it did not. `sign`: how that showed, if it is not the usual one.
inline Notice died(nhi::PeerId id, const std::string& name, const std::string& sign = "") {
    const char* const usual = " has died: it was killed, crashed, or ended without closing";
    return {id, Status::lost, sign.empty() ? name + usual : name + ": " + sign};
}

class Notices {
public:
    [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
    /// Memory for so many more, which may throw bad_alloc; then add() does not.
    void reserve(std::size_t more) {
        queue_.reserve(queue_.size() + more);
        telling_.reserve(queue_.size() + more);
    }
    void add(Notice notice) { queue_.push_back(std::move(notice)); }

    /// Says what is there, and is not called from inside itself. The listener may connect, transfer
    /// and add peers; what comes of that waits for the next time. Before it hears of each
    /// `settle(notice)` is called; false: of this one it does not.
    template <class Settle>
    unsigned tell(PeerListener* listener, Settle settle) {
        telling_.clear();
        telling_.swap(queue_);
        for (const Notice& notice : telling_) {
            if (!settle(notice) || listener == nullptr) continue;
            if (notice.why == Status::ok) {
                listener->peer_attached(notice.id);
            } else {
                listener->peer_lost(notice.id, notice.why, notice.reason);
            }
        }
        return static_cast<unsigned>(telling_.size());
    }

private:
    std::vector<Notice> queue_, telling_;
};

}  // namespace fci::ddi
