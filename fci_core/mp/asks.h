// SPDX-License-Identifier: BSD-3-Clause
// Asks: where a send waits for an offer that fits it (one-sided, §2.6.3), a receiver that cannot
// offer asks.
//
// A receive from anybody is not offered: the dissertation offers it to a whole group, of which a
// sender must then lock it, so each message costs a broadcast and a mutual exclusion, which it
// names as what does not scale. Nor is a receive that an offer might contradict (offers.h), or one
// that was posted before the two processes had met; and a probe has nothing to offer. For these:
//  - The receiver asks the source, or, for anybody, every peer, and each that attaches later.
//  - A sender that is asked announces all sends that wait, in order, as under the two-sided
//    protocol; if none waits, the next send that no offer fits. The last of these announcements
//    says so (kAll) and ends the ask. The receiver asks again if it still waits. So while a receive
//    that is not offered is posted, an ask stands at every peer that may send to it, and no message
//    waits for a receive that waits for it. An ask names no pattern: it is one bit at either side
//    for all receives. More may be announced than is wanted, which costs the same as under the
//    two-sided protocol.
//
// Order is kept because a send is matched with an offer, if there is one that fits, whether it was
// asked for or not, and because sends that wait go before younger ones (Sends::serve). An offer
// that crosses an announcement finds its note, as everywhere.
//
// A word of a group (is_word()) is announced at once: its receiver may have left the group, and ask
// for nothing. It may overtake sends that wait, as no receive fits both.
#pragma once

#include "fci_core/mp/engine.h"

namespace fci::mp {

class Asks {
public:
    explicit Asks(Engine& engine) : engine_(engine) {}

    // The receiver's side.

    /// A receive that is not offered, or a probe, waits for a message of `source`, or anybody's.
    void ask_for(nhi::PeerId source) noexcept {
        if (!engine_.protocol.announces) [[unlikely]] ask_all(source);
    }
    /// Asks the peer if a receive needs it: it is new, or has declined, or an ask of it has ended.
    void ask_again(Peer& peer) noexcept;
    /// The peer has announced a message. False: it ends an ask that does not stand.
    [[nodiscard]] bool on_answer(Peer& peer, const gcs::Line& line) noexcept;

    // The sender's side.

    /// Where no offer fits the send, it waits for an ask.
    [[nodiscard]] static bool are_due_for(const Order& send, const Protocol& protocol) noexcept {
        return !protocol.announces && send.space != kActiveSpace &&
               !is_word(send.space, send.has_immediate, send.length);
    }
    /// False: the peer has asked already, or nobody asks under this protocol.
    [[nodiscard]] bool on_ask(Peer& peer) noexcept;

private:
    void ask_all(nhi::PeerId source) noexcept;
    void ask(Peer& peer) noexcept;

    Engine& engine_;
};

}  // namespace fci::mp
