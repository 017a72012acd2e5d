// SPDX-License-Identifier: BSD-3-Clause
// Meeting: how processes meet. One calls, the other one answers, and from then on that connection
// carries what both say. Both may call at once: then one of the calls goes on (ddi/crossing.h), and
// who made the other one hears so, and waits to be called.
//
// Only who names this very process, by its incarnation, hears a word: that travels only from the
// launcher to those who have the card. Who typed an address does not know it, and is answered only
// where the user asks for that (Settings::answers_typed).
//
// What takes how long at most:
//  - A host that does not answer: Settings::silence_ms. Nobody listens at a place that was given:
//    no time; at a typed one: Settings::connect_ms.
//  - Who listens has not said anything: no limit, while its host answers, for it may compute; the
//    user hears of it. At a typed place: Settings::connect_ms.
//  - Who listens hangs up without a word: it may have no room for now, so kRefusalsMost times.
//  - Descriptors or memory do not suffice: they are waited for for 10 s.
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
    /// The stream of a peer that is connecting has something.
    void go_on(nhi::PeerId id, Nanoseconds now) noexcept;
    /// Somebody at the door has.
    void hear(int stream, Nanoseconds now) noexcept;
    /// What is due by time.
    void tend(Nanoseconds now) noexcept;
    /// When that is, at the earliest; 0: nothing.
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
    std::vector<nhi::PeerId> calling_;  // those that are connecting
    Nanoseconds due_ = 0;               // when to look at them; 0: never
};

}  // namespace fci::tcp
