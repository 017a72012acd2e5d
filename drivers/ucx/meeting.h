// SPDX-License-Identifier: BSD-3-Clause
// Meeting: two processes that have met by TCP open their ways by UCX. Each tells the address
// of its worker, sends a first frame without parts by the way that it makes of the other one's
// address, and waits until that frame has arrived and the other one's is here: UCX connects when a
// way is used first, and a way that does not work shows while nothing depends on it. Then each says
// its verdict by TCP, so that both go by UCX, or neither does.
#pragma once

#include <string>
#include <vector>

#include "drivers/ucx/peers.h"
#include "drivers/ucx/road.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/notices.h"

namespace fci::ucx {

class Meeting {
public:
    /// All outlive it. `block_bytes`: of the blocks here; `limit`: for one meeting, from when TCP
    /// has met the peer; `or_tcp`: peers that have no UCX, or are not reached by it, go by TCP.
    Meeting(Peers& peers, Road& road, ddi::Device& tcp, ddi::Notices& notices,
            std::size_t block_bytes, Nanoseconds limit, bool or_tcp = false) noexcept
        : peers_(peers),
          road_(road),
          tcp_(tcp),
          notices_(notices),
          block_bytes_(block_bytes),
          limit_(limit),
          or_tcp_(or_tcp) {}

    /// TCP has met the peer.
    void begin(nhi::PeerId id);
    /// TCP has lost the peer. It was one if it had taken this process for one, and closed at once.
    void end(nhi::PeerId id);
    void tend(Nanoseconds now) noexcept;
    /// Some peer is being met.
    [[nodiscard]] bool is_busy() const noexcept { return !under_way_.empty(); }

private:
    /// False: the peer is no longer being met.
    bool go_on(nhi::PeerId id, Nanoseconds now);
    void judge(nhi::PeerId id, Peer& peer, Nanoseconds now);
    void join(nhi::PeerId id, Peer& peer);
    void turn_back(nhi::PeerId id, Peer& peer, const std::string& why);
    void hint(nhi::PeerId id, const std::string& why);
    bool prepare(Peer& peer, Nanoseconds now);
    void say_hello(nhi::PeerId id, Peer& peer) noexcept;
    void say_verdict(nhi::PeerId id, Peer& peer) noexcept;
    [[nodiscard]] Verdict verdict_of(nhi::PeerId id) const noexcept;
    void hear(nhi::PeerId id, Peer& peer, std::string* error);
    void send_first(Peer& peer) noexcept;

    Peers& peers_;
    Road& road_;
    ddi::Device& tcp_;
    ddi::Notices& notices_;
    const std::size_t block_bytes_;
    const Nanoseconds limit_;
    const bool or_tcp_;
    bool has_hinted_ = false;
    std::vector<nhi::PeerId> under_way_;
};

}  // namespace fci::ucx
