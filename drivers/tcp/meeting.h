// SPDX-License-Identifier: BSD-3-Clause
// Meeting: how processes meet. A caller calls, a listener answers, and from then on both send their
// frames on that connection. If two call each other at once, one call goes on (ddi/crossing.h), and
// the caller of the other one hears so, and waits to be called.
//
// A caller is answered only if it names this very process by its incarnation, which travels only
// from the launcher to processes that have the card. A caller that typed an address does not know
// it, and is answered only if the user asks for that (Settings::answers_typed).
//
// How long each step takes at most:
//  - A host does not answer: Settings::silence_ms. Nobody listens: at a place that was given, no
//    time; at a typed one, Settings::connect_ms.
//  - The listener does not answer the hello: no limit, while its host answers, for it may compute;
//    the user hears of it. At a typed place: Settings::connect_ms.
//  - The listener hangs up without a word: it may have no room for now, so kRefusalsMost tries.
//  - Descriptors or memory do not suffice: 10 s.
#pragma once

#include <string>
#include <vector>

#include "drivers/tcp/connections.h"
#include "drivers/tcp/door.h"
#include "drivers/tcp/own.h"
#include "drivers/tcp/peers.h"
#include "fci_core/base/prng.h"
#include "fci_core/ddi/notices.h"

namespace fci::tcp {

class Meeting {
public:
    Meeting(const Own& own, Peers& peers, Streams& streams, Connections& connections,
            ddi::Notices& notices)
        : own_(own),
          peers_(peers),
          streams_(streams),
          connections_(connections),
          notices_(notices),
          door_(streams),
          prng_(own.card.incarnation) {}

    [[nodiscard]] Door& door() noexcept { return door_; }
    /// Device::connect.
    Status connect(nhi::PeerId id, Nanoseconds now);
    /// Goes on with a peer that is connecting: its stream can be read or written.
    void go_on(nhi::PeerId id, Nanoseconds now) noexcept;
    /// Reads from a caller at the door.
    void hear(int stream, Nanoseconds now) noexcept;
    /// Does what is due by `now`.
    void tend(Nanoseconds now) noexcept;
    /// When to tend next, at the earliest; 0: never.
    [[nodiscard]] Nanoseconds due() const noexcept;
    [[nodiscard]] bool is_busy() const noexcept { return !calling_.empty() || !door_.is_empty(); }
    /// Before the process goes.
    void say_goodbye() noexcept;
    /// In a child of fork().
    void close() noexcept;

private:
    [[nodiscard]] bool prepare(Peers::Entry& entry) noexcept;
    void call_again(nhi::PeerId id, Nanoseconds now) noexcept;
    void say_hello(nhi::PeerId id, Nanoseconds now) noexcept;
    void hear_answer(nhi::PeerId id, Nanoseconds now) noexcept;
    void judge_answer(nhi::PeerId id, Nanoseconds now);
    void failed(nhi::PeerId id, int error, Nanoseconds now) noexcept;
    void refused(nhi::PeerId id, Nanoseconds now) noexcept;
    void look_at(nhi::PeerId id, Nanoseconds now) noexcept;
    [[nodiscard]] bool names_this(const Hello& hello) const noexcept;
    [[nodiscard]] bool is_welcome(const Hello& hello) const noexcept;
    void answer(Visitor visitor, Nanoseconds now);
    void note_guess(Visitor& visitor, Nanoseconds now);
    void attach(nhi::PeerId id, Stream stream, const Hello& hello) noexcept;
    [[nodiscard]] bool has_said_goodbye(Call& going) noexcept;
    void lose(nhi::PeerId id, Status why, std::string reason) noexcept;
    void remind(Nanoseconds when) noexcept;

    const Own& own_;
    Peers& peers_;
    Streams& streams_;
    Connections& connections_;
    ddi::Notices& notices_;
    Door door_;
    Prng prng_;
    std::vector<nhi::PeerId> calling_;  // peers that are connecting
    Nanoseconds due_ = 0;               // when to look at them; 0: never
};

}  // namespace fci::tcp
