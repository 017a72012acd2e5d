// SPDX-License-Identifier: BSD-3-Clause
// FaultDevice: a device around another one; its network makes transfers late (FaultInterface), and
// some pairs of processes never attach. Both of such a pair must be FaultDevices of one seed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drivers/tap/fault/fault_interface.h"
#include "fci_core/ddi/device.h"

namespace fci::tap {

class FaultDevice final : public ddi::Device, private ddi::PeerListener {
public:
    FaultDevice(std::unique_ptr<ddi::Device> inner, const FaultOptions& options);
    ~FaultDevice() override;

    /// By the seed and their places alone, so that both sides know it.
    [[nodiscard]] static bool refuses(const FaultOptions& options, const ddi::Card& one,
                                      const ddi::Card& other) noexcept;
    [[nodiscard]] Nanoseconds due() const noexcept { return network_.due(); }

    [[nodiscard]] const ddi::Card& card() const noexcept override { return inner_->card(); }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return network_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override {
        return inner_->add_peer(card, id);
    }
    Status connect(nhi::PeerId id) override;
    [[nodiscard]] const ddi::Card* card_of(nhi::PeerId id) const noexcept override {
        return inner_->card_of(id);
    }
    [[nodiscard]] nhi::PeerId peers() const noexcept override { return inner_->peers(); }
    [[nodiscard]] std::uint64_t sizes(nhi::PeerId id) const noexcept override {
        return inner_->sizes(id);
    }
    [[nodiscard]] std::span<std::byte> block(nhi::PeerId id) noexcept override {
        return inner_->block(id);
    }
    [[nodiscard]] std::span<std::byte> communication_memory() noexcept override {
        return inner_->communication_memory();
    }
    [[nodiscard]] MemoryUse memory() const noexcept override { return inner_->memory(); }
    void sleep(Nanoseconds timeout) noexcept override;
    /// What is held back makes no descriptor readable.
    [[nodiscard]] int wait_fd() const noexcept override { return -1; }
    Nanoseconds now() const noexcept override { return inner_->now(); }
    void count_in(Counters& counters) noexcept override { inner_->count_in(counters); }
    [[nodiscard]] ddi::About about(nhi::PeerId id) const noexcept override {
        return inner_->about(id);
    }
    [[nodiscard]] std::string describe(nhi::PeerId id) const override {
        return inner_->describe(id);
    }
    void set_listener(ddi::PeerListener* listener) noexcept override { listener_ = listener; }
    void tell_of_loss(int rank) noexcept override { inner_->tell_of_loss(rank); }

private:
    void peer_attached(nhi::PeerId id) override;
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override;
    void stranger_came() noexcept override {
        if (listener_ != nullptr) listener_->stranger_came();
    }

    FaultOptions options_;
    std::unique_ptr<ddi::Device> inner_;
    FaultInterface network_;
    ddi::PeerListener* listener_ = nullptr;
};

}  // namespace fci::tap
