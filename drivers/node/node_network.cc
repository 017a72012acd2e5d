// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/node/node_network.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::node {

namespace {

// Empty turns between polls, while some peer is far: asking the clock in every turn would cost
// more.
constexpr unsigned kIdlePollEvery = 16;

std::uint32_t with(std::uint32_t set, nhi::EventId event, bool on) noexcept {
    FCI_ASSERT(event < nhi::kEventsMax);
    const std::uint32_t bit = std::uint32_t{1} << event;
    return on ? set | bit : set & ~bit;
}

}  // namespace

// --- both networks ---

Status NodeNetwork::open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                                std::span<std::byte> local) noexcept {
    Status status = network_[kNear]->open_window(number, base, local);
    if (status != Status::ok) return status;
    status = network_[kFar]->open_window(number, base, local);
    if (status != Status::ok) (void)network_[kNear]->close_window(number);
    return status;
}

Status NodeNetwork::close_window(nhi::WindowNumber number) noexcept {
    const Status status = network_[kNear]->close_window(number);
    return status == Status::ok ? network_[kFar]->close_window(number) : status;
}

Status NodeNetwork::configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept {
    Status status = network_[kNear]->configure_event(event, signal);
    if (status == Status::ok) status = network_[kFar]->configure_event(event, signal);
    if (status == Status::ok) interrupting_ = with(interrupting_, event, signal.interrupt);
    return status;
}

/// The near network comes last: its barrier orders both before the caller's next reads.
Status NodeNetwork::mask_event_interrupt(nhi::EventId event, bool masked) noexcept {
    Status status = network_[kFar]->mask_event_interrupt(event, masked);
    if (status == Status::ok) status = network_[kNear]->mask_event_interrupt(event, masked);
    if (status != Status::ok) return status;
    masked_ = with(masked_, event, masked);
    if (!masked) polled_ = false;  // the caller looks after this
    return status;
}

std::uint32_t NodeNetwork::event_count(nhi::EventId event) const noexcept {
    return network_[kNear]->event_count(event) + network_[kFar]->event_count(event);
}

bool NodeNetwork::is_idle() const noexcept {
    return network_[kNear]->is_idle() && network_[kFar]->is_idle();
}

bool NodeNetwork::is_alone() const noexcept {
    return peers_.in(kFar, Peers::State::attached) == 0 &&
           peers_.in(kFar, Peers::State::connecting) == 0;
}

Nanoseconds NodeNetwork::busy_poll_every() const noexcept {
    return is_alone() ? kBusyPollEvery : Pace::kOften;
}

unsigned NodeNetwork::idle_poll_every() const noexcept {
    const unsigned near = network_[kNear]->idle_poll_every();
    if (is_alone()) return near;
    // Without a near peer there is nothing else to poll, and a process that yields gets few turns.
    return peers_.in(kNear, Peers::State::attached) == 0 ? 1 : std::min(near, kIdlePollEvery);
}

unsigned NodeNetwork::poll(Nanoseconds now) noexcept {
    unsigned work = 0;
    polled_ = true;
    if (pace_.begin(kNear, peers_, now)) work += network_[kNear]->poll(now);
    if (pace_.begin(kFar, peers_, now) || (data_.is_there() && data_.waits())) {
        const unsigned heard = network_[kFar]->poll(now);
        if (heard != 0) pace_.heard(now);
        work += heard;
    }
    return work;
}

void NodeNetwork::woken() noexcept {
    polled_ = false;
    pace_.hurry();
}

// --- one of the two ---

nhi::NetworkInterface* NodeNetwork::network_of(nhi::PeerId id, nhi::PeerId* there) const noexcept {
    const Peers::Entry* const entry = peers_.find(id);
    if (entry == nullptr) return nullptr;
    *there = entry->id;
    return network_[entry->side];
}

nhi::Link NodeNetwork::link(nhi::PeerId id) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->link(there) : nhi::Link{};
}

std::byte* NodeNetwork::map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->map(there, address, bytes) : nullptr;
}

Status NodeNetwork::provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->provide(there, address, bytes) : Status::invalid;
}

Status NodeNetwork::copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                         std::size_t bytes) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    if (network == nullptr) return Status::invalid;
    return network->copy(there, direction, remote, local, bytes);
}

Status NodeNetwork::initiate_transfer(const nhi::Transfer& transfer) noexcept {
    const Peers::Entry* const entry = peers_.find(transfer.destination());
    if (entry == nullptr) return Status::invalid;
    if (entry->side == kFar) pace_.wrote();
    return network_[entry->side]->initiate_transfer(nhi::Transfer(entry->id, transfer));
}

}  // namespace fci::node
