// SPDX-License-Identifier: BSD-3-Clause
// ShmInterface: the network interface over shared memory (App. C). A transfer is a few stores into
// the receiver's memory; the kernel is needed only to wake a process that sleeps.
#pragma once

#include <span>

#include "drivers/shm/peer.h"
#include "drivers/shm/shared_header.h"
#include "drivers/shm/system_barrier.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::shm {

/// The part that meets other processes; poll() is its turn.
class Pollable {
public:
    virtual unsigned turn(Nanoseconds now) noexcept = 0;

protected:
    ~Pollable() = default;
};

class ShmInterface final : public nhi::NetworkInterface {
public:
    /// `header` is the begin of this process's header memory.
    ShmInterface(PeerTable& peers, Pollable& turn, std::span<std::byte> header,
                 SystemBarrier& barrier) noexcept;

    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> local) noexcept override;
    Status close_window(nhi::WindowNumber number) noexcept override;
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    Status configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept override;
    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override;

    [[nodiscard]] nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] unsigned idle_poll_every() const noexcept override { return idle_poll_every_; }
    unsigned poll(Nanoseconds now) noexcept override { return turn_.turn(now); }
    [[nodiscard]] std::uint32_t event_count(nhi::EventId event) const noexcept override;
    std::byte* map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    void take_back(nhi::LcsAddress address, std::size_t bytes) noexcept override;
    [[nodiscard]] nhi::Ordering ordering() noexcept override;
    Status provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    Status copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override;
    /// Bytes that were added to blocks at the peers.
    [[nodiscard]] std::uint64_t provided() const noexcept { return provided_; }
    /// Bytes that were added to the own communication memory.
    [[nodiscard]] std::uint64_t provided_here() const noexcept { return provided_here_; }

    /// While a meeting goes on, poll() is wanted more often.
    void set_meeting(bool meets) noexcept;
    /// The waker was read. Writes that it announced are seen by every look after this.
    void woken() noexcept;
    /// True once if the process was woken since the last unmasking.
    bool take_woken() noexcept;

    /// The kernel copies between processes; false: where it does not, *why says so.
    static bool kernel_copies(std::string* why);

private:
    Status resolve(const Peer& peer, const nhi::Transfer& transfer,
                   std::byte* (&to)[nhi::Transfer::kPartsMax]) const noexcept;
    void raise(const Peer& peer, std::uint32_t events) noexcept;
    void announce(const Peer& peer, std::uint32_t events) noexcept;
    void publish_signals() noexcept;
    Status check_copying(Entry& entry, Direction direction) noexcept;

    PeerTable& peers_;
    Pollable& turn_;
    SharedHeader& header_;
    std::span<std::byte> communication_;
    SystemBarrier& barrier_;
    const bool kernel_copies_;
    unsigned idle_poll_every_;
    std::uint32_t enabled_ = 0, masked_ = 0, counting_ = 0;
    std::uint32_t cycle_ = 1;
    bool woken_ = false;
    std::uint64_t provided_ = 0, provided_here_ = 0;
};

}  // namespace fci::shm
