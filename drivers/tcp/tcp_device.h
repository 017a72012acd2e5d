// SPDX-License-Identifier: BSD-3-Clause
// TcpDevice: a process on the network. It listens at its card's place, and consists of the peers
// that it knows (Peers), the way to meet them (Meeting), the connections to them (Connections) and
// the order in which it tends all these (Turn).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drivers/multicast/multicast.h"
#include "drivers/tcp/connections.h"
#include "drivers/tcp/meeting.h"
#include "drivers/tcp/own.h"
#include "drivers/tcp/pages.h"
#include "drivers/tcp/peers.h"
#include "drivers/tcp/streams.h"
#include "drivers/tcp/tcp_network.h"
#include "drivers/tcp/turn.h"
#include "fci_core/base/fork_watch.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/notices.h"

namespace fci::tcp {

class TcpDevice final : public ddi::Device {
public:
    /// `of_kernel`: `streams` are the kernel's, so other descriptors can be watched with them.
    static std::unique_ptr<ddi::Device> open(const ddi::Settings& settings, bool of_kernel,
                                             std::unique_ptr<Streams> streams, Status* status,
                                             std::string* error);
    ~TcpDevice() override;

    const ddi::Card& card() const noexcept override { return own_.card; }
    nhi::NetworkInterface& network() noexcept override { return network_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override;
    Status connect(nhi::PeerId id) override;
    const ddi::Card* card_of(nhi::PeerId id) const noexcept override {
        return id < peers_.size() ? &peers_[id].card : nullptr;
    }
    nhi::PeerId peers() const noexcept override { return peers_.size(); }
    std::uint64_t sizes(nhi::PeerId id) const noexcept override;
    std::span<std::byte> block(nhi::PeerId id) noexcept override;
    std::span<std::byte> communication_memory() noexcept override { return communication_; }
    MemoryUse memory() const noexcept override;
    void sleep(Nanoseconds timeout) noexcept override { turn_.sleep(timeout); }
    int wait_fd() const noexcept override { return streams_->fd(); }
    Nanoseconds now() const noexcept override;
    std::string describe(nhi::PeerId id) const override { return name_of(peers_, id); }
    void count_in(Counters& counters) noexcept override {
        connections_.count_in(counters);
        if (hints_) hints_->count_in(counters);
    }
    ddi::About about(nhi::PeerId id) const noexcept override;
    void set_listener(ddi::PeerListener* listener) noexcept override {
        turn_.set_listener(listener);
    }
    void tell_of_loss(int rank) noexcept override { connections_.tell_of_loss(rank); }

private:
    TcpDevice(const Own& own, std::unique_ptr<Streams> streams, Pages memory);
    Status start(std::string* error);
    void open_hints();
    void enter_fork_child() noexcept;
    [[nodiscard]] const Peer* met(nhi::PeerId id) const noexcept;

    const std::unique_ptr<Streams> streams_;
    Own own_;
    Pages own_memory_;
    const std::span<std::byte> communication_;
    Peers peers_;
    ddi::Notices notices_;
    TcpNetwork network_;
    Connections connections_;
    Meeting meeting_;
    Turn turn_;
    std::unique_ptr<multicast::Multicast> hints_;  // nullptr: without
    std::optional<ForkWatch> fork_watch_;
};

}  // namespace fci::tcp
