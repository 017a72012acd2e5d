// SPDX-License-Identifier: BSD-3-Clause
// FaultDevice: a device around another one; its network makes transfers late (FaultInterface), and
// some pairs of processes never attach. Both of such a pair must be FaultDevices of one seed.
#pragma once

#include <memory>
#include <string>

#include "drivers/tap/fault/fault_interface.h"
#include "fci_core/ddi/forwarding.h"

namespace fci::tap {

class FaultDevice final : public ddi::Forwarding {
public:
    FaultDevice(std::unique_ptr<ddi::Device> inner, const FaultOptions& options);
    ~FaultDevice() override;

    /// By the seed and their places alone, so that both sides know it.
    [[nodiscard]] static bool refuses(const FaultOptions& options, const ddi::Card& one,
                                      const ddi::Card& other) noexcept;
    [[nodiscard]] Nanoseconds due() const noexcept { return network_.due(); }

    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return network_; }
    Status connect(nhi::PeerId id) override;
    void sleep(Nanoseconds timeout) noexcept override;
    /// Transfers that are held back make no descriptor readable.
    [[nodiscard]] int wait_fd() const noexcept override { return -1; }

private:
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override;

    FaultOptions options_;
    FaultInterface network_;
};

}  // namespace fci::tap
