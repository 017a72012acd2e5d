// SPDX-License-Identifier: BSD-3-Clause
// Device: opens a network, knows who is on it, and hands out communication memory (§3.2.3, §2.7.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fci_core/base/counters.h"
#include "fci_core/base/memory_use.h"
#include "fci_core/base/port_range.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"
#include "fci_core/ddi/networks.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::ddi {

/// Hears of arrivals and departures, only from inside NetworkInterface::poll().
class PeerListener {
public:
    virtual ~PeerListener() = default;
    /// Both blocks are there: transfers to `id` may start and block(id) is readable.
    /// A peer that this process never named may turn up here first.
    virtual void peer_attached(nhi::PeerId id) = 0;
    /// The process is gone, or was never to be reached; `reason` is a sentence for the user.
    /// `why`: lost, it died; not_found, it closed in order, so that only who named it is concerned;
    /// others, no connection came about.
    /// Nothing about `id` is said after this. block(id) stays readable: what the peer wrote
    /// before it died is still delivered first.
    virtual void peer_lost(nhi::PeerId id, Status why, const std::string& reason) = 0;
    /// Somebody who is no peer came to the door and was turned away.
    virtual void stranger_came() noexcept {}
};

/// Who a peer is and how it is reached, for the user.
struct About {
    const char* way = "";   // a word that lives as long as the program: "memory", "tcp"
    std::uint32_t pid = 0;  // as this process sees it, or as the peer says; 0: not known
    int rank = -1;          // in its job, as its launcher says; -1: not known
    int loss = -1;          // the rank that it had lost first, as it said before it ended; -1: none
};

/// What a device is opened with.
struct Settings {
    // On these both ends of a connection agree; a difference is a Status::mismatch, naming both.
    // Of everything that fixes how the block is used: what belongs to the version of FCI in the
    // upper half, what options change in the lower.
    std::uint64_t layout_digest = 0;
    std::uint64_t job = 0;                // cookie: processes of another job are refused

    // Each process's own:
    std::size_t block_bytes = 0;          // request block that it keeps for each peer
    // Of it, what must be there at once; the rest when it is asked for (provide). 0: all of it.
    std::size_t block_first_bytes = 0;
    std::uint64_t sizes = 0;              // how it is divided, for every peer (Device::sizes)
    std::size_t communication_bytes = 0;  // memory for windows of one's own
    bool communication_later = false;     // which is there only where it is asked for (provide)
    std::size_t communication_spare = 0;  // more of it, if that works
    // Instead of memory of its own: that of the device above, which has several networks.
    std::span<std::byte> communication{};
    std::uint64_t incarnation = 0;        // likewise; 0: drawn
    Card wanted{};                        // port 0: any free one; host 0: as `network` says
    NetworkRequest network{};
    PortRange ports{};                    // of these where no port is wanted
    bool multicast = true;                // if the network has it
    std::uint64_t launch = 0;            // who has another one, or another job, hears no hints
    std::uint32_t connect_ms = 30'000;    // for which a typed place is tried where nobody listens
    std::uint32_t silence_ms = 10'000;    // of a host that owes an answer, until it has gone
    bool answers_typed = false;           // over a network also who knows no more than the place
    int rank = -1;                        // as in About; for others to show
    std::uint64_t seed = 1;               // of a simulated network's chance
};

class Device {
public:
    virtual ~Device() = default;

    [[nodiscard]] virtual const Card& card() const noexcept = 0;
    [[nodiscard]] virtual nhi::NetworkInterface& network() noexcept = 0;

    /// The id of the process behind `card`: a new one, or the one it already has.
    /// Does not connect. The own card gives nhi::kSelf. unreachable: the card itself tells that no
    /// connection can be made, and the user was told why.
    virtual Status add_peer(const Card& card, nhi::PeerId* id) = 0;
    /// Starts attaching; the listener hears the outcome. Harmless when repeated.
    virtual Status connect(nhi::PeerId id) = 0;
    /// A card with its incarnation, as far as known. nullptr for an id out of range.
    [[nodiscard]] virtual const Card* card_of(nhi::PeerId id) const noexcept = 0;
    [[nodiscard]] virtual nhi::PeerId peers() const noexcept = 0;  // including the process itself

    /// Settings::sizes of that process, as it says; 0 before peer_attached.
    [[nodiscard]] virtual std::uint64_t sizes(nhi::PeerId id) const noexcept = 0;
    /// The memory into which `id` writes; empty before peer_attached.
    [[nodiscard]] virtual std::span<std::byte> block(nhi::PeerId id) noexcept = 0;
    [[nodiscard]] virtual std::span<std::byte> communication_memory() noexcept = 0;
    /// What the device holds, without looking at each peer; 0 where that is not known.
    [[nodiscard]] virtual MemoryUse memory() const noexcept { return {}; }

    /// Sleeps until an unmasked event, an arrival, a departure, or the timeout (< 0: none).
    virtual void sleep(Nanoseconds timeout) noexcept = 0;
    /// A descriptor that becomes readable in those cases; -1 where there is none.
    [[nodiscard]] virtual int wait_fd() const noexcept = 0;
    virtual Nanoseconds now() const noexcept = 0;
    /// From now on it counts there what it does (network_writes and the like).
    virtual void count_in(Counters& counters) noexcept { (void)counters; }
    [[nodiscard]] virtual About about(nhi::PeerId id) const noexcept {
        (void)id;
        return {};
    }
    /// Where it listens and why there; host 0: on no network.
    [[nodiscard]] const NetworkChoice& network_choice() const noexcept { return network_choice_; }
    /// For messages: "pid 4711 at 127.0.0.1:40001".
    [[nodiscard]] virtual std::string describe(nhi::PeerId id) const = 0;
    virtual void set_listener(PeerListener* listener) noexcept = 0;
    /// This process has lost a rank (-1: nobody knows which) and may end because of that. Its peers
    /// on other hosts hear so, where the network can tell them, and name that one as the cause.
    virtual void tell_of_loss(int rank) noexcept { (void)rank; }

protected:
    NetworkChoice network_choice_;  // a driver over a network says it while it opens
};

}  // namespace fci::ddi
