// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/shm_interface.h"

#include <unistd.h>

#include <utility>

#include "drivers/shm/store.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::shm {

namespace {

constexpr unsigned kIdlePollEvery = 128;
// Each record of a meeting waits for a turn of the other one, which may share its core with many:
// between two of its looks all of them may have had theirs.
constexpr unsigned kMeetingPollEvery = 1;
static_assert(kMeetingPollEvery < kIdlePollEvery);

void compiler_barrier() noexcept { asm volatile("" ::: "memory"); }

void count(std::uint32_t& word) noexcept {
    std::uint32_t before = flag::load_relaxed(word);
    while (!flag::compare_exchange(word, before, before + 1)) {
    }
}

/// A window entry as its owner last left it; false while it is closed or being changed.
bool read_entry(const WindowEntry& entry, WindowEntry* copy) noexcept {
    copy->generation = flag::load_acquire(entry.generation);
    copy->base = flag::load_acquire(entry.base);
    copy->bytes = flag::load_acquire(entry.bytes);
    copy->offset = flag::load_acquire(entry.offset);
    return (copy->generation & 1) != 0 && flag::load_acquire(entry.generation) == copy->generation;
}

constexpr bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t room) noexcept {
    return offset <= room && bytes <= room - offset;
}

/// Where an address of the peer's communication space lies here; nullptr: nowhere. The windows in
/// the peer's header are checked against the memory that was really mapped.
std::byte* locate(const Peer& peer, std::uint64_t address, std::uint64_t bytes) noexcept {
    if (address < nhi::kPairLimit) {
        return fits(address, bytes, peer.block_bytes) ? peer.block + address : nullptr;
    }
    for (const WindowEntry& shared : peer.header->window) {
        WindowEntry window;
        if (!read_entry(shared, &window) || address < window.base ||
            !fits(address - window.base, bytes, window.bytes) ||
            !fits(window.offset, window.bytes, peer.communication_bytes)) {
            continue;
        }
        return peer.communication + window.offset + (address - window.base);
    }
    return nullptr;
}

Status status_of(const Entry& entry) noexcept {
    return entry.state() == State::attached ? Status::ok
           : entry.state() == State::lost   ? Status::lost
                                          : Status::again;
}

}  // namespace

// --- own side: windows, events ---

ShmInterface::ShmInterface(PeerTable& peers, Pollable& turn, std::span<std::byte> header,
                           SystemBarrier& barrier) noexcept
    : peers_(peers),
      turn_(turn),
      header_(*reinterpret_cast<SharedHeader*>(header.data())),
      communication_(header.subspan(kSharedHeaderBytes)),
      barrier_(barrier),
      kernel_copies_(kernel_copies(nullptr)),
      idle_poll_every_(kIdlePollEvery) {
    FCI_ASSERT(header.size() >= kSharedHeaderBytes && peers.size() > nhi::kSelf);
    publish_signals();
}

Status ShmInterface::open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                                 std::span<std::byte> local) noexcept {
    const auto first = static_cast<std::uint64_t>(base);
    if (number >= nhi::kWindowsMax || first < nhi::kPairLimit || local.empty() ||
        first + local.size() < first || local.data() < communication_.data()) {
        return Status::invalid;
    }
    const auto offset = static_cast<std::uint64_t>(local.data() - communication_.data());
    WindowEntry& entry = header_.window[number];
    if ((entry.generation & 1) != 0 || !fits(offset, local.size(), communication_.size())) {
        return Status::invalid;
    }
    for (const WindowEntry& other : header_.window) {
        if ((other.generation & 1) != 0 && first < other.base + other.bytes &&
            other.base < first + local.size()) {
            return Status::invalid;
        }
    }
    flag::store_relaxed(entry.base, first);
    flag::store_relaxed(entry.bytes, std::uint64_t{local.size()});
    flag::store_relaxed(entry.offset, offset);
    flag::store_release(entry.generation, entry.generation + 1);
    return Status::ok;
}

