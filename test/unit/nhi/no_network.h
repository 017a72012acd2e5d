// SPDX-License-Identifier: BSD-3-Clause
// NoNetwork: a network that reaches nobody and has nothing. A test's own network derives from it
// and overrides what the test calls.
#pragma once

#include "fci_core/nhi/network_interface.h"

namespace fci::test {

class NoNetwork : public nhi::NetworkInterface {
public:
    Status open_window(nhi::WindowNumber, nhi::LcsAddress, std::span<std::byte>) noexcept override {
        return Status::unsupported;
    }
    Status close_window(nhi::WindowNumber) noexcept override { return Status::unsupported; }
    Status initiate_transfer(const nhi::Transfer&) noexcept override { return Status::unsupported; }
    Status configure_event(nhi::EventId, nhi::EventSignal) noexcept override {
        return Status::unsupported;
    }
    Status mask_event_interrupt(nhi::EventId, bool) noexcept override {
        return Status::unsupported;
    }
    nhi::Link link(nhi::PeerId) noexcept override { return {}; }
    unsigned poll(Nanoseconds) noexcept override { return 0; }
    std::uint32_t event_count(nhi::EventId) const noexcept override { return 0; }
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }
};

}  // namespace fci::test
