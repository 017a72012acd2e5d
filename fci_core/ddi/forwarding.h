// SPDX-License-Identifier: BSD-3-Clause
// Forwarding: a device that hands every call to another one, which it owns, and every notice of
// that one to its own listener. A class around a device derives from it and overrides only what it
// changes. test/harness/tidy holds that it forwards every function of Device and PeerListener.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/ddi/device.h"

namespace fci::ddi {

class Forwarding : public Device, protected PeerListener {
public:
    explicit Forwarding(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {
        FCI_ASSERT(inner_ != nullptr);
        network_choice_ = inner_->network_choice();
        inner_->set_listener(this);
    }
    ~Forwarding() override { inner_->set_listener(nullptr); }
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    [[nodiscard]] const Card& card() const noexcept override { return inner_->card(); }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return inner_->network(); }
    Status add_peer(const Card& card, nhi::PeerId* id) override {
        return inner_->add_peer(card, id);
    }
    Status connect(nhi::PeerId id) override { return inner_->connect(id); }
    [[nodiscard]] const Card* card_of(nhi::PeerId id) const noexcept override {
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
    void sleep(Nanoseconds timeout) noexcept override { inner_->sleep(timeout); }
    [[nodiscard]] int wait_fd() const noexcept override { return inner_->wait_fd(); }
    [[nodiscard]] Nanoseconds now() const noexcept override { return inner_->now(); }
    void count_in(Counters& counters) noexcept override { inner_->count_in(counters); }
    [[nodiscard]] About about(nhi::PeerId id) const noexcept override { return inner_->about(id); }
    [[nodiscard]] std::string describe(nhi::PeerId id) const override {
        return inner_->describe(id);
    }
    void set_listener(PeerListener* listener) noexcept override { listener_ = listener; }
    void tell_of_loss(int rank) noexcept override { inner_->tell_of_loss(rank); }

protected:
    [[nodiscard]] Device& inner() const noexcept { return *inner_; }

    // --- PeerListener, of the inner device ---
    void peer_attached(nhi::PeerId id) override {
        if (listener_ != nullptr) listener_->peer_attached(id);
    }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        if (listener_ != nullptr) listener_->peer_lost(id, why, reason);
    }
    void stranger_came() noexcept override {
        if (listener_ != nullptr) listener_->stranger_came();
    }

private:
    const std::unique_ptr<Device> inner_;
    PeerListener* listener_ = nullptr;
};

}  // namespace fci::ddi
