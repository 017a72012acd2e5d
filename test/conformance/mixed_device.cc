#include "test/conformance/mixed_device.h"

#include <arpa/inet.h>

#include <algorithm>

namespace fci::conformance {

namespace {

bool share_host(const ddi::Card& one, const ddi::Card& other) noexcept {
    return ((ntohs(one.port) ^ ntohs(other.port)) & 1) == 0;
}

}  // namespace

std::unique_ptr<MixedDevice> MixedDevice::open(sim::World& world, const ddi::Settings& settings,
                                               const shm::Tuning& tuning, unsigned host,
                                               std::string* error) {
    constexpr unsigned kTries = 64;
    std::unique_ptr<MixedDevice> device(new MixedDevice);
    device->world_ = &world;
    Status status = Status::ok;
    for (unsigned i = 0; i < kTries; ++i) {
        device->device_[kNear] = shm::open_shm(settings, tuning, &status, error);
        if (device->device_[kNear] == nullptr) return nullptr;
        if (settings.wanted.port != 0 || (ntohs(device->card().port) & 1) == host) break;
    }
    ddi::Settings far = settings;
    far.communication = device->near().communication_memory();
    far.incarnation = device->card().incarnation;
    far.wanted = device->card();
    device->device_[kFar] = world.open(far, error);
    if (device->device_[kFar] == nullptr) return nullptr;
    for (unsigned side = 0; side < kSides; ++side) {
        device->device_[side]->set_listener(&device->sides_[side]);
    }
    (void)device->outer(kNear, nhi::kSelf);
    device->outer_[kFar] = {nhi::kSelf};
    return device;
}

MixedDevice::~MixedDevice() {
    listener_ = nullptr;
    for (auto& device : device_) {
        if (device != nullptr) device->set_listener(nullptr);
    }
}

// --- who is who ---

void MixedDevice::Side::peer_attached(nhi::PeerId id) {
    const nhi::PeerId outer = owner_.outer(number_, id);
    if (owner_.listener_ != nullptr) owner_.listener_->peer_attached(outer);
}

void MixedDevice::Side::peer_lost(nhi::PeerId id, Status why, const std::string& reason) {
    const nhi::PeerId outer = owner_.outer(number_, id);
    if (owner_.listener_ != nullptr) owner_.listener_->peer_lost(outer, why, reason);
}

void MixedDevice::Side::stranger_came() noexcept {
    if (owner_.listener_ != nullptr) owner_.listener_->stranger_came();
}

nhi::PeerId MixedDevice::outer(unsigned side, nhi::PeerId id) {
    std::vector<nhi::PeerId>& known = outer_[side];
    if (id >= known.size()) known.resize(id + 1, nhi::kNoPeer);
    if (known[id] == nhi::kNoPeer) {
        known[id] = static_cast<nhi::PeerId>(peers_.size());
        peers_.push_back({side, id});
    }
    return known[id];
}

ddi::Device* MixedDevice::device_of(nhi::PeerId id, nhi::PeerId* there) const noexcept {
    if (id >= peers_.size()) return nullptr;
    *there = peers_[id].id;
    return device_[peers_[id].side].get();
}

nhi::NetworkInterface* MixedDevice::network_of(nhi::PeerId id, nhi::PeerId* there) const noexcept {
    ddi::Device* const device = device_of(id, there);
    return device != nullptr ? &device->network() : nullptr;
}

Status MixedDevice::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    const unsigned side = share_host(card, this->card()) ? kNear : kFar;
    nhi::PeerId there = nhi::kNoPeer;
    const Status status = device_[side]->add_peer(card, &there);
    if (status == Status::ok) *id = outer(side, there);
    return status;
}

Status MixedDevice::connect(nhi::PeerId id) {
    nhi::PeerId there;
    ddi::Device* const device = device_of(id, &there);
    return device != nullptr ? device->connect(there) : Status::invalid;
}

const ddi::Card* MixedDevice::card_of(nhi::PeerId id) const noexcept {
    nhi::PeerId there;
    const ddi::Device* const device = device_of(id, &there);
    return device != nullptr ? device->card_of(there) : nullptr;
}

std::uint64_t MixedDevice::sizes(nhi::PeerId id) const noexcept {
    nhi::PeerId there;
    const ddi::Device* const device = device_of(id, &there);
    return device != nullptr ? device->sizes(there) : 0;
}

std::span<std::byte> MixedDevice::block(nhi::PeerId id) noexcept {
    nhi::PeerId there;
    ddi::Device* const device = device_of(id, &there);
    return device != nullptr ? device->block(there) : std::span<std::byte>();
}

std::string MixedDevice::describe(nhi::PeerId id) const {
    nhi::PeerId there;
    const ddi::Device* const device = device_of(id, &there);
    return device != nullptr ? device->describe(there) : "no known process";
}

/// Time is the simulated one, and what shared memory waits for is not in it.
void MixedDevice::sleep(Nanoseconds timeout) noexcept {
    constexpr Nanoseconds kNap = 1'000'000;
    if (world_->idle()) near().sleep(timeout < 0 ? kNap : std::min(timeout, kNap));
    far().sleep(timeout);
}