Status ShmInterface::close_window(nhi::WindowNumber number) noexcept {
    if (number >= nhi::kWindowsMax) return Status::invalid;
    WindowEntry& entry = header_.window[number];
    if ((entry.generation & 1) == 0) return Status::not_found;
    flag::store_release(entry.generation, entry.generation + 1);
    flag::full_fence();  // the entry is not used again before everybody can see that it is closed
    return Status::ok;
}

void ShmInterface::publish_signals() noexcept {
    const std::uint32_t interrupting = enabled_ & ~masked_;
    flag::store_relaxed(header_.counting, counting_);
    flag::store_relaxed(header_.interrupting, interrupting);
    flag::store_release(header_.wanted_events,
                        std::uint64_t{cycle_} << 32 | interrupting | counting_);
}

Status ShmInterface::configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept {
    if (event >= nhi::kEventsMax) return Status::invalid;
    const std::uint32_t bit = 1u << event;
    enabled_ = signal.interrupt ? enabled_ | bit : enabled_ & ~bit;
    counting_ = signal.flag ? counting_ | bit : counting_ & ~bit;
    ++cycle_;
    publish_signals();
    barrier_.pass();
    return Status::ok;
}

Status ShmInterface::mask_event_interrupt(nhi::EventId event, bool masked) noexcept {
    if (event >= nhi::kEventsMax) return Status::invalid;
    const std::uint32_t bit = 1u << event;
    if (masked == ((masked_ & bit) != 0)) {
        if (!masked) flag::full_fence();  // writers saw long ago that it is unmasked
        return Status::ok;
    }
    masked_ ^= bit;
    if (masked || (enabled_ & bit) == 0) {
        publish_signals();
        return Status::ok;
    }
    ++cycle_;
    publish_signals();
    barrier_.pass();
    woken_ = false;  // the caller looks after this
    return Status::ok;
}

void ShmInterface::set_meeting(bool meets) noexcept {
    idle_poll_every_ = meets ? kMeetingPollEvery : kIdlePollEvery;
}

void ShmInterface::woken() noexcept {
    woken_ = true;
    if ((enabled_ & ~masked_) == 0) return;
    // Writers that saw the old cycle rely on the wake-up that has just come; later ones must wake
    // again. A writer makes a fence between its write and its look at the cycle, so one here is
    // enough.
    ++cycle_;
    publish_signals();
    flag::full_fence();
}

bool ShmInterface::take_woken() noexcept { return std::exchange(woken_, false); }

std::uint32_t ShmInterface::event_count(nhi::EventId event) const noexcept {
    return event < nhi::kEventsMax ? flag::load_acquire(header_.count[event]) : 0;
}

// --- transfers ---

Status ShmInterface::resolve(const Peer& peer, const nhi::Transfer& transfer,
                             std::byte* (&to)[nhi::Transfer::kPartsMax]) const noexcept {
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        to[i] = locate(peer, part.address, part.bytes);
        if (to[i] == nullptr) return Status::invalid;
    }
    return Status::ok;
}

Status ShmInterface::initiate_transfer(const nhi::Transfer& transfer) noexcept {
    const nhi::PeerId destination = transfer.destination();
    if (destination >= peers_.size()) [[unlikely]] return Status::invalid;
    const Entry& entry = peers_[destination];
    if (entry.state() != State::attached) [[unlikely]] return status_of(entry);
    const Peer& peer = *entry.peer;
    std::byte* to[nhi::Transfer::kPartsMax];
    if (const Status status = resolve(peer, transfer, to); status != Status::ok) return status;
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        store(to[i], transfer.part(i).from, transfer.part(i).bytes);
    }
    raise(peer, transfer.events());
    return Status::ok;
}

