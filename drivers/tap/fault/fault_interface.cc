// SPDX-License-Identifier: BSD-3-Clause
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
    : Forwarding(device.network()), device_(device), told_(told), options_(options),
      prng_(options.seed), now_(device.now()), data_(*this, inner().data()) {}

nhi::Link FaultInterface::link(nhi::PeerId id) noexcept {
    const nhi::Link link = inner().link(id);
    if (link.block == nullptr || id == nhi::kSelf || !options_.injects()) return link;
    if (watches_.size() <= id) watches_.resize(id + 1);
    auto& watch = watches_[id];
    if (watch == nullptr) watch = std::make_unique<StoreWatch>(link);
    return watch->link();
}

/// Stores since the last call are on their way from now on.
void FaultInterface::take_stores(nhi::PeerId id) noexcept {
    StoreWatch* const watch = watch_of(id);
    if (watch == nullptr || (id < gone_.size() && gone_[id])) return;
    StoreWatch::Stores stores = watch->take();
    if (stores.empty()) return;
    held_.resize(std::max<std::size_t>(held_.size(), device_.peers()));
    const Nanoseconds due = draw_due(id);
    if (due <= now_ && held_[id].empty()) return watch->apply(stores);
    held_[id].push_back({due, 0, 0, {}, {}, std::move(stores)});
    ++held_count_;
}

void FaultInterface::take_all_stores() noexcept {
    for (nhi::PeerId id = 0; id < watches_.size(); ++id) take_stores(id);
}

/// Writes into the block of one peer that is there. Others go through as they are, so that they
/// are judged at once.
bool FaultInterface::may_hold(const nhi::Transfer& transfer) const noexcept {
    const nhi::PeerId to = transfer.destination();
    if (to == nhi::kSelf || to >= device_.peers() || (to < gone_.size() && gone_[to])) return false;
    const std::size_t block = device_.block(to).size();
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const auto& part = transfer.part(i);
        if (part.bytes > block || part.address > block - part.bytes) return false;
    }
    return transfer.parts() != 0;
}

Nanoseconds FaultInterface::draw_due(nhi::PeerId id) noexcept {
    FCI_ASSERT(id < held_.size());
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
    return held_[id].empty() ? due : std::max(due, held_[id].back().due);
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
    const nhi::PeerId to = transfer.destination();
    held_.resize(std::max<std::size_t>(held_.size(), device_.peers()));
    if (watch_of(to) != nullptr) {
        take_stores(to);
        // An event that comes with stores.
        if (transfer.parts() == 0) {
            if (held_[to].empty()) return inner().initiate_transfer(transfer);
            held_[to].back().events |= transfer.events();
            return Status::ok;
        }
    }
    if (prng_.chance(options_.again_percent)) return Status::again;
    if (!may_hold(transfer)) {
        const bool late = to < held_.size() && !held_[to].empty();  // it may overtake nothing
        return late ? Status::again : inner().initiate_transfer(transfer);
    }
    if (held_[to].size() >= kHeldMost) return Status::again;
    const Nanoseconds due = draw_due(to);
    if (due <= now_ && held_[to].empty()) return inner().initiate_transfer(transfer);
    hold(transfer, due);
    return Status::ok;
}

Status FaultData::send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                       std::uint32_t events) noexcept {
    if (!whole_.lets_data_pass(id)) return Status::again;
    return inner_->send(id, data, from, events);
}

unsigned FaultInterface::release(nhi::PeerId id, Nanoseconds now) noexcept {
    unsigned released = 0;
    for (auto& queue = held_[id]; !queue.empty() && queue.front().due <= now; ++released) {
        Held& held = queue.front();
        FCI_ASSERT(held_count_ != 0 && held.parts <= nhi::Transfer::kPartsMax);
        FCI_ASSERT(held.stores.empty() || watch_of(id) != nullptr);
        if (!held.stores.empty()) watches_[id]->apply(held.stores);
        held.stores.clear();
        nhi::Transfer transfer(id);
        for (unsigned i = 0; i < held.parts; ++i) {
            transfer.put(held.part[i].to, held.payload.data() + held.part[i].at,
                         held.part[i].bytes);
        }
        for (nhi::EventId event = 0; event < nhi::kEventsMax; ++event) {
            if ((held.events >> event & 1u) != 0) transfer.raise(event);
        }
        // Any other status means that the peer is gone.
        if (held.parts + held.events != 0 &&
            inner().initiate_transfer(transfer) == Status::again) {
            break;
        }
        queue.pop_front();
        --held_count_;
    }
    return released;
}

unsigned FaultInterface::poll(Nanoseconds now) noexcept {
    now_ = std::max(now_, now);
    unsigned work = inner().poll(now);
    while (!refused_.empty()) {
        const nhi::PeerId id = refused_.back();
        refused_.pop_back();
        ++work;
        told_.peer_lost(id, Status::unreachable,
                        device_.describe(id) + " is out of reach: a fault on purpose");
    }
    // A look compares whole blocks, and a caller that waits polls millions of times.
    constexpr Nanoseconds kLookEvery = 10'000;
    constexpr unsigned kPollsMost = 16;
    if (++polls_ >= kPollsMost || now_ >= look_at_) {
        polls_ = 0;
        look_at_ = now_ + kLookEvery;
        take_all_stores();
    }
    for (nhi::PeerId id = 0; held_count_ != 0 && id < held_.size(); ++id) {
        work += release(id, now_);
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
    take_all_stores();
    for (unsigned turn = 0; held_count_ != 0 && turn < kLastTurns; ++turn) {
        for (nhi::PeerId id = 0; id < held_.size(); ++id) (void)release(id, kNever);
        if (held_count_ != 0) inner().poll(device_.now());
    }
}

void FaultInterface::refuse(nhi::PeerId id) {
    if (id < gone_.size() && gone_[id]) return;
    FCI_ASSERT(id != nhi::kSelf && id < device_.peers());
    forget(id);
    refused_.push_back(id);
}

void FaultInterface::forget(nhi::PeerId id) {
    gone_.resize(std::max<std::size_t>(gone_.size(), id + 1));
    gone_[id] = true;
    if (id >= held_.size()) return;
    FCI_ASSERT(held_[id].size() <= held_count_);
    held_count_ -= held_[id].size();
    held_[id].clear();
}

}  // namespace fci::tap
