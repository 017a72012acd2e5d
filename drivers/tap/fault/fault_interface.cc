#include "drivers/tap/fault/fault_interface.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::tap {

namespace {
constexpr std::size_t kHeldMost = 64;  // for one destination; then there is no room
constexpr std::size_t kAlignment = 64;
constexpr unsigned kLastTurns = 100'000;  // in which a network that is full may get room again
}  // namespace

FaultInterface::FaultInterface(ddi::Device& device, ddi::PeerListener& told,
                               const FaultOptions& options)
    : device_(device), told_(told), inner_(device.network()), options_(options),
      prng_(options.seed), now_(device.now()) {}

nhi::Link FaultInterface::link(nhi::Rank rank) noexcept {
    const nhi::Link inner = inner_.link(rank);
    if (inner.block == nullptr || rank == nhi::kSelf || !injects()) return inner;
    if (watches_.size() <= rank) watches_.resize(rank + 1);
    auto& watch = watches_[rank];
    if (watch == nullptr) watch = std::make_unique<StoreWatch>(inner);
    return watch->link();
}

/// What was stored since the last call is on its way from now on.
void FaultInterface::take_stores(nhi::Rank rank) noexcept {
    StoreWatch* const watch = watch_of(rank);
    if (watch == nullptr || (rank < gone_.size() && gone_[rank])) return;
    StoreWatch::Stores stores = watch->take();
    if (stores.empty()) return;
    held_.resize(std::max<std::size_t>(held_.size(), device_.peers()));
    const Nanoseconds due = draw_due(rank);
    if (due <= now_ && held_[rank].empty()) return watch->apply(stores);
    held_[rank].push_back({due, 0, 0, {}, {}, std::move(stores)});
    ++held_count_;
}

/// Writes into the block of one peer that is there. Others go through as they are, so that they
/// are judged at once.
bool FaultInterface::may_hold(const nhi::Transfer& transfer) const noexcept {
    const nhi::GroupId to = transfer.destination();
    if (to == nhi::kSelf || to >= device_.peers() || (to < gone_.size() && gone_[to])) return false;
    const std::size_t block = device_.block(to).size();
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const auto& part = transfer.part(i);
        if (part.indirect || part.bytes > block || part.address > block - part.bytes) return false;
    }
    return transfer.parts() != 0;
}

Nanoseconds FaultInterface::draw_due(nhi::Rank rank) noexcept {
    FCI_ASSERT(rank < held_.size());
    Nanoseconds due = now_;
    if (prng_.chance(options_.delay_percent)) {
        due += static_cast<Nanoseconds>(
            prng_.below(static_cast<std::uint64_t>(options_.delay_max) + 1));
    }
    if (prng_.below(1000) < options_.stall_per_mille) {
        due += static_cast<Nanoseconds>(
            prng_.below(static_cast<std::uint64_t>(options_.stall_max) + 1));
    }
    // Never before the one that was issued last.
    return held_[rank].empty() ? due : std::max(due, held_[rank].back().due);
}

void FaultInterface::hold(const nhi::Transfer& transfer, Nanoseconds due) {
    Held held{due, transfer.events(), transfer.parts(), {}, {}, {}};
    for (unsigned i = 0; i < held.parts; ++i) {
        const auto& part = transfer.part(i);
        const std::size_t at = (held.payload.size() + kAlignment - 1) / kAlignment * kAlignment;
        held.payload.resize(at + part.bytes);
        if (part.bytes != 0) std::memcpy(held.payload.data() + at, part.from, part.bytes);
        held.part[i] = {nhi::LcsAddress{part.address}, at, part.bytes};
    }
    auto& queue = held_[transfer.destination()];
    FCI_ASSERT(queue.empty() || queue.back().due <= due);  // transfers of one pair keep their order
    queue.push_back(std::move(held));
    ++held_count_;
}

