// SPDX-License-Identifier: BSD-3-Clause
// NodeData: data go between hosts alone, so by the far network, which numbers peers in its own way.
#pragma once

#include "drivers/node/pace.h"
#include "drivers/node/peers.h"
#include "fci_core/nhi/data.h"

namespace fci::node {

class NodeData final : public nhi::DataWay, private nhi::DataTarget {
public:
    /// All outlive it. `far`: nullptr if the far network carries no data; nothing here is called
    /// then.
    NodeData(Peers& peers, nhi::DataWay* far, Pace& pace) noexcept
        : peers_(peers), far_(far), pace_(pace) {}

    [[nodiscard]] bool is_there() const noexcept { return far_ != nullptr; }
    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                std::uint32_t events) noexcept override;
    [[nodiscard]] bool has_taken(nhi::PeerId id) const noexcept override;
    void give_back(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool waits() const noexcept override { return far_->waits(); }
    void set_target(nhi::DataTarget* target) noexcept override;

private:
    /// nullptr: it is no peer of the far network.
    [[nodiscard]] const Peers::Entry* find_far(nhi::PeerId id) const noexcept;

    // --- nhi::DataTarget, of peers as the far network numbers them ---
    [[nodiscard]] bool expects(nhi::PeerId from) const noexcept override;
    [[nodiscard]] bool is_early(nhi::PeerId from, const nhi::Data& data) const noexcept override;
    [[nodiscard]] std::byte* locate(nhi::PeerId from, const nhi::Data& data) noexcept override;
    [[nodiscard]] bool arrived(nhi::PeerId from, const nhi::Data& data) noexcept override;

    Peers& peers_;
    nhi::DataWay* const far_;
    Pace& pace_;
    nhi::DataTarget* target_ = nullptr;
};

}  // namespace fci::node
