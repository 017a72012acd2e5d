// Which peers there are, and what is held for them; how they come and go is in message_passing.cc.
#include <algorithm>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

Peer* MessagePassing::peer(nhi::Rank rank) {
    if (rank < peers_.size() && peers_[rank]) return peers_[rank].get();
    if (rank >= device_.peers()) return nullptr;
    if (rank >= peers_.size()) {
        peers_.resize(rank + 1);
        reasons_.resize(rank + 1);
    }
    peers_[rank] = std::make_unique<Peer>();
    ++peers_made_;
    peers_[rank]->rank = rank;
    peers_[rank]->path.set_policy(limits_.copy);
    peers_[rank]->data_with_send_request = protocol_.data_with_send_request;
    peers_[rank]->may_charge = limits_.unexpected_bytes;
    return peers_[rank].get();
}

/// The peer, with its connection at least begun.
Peer* MessagePassing::connected(nhi::Rank rank) {
    Peer* const found = peer(rank);
    if (found != nullptr && !found->attached && !found->lost && !found->connecting) {
        found->connecting = true;
        // The process itself is a peer like others, once it is used as one.
        if (rank == nhi::kSelf) {
            peer_attached(rank);
            return found;
        }
        const Status status = device_.connect(rank);
        if (status != Status::ok && status != Status::again) {
            peer_lost(rank, status, device_.describe(rank) + ": " + to_string(status));
        }
    }
    return found;
}

bool MessagePassing::waits_for_anybody() const noexcept {
    constexpr unsigned kLookedAt = 64;  // asked now and then, however many there are
    unsigned looked = 0;
    for (const PostedNode* node = posted_.oldest(); node != nullptr && looked++ < kLookedAt;
         node = posted_.after(*node)) {
        if (node->pattern.source == kAnySource) return true;
    }
    return false;
}

void MessagePassing::meet(nhi::Rank peers) {
    for (nhi::Rank rank = nhi::kSelf + 1; rank < std::min(peers, device_.peers()); ++rank) {
        // A place that the user typed may be empty still.
        if (device_.card_of(rank)->incarnation != 0) (void)connected(rank);
    }
}

const char* MessagePassing::reason(nhi::Rank rank) const noexcept {
    return rank < reasons_.size() ? reasons_[rank].c_str() : "";
}

MemoryUse MessagePassing::memory() const noexcept {
    MemoryUse use;
    use.fixed = scratch_.capacity() + orders_.memory();
    use.known = peers_.capacity() * sizeof peers_[0] + reasons_.capacity() * sizeof reasons_[0];
    use.connected = active_.capacity() * sizeof active_[0] + peers_made_ * Peer::kBytes;
    for (const Peer* const peer : active_) use.connected += peer->offers.capacity() * sizeof(Offer);
    use.unexpected = arrived_pool_.memory();
    return use;
}

std::size_t MessagePassing::connected_peers() const noexcept {
    const bool self = !peers_.empty() && peers_[nhi::kSelf] != nullptr &&
                      peers_[nhi::kSelf]->attached;
    return active_.size() - self;
}

}  // namespace fci::mp
