// SPDX-License-Identifier: BSD-3-Clause
// NodeDevice: a process whose peers are partly on its own host and partly on others (§3.2.3). Two
// devices reach them, the near and the far one; NodeDevice has one table of all peers, and hands
// each call to the device that reaches the peer.
//
// A card tells on which side its process is. A caller that comes by the other side nevertheless is
// no process that this driver started: it gets no number, none of its writes is read, and it counts
// as a stranger.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drivers/host/descriptor.h"
#include "drivers/node/node_network.h"
#include "drivers/node/pace.h"
#include "drivers/node/peers.h"
#include "fci_core/ddi/device.h"

namespace fci::node {

/// True: the process of that card is on this host. If the card was typed, only its address tells.
using IsHere = std::function<bool(const ddi::Card& card)>;

class NodeDevice final : public ddi::Device {
public:
    /// `far` has the incarnation and the port of `near`, and uses its communication memory.
    /// `choice`: how the address at which `far` listens was chosen.
    NodeDevice(std::unique_ptr<ddi::Device> near, std::unique_ptr<ddi::Device> far, IsHere is_here,
               const Pace& pace, ddi::NetworkChoice choice = {});
    ~NodeDevice() override;

    /// As the far side shows it.
    [[nodiscard]] const ddi::Card& card() const noexcept override { return far_->card(); }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return network_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override;
    Status connect(nhi::PeerId id) override;
    /// Valid until the next call.
    [[nodiscard]] const ddi::Card* card_of(nhi::PeerId id) const noexcept override;
    [[nodiscard]] nhi::PeerId peers() const noexcept override { return peers_.size(); }
    [[nodiscard]] std::uint64_t sizes(nhi::PeerId id) const noexcept override;
    [[nodiscard]] std::span<std::byte> block(nhi::PeerId id) noexcept override;
    [[nodiscard]] std::span<std::byte> communication_memory() noexcept override {
        return near_->communication_memory();
    }
    [[nodiscard]] MemoryUse memory() const noexcept override;
    void sleep(Nanoseconds timeout) noexcept override;
    /// Readable when either device's is; -1 if one has none.
    [[nodiscard]] int wait_fd() const noexcept override { return epoll_.get(); }
    Nanoseconds now() const noexcept override { return far_->now(); }
    [[nodiscard]] std::string describe(nhi::PeerId id) const override;
    void count_in(Counters& counters) noexcept override {
        for (const Side side : kSides) device(side).count_in(counters);
    }
    [[nodiscard]] ddi::About about(nhi::PeerId id) const noexcept override;
    void set_listener(ddi::PeerListener* listener) noexcept override { listener_ = listener; }
    void tell_of_loss(int rank) noexcept override {
        for (const Side side : kSides) device(side).tell_of_loss(rank);
    }

private:
    /// Hears one of the two devices.
    class Ear final : public ddi::PeerListener {
    public:
        Ear(NodeDevice& owner, Side side) noexcept : owner_(owner), side_(side) {}
        void peer_attached(nhi::PeerId id) override { owner_.attached(side_, id); }
        void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
            owner_.lost(side_, id, why, reason);
        }
        void stranger_came() noexcept override { owner_.count_stranger(); }

    private:
        NodeDevice& owner_;
        const Side side_;
    };

    [[nodiscard]] ddi::Device& device(Side side) const noexcept {
        return side == kNear ? *near_ : *far_;
    }
    void attached(Side side, nhi::PeerId id);
    void lost(Side side, nhi::PeerId id, Status why, const std::string& reason);
    void count_stranger() noexcept;
    void sleep_on_both(Nanoseconds timeout) noexcept;

    const std::unique_ptr<ddi::Device> near_, far_;
    const IsHere is_here_;
    Peers peers_;
    NodeNetwork network_;
    Ear ears_[2];
    host::Descriptor epoll_;
    ddi::PeerListener* listener_ = nullptr;
    mutable ddi::Card shown_;  // by card_of()
};

}  // namespace fci::node
