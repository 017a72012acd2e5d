// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sim/ideal/station.h"

#include <arpa/inet.h>

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::sim {

namespace {
constexpr std::size_t kPage = 4096;
constexpr Nanoseconds kLinger = 200'000'000;
}

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPage, whole));
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, whole);
    memory_.reset(memory);
    FCI_ASSERT(reinterpret_cast<std::uintptr_t>(memory) % kPage == 0);
}

Station::Station(World& its_world, unsigned its_number, const ddi::Card& its_card,
                 const ddi::Settings& its_settings)
    : Station(its_world, its_number, its_card, its_settings,
              Pages(its_settings.communication.empty() ? its_settings.communication_bytes : 0)) {}

Station::Station(World& its_world, unsigned its_number, const ddi::Card& its_card,
                 const ddi::Settings& its_settings, Pages memory)
    : Bookkeeping(its_settings.communication.empty() ? memory.span() : its_settings.communication),
      world(its_world),
      number(its_number),
      card(its_card),
      settings(its_settings),
      own_memory(std::move(memory)),
      communication(its_settings.communication.empty() ? own_memory.span()
                                                       : its_settings.communication) {
    FCI_ASSERT(communication.size() >= settings.communication_bytes);
    auto self = std::make_unique<Peer>();
    self->card = card;
    self->process = number;
    self->state = Peer::State::attached;
    self->joined = true;
    self->block = Pages(settings.block_bytes);
    peers.push_back(std::move(self));
    FCI_ASSERT(id_of(card) == nhi::kSelf);
    id_of_process.resize(number + 1, nhi::kNoPeer);
    id_of_process[number] = nhi::kSelf;
}

std::string Station::describe() const {
    return "simulated process at 127.0.0.1:" + std::to_string(ntohs(card.port));
}

// --- peers ---

nhi::PeerId Station::id_of(const ddi::Card& of) const noexcept {
    for (nhi::PeerId id = 0; id < peers.size(); ++id) {
        if (peers[id]->card.names(of)) return id;
    }
    return nhi::kNoPeer;
}

nhi::PeerId Station::add(const ddi::Card& added) {
    const nhi::PeerId known = id_of(added);
    if (known != nhi::kNoPeer) {
        if (peers[known]->card.incarnation == 0) peers[known]->card = added;
        return known;
    }
    peers.push_back(std::make_unique<Peer>());
    peers.back()->card = added;
    return static_cast<nhi::PeerId>(peers.size() - 1);
}

Status Station::connect(nhi::PeerId id) {
    if (id >= peers.size()) return Status::invalid;
    Peer& peer = *peers[id];
    if (peer.state == Peer::State::lost) return Status::lost;
    if (peer.state != Peer::State::known) return Status::ok;
    peer.state = Peer::State::connecting;
    World::Action attach{.kind = World::Action::Kind::attach, .from = number, .to = number};
    attach.address = id;
    const auto delay = static_cast<std::uint64_t>(world.options_.attach_delay_max);
    world.schedule(world.now_ + static_cast<Nanoseconds>(world.prng_.between(0, delay)), attach);
    return Status::ok;
}

unsigned Station::poll(Nanoseconds now) noexcept {
    if (!alive) return 0;
    if (world.scheduler_ != nullptr) {
        world.pass(number, Call::poll);
    } else {
        world.turn(now);
    }
    const unsigned work = std::exchange(arrivals, 0);
    its_hints.take();
    // A listener may connect, and die; what comes in meanwhile waits for the next turn.
    return work + notices.tell(listener, [&](const ddi::Notice& notice) {
        FCI_ASSERT(notice.id < peers.size() && notice.why != Status::again);
        Peer& peer = *peers[notice.id];
        if (peer.state == Peer::State::lost) return false;
        FCI_ASSERT(notice.why != Status::ok || peer.joined);
        peer.state = notice.why == Status::ok ? Peer::State::attached : Peer::State::lost;
        return true;
    });
}

