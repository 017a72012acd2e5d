// SPDX-License-Identifier: BSD-3-Clause
// Forwarding: a network interface that hands every call to another one. A class around a network
// derives from it and overrides only what it changes, so that nothing of the other network is
// hidden. test/harness/tidy holds that it forwards every function of NetworkInterface.
#pragma once

#include "fci_core/nhi/network_interface.h"

namespace fci::nhi {

class Forwarding : public NetworkInterface {
public:
    /// `inner` outlives it.
    explicit Forwarding(NetworkInterface& inner) noexcept : inner_(inner) {}

    Status open_window(WindowNumber number, LcsAddress base,
                       std::span<std::byte> local) noexcept override {
        return inner_.open_window(number, base, local);
    }
    Status close_window(WindowNumber number) noexcept override {
        return inner_.close_window(number);
    }
    Status initiate_transfer(const Transfer& transfer) noexcept override {
        return inner_.initiate_transfer(transfer);
    }
    Status configure_event(EventId event, EventSignal signal) noexcept override {
        return inner_.configure_event(event, signal);
    }
    Status mask_event_interrupt(EventId event, bool masked) noexcept override {
        return inner_.mask_event_interrupt(event, masked);
    }
    [[nodiscard]] Link link(PeerId id) noexcept override { return inner_.link(id); }
    [[nodiscard]] bool is_idle() const noexcept override { return inner_.is_idle(); }
    [[nodiscard]] unsigned idle_poll_every() const noexcept override {
        return inner_.idle_poll_every();
    }
    [[nodiscard]] Nanoseconds busy_poll_every() const noexcept override {
        return inner_.busy_poll_every();
    }
    unsigned poll(Nanoseconds now) noexcept override { return inner_.poll(now); }
    [[nodiscard]] std::uint32_t event_count(EventId event) const noexcept override {
        return inner_.event_count(event);
    }
    std::byte* map(PeerId id, LcsAddress address, std::size_t bytes) noexcept override {
        return inner_.map(id, address, bytes);
    }
    Status provide(PeerId id, LcsAddress address, std::size_t bytes) noexcept override {
        return inner_.provide(id, address, bytes);
    }
    void take_back(LcsAddress address, std::size_t bytes) noexcept override {
        inner_.take_back(address, bytes);
    }
    [[nodiscard]] Ordering ordering() noexcept override { return inner_.ordering(); }
    [[nodiscard]] DataWay* data() noexcept override { return inner_.data(); }
    [[nodiscard]] Hints* hints() noexcept override { return inner_.hints(); }
    Status copy(PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override {
        return inner_.copy(id, direction, remote, local, bytes);
    }

protected:
    [[nodiscard]] NetworkInterface& inner() const noexcept { return inner_; }

private:
    NetworkInterface& inner_;
};

}  // namespace fci::nhi
