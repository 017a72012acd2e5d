// SPDX-License-Identifier: BSD-3-Clause
// UcxNetwork: transfers as frames of UCX; and to some peers by TCP's network, which has the same
// events and windows then.
#pragma once

#include <span>

#include "drivers/ucx/incoming.h"
#include "drivers/ucx/peers.h"
#include "drivers/ucx/turn.h"
#include "drivers/ucx/ucx_data.h"
#include "fci_core/nhi/bookkeeping.h"
#include "fci_core/nhi/places.h"

namespace fci::ucx {

class UcxNetwork final : public nhi::Bookkeeping {
public:
    /// `memory`: the device's, for windows. The others outlive it.
    UcxNetwork(Peers& peers, Turn& turn, std::span<std::byte> memory) noexcept
        : Bookkeeping(memory),
          peers_(peers),
          turn_(turn),
          beside_(turn.beside()),
          data_(peers, turn),
          incoming_(peers, turn, data_, *this) {}

    [[nodiscard]] Arrivals& arrivals() noexcept { return incoming_; }
    /// Events have come.
    void raise(std::uint32_t events) noexcept {
        if (take_events(events)) turn_.wake();
    }
    /// nullptr: in no open window, nor in the block.
    [[nodiscard]] std::byte* find_place(std::span<std::byte> block, std::uint64_t address,
                                        std::uint64_t bytes) const noexcept {
        return nhi::find_place(windows(), block, address, bytes);
    }

    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> local) noexcept override;
    Status close_window(nhi::WindowNumber number) noexcept override;
    Status configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept override;
    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override;
    [[nodiscard]] std::uint32_t event_count(nhi::EventId event) const noexcept override {
        const std::uint32_t count = Bookkeeping::event_count(event);
        return beside_ != nullptr ? count + beside_->event_count(event) : count;
    }
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] nhi::Hints* hints() noexcept override { return turn_.tcp().network().hints(); }
    [[nodiscard]] nhi::DataWay* data() noexcept override { return &data_; }
    bool is_idle() const noexcept override {
        return turn_.road().is_idle() && (beside_ == nullptr || beside_->is_idle());
    }
    unsigned poll(Nanoseconds now) noexcept override { return turn_.poll(now); }
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }

private:
    [[nodiscard]] Status check(const nhi::Transfer& transfer) const noexcept;

    Peers& peers_;
    Turn& turn_;
    nhi::NetworkInterface* const beside_;  // TCP's, by which some peers go; or nullptr
    UcxData data_;
    Incoming incoming_;
};

}  // namespace fci::ucx
