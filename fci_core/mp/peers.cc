// Which peers there are, and what is held for them; how they come and go is in message_passing.cc.
#include <algorithm>
#include <utility>

#include "fci_core/base/log.h"
#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {
constexpr char kSevered[] =
    "a child of fork() uses what its parent opened, without the memory that it shares: it can "
    "neither send nor receive. Let it call exec() or _exit(), or fork before MPI is started";
}

Peer* MessagePassing::peer(nhi::Rank rank) {
    if (rank < known_ && peers_[rank] != nobody_.get()) return peers_[rank];
    if (rank >= device_.peers()) return nullptr;
    if (rank >= known_) {
        reasons_.resize(rank + 1);
        peers_.resize(rank + 1, nobody_.get());
        known_ = rank + 1;
    }
    // So that a peer that is known can attach without more.
    if (made_.size() == active_.capacity()) active_.reserve(2 * made_.size());
    made_.push_back(std::make_unique<Peer>());
    Peer* const made = peers_[rank] = made_.back().get();
    made->rank = rank;
    made->path.set_policy(limits_.copy);
    made->data_with_send_request = protocol_.data_with_send_request;
    made->granted = made->room = limits_.unexpected_bytes;
    if (severed_) made->sever();
    return made;
}

/// The peer, with its connection at least begun.
Peer* MessagePassing::connected(nhi::Rank rank) {
    if (severed_) [[unlikely]] log::hint_once(true, kSevered);
    Peer* const found = peer(rank);
    if (found != nullptr && !found->attached && !found->lost && !found->connecting) {
        // The process itself is a peer like others, once it is used as one.
        if (rank == nhi::kSelf) {
            attach(rank);
            return found;
        }
        const Status status = device_.connect(rank);
        if (status != Status::ok && status != Status::again) {
            peer_lost(rank, status, device_.describe(rank) + ": " + to_string(status));
        }
        found->connecting = true;  // without memory for that much it is tried again
    }
    return found;
}

/// Among the oldest that are posted: this is asked now and then, however many there are.
template <class Question>
bool MessagePassing::posted_before(Question question) const noexcept {
    constexpr unsigned kLookedAt = 64;
    unsigned looked = 0;
    for (const PostedNode* node = posted_.oldest(); node != nullptr && looked++ < kLookedAt;
         node = posted_.after(*node)) {
        if (question(node->pattern)) return true;
    }
    return false;
}

bool MessagePassing::waits_for_anybody() const noexcept {
    return posted_before([](const Pattern& wanted) { return wanted.source == kAnySource; });
}

bool MessagePassing::is_waited_for() noexcept {
    const bool asked = std::exchange(asked_in_vain_, false);
    return asked || orders_.used() > posted_.size() || posted_before([](const Pattern& wanted) {
               return wanted.source != kAnySource || ~wanted.ignore != 0;
           });
}

void MessagePassing::meet(nhi::Rank peers) {
    for (nhi::Rank rank = nhi::kSelf + 1; rank < std::min(peers, device_.peers()); ++rank) {
        // A place that the user typed may be empty still.
        if (device_.card_of(rank)->incarnation != 0) (void)connected(rank);
    }
}

void MessagePassing::sever() noexcept {
    severed_ = true;
    for (const auto& known : made_) known->sever();
    while (Order* const order = copies_.pop_front()) order->in_list = false;
    active_.clear();
    order_peers();
    untold_ = nhi::kSelf;
}

const char* MessagePassing::reason(nhi::Rank rank) const noexcept {
    if (severed_) return kSevered;
    return rank < reasons_.size() ? reasons_[rank].c_str() : "";
}

MemoryUse MessagePassing::memory() const noexcept {
    MemoryUse use;
    use.fixed = scratch_.capacity() + orders_.memory() + pool_.memory();
    use.known = peers_.capacity() * sizeof peers_[0] + reasons_.capacity() * sizeof reasons_[0];
    use.known += made_.capacity() * sizeof made_[0];
    use.connected = active_.capacity() * sizeof active_[0];
    use.connected += made_.size() * sizeof(Peer) + lines_.memory();
    for (const Peer* const peer : active_) use.connected += peer->offers.capacity() * sizeof(Offer);
    use.unexpected = arrived_pool_.memory();
    return use;
}

std::size_t MessagePassing::connected_peers() const noexcept {
    const bool self = !peers_.empty() && peers_[nhi::kSelf]->attached;
    return active_.size() - self;
}

}  // namespace fci::mp
