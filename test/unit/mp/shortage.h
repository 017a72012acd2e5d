// SPDX-License-Identifier: BSD-3-Clause
// A shortage of memory that a test makes: some calls of operator new fail, as the test wants it.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "fci_core/ddi/device.h"

namespace fci::mp::test {

/// What operator new of this program heeds (shortage_test.cc).
struct Shortage {
    static inline bool in_force = false;    // else no call fails, and none is counted
    static inline unsigned long calls = 0;  // so far
    static inline unsigned long from = 0, until = 0;  // those that fail, by number
    static void plan(unsigned long first, unsigned long count) {
        calls = 0;
        from = first;
        until = first + count;
    }
    static bool refuses() noexcept {
        if (!in_force) return false;
        const unsigned long number = calls++;
        return number >= from && number < until;
    }
};

/// In its scope the shortage is in force, or is not.
class InForce {
public:
    explicit InForce(bool on = true) noexcept : before_(std::exchange(Shortage::in_force, on)) {}
    ~InForce() { Shortage::in_force = before_; }
    InForce(const InForce&) = delete;
    InForce& operator=(const InForce&) = delete;

private:
    bool before_;
};

/// A network that has all the memory it wants. The shortage is that of who uses it.
class SparedNetwork final : public nhi::NetworkInterface {
public:
    explicit SparedNetwork(nhi::NetworkInterface& inner) : inner_(inner) {}

    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> memory) noexcept override {
        const InForce not_here(false);
        return inner_.open_window(number, base, memory);
    }
    Status close_window(nhi::WindowNumber number) noexcept override {
        return inner_.close_window(number);
    }
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override {
        const InForce not_here(false);
        return inner_.initiate_transfer(transfer);
    }
    Status configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept override {
        return inner_.configure_event(event, signal);
    }
    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override {
        return inner_.mask_event_interrupt(event, masked);
    }
    [[nodiscard]] bool is_idle() const noexcept override { return inner_.is_idle(); }
    unsigned poll(Nanoseconds now) noexcept override {
        const InForce not_here(false);
        return inner_.poll(now);
    }
    [[nodiscard]] std::uint32_t event_count(nhi::EventId event) const noexcept override {
        return inner_.event_count(event);
    }
    std::byte* map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        const InForce not_here(false);
        return inner_.map(id, address, bytes);
    }
    nhi::Link link(nhi::PeerId id) noexcept override {
        const InForce not_here(false);
        return inner_.link(id);
    }
    Status provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        const InForce not_here(false);
        return inner_.provide(id, address, bytes);
    }
    Status copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override {
        const InForce not_here(false);
        return inner_.copy(id, direction, remote, local, bytes);
    }

private:
    nhi::NetworkInterface& inner_;
};

/// Likewise. What it tells its listener, the listener hears in the shortage.
class SparedDevice final : public ddi::Device, ddi::PeerListener {
public:
    explicit SparedDevice(std::unique_ptr<ddi::Device> inner)
        : inner_(std::move(inner)), network_(inner_->network()) {
        inner_->set_listener(this);
    }

    [[nodiscard]] const ddi::Card& card() const noexcept override { return inner_->card(); }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return network_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override {
        return inner_->add_peer(card, id);
    }
    Status connect(nhi::PeerId id) override {
        const InForce not_here(false);
        return inner_->connect(id);
    }
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
    void sleep(Nanoseconds timeout) noexcept override { inner_->sleep(timeout); }
    [[nodiscard]] int wait_fd() const noexcept override { return inner_->wait_fd(); }
    [[nodiscard]] Nanoseconds now() const noexcept override { return inner_->now(); }
    [[nodiscard]] std::string describe(nhi::PeerId id) const override {
        return inner_->describe(id);
    }
    void set_listener(ddi::PeerListener* listener) noexcept override { listener_ = listener; }

private:
    void peer_attached(nhi::PeerId id) override {
        const InForce here;
        if (listener_ != nullptr) listener_->peer_attached(id);
    }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        const InForce here;
        if (listener_ != nullptr) listener_->peer_lost(id, why, reason);
    }

    std::unique_ptr<ddi::Device> inner_;
    SparedNetwork network_;
    ddi::PeerListener* listener_ = nullptr;
};

}  // namespace fci::mp::test