void Station::sleep(Nanoseconds timeout) noexcept {
    if (world.scheduler_ != nullptr) {
        world.scheduler_->sleep(number, timeout);
        woken_ = false;
        return;
    }
    // Only this process stops: the others run when they are called, so sleep ends after one step.
    if (arrivals != 0 || !notices.empty() || std::exchange(woken_, false)) return;
    const Nanoseconds until = timeout < 0 ? 0 : world.now_ + timeout;
    if (timeout >= 0 && (world.actions_.empty() || world.actions_.front().time > until)) {
        world.run_until(until);
    } else {
        world.step();
    }
    woken_ = false;
}

Nanoseconds Station::now() const noexcept {
    world.pass(number, Call::now);
    return world.now();
}

// --- memory, events ---

Station* Station::at(nhi::PeerId id) const noexcept {
    if (id >= peers.size() || !peers[id]->joined) return nullptr;
    FCI_ASSERT(peers[id]->process < world.stations_.size());
    return world.stations_[peers[id]->process].get();
}

std::byte* Station::locate(unsigned from, std::uint64_t address, std::uint64_t bytes) noexcept {
    if (address >= nhi::kPairLimit) return windows().find(address, bytes);
    if (from >= id_of_process.size() || id_of_process[from] == nhi::kNoPeer) return nullptr;
    const std::span<std::byte> block = peers[id_of_process[from]]->block.span();
    const bool fits = address <= block.size() && bytes <= block.size() - address;
    return fits ? block.data() + address : nullptr;
}

void Station::hear(const World::Action& action) {
    if (!its_hints.arrive(action)) {
        ++world.statistics_.hints_lost;
        return;
    }
    ++arrivals;
    woken_ = may_wake() || woken_;
}

void Station::raise(std::uint32_t events) noexcept {
    ++arrivals;
    woken_ = take_events(events) || woken_;
}

Status Station::mask_event_interrupt(nhi::EventId event, bool masked) noexcept {
    world.pass(number, Call::mask);
    const Status status = Bookkeeping::mask_event_interrupt(event, masked);
    world.pass(number, Call::mask);
    return status;
}

// --- transfers ---

Status Station::check(const nhi::Transfer& transfer) const noexcept {
    if (!alive) return Status::lost;
    const nhi::PeerId id = transfer.destination();
    if (id >= peers.size()) return Status::invalid;
    const Station* const there = at(id);
    const std::uint64_t room = there != nullptr ? there->settings.block_bytes : nhi::kPairLimit;
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const bool fits = part.address <= room && part.bytes <= room - part.address;
        if (part.address < nhi::kPairLimit && !fits) return Status::invalid;
    }
    switch (peers[id]->state) {
        case Peer::State::lost: return Status::lost;
        case Peer::State::known: return Status::unreachable;
        case Peer::State::connecting: return Status::again;
        default: return Status::ok;
    }
}

Status Station::initiate_transfer(const nhi::Transfer& transfer) noexcept {
    const Status answer = check(transfer);
    if (answer != Status::ok) return answer;
    // After an event that follows stores no caller would try again (nhi/link.h).
    const bool follows_stores = transfer.parts() == 0 && world.options_.stores;
    if (!follows_stores && world.prng_.chance(world.options_.again_percent)) {
        ++world.statistics_.again;
        return Status::again;
    }
    auto payload = std::make_shared<std::vector<std::byte>>();
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const auto* const from = static_cast<const std::byte*>(transfer.part(i).from);
        payload->insert(payload->end(), from, from + transfer.part(i).bytes);
    }
    FCI_ASSERT(alive);
    const unsigned to = peers[transfer.destination()]->process;
    if (transfer.may_linger()) {
        lingering_.push_back({to, transfer, payload});
        world.schedule(world.now_ + kLinger, {.kind = World::Action::Kind::push, .from = number,
                                              .to = to});
    } else {
        push(to);
        send(to, transfer, payload);
    }
    world.pass(number, Call::transfer);
    return Status::ok;
}

void Station::push(unsigned to) noexcept {
    FCI_ASSERT(to < world.stations_.size());
    std::vector<Lingering> others;
    for (Lingering& one : std::exchange(lingering_, {})) {
        if (one.to == to) {
            send(to, one.transfer, one.payload);
        } else {
            others.push_back(std::move(one));
        }
    }
    lingering_ = std::move(others);
}

