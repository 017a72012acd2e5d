// SPDX-License-Identifier: BSD-3-Clause
// StationData: data of a simulated process, borrowed until they arrive.
#pragma once

#include "drivers/sim/ideal/world.h"
#include "fci_core/nhi/data.h"

namespace fci::sim {

class StationData final : public nhi::DataWay {
public:
    explicit StationData(Station& station) noexcept : station_(station) {}

    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                std::uint32_t events) noexcept override;
    [[nodiscard]] bool has_taken(nhi::PeerId id) const noexcept override;
    void give_back(nhi::PeerId id) noexcept override;
    void set_target(nhi::DataTarget* target) noexcept override {
        target_ = target;
        if (target == nullptr) give_all_back();
    }

    /// Data of another process wait until this one has looked at what names their buffer, and so
    /// does what is behind them.
    [[nodiscard]] bool holds_back(const World::Action& action) const noexcept;
    /// Here are data of another process. False: they belong nowhere.
    bool apply(const World::Action& action) noexcept;
    /// The process ends: what it has sent is still on its way, and its memory is its own again.
    void give_all_back() noexcept;

private:
    Station& station_;
    nhi::DataTarget* target_ = nullptr;
};

}  // namespace fci::sim
