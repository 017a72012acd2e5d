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

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/space.h"

namespace fci::libfabric {

class Endpoint;

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
    MultiReceive(Endpoint& endpoint, Space space, const ReceiveCall& call) noexcept;

    /// Posts the rest. Ended afterwards when messages that were waiting filled it.
    void pump() noexcept;
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    /// The core had no room: pump() again later.
    [[nodiscard]] bool stalled() const noexcept { return stalled_; }
    [[nodiscard]] bool covers_all() const noexcept;
    [[nodiscard]] void* context() const noexcept { return context_; }
    [[nodiscard]] Space space() const noexcept { return space_; }
    int cancel() noexcept;

private:
    static void received(void* user, void* owner, const fci_icl_status* status);
    void take(const fci_icl_status& status) noexcept;
    void give_back_alone() noexcept;
    [[nodiscard]] bool full() const noexcept;

    Endpoint& endpoint_;
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

}  // namespace fci::libfabric
