// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/guard.h"

#include "drivers/shm/socket.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::shm {

namespace {

// A call copies a MiB at most, if its caller is mp, so none lasts that long. A peer's word that it
// copies is not believed for longer: its header may be damaged. A peer that was stopped (SIGSTOP)
// between its word and its call says for ever that it copies; the guard keeps that call away.
constexpr Nanoseconds kPatience = 1'000'000'000;
constexpr Nanoseconds kNap = 50'000;

/// `peer` copies memory of the process with that incarnation, by its own word.
bool says_it_copies(const Peer& peer, std::uint64_t incarnation) noexcept {
    return flag::load_acquire(peer.header->copying) == incarnation;
}

void await(const Peer& peer, std::uint64_t incarnation, Clock& clock, Nanoseconds end) noexcept {
    if (!says_it_copies(peer, incarnation)) return;
    // A process that was killed in the middle does not clear its word any more.
    const host::Descriptor process = watch_process(peer.pid);
    if (!process && errno == ESRCH) return;
    while (says_it_copies(peer, incarnation) && clock.now() < end) {
        if (process && is_readable(process.get())) return;
        clock.pause(kNap);
    }
}

}  // namespace

Status raise_guard(std::uint64_t incarnation, Region* guard, std::string* error) {
    const Status status = Region::create_hidden(sizeof incarnation, guard, error);
    if (status != Status::ok) return status;
    FCI_ASSERT(guard->size() >= sizeof incarnation && incarnation != 0);
    guard->hide_from_children(guard->size());
    flag::store_release(*reinterpret_cast<std::uint64_t*>(guard->data()), incarnation);
    return status;
}

void lower_guard(std::uint64_t incarnation, Region* guard, const PeerTable& peers,
                 Clock& clock) noexcept {
    FCI_ASSERT(guard->is_mapped());
    *guard = Region();
    FCI_ASSERT(!guard->is_mapped());  // no copy begins from here on
    const Nanoseconds end = clock.now() + kPatience;
    for (nhi::PeerId id = nhi::kSelf + 1; id < peers.size(); ++id) {
        const Peer* const peer = peers[id].peer.get();
        // Also for lost peers: they may live, and their headers stay mapped here.
        if (peer != nullptr && peer->connected) await(*peer, incarnation, clock, end);
    }
}

}  // namespace fci::shm
