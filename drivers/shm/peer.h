// SPDX-License-Identifier: BSD-3-Clause
// Peer: the memory that ties two processes together (§2.6.6).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/shm/region.h"
#include "drivers/shm/shared_header.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/patience.h"
#include "fci_core/ddi/peer_table.h"
#include "fci_core/nhi/types.h"

namespace fci::shm {

enum class Copying : std::uint8_t { untried, allowed, refused };

/// This process's call to a peer.
struct Call {
    ddi::Patience patience;   // while nobody listens at the peer's place
    std::uint32_t tries = 0;  // meetings that were begun in vain
    bool asked = false;       // connect() was called, and the outcome is open
    bool gives_way = false;   // waits first, as the peer may call, and its call would go on
};

/// For copies by the kernel between the peer's memory and that of this process.
struct KernelCopies {
    std::array<Copying, 2> leave{};   // by direction
    std::uint64_t guard_address = 0;  // in its address space (guard.h)
    std::uint64_t incarnation = 0;
};

/// Facts of the peer's Hello that are not for this driver.
struct Said {
    std::uint64_t sizes = 0;  // ddi::Settings::sizes
    int rank = -1;            // ddi::About::rank
};

struct Peer {
    // All that a transfer reads, in one cache line.
    std::byte* block = nullptr;  // the block that it keeps for this process
    std::size_t block_bytes = 0;
    SharedHeader* header = nullptr;
    std::byte* communication = nullptr;
    std::size_t communication_bytes = 0;
    int wake_fd = -1;
    bool fence = false;  // between the last write and the look at `wanted_events`
    ddi::PeerState state = ddi::PeerState::known;

    KernelCopies copies;
    pid_t pid = 0;  // as this process sees it; 0: not visible

    Region own_block;         // in which it writes
    host::Descriptor own_block_fd;  // until it was handed over
    Region its_block, its_header;
    host::Descriptor wake, pidfd;
    std::vector<int> links;  // sockets to it

    Said said;

    bool connected = false;  // its memory is here; the listener may not know yet
    bool gone = false;     // it was found dead; the listener may not know yet
    bool ended = false;    // its process has ended; records of it may still wait in the sockets
    Call call;
};

using State = ddi::PeerState;
/// An entry's `peer` is there from the first attempt to meet it.
using PeerTable = ddi::PeerTable<Peer>;
using Entry = PeerTable::Entry;

}  // namespace fci::shm
