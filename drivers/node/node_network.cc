#include "drivers/node/node_network.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::node {

namespace {

// Of empty turns, while some peer is far: to ask the clock in every one would cost more than it.
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

Status NodeNetwork::set_indirection_address(nhi::Index index, nhi::LcsAddress address) noexcept {
    const Status status = network_[kNear]->set_indirection_address(index, address);
    return status == Status::ok ? network_[kFar]->set_indirection_address(index, address) : status;
}

Status NodeNetwork::configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept {
    Status status = network_[kNear]->configure_event(event, signal);
    if (status == Status::ok) status = network_[kFar]->configure_event(event, signal);
    if (status == Status::ok) interrupting_ = with(interrupting_, event, signal.interrupt);
    return status;
}

/// The near one last: what it takes to order itself before the caller's next reads orders all.
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
    // Without a peer here there is nothing else to look for, and who yields gets a turn seldom.
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
    if (entry == nullptr) return transfer_to_group(transfer);
    if (entry->side == kFar) pace_.wrote();
    return network_[entry->side]->initiate_transfer(nhi::Transfer(entry->id, transfer));
}

// --- groups ---

Status NodeNetwork::create_group(std::span<const nhi::PeerId> peers,
                                 nhi::GroupId* group) noexcept try {
    Group made;
    for (const nhi::PeerId id : peers) {
        const Peers::Entry* const entry = peers_.find(id);
        if (entry == nullptr) return Status::invalid;
        made.members[entry->side].push_back(entry->id);
    }
    if (!made.used()) return Status::invalid;
    auto place = std::ranges::find_if(groups_, [](const Group& known) { return !known.used(); });
    if (place == groups_.end()) place = groups_.emplace(groups_.end());
    FCI_ASSERT(!place->used() && groups_.size() < nhi::kGroupFlag);
    for (const Side side : kSides) {
        if (made.members[side].empty()) continue;
        const Status status = network_[side]->create_group(made.members[side], &made.part[side]);
        if (status == Status::ok) continue;
        if (side == kFar && !made.members[kNear].empty()) {
            (void)network_[kNear]->destroy_group(made.part[kNear]);
        }
        return status;
    }
    *place = std::move(made);
    *group = nhi::kGroupFlag | static_cast<nhi::GroupId>(place - groups_.begin());
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::exhausted;
}

NodeNetwork::Group* NodeNetwork::find_group(nhi::GroupId group) noexcept {
    const nhi::GroupId at = group & ~nhi::kGroupFlag;
    const bool known = (group & nhi::kGroupFlag) != 0 && at < groups_.size() && groups_[at].used();
    return known ? &groups_[at] : nullptr;
}

Status NodeNetwork::destroy_group(nhi::GroupId group) noexcept {
    Group* const known = find_group(group);
    if (known == nullptr) return Status::not_found;
    for (const Side side : kSides) {
        if (known->members[side].empty()) continue;
        (void)network_[side]->destroy_group(known->part[side]);
    }
    *known = {};
    return Status::ok;
}

/// Whether the near part would take it. Nothing is written.
Status NodeNetwork::check_near(const Group& group, const nhi::Transfer& transfer) noexcept {
    nhi::Transfer nothing(group.part[kNear]);
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        if (part.indirect) {
            nothing.put(static_cast<nhi::Index>(part.address), part.from, 0);
            continue;
        }
        nothing.put(nhi::LcsAddress{part.address}, part.from, 0);
        if (part.address >= nhi::kPairLimit) continue;
        for (const nhi::PeerId id : group.members[kNear]) {
            const std::uint64_t room = network_[kNear]->link(id).block_bytes;
            const bool fits = part.address <= room && part.bytes <= room - part.address;
            if (room != 0 && !fits) return Status::invalid;
        }
    }
    return network_[kNear]->initiate_transfer(nothing);
}

/// All or nobody. The near part, which is never full, says first whether it would take it.
Status NodeNetwork::transfer_to_group(const nhi::Transfer& transfer) noexcept {
    const Group* const group = find_group(transfer.destination());
    if (group == nullptr) return Status::invalid;
    const bool near = !group->members[kNear].empty(), far = !group->members[kFar].empty();
    if (near && far) {
        const Status status = check_near(*group, transfer);
        if (status != Status::ok) return status;
    }
    if (far) {
        pace_.wrote();
        const Status status =
            network_[kFar]->initiate_transfer(nhi::Transfer(group->part[kFar], transfer));
        if (status != Status::ok || !near) return status;
    }
    return network_[kNear]->initiate_transfer(nhi::Transfer(group->part[kNear], transfer));
}

}  // namespace fci::node
