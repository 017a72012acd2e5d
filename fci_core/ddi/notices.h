// SPDX-License-Identifier: BSD-3-Clause
// Notices: the attachments and losses of which the listener of a device is to hear, kept until it
// may.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fci_core/ddi/device.h"

namespace fci::ddi {

/// A peer attached (ok), or was lost, and why (PeerListener::peer_lost).
struct Notice {
    nhi::PeerId id;
    Status why;
    std::string reason;
};

/// The peer ended with a goodbye, which concerns only operations with it.
inline Notice closed(nhi::PeerId id, const std::string& name) {
    return {id, Status::not_found, name + " has closed its connection"};
}
/// The peer ended without a goodbye. `sign`: how that showed, if not in the usual way.
inline Notice died(nhi::PeerId id, const std::string& name, const std::string& sign = "") {
    const char* const usual = " has died: it was killed, crashed, or ended without closing";
    return {id, Status::lost, sign.empty() ? name + usual : name + ": " + sign};
}

class Notices {
public:
    [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
    /// Reserves memory for `more` notices, so that add() does not throw; may throw bad_alloc.
    void reserve(std::size_t more) {
        queue_.reserve(queue_.size() + more);
        telling_.reserve(queue_.size() + more);
    }
    void add(Notice notice) { queue_.push_back(std::move(notice)); }

    /// Tells the listener of all notices; not called from inside itself. The listener may connect,
    /// transfer and add peers; notices that come of that wait for the next call. Before each notice
    /// `settle(notice)` is called; false: the listener does not hear of this one.
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
