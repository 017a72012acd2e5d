// SPDX-License-Identifier: BSD-3-Clause
// Device: opens a network, knows its peers, and hands out communication memory (§3.2.3, §2.7.3).
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
    /// `why`: lost, it died; not_found, it closed in order, which concerns only operations with
    /// this peer; others, no connection came about. Nothing about `id` is said after this.
    /// block(id) stays readable: the peer's last writes are delivered first.
    virtual void peer_lost(nhi::PeerId id, Status why, const std::string& reason) = 0;
    /// A caller that is no peer was turned away.
    virtual void stranger_came() noexcept {}
};

/// A peer's identity and the way to it, for the user.
struct About {
    const char* way = "";   // a word that lives as long as the program: "memory", "tcp"
    std::uint32_t pid = 0;  // as this process sees it, or as the peer says; 0: not known
    int rank = -1;          // in its job, as its launcher says; -1: not known
    int loss = -1;          // the rank that the peer says it had lost before it ended; -1: none
    std::uint32_t tail_bytes = 0;  // behind the block that the peer keeps (NetworkRequest)
};

/// The settings with which a device is opened.
struct Settings {
    // On these both ends of a connection agree; a difference is a Status::mismatch, naming both.
    // A digest of all that fixes the use of the block: the upper half is of FCI's version, the
    // lower half of the options.
    std::uint64_t layout_digest = 0;
    std::uint64_t job = 0;                // cookie: processes of another job are refused

    // Each process's own:
    std::size_t block_bytes = 0;          // request block that it keeps for each peer
    // Bytes of the block that are there at once; the rest comes by provide(). 0: all.
    std::size_t block_first_bytes = 0;
    std::uint64_t sizes = 0;              // how the block is divided (Device::sizes)
    std::size_t communication_bytes = 0;  // memory for own windows
    bool communication_later = false;     // that memory comes by provide() only
    std::size_t communication_spare = 0;  // more of that memory, if it comes by provide()
    // The memory of the device above, which has several networks; empty: the device has its own.
    std::span<std::byte> communication{};
    std::uint64_t incarnation = 0;        // of the device above; 0: drawn
    Card wanted{};                        // port 0: any free one; host 0: as `network` says
    NetworkRequest network{};
    PortRange ports{};                    // for a port that is not wanted by number
    bool multicast = true;                // if the network has it
    std::uint64_t launch = 0;            // hints reach processes of the same launch and job only
    std::uint32_t connect_ms = 30'000;    // how long a typed place is called if nobody listens
    std::uint32_t silence_ms = 10'000;    // after so long without an answer a host counts as gone
    bool answers_typed = false;           // a network driver answers callers that typed the place
    int rank = -1;                        // as in About; peers show it
    std::uint64_t seed = 1;               // of a simulated network
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
    /// The memory into which peer `id` writes; empty before peer_attached.
    [[nodiscard]] virtual std::span<std::byte> block(nhi::PeerId id) noexcept = 0;
    [[nodiscard]] virtual std::span<std::byte> communication_memory() noexcept = 0;
    /// The memory that the device holds, without a look at each peer; 0: not known.
    [[nodiscard]] virtual MemoryUse memory() const noexcept { return {}; }

    /// Sleeps until an unmasked event, an arrival, a departure, or the timeout (< 0: none).
    virtual void sleep(Nanoseconds timeout) noexcept = 0;
    /// A descriptor that becomes readable in those cases; -1 where there is none.
    [[nodiscard]] virtual int wait_fd() const noexcept = 0;
    virtual Nanoseconds now() const noexcept = 0;
    /// From now on the device counts there (network_writes and the like).
    virtual void count_in(Counters& counters) noexcept { (void)counters; }
    [[nodiscard]] virtual About about(nhi::PeerId id) const noexcept {
        (void)id;
        return {};
    }
    /// Where the device listens and why there; host 0: on no network.
    [[nodiscard]] const NetworkChoice& network_choice() const noexcept { return network_choice_; }
    /// For messages: "pid 4711 at 127.0.0.1:40001".
    [[nodiscard]] virtual std::string describe(nhi::PeerId id) const = 0;
    virtual void set_listener(PeerListener* listener) noexcept = 0;
    /// This process has lost a rank (-1: not known which) and may end because of that. If the
    /// network can tell them, peers on other hosts hear so, and name that rank as the cause.
    virtual void tell_of_loss(int rank) noexcept { (void)rank; }

protected:
    NetworkChoice network_choice_;  // a network driver sets it while it opens
};

}  // namespace fci::ddi
