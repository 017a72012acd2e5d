// SPDX-License-Identifier: BSD-3-Clause
// TcpNetwork: transfers over connections. A peer's block here is written as its frames come.
#pragma once

#include <span>

#include "drivers/tcp/connections.h"
#include "drivers/tcp/frame_decoder.h"
#include "drivers/tcp/peers.h"
#include "drivers/tcp/tcp_data.h"
#include "drivers/tcp/turn.h"
#include "fci_core/nhi/bookkeeping.h"

namespace fci::tcp {

class TcpNetwork final : public nhi::Bookkeeping, private FrameDecoder::Target {
public:
    /// `memory`: the device's, for windows. The others need not be built before the first call.
    TcpNetwork(Peers& peers, Connections& connections, Turn& turn, std::span<std::byte> memory)
        : Bookkeeping(memory),
          peers_(peers),
          connections_(connections),
          turn_(turn),
          memory_bytes_(memory.size()),
          data_(peers, connections) {}

    [[nodiscard]] FrameDecoder::Target& target() noexcept { return *this; }

    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override {
        const Status status = Bookkeeping::mask_event_interrupt(event, masked);
        turn_.set_watched(may_wake());
        return status;
    }
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] nhi::DataWay* data() noexcept override { return &data_; }
    [[nodiscard]] nhi::Hints* hints() noexcept override { return turn_.hints(); }
    bool is_idle() const noexcept override { return connections_.is_idle(); }
    unsigned poll(Nanoseconds now) noexcept override { return turn_.poll(now); }
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }

private:
    [[nodiscard]] Status check(const nhi::Transfer& transfer) const noexcept;

    // --- FrameDecoder::Target ---
    bool is_possible(nhi::PeerId writer, std::uint64_t address,
                     std::uint64_t bytes) const noexcept override;
    std::byte* locate(nhi::PeerId writer, std::uint64_t address,
                      std::uint64_t bytes) noexcept override;
    nhi::DataTarget* data_target() const noexcept override { return data_.target(); }
    void raise(std::uint32_t events) noexcept override {
        if (take_events(events)) turn_.wake();
    }

    Peers& peers_;
    Connections& connections_;
    Turn& turn_;
    const std::size_t memory_bytes_;
    TcpData data_;
};

}  // namespace fci::tcp