void ShmInterface::raise(const Peer& peer, std::uint32_t events) noexcept {
    if (events == 0) return;
    if (peer.fence) [[unlikely]] {
        flag::full_fence();
    } else if (!barrier_.is_registered()) [[unlikely]] {
        flag::full_fence();
        barrier_.count_fence();
    }
    compiler_barrier();
    if ((flag::load_acquire(peer.header->wanted_events) & events) != 0) [[unlikely]] {
        announce(peer, events);
    }
}

/// The peer counts one of these events, or may sleep.
[[gnu::noinline]] void ShmInterface::announce(const Peer& peer, std::uint32_t events) noexcept {
    FCI_ASSERT(peer.connected && peer.wake_fd >= 0);
    SharedHeader& header = *peer.header;
    const std::uint32_t counting = flag::load_acquire(header.counting) & events;
    for (unsigned event = 0; event < nhi::kEventsMax; ++event) {
        if ((counting >> event & 1u) != 0) count(header.count[event]);
    }
    flag::full_fence();
    const auto cycle = static_cast<std::uint32_t>(flag::load_acquire(header.wanted_events) >> 32);
    if ((flag::load_acquire(header.interrupting) & events) == 0 ||
        flag::load_acquire(header.rung_cycle) == cycle)
        return;
    const std::uint64_t one = 1;
    // This fails only after 2^64 wake-ups that the peer has not read: then it is awake already.
    [[maybe_unused]] const ssize_t written = write(peer.wake_fd, &one, sizeof one);
    flag::store_release(header.rung_cycle, cycle);
}

std::byte* ShmInterface::map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    if (id >= peers_.size() || peers_[id].state() < State::attached) return nullptr;
    const Peer* const peer = peers_[id].peer.get();
    if (peer == nullptr || peer->header == nullptr) return nullptr;
    return locate(*peer, static_cast<std::uint64_t>(address), bytes);
}

Status ShmInterface::provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept {
    std::byte* const place = map(id, address, bytes);
    if (place == nullptr) return Status::invalid;
    if (!Region::provides()) return Status::ok;  // it was there from the start
    FCI_ASSERT(bytes != 0);
    const std::size_t before = reinterpret_cast<std::uintptr_t>(place) % page_round(1);
    if (!Region::provide(place - before, bytes + before)) return Status::exhausted;
    const bool in_block = static_cast<std::uint64_t>(address) < nhi::kPairLimit;
    if (id == nhi::kSelf) {
        if (!in_block) provided_here_ += bytes;
    } else if (in_block) {
        provided_ += bytes;
    }
    return Status::ok;
}

void ShmInterface::take_back(nhi::LcsAddress address, std::size_t bytes) noexcept {
    std::byte* const place = map(nhi::kSelf, address, bytes);
    FCI_ASSERT(place != nullptr && static_cast<std::uint64_t>(address) >= nhi::kPairLimit);
    if (Region::provides() && Region::take_back(place, bytes)) provided_here_ -= bytes;
}

nhi::Ordering ShmInterface::ordering() noexcept {
    if (!barrier_.works()) return nhi::Ordering::by_all;
    if (barrier_.is_registered()) return nhi::Ordering::by_sleeper;
    barrier_.count_fence();
    return nhi::Ordering::by_fence;
}

nhi::Link ShmInterface::link(nhi::PeerId id) noexcept {
    if (id >= peers_.size() || peers_[id].state() != State::attached) return {};
    const Peer& peer = *peers_[id].peer;
    FCI_ASSERT(peer.connected && peer.block != nullptr && peer.header != nullptr);
    nhi::Link link{.block_bytes = peer.block_bytes, .mapped = true, .same_host = true};
    // A peer that wants a fence before the look at its word is served by transfers.
    if (peer.fence) return link;
    static constexpr std::uint64_t always = nhi::Link::kAlways;
    link.block = peer.block;
    link.wanted_events = barrier_.is_registered() ? &peer.header->wanted_events : &always;
    return link;
}

}  // namespace fci::shm
