// SPDX-License-Identifier: BSD-3-Clause
// Leaving: the ends of peers. TCP says first that a process has ended, while frames of it may still
// be under way by UCX; a process that closes in order writes by TCP how many it has sent.
#pragma once

#include <vector>

#include "drivers/ucx/peers.h"
#include "drivers/ucx/road.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/notices.h"

namespace fci::ucx {

class Leaving {
public:
    /// All outlive it.
    Leaving(Peers& peers, Road& road, ddi::Device& tcp, ddi::Notices& notices) noexcept
        : peers_(peers), road_(road), tcp_(tcp), notices_(notices) {}

    /// The peer has ended, as TCP says. The listener hears so when the peer's frames are here.
    void begin(ddi::Notice notice, Nanoseconds now);
    void tend(Nanoseconds now);
    [[nodiscard]] bool is_busy() const noexcept {
        return !under_way_.empty() || road_.has_broken();
    }

    /// This process closes: all that it has sent arrives, as far as that takes no longer than a
    /// second, and its peers are told how much that is.
    void say_goodbye() noexcept;

private:
    [[nodiscard]] bool is_all_here(nhi::PeerId id, const Peer& peer) const;
    void look_for_broken(Nanoseconds now);
    void await_rest(ddi::Notice notice, Nanoseconds give_up);
    [[nodiscard]] bool is_cut_off(Peer& peer, Nanoseconds now);
    void flush() noexcept;
    void say_farewell(nhi::PeerId id, const Peer& peer) noexcept;
    /// The peer is there, as far as is known.
    [[nodiscard]] static bool takes_more(const Peer& peer);
    template <class Act>
    void for_each_way(Act act) {
        peers_.for_each([&](nhi::PeerId id, Peer& peer) {
            if (peer.way != nullptr) act(id, peer);
        });
    }

    Peers& peers_;
    Road& road_;
    ddi::Device& tcp_;
    ddi::Notices& notices_;
    std::vector<nhi::PeerId> under_way_;
};

}  // namespace fci::ucx