void Station::send(unsigned to, const nhi::Transfer& transfer,
                   const std::shared_ptr<std::vector<std::byte>>& payload) noexcept {
    Prng& prng = world.prng_;
    const bool split = prng.chance(world.options_.split_percent);
    World::Action action{.kind = World::Action::Kind::write, .from = number, .to = to};
    action.payload = payload;
    Nanoseconds time = world.pair_time(number, to, world.draw_delay());
    const auto put = [&](std::uint64_t first, std::uint64_t end) {
        FCI_ASSERT(first <= end && time >= world.now_);
        if (first == end) return;
        action.offset = first;
        action.bytes = end - first;
        world.schedule(time, action);
        if (split) time = world.pair_time(number, to, time - world.now_ + world.draw_delay() / 4);
    };
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        action.address = part.address;
        // The last aligned word within the part comes last; cuts before it are at words as well.
        const std::uint64_t base = part.address;
        const std::uint64_t end = base + part.bytes;
        const std::uint64_t word_end = end & ~7ull;
        const bool whole_word = word_end >= base + 8;
        const std::uint64_t word = whole_word ? word_end - 8 - base : part.bytes;
        const std::uint64_t after = whole_word ? word_end - base : part.bytes;
        std::uint64_t done = 0;
        if (split && word > 8) {
            const std::uint64_t cut = (base + prng.below(word)) & ~7ull;
            done = cut > base ? cut - base : 0;
            put(0, done);
        }
        put(done, word);
        put(after, part.bytes);
        put(word, after);
        action.skip += part.bytes;
        ++world.statistics_.parts;
        world.statistics_.bytes += part.bytes;
    }
    FCI_ASSERT(action.skip == payload->size());  // every part was cut out of it
    ++world.statistics_.transfers;
    if (transfer.events() != 0) {
        action.kind = World::Action::Kind::raise;
        action.events = transfer.events();
        action.payload.reset();
        world.schedule(time, action);
        ++world.statistics_.events;
    }
}

// --- ways around the network ---

std::byte* Station::map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    Station* const owner = world.options_.mapped ? at(id) : nullptr;
    if (owner == nullptr || !world.share_host(number, owner->number)) return nullptr;
    return owner->locate(number, static_cast<std::uint64_t>(address), bytes);
}

nhi::Link Station::link(nhi::PeerId id) noexcept {
    Station* const owner = at(id);
    if (owner == nullptr) return {};
    nhi::Link link{.block_bytes = owner->settings.block_bytes};
    link.direct = world.options_.direct && !world.share_host(number, owner->number);
    if (link.direct || !world.share_host(number, owner->number)) return link;
    link.same_host = true;
    link.mapped = world.options_.mapped;
    if (world.options_.stores && link.mapped) {
        link.block = map(id, nhi::LcsAddress{0}, 0);
        link.wanted_events = &owner->wanted_events();
    }
    return link;
}

bool Station::is_idle() const noexcept { return world.is_idle(number); }

Status Station::copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                     std::size_t bytes) noexcept {
    if (!world.options_.kernel_copy) return Status::unsupported;
    if (id >= peers.size()) return Status::invalid;
    if (!peers[id]->joined) return Status::unreachable;
    if (!world.share_host(number, peers[id]->process)) return Status::unsupported;
    if (!alive || !world.stations_[peers[id]->process]->alive) return Status::lost;
    unsigned& left = copies_left[static_cast<unsigned>(direction)];
    if (left == 0) return Status::unsupported;
    if (left != kUnlimited) --left;
    if (bytes == 0) return Status::ok;
    if (world.options_.copy_faults) return Status::invalid;
    auto* const there = reinterpret_cast<std::byte*>(remote);  // all processes are this one
    if (direction == Direction::read) {
        std::memcpy(local, there, bytes);
    } else {
        std::memcpy(there, local, bytes);
    }
    world.pass(number, Call::copy);
    return Status::ok;
}

}  // namespace fci::sim
