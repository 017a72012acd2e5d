// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/node/node_device.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "drivers/host/epoll.h"
#include "drivers/host/mark.h"
#include "drivers/host/place.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::node {

namespace {

using State = Peers::State;

// How long each device sleeps in turn if one of them has no descriptor.
constexpr Nanoseconds kNap = 1'000'000;
// How long the far device sleeps when something has come, so that it takes that in.
constexpr Nanoseconds kMoment = 1'000;
static_assert(kMoment < kNap);

}  // namespace

NodeDevice::NodeDevice(std::unique_ptr<ddi::Device> near, std::unique_ptr<ddi::Device> far,
                       IsHere is_here, const Pace& pace, ddi::NetworkChoice choice)
    : near_(std::move(near)),
      far_(std::move(far)),
      is_here_(std::move(is_here)),
      network_(peers_, near_->network(), far_->network(), pace),
      ears_{Ear(*this, kNear), Ear(*this, kFar)} {
    FCI_ASSERT(near_->card().incarnation == far_->card().incarnation);
    FCI_ASSERT(near_->card().port == far_->card().port);
    network_choice_ = std::move(choice);
    FCI_ASSERT(near_->communication_memory().empty() ||
               near_->communication_memory().data() == far_->communication_memory().data());
    if (near_->wait_fd() >= 0 && far_->wait_fd() >= 0) {
        epoll_ = host::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    }
    for (const Side side : kSides) {
        device(side).set_listener(&ears_[side]);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = side;
        if (epoll_) (void)epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, device(side).wait_fd(), &event);
    }
}

NodeDevice::~NodeDevice() {
    for (const Side side : kSides) device(side).set_listener(nullptr);
}

// --- peers of both devices ---

Status NodeDevice::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    const Side side = is_here_(card) ? kNear : kFar;
    const ddi::Card& own = far_->card();
    if (host::is_loopback(card.host) && !host::is_loopback(own.host) &&
        host::are_apart(own.incarnation, card.incarnation)) {
        log::hint_once(true, host::kApart);
        return Status::unreachable;
    }
    ddi::Card named = card;
    // For the near device any address of this host will do.
    if (side == kNear) named.host = near_->card().host;
    nhi::PeerId there = nhi::kNoPeer;
    const Status status = device(side).add_peer(named, &there);
    if (status == Status::ok) *id = peers_.add(side, there);
    return status;
}

Status NodeDevice::connect(nhi::PeerId id) {
    const Peers::Entry* const entry = peers_.find(id);
    if (entry == nullptr) return Status::invalid;
    const Status status = device(entry->side).connect(entry->id);
    const bool begins = entry->state == State::known && id != nhi::kSelf;
    if (status == Status::ok && begins) peers_.set(id, State::connecting);
    return status;
}

void NodeDevice::attached(Side side, nhi::PeerId id) {
    nhi::PeerId known = peers_.find(side, id);
    if (known == nhi::kNoPeer) {
        ddi::Card card = *device(side).card_of(id);
        if (side == kNear) card.host = far_->card().host;
        if (is_here_(card) != (side == kNear)) return count_stranger();
        known = peers_.add(side, id);
    }
    FCI_ASSERT(known != nhi::kSelf);
    peers_.set(known, State::attached);
    if (listener_ != nullptr) listener_->peer_attached(known);
}

void NodeDevice::lost(Side side, nhi::PeerId id, Status why, const std::string& reason) {
    const nhi::PeerId known = peers_.find(side, id);
    if (known == nhi::kNoPeer) return;  // the listener has never heard of it
    FCI_ASSERT(known != nhi::kSelf);
    peers_.set(known, State::lost);
    if (listener_ != nullptr) listener_->peer_lost(known, why, reason);
}

void NodeDevice::count_stranger() noexcept {
    if (listener_ != nullptr) listener_->stranger_came();
}

/// A near peer's card has the address under which other hosts know this one.
const ddi::Card* NodeDevice::card_of(nhi::PeerId id) const noexcept {
    const Peers::Entry* const entry = peers_.find(id);
    if (entry == nullptr) return nullptr;
    const ddi::Card* const its = device(entry->side).card_of(entry->id);
    if (its == nullptr || entry->side == kFar) return its;
    shown_ = *its;
    shown_.host = far_->card().host;
    return &shown_;
}

std::uint64_t NodeDevice::sizes(nhi::PeerId id) const noexcept {
    const Peers::Entry* const entry = peers_.find(id);
    return entry != nullptr ? device(entry->side).sizes(entry->id) : 0;
}

std::span<std::byte> NodeDevice::block(nhi::PeerId id) noexcept {
    const Peers::Entry* const entry = peers_.find(id);
    return entry != nullptr ? device(entry->side).block(entry->id) : std::span<std::byte>();
}

std::string NodeDevice::describe(nhi::PeerId id) const {
    const Peers::Entry* const entry = peers_.find(id);
    return entry != nullptr ? device(entry->side).describe(entry->id) : "no known process";
}

ddi::About NodeDevice::about(nhi::PeerId id) const noexcept {
    const Peers::Entry* const entry = peers_.find(id);
    return entry != nullptr ? device(entry->side).about(entry->id) : ddi::About();
}

MemoryUse NodeDevice::memory() const noexcept {
    MemoryUse use = near_->memory();
    use += far_->memory();
    use.known += peers_.memory();
    use.fixed += sizeof *this;
    return use;
}

// --- sleeping ---

void NodeDevice::sleep(Nanoseconds timeout) noexcept {
    if (network_.may_have_woken()) return network_.woken();
    if (epoll_) {
        sleep_on_both(timeout);
    } else {
        near_->sleep(timeout < 0 ? kNap : std::min(timeout, kNap));
        far_->sleep(timeout);
    }
    network_.woken();
}

/// A readable near descriptor ends the sleep. A readable far one ends it while any event wakes, as
/// data seldom come without their event.
void NodeDevice::sleep_on_both(Nanoseconds timeout) noexcept {
    const Nanoseconds begin = now();
    for (;;) {
        const Nanoseconds left = timeout < 0 ? kNap : timeout - (now() - begin);
        if (left <= 0) return;
        epoll_event happened[2];
        const int count = host::wait_for(epoll_.get(), happened, timeout < 0 ? -1 : left);
        if (count <= 0) return;  // a signal, or the time is over
        bool far_only = true;
        for (int i = 0; i < count; ++i) {
            if (happened[i].data.u32 != kNear) continue;
            far_only = false;
            near_->sleep(0);  // takes the wake-up in, so that the next one is noticed
        }
        if (!far_only) return;
        if (network_.wakes()) return far_->sleep(kMoment);
        // If the far device comes back before the time, an arrival or a departure woke it.
        const Nanoseconds most = std::min(left, kNap), before = now();
        far_->sleep(most);
        if (now() - before < most) return;
    }
}

}  // namespace fci::node
