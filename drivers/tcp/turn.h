// SPDX-License-Identifier: BSD-3-Clause
// Turn: the work of a device in each poll, and its sleep.
#pragma once

#include "drivers/multicast/multicast.h"
#include "drivers/tcp/connections.h"
#include "drivers/tcp/meeting.h"
#include "drivers/tcp/peers.h"
#include "drivers/tcp/streams.h"
#include "fci_core/ddi/notices.h"

namespace fci::tcp {

class Turn {
public:
    Turn(Peers& peers, Streams& streams, Connections& connections, Meeting& meeting,
         ddi::Notices& notices)
        : peers_(peers),
          streams_(streams),
          connections_(connections),
          meeting_(meeting),
          notices_(notices) {}

    void set_listener(ddi::PeerListener* listener) noexcept { listener_ = listener; }
    /// NetworkInterface::poll.
    unsigned poll(Nanoseconds now) noexcept;
    /// Device::sleep.
    void sleep(Nanoseconds timeout) noexcept;
    /// True: a caller sleeps, or is about to, and every arrival must wake it.
    void set_watched(bool watched) noexcept {
        is_watched_ = watched;
        if (watched) {
            end_quiet();
        } else if (hints_ != nullptr) {
            hints_->set_watched(false);
        }
    }
    /// nullptr: there are none.
    void set_hints(multicast::Multicast* hints) noexcept { hints_ = hints; }
    [[nodiscard]] multicast::Multicast* hints() const noexcept { return hints_; }
    /// An event has come: the sleep must end.
    void wake() noexcept { is_woken_ = true; }

private:
    void end_quiet() noexcept {
        connections_.set_quiet(false);
        if (hints_ != nullptr) hints_->set_watched(true);
    }
    unsigned look(Nanoseconds now, bool sleeps) noexcept;
    unsigned hear(unsigned lane, Nanoseconds now) noexcept;
    void tend(Nanoseconds now) noexcept;
    unsigned tell() noexcept;

    Peers& peers_;
    Streams& streams_;
    Connections& connections_;
    Meeting& meeting_;
    ddi::Notices& notices_;
    ddi::PeerListener* listener_ = nullptr;
    multicast::Multicast* hints_ = nullptr;
    bool is_woken_ = false;
    bool is_watched_ = true;
    unsigned turns_ = 0;
    Nanoseconds heard_hint_ = -1'000'000'000;  // long ago
};

}  // namespace fci::tcp
