// SPDX-License-Identifier: BSD-3-Clause
// UcxNetwork: transfers as frames of UCX. A peer's block here is written as its frames come.
#pragma once

#include <span>

#include "drivers/ucx/peers.h"
#include "drivers/ucx/road.h"
#include "drivers/ucx/turn.h"
#include "fci_core/nhi/bookkeeping.h"

namespace fci::ucx {

class UcxNetwork final : public nhi::Bookkeeping, private Road::Listener {
public:
    /// `memory`: the device's, for windows. The others outlive it.
    UcxNetwork(Peers& peers, Turn& turn, std::span<std::byte> memory) noexcept
        : Bookkeeping(memory), peers_(peers), turn_(turn) {}

    [[nodiscard]] Road::Listener& arrivals() noexcept { return *this; }

    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override;
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] nhi::Hints* hints() noexcept override { return turn_.tcp().network().hints(); }
    bool is_idle() const noexcept override { return turn_.road().is_idle(); }
    unsigned poll(Nanoseconds now) noexcept override { return turn_.poll(now); }
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }

private:
    [[nodiscard]] Status check(const nhi::Transfer& transfer) const noexcept;
    void frame_came(std::span<const std::byte> frame) noexcept override;
    void raise(std::uint32_t events) noexcept {
        if (take_events(events)) turn_.wake();
    }

    Peers& peers_;
    Turn& turn_;
};

}  // namespace fci::ucx
