// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/asks.h"

#include "fci_core/base/assert.h"
#include "fci_core/mp/records.h"

namespace fci::mp {

void Asks::ask_all(nhi::PeerId source) noexcept {
    if (source != kAnySource) return ask(engine_.peers.find(source));
    for (Peer* const peer : engine_.peers.active()) ask(*peer);
}

void Asks::ask_again(Peer& peer) noexcept {
    peer.ask_due = false;
    if (!engine_.protocol.announces && engine_.posted.lacks_offer(peer.id)) ask(peer);
}

/// One that is not attached is asked once it is. Without memory a later turn does so.
void Asks::ask(Peer& peer) noexcept {
    if (!peer.present || peer.ask_stands) return;
    if (!engine_.outbox.try_reserve()) {
        peer.ask_due = true;
        return engine_.work.set_starved();
    }
    FCI_ASSERT(!engine_.protocol.announces);
    engine_.outbox.tell(peer, Kind::ask, 0);
    peer.ask_stands = true;
}

bool Asks::on_answer(Peer& peer, const gcs::Line& line) noexcept {
    if ((Control::of(line).flags & kAll) == 0) return true;
    if (!peer.ask_stands) return false;
    peer.ask_stands = false;
    ask_again(peer);
    return true;
}

bool Asks::on_ask(Peer& peer) noexcept {
    if (engine_.protocol.announces || peer.asked) return false;
    peer.asked = true;
    if (!peer.unasked.empty()) engine_.work.set_busy();
    return true;
}

}  // namespace fci::mp