// --- both networks at once ---

Status MixedDevice::open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                                std::span<std::byte> local) noexcept {
    const Status status = near().network().open_window(number, base, local);
    return status == Status::ok ? far().network().open_window(number, base, local) : status;
}

Status MixedDevice::close_window(nhi::WindowNumber number) noexcept {
    const Status status = near().network().close_window(number);
    return status == Status::ok ? far().network().close_window(number) : status;
}

Status MixedDevice::set_indirection_address(nhi::Index index, nhi::LcsAddress address) noexcept {
    const Status status = near().network().set_indirection_address(index, address);
    return status == Status::ok ? far().network().set_indirection_address(index, address) : status;
}

Status MixedDevice::configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept {
    const Status status = near().network().configure_event(event, signal);
    return status == Status::ok ? far().network().configure_event(event, signal) : status;
}

Status MixedDevice::mask_event_interrupt(nhi::EventId event, bool masked) noexcept {
    const Status status = far().network().mask_event_interrupt(event, masked);
    return status == Status::ok ? near().network().mask_event_interrupt(event, masked) : status;
}

std::uint32_t MixedDevice::event_count(nhi::EventId event) const noexcept {
    return near().network().event_count(event) + far().network().event_count(event);
}

bool MixedDevice::is_idle() const noexcept {
    return near().network().is_idle() && far().network().is_idle();
}

unsigned MixedDevice::poll(Nanoseconds now) noexcept {
    return near().network().poll(now) + far().network().poll(now);
}

// --- one of the two ---

nhi::Link MixedDevice::link(nhi::PeerId id) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->link(there) : nhi::Link{};
}

std::byte* MixedDevice::map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->map(there, address, bytes) : nullptr;
}

Status MixedDevice::provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->provide(there, address, bytes) : Status::invalid;
}

Status MixedDevice::copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                         std::size_t bytes) noexcept {
    nhi::PeerId there;
    nhi::NetworkInterface* const network = network_of(id, &there);
    return network != nullptr ? network->copy(there, direction, remote, local, bytes)
                              : Status::invalid;
}

// --- groups: a part on each side ---

Status MixedDevice::create_group(std::span<const nhi::PeerId> ranks, nhi::GroupId* group) noexcept {
    std::vector<nhi::PeerId> members[kSides];
    for (const nhi::PeerId id : ranks) {
        if (id >= peers_.size()) return Status::invalid;
        members[peers_[id].side].push_back(peers_[id].id);
    }
    Group made;
    made.used = true;
    for (unsigned side = 0; side < kSides; ++side) {
        if (members[side].empty()) continue;
        nhi::GroupId part;
        const Status status = device_[side]->network().create_group(members[side], &part);
        if (status != Status::ok) return status;
        made.part[side] = part;
    }
    if (ranks.empty()) return Status::invalid;
    auto place = std::ranges::find_if(groups_, [](const Group& known) { return !known.used; });
    if (place == groups_.end()) place = groups_.emplace(groups_.end());
    *place = made;
    *group = nhi::kGroupFlag | static_cast<nhi::GroupId>(place - groups_.begin());
    return Status::ok;
}

MixedDevice::Group* MixedDevice::group_of(nhi::GroupId group) noexcept {
    const nhi::GroupId at = group & ~nhi::kGroupFlag;
    const bool known = (group & nhi::kGroupFlag) != 0 && at < groups_.size() && groups_[at].used;
    return known ? &groups_[at] : nullptr;
}

Status MixedDevice::destroy_group(nhi::GroupId group) noexcept {
    Group* const known = group_of(group);
    if (known == nullptr) return Status::not_found;
    for (unsigned side = 0; side < kSides; ++side) {
        if (known->part[side]) (void)device_[side]->network().destroy_group(*known->part[side]);
    }
    *known = {};
    return Status::ok;
}

Status MixedDevice::initiate_transfer(const nhi::Transfer& transfer) noexcept {
    nhi::PeerId there;
    if (nhi::NetworkInterface* const network = network_of(transfer.destination(), &there)) {
        return network->initiate_transfer(nhi::Transfer(there, transfer));
    }
    const Group* const group = group_of(transfer.destination());
    if (group == nullptr) return Status::invalid;
    // All or nobody: shared memory, which is never full, says first whether it would take it.
    if (const auto part = group->part[kNear]) {
        nhi::Transfer nothing(*part);
        for (unsigned i = 0; i < transfer.parts(); ++i) {
            const nhi::Transfer::Part& like = transfer.part(i);
            const nhi::LcsAddress to{like.address};
            like.indirect ? nothing.put(static_cast<nhi::Index>(like.address), like.from, 0)
                          : nothing.put(to, like.from, 0);
        }
        const Status status = near().network().initiate_transfer(nothing);
        if (status != Status::ok) return status;
    }
    if (const auto part = group->part[kFar]) {
        const Status status =
            far().network().initiate_transfer(nhi::Transfer(*part, transfer));
        if (status != Status::ok) return status;
    }
    if (const auto part = group->part[kNear]) {
        return near().network().initiate_transfer(nhi::Transfer(*part, transfer));
    }
    return Status::ok;
}

}  // namespace fci::conformance
