#include "fci_core/mp/peers.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::mp {

namespace {
constexpr char kSevered[] =
    "a child of fork() uses what its parent opened, without the memory that it shares: it can "
    "neither send nor receive. Let it call exec() or _exit(), or fork before MPI is started";
}

Peers::Peers(ddi::Device& device, const Protocol& protocol, const Limits& limits, Work& work)
    : device_(device),
      protocol_(protocol),
      limits_(limits),
      work_(work),
      nobody_(std::make_unique<Peer>()),
      first_(nobody_.get()) {
    active_.reserve(16);
}

Peer* Peers::make(nhi::Rank rank) {
    if (rank < size_ && by_rank_[rank] != nobody_.get()) return by_rank_[rank];
    if (rank >= device_.peers()) return nullptr;
    if (rank >= size_) {
        reasons_.resize(rank + 1);
        by_rank_.resize(rank + 1, nobody_.get());
        size_ = rank + 1;
    }
    if (made_.size() == active_.capacity()) active_.reserve(2 * made_.size());
    made_.push_back(std::make_unique<Peer>());
    Peer* const made = by_rank_[rank] = made_.back().get();
    made->rank = rank;
    made->path.set_policy(limits_.copy);
    made->may_take_fast_path = protocol_.sends_data() && limits_.fast_path;
    made->credit.open(limits_.unexpected_bytes);
    if (severed_) made->sever();
    return made;
}

void Peers::activate(Peer& peer, bool same_host) noexcept {
    FCI_ASSERT(active_.size() < active_.capacity());
    FCI_ASSERT(!peer.attached && !peer.lost);
    peer.attached = peer.present = true;
    active_.push_back(&peer);
    if (peer.rank != nhi::kSelf) on_this_host_ += same_host;
    order();
}

void Peers::deactivate(Peer& peer) noexcept {
    FCI_ASSERT(peer.lost);
    peer.fast_path = peer.present = false;
    std::erase(active_, &peer);
    order();
}

void Peers::prefer(std::size_t at) noexcept {
    std::swap(active_[at], active_[at - 1]);
    first_ = active_.front();
}

void Peers::order() noexcept {
    first_ = active_.empty() ? nobody_.get() : active_.front();
    work_.set_several(active_.size() > 1);
}

void Peers::sever() noexcept {
    severed_ = true;
    for (const auto& peer : made_) peer->sever();
    active_.clear();
    order();
}

void Peers::explain(nhi::Rank rank, const char* what) noexcept try {
    reasons_[rank] = device_.describe(rank) + what;
} catch (const std::bad_alloc&) {
}

const char* Peers::reason(nhi::Rank rank) const noexcept {
    if (severed_) return kSevered;
    return rank < reasons_.size() ? reasons_[rank].c_str() : "";
}

std::size_t Peers::connected() const noexcept {
    return active_.size() - find(nhi::kSelf).present;
}

unsigned Peers::sleeping() const noexcept {
    return static_cast<unsigned>(std::count_if(active_.begin(), active_.end(),
                                               [](const Peer* to) { return to->out.asleep(); }));
}

void Peers::add_memory(MemoryUse& use) const noexcept {
    use.known += by_rank_.capacity() * sizeof by_rank_[0];
    use.known += reasons_.capacity() * sizeof reasons_[0] + made_.capacity() * sizeof made_[0];
    use.connected += active_.capacity() * sizeof active_[0] + made_.size() * sizeof(Peer);
    for (const Peer* const peer : active_) use.connected += peer->offers.capacity() * sizeof(Offer);
}

}  // namespace fci::mp
