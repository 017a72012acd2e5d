// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/peers.h"

#include <algorithm>
#include <cstring>
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
    nobody_->row = &own_row_;
}

Peer* Peers::make(nhi::PeerId id) {
    if (id < size_ && by_id_[id] != nobody_.get()) return by_id_[id];
    if (id >= device_.peers()) return nullptr;
    if (id >= size_) {
        const std::size_t known = device_.peers(), had = by_id_.capacity();
        if (known > had) by_id_.reserve(std::max(known, had + had / 2));
        by_id_.resize(id + 1, nobody_.get());
        size_ = id + 1;
    }
    if (made_.size() == active_.capacity()) active_.reserve(2 * made_.size());
    auto fresh = std::make_unique<Peer>();
    fresh->id = id;
    fresh->row = id == nhi::kSelf ? &own_row_ : &rows_.add();
    made_.push_back(std::move(fresh));
    Peer* const made = by_id_[id] = made_.back().get();
    show(*made, PeerRow::State::unmet);
    made->path.set_policy(limits_.copy);
    made->may_take_fast_path = protocol_.sends_data() && limits_.fast_path;
    made->credit.open(limits_.unexpected_bytes);
    made->ask_due = !protocol_.announces;
    if (severed_) made->sever();
    return made;
}

void Peers::show(Peer& peer, PeerRow::State state) noexcept {
    PeerRow& row = *peer.row;
    const ddi::About about = device_.about(peer.id);
    if (const ddi::Card* const card = device_.card_of(peer.id)) {
        row.host = card->host;
        row.port = card->port;
    }
    row.pid = about.pid;
    row.rank = about.rank;
    row.state = state;
    std::strncpy(row.way, about.way, sizeof row.way - 1);
}

void Peers::expect(Peer& peer) noexcept {
    FCI_ASSERT(!peer.attached && !peer.lost && !peer.connecting);
    peer.connecting = true;
    ++expected_;
}

void Peers::expect_no_more(Peer& peer) noexcept {
    FCI_ASSERT(!peer.connecting || expected_ != 0);
    expected_ -= peer.connecting;
    peer.connecting = false;
}

void Peers::activate(Peer& peer, bool same_host) noexcept {
    FCI_ASSERT(active_.size() < active_.capacity());
    FCI_ASSERT(!peer.attached && !peer.lost);
    expect_no_more(peer);
    peer.attached = peer.present = true;
    show(peer, PeerRow::State::connected);
    active_.push_back(&peer);
    if (peer.id != nhi::kSelf) on_this_host_ += same_host;
    order();
}

void Peers::deactivate(Peer& peer) noexcept {
    FCI_ASSERT(peer.lost);
    expect_no_more(peer);
    show(peer, PeerRow::State::lost);
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
    rows_.hide();
    for (const auto& peer : made_) {
        expect_no_more(*peer);
        peer->sever();
    }
    active_.clear();
    order();
}

void Peers::explain(nhi::PeerId id, const char* what) noexcept try {
    reasons_[id] = device_.describe(id) + what;
} catch (const std::bad_alloc&) {
}

const char* Peers::reason(nhi::PeerId id) const noexcept {
    if (severed_) return kSevered;
    const auto found = reasons_.find(id);
    return found != reasons_.end() ? found->second.c_str() : "";
}

std::size_t Peers::connected() const noexcept {
    return active_.size() - find(nhi::kSelf).present;
}

unsigned Peers::sleeping() const noexcept {
    return static_cast<unsigned>(std::count_if(active_.begin(), active_.end(),
                                               [](const Peer* to) { return to->out.asleep(); }));
}

void Peers::add_memory(MemoryUse& use) const noexcept {
    use.connected += rows_.memory();
    use.known += by_id_.capacity() * sizeof by_id_[0];
    use.known += made_.capacity() * sizeof made_[0];
    use.connected += active_.capacity() * sizeof active_[0] + made_.size() * sizeof(Peer);
    for (const Peer* const peer : active_) use.connected += peer->offers.capacity() * sizeof(Offer);
}

}  // namespace fci::mp