Status FaultInterface::initiate_transfer(const nhi::Transfer& transfer) noexcept {
    const nhi::GroupId to = transfer.destination();
    held_.resize(std::max<std::size_t>(held_.size(), device_.peers()));
    if (watch_of(to) != nullptr) {
        take_stores(to);
        // An event that comes with stores.
        if (transfer.parts() == 0) {
            if (held_[to].empty()) return inner_.initiate_transfer(transfer);
            held_[to].back().events |= transfer.events();
            return Status::ok;
        }
    }
    if (prng_.chance(options_.again_percent)) return Status::again;
    if (!may_hold(transfer)) {
        // It may overtake nothing. A group: whoever is in it.
        const bool late = (to & nhi::kGroupFlag) != 0 ? held_count_ != 0
                                                      : to < held_.size() && !held_[to].empty();
        return late ? Status::again : inner_.initiate_transfer(transfer);
    }
    if (held_[to].size() >= kHeldMost) return Status::again;
    const Nanoseconds due = draw_due(to);
    if (due <= now_ && held_[to].empty()) return inner_.initiate_transfer(transfer);
    hold(transfer, due);
    return Status::ok;
}

unsigned FaultInterface::release(nhi::Rank rank, Nanoseconds now) noexcept {
    unsigned released = 0;
    for (auto& queue = held_[rank]; !queue.empty() && queue.front().due <= now; ++released) {
        Held& held = queue.front();
        FCI_ASSERT(held_count_ != 0 && held.parts <= nhi::Transfer::kPartsMax);
        FCI_ASSERT(held.stores.empty() || watch_of(rank) != nullptr);
        if (!held.stores.empty()) watches_[rank]->apply(held.stores);
        held.stores.clear();
        nhi::Transfer transfer(rank);
        for (unsigned i = 0; i < held.parts; ++i) {
            transfer.put(held.part[i].to, held.payload.data() + held.part[i].at,
                         held.part[i].bytes);
        }
        for (nhi::EventId event = 0; event < nhi::kEventsMax; ++event) {
            if ((held.events >> event & 1u) != 0) transfer.raise(event);
        }
        // Whatever else it says, the peer is gone.
        if (held.parts + held.events != 0 &&
            inner_.initiate_transfer(transfer) == Status::again) {
            break;
        }
        queue.pop_front();
        --held_count_;
    }
    return released;
}

unsigned FaultInterface::poll(Nanoseconds now) noexcept {
    now_ = std::max(now_, now);
    unsigned work = inner_.poll(now);
    while (!refused_.empty()) {
        const nhi::Rank rank = refused_.back();
        refused_.pop_back();
        ++work;
        told_.peer_lost(rank, Status::unreachable,
                        device_.describe(rank) + " is out of reach: a fault on purpose");
    }
    for (nhi::Rank rank = 0; rank < watches_.size(); ++rank) take_stores(rank);
    for (nhi::Rank rank = 0; held_count_ != 0 && rank < held_.size(); ++rank) {
        work += release(rank, now_);
    }
    return work;
}

Nanoseconds FaultInterface::due() const noexcept {
    Nanoseconds first = kNever;
    for (const auto& queue : held_) {
        if (!queue.empty()) first = std::min(first, queue.front().due);
    }
    return first;
}

void FaultInterface::flush() noexcept {
    for (nhi::Rank rank = 0; rank < watches_.size(); ++rank) take_stores(rank);
    for (unsigned turn = 0; held_count_ != 0 && turn < kLastTurns; ++turn) {
        for (nhi::Rank rank = 0; rank < held_.size(); ++rank) (void)release(rank, kNever);
        if (held_count_ != 0) inner_.poll(device_.now());
    }
}

void FaultInterface::refuse(nhi::Rank rank) {
    if (rank < gone_.size() && gone_[rank]) return;
    FCI_ASSERT(rank != nhi::kSelf && rank < device_.peers());
    forget(rank);
    refused_.push_back(rank);
}

void FaultInterface::forget(nhi::Rank rank) {
    gone_.resize(std::max<std::size_t>(gone_.size(), rank + 1));
    gone_[rank] = true;
    if (rank >= held_.size()) return;
    FCI_ASSERT(held_[rank].size() <= held_count_);
    held_count_ -= held_[rank].size();
    held_[rank].clear();
}

}  // namespace fci::tap
