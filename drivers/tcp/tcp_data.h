// SPDX-License-Identifier: BSD-3-Clause
// TcpData: data over connections, borrowed until the kernel has them.
#pragma once

#include "drivers/tcp/connections.h"
#include "drivers/tcp/peers.h"
#include "fci_core/nhi/data.h"

namespace fci::tcp {

class TcpData final : public nhi::DataWay {
public:
    /// Both outlive it.
    TcpData(Peers& peers, Connections& connections) noexcept
        : peers_(peers), connections_(connections) {}

    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                std::uint32_t events) noexcept override;
    [[nodiscard]] bool has_taken(nhi::PeerId id) const noexcept override;
    void give_back(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool waits() const noexcept override { return connections_.waits(); }
    void set_target(nhi::DataTarget* target) noexcept override;
    [[nodiscard]] nhi::DataTarget* target() const noexcept { return target_; }

private:
    /// nullptr: it is not attached.
    [[nodiscard]] Connection* connection_to(nhi::PeerId id) const noexcept;

    Peers& peers_;
    Connections& connections_;
    nhi::DataTarget* target_ = nullptr;
};

}  // namespace fci::tcp
