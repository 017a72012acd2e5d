// SPDX-License-Identifier: BSD-3-Clause
// NodeNetwork: the network interface over two others (App. C). A call for one peer goes to the
// network that reaches it; windows and events are set in both.
#pragma once

#include <array>
#include <span>

#include "drivers/node/node_data.h"
#include "drivers/node/pace.h"
#include "drivers/node/peers.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::node {

class NodeNetwork final : public nhi::NetworkInterface {
public:
    /// All three outlive it. The memory of windows is the same in both networks.
    NodeNetwork(Peers& peers, nhi::NetworkInterface& near, nhi::NetworkInterface& far,
                const Pace& pace) noexcept
        : peers_(peers), network_{&near, &far}, pace_(pace), data_(peers, far.data(), pace_) {}

    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> local) noexcept override;
    Status close_window(nhi::WindowNumber number) noexcept override;
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    Status configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept override;
    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override;

    [[nodiscard]] nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool is_idle() const noexcept override;
    [[nodiscard]] unsigned idle_poll_every() const noexcept override;
    [[nodiscard]] Nanoseconds busy_poll_every() const noexcept override;
    unsigned poll(Nanoseconds now) noexcept override;
    [[nodiscard]] std::uint32_t event_count(nhi::EventId event) const noexcept override;
    std::byte* map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    Status provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    void take_back(nhi::LcsAddress address, std::size_t bytes) noexcept override {
        network_[kNear]->take_back(address, bytes);
    }
    [[nodiscard]] nhi::Ordering ordering() noexcept override { return network_[kNear]->ordering(); }
    Status copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override;
    [[nodiscard]] nhi::DataWay* data() noexcept override {
        return data_.is_there() ? &data_ : nullptr;
    }
    [[nodiscard]] nhi::Hints* hints() noexcept override { return network_[kFar]->hints(); }

    /// wakes(): some event wakes a sleeper. may_have_woken(): a turn since the last unmasking may
    /// have taken such an event from the network, which then does not end a sleep.
    [[nodiscard]] bool wakes() const noexcept { return (interrupting_ & ~masked_) != 0; }
    [[nodiscard]] bool may_have_woken() const noexcept { return polled_ && wakes(); }
    /// The sleep is over.
    void woken() noexcept;

private:
    /// No peer on another host is met, or about to be.
    [[nodiscard]] bool is_alone() const noexcept;
    /// The network that reaches the peer, and its number there; nullptr: there is no such peer.
    nhi::NetworkInterface* network_of(nhi::PeerId id, nhi::PeerId* there) const noexcept;

    Peers& peers_;
    const std::array<nhi::NetworkInterface*, 2> network_;
    Pace pace_;
    NodeData data_;
    std::uint32_t interrupting_ = 0, masked_ = 0;
    bool polled_ = false;  // since an event was unmasked, or a sleep ended
};

}  // namespace fci::node
