// SPDX-License-Identifier: BSD-3-Clause
// MultiReceive: one buffer that takes message after message (FI_MULTI_RECV), and the receives that
// have to wait behind it.
//
// The core knows plain receives only, so the rest of the buffer is posted again from the completion
// of each. A buffer that takes whatever comes would hand its turn to the receives posted after it;
// they are held back until it is full, which keeps the order of posting exact. A buffer for one
// source (or for some tags) holds nothing back: there, a receive posted later may get a message
// that the buffer had room for.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/receives.h"
#include "netmod/libfabric/sheet.h"
#include "netmod/libfabric/space.h"

namespace fci::libfabric {

/// A copy, since the program's vector is gone when the receive's turn comes.
struct HeldReceive {
    HeldReceive(const ReceiveCall& given, bool wants_report, bool is_multi)
        : ranges(given.iov, given.iov + given.iov_count),
          call(given),
          report(wants_report),
          multi(is_multi) {}

    [[nodiscard]] ReceiveCall now() const noexcept {
        ReceiveCall copy = call;
        copy.iov = ranges.data();
        return copy;
    }

    std::vector<iovec> ranges;
    ReceiveCall call;
    bool report;
    bool multi;
};

class MultiReceive {
public:
    /// `least`: one with less room than this is given back.
    MultiReceive(Completions& completions, const Receives& receives, const std::size_t& least,
                 Space space, const ReceiveCall& call) noexcept;

    /// Posts the rest. Ended afterwards when messages that were waiting filled it.
    void pump() noexcept;
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    /// The core had no room: pump() again later.
    [[nodiscard]] bool stalled() const noexcept { return stalled_; }
    [[nodiscard]] bool covers_all() const noexcept;
    [[nodiscard]] void* context() const noexcept { return context_; }
    int cancel() noexcept;

private:
    static void received(void* user, void* owner, const fci_icl_status* status);
    void take(const fci_icl_status& status) noexcept;
    void give_back_alone() noexcept;
    [[nodiscard]] bool full() const noexcept;

    Completions& completions_;
    const std::size_t& least_;
    char* const base_;
    const std::size_t bytes_;
    std::size_t used_ = 0;
    void* const context_;
    const std::uint64_t tag_, ignore_;
    const fci_icl_peer source_;
    const Space space_;
    bool touched_ = false;
    bool ended_ = false;
    bool stalled_ = false;
    fci_icl_order order_ = 0;
};

/// Those of an endpoint, under the domain's lock.
class MultiReceives {
public:
    MultiReceives(Completions& completions, Receives& receives) noexcept
        : completions_(completions), receives_(receives) {}

    /// Whether receives must come here.
    [[nodiscard]] bool is_needed(Space space) const noexcept { return needed_[space]; }
    ssize_t receive(Space space, const ReceiveCall& call, bool report, bool multi);
    /// The flags of calls without flags have changed.
    void settle_flags() noexcept;
    /// After progress, when a buffer ended or the core had no room.
    void resume() noexcept;
    /// -FI_ENOENT: none of these has this context.
    ssize_t cancel(void* context) noexcept;

    std::size_t least = kMinMultiReceive;  // a buffer with less room is given back

private:
    void start(Space space, const ReceiveCall& call);
    void settle() noexcept;
    void find_needed() noexcept;
    [[nodiscard]] bool must_wait(Space space) const noexcept {
        return covering_[space] != nullptr || !held_[space].empty();
    }

    Completions& completions_;
    Receives& receives_;
    std::array<bool, FCI_ICL_SPACES> needed_{};
    std::vector<std::unique_ptr<MultiReceive>> buffers_;
    std::array<MultiReceive*, FCI_ICL_SPACES> covering_{};  // takes whatever comes in its space
    std::array<std::deque<HeldReceive>, FCI_ICL_SPACES> held_;
};

}  // namespace fci::libfabric
