// SPDX-License-Identifier: BSD-3-Clause
// UcxDevice: a process on a network of UCX (§3.2.3). A TCP device of its own knows the peers, and
// through its blocks the two ends of a pair tell each other how they are reached (Meeting) and what
// they have sent (Leaving); all other bytes go by UCX (Road).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drivers/tcp/pages.h"
#include "drivers/ucx/peers.h"
#include "drivers/ucx/turn.h"
#include "drivers/ucx/ucx_network.h"
#include "fci_core/base/fork_watch.h"
#include "fci_core/ddi/device.h"

namespace fci::ucx {

class UcxDevice final : public ddi::Device {
public:
    static std::unique_ptr<ddi::Device> open(const ddi::Settings& settings, Status* status,
                                             std::string* error);
    /// Peers that have no UCX, or are not reached by it, go by TCP.
    static std::unique_ptr<ddi::Device> open_beside_tcp(const ddi::Settings& settings,
                                                        Status* status, std::string* error);
    /// The same with a UCX and a TCP device of the caller, which may be others than the system's.
    static std::unique_ptr<ddi::Device> open(const Library& library,
                                             std::unique_ptr<ddi::Device> tcp,
                                             const ddi::Settings& settings, bool or_tcp,
                                             Status* status, std::string* error);
    ~UcxDevice() override;
    /// The settings of the TCP device, whose blocks take hellos, and with `or_tcp` all else, too.
    static ddi::Settings of_tcp(const ddi::Settings& settings, bool or_tcp);

    [[nodiscard]] const ddi::Card& card() const noexcept override { return tcp_->card(); }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return network_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override;
    Status connect(nhi::PeerId id) override;
    [[nodiscard]] const ddi::Card* card_of(nhi::PeerId id) const noexcept override {
        return tcp_->card_of(id);
    }
    [[nodiscard]] nhi::PeerId peers() const noexcept override { return tcp_->peers(); }
    [[nodiscard]] std::uint64_t sizes(nhi::PeerId id) const noexcept override;
    [[nodiscard]] std::span<std::byte> block(nhi::PeerId id) noexcept override;
    [[nodiscard]] std::span<std::byte> communication_memory() noexcept override {
        return communication_;
    }
    [[nodiscard]] MemoryUse memory() const noexcept override;
    void sleep(Nanoseconds timeout) noexcept override { turn_.sleep(timeout); }
    [[nodiscard]] int wait_fd() const noexcept override { return turn_.fd(); }
    [[nodiscard]] Nanoseconds now() const noexcept override { return tcp_->now(); }
    void count_in(Counters& counters) noexcept override { tcp_->count_in(counters); }
    [[nodiscard]] ddi::About about(nhi::PeerId id) const noexcept override;
    [[nodiscard]] std::string describe(nhi::PeerId id) const override {
        return tcp_->describe(id);
    }
    void set_listener(ddi::PeerListener* listener) noexcept override {
        turn_.set_listener(listener);
    }
    void tell_of_loss(int rank) noexcept override { tcp_->tell_of_loss(rank); }

private:
    static std::unique_ptr<ddi::Device> open_with_tcp(const ddi::Settings& settings, bool or_tcp,
                                                      Status* status, std::string* error);
    UcxDevice(const ddi::Settings& settings, std::unique_ptr<ddi::Device> tcp, bool or_tcp);
    Status start(const Library& library, std::string* error);

    const ddi::Settings settings_;
    const std::unique_ptr<ddi::Device> tcp_;
    const tcp::Pages own_memory_;
    const std::span<std::byte> communication_;
    Peers peers_;
    Turn turn_;
    UcxNetwork network_;
    std::optional<ForkWatch> fork_watch_;
};

}  // namespace fci::ucx
