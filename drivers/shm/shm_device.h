// SPDX-License-Identifier: BSD-3-Clause
// ShmDevice: a process on the network that is the shared memory of one host (§3.2.3).
#pragma once

#include <memory>
#include <string>

#include "drivers/shm/connection_manager.h"
#include "drivers/shm/peer.h"
#include "drivers/shm/shm_interface.h"
#include "fci_core/ddi/device.h"

namespace fci::shm {

class ShmDevice final : public ddi::Device {
public:
    /// After it peers touch no memory of this process any more.
    ~ShmDevice() override;
    static std::unique_ptr<ddi::Device> open(const ddi::Settings& settings,
                                             const Tuning& tuning, Status* status,
                                             std::string* error);

    [[nodiscard]] const ddi::Card& card() const noexcept override { return own_.card; }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return *network_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override;
    Status connect(nhi::PeerId id) override { return connections_->connect(id); }
    [[nodiscard]] const ddi::Card* card_of(nhi::PeerId id) const noexcept override;
    [[nodiscard]] nhi::PeerId peers() const noexcept override { return peers_.size(); }
    [[nodiscard]] std::uint64_t sizes(nhi::PeerId id) const noexcept override;
    [[nodiscard]] std::span<std::byte> block(nhi::PeerId id) noexcept override;
    [[nodiscard]] std::span<std::byte> communication_memory() noexcept override;
    [[nodiscard]] MemoryUse memory() const noexcept override;
    void sleep(Nanoseconds timeout) noexcept override { connections_->sleep(timeout); }
    [[nodiscard]] int wait_fd() const noexcept override { return own_.epoll.get(); }
    Nanoseconds now() const noexcept override { return clock_->now(); }
    [[nodiscard]] std::string describe(nhi::PeerId id) const override {
        return connections_->describe(id);
    }
    [[nodiscard]] ddi::About about(nhi::PeerId id) const noexcept override;
    void set_listener(ddi::PeerListener* listener) noexcept override {
        connections_->set_listener(listener);
    }

private:
    ShmDevice() = default;
    Status start(const ddi::Settings& settings, const Tuning& tuning, std::string* error);
    Status listen(std::string* error);

    SystemBarrier barrier_{Barrier::none};
    std::unique_ptr<KernelClock> kernel_clock_;  // where no other was given
    Clock* clock_ = nullptr;
    Own own_;
    PeerTable peers_;
    std::unique_ptr<ConnectionManager> connections_;
    std::unique_ptr<ShmInterface> network_;
};

}  // namespace fci::shm
