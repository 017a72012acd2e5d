// SPDX-License-Identifier: BSD-3-Clause
// Incoming: frames of peers, written into their blocks and the windows here, and their data.
#pragma once

#include <span>

#include "drivers/ucx/frame.h"
#include "drivers/ucx/peers.h"
#include "drivers/ucx/turn.h"
#include "drivers/ucx/ucx_data.h"

namespace fci::ucx {

class UcxNetwork;

class Incoming final : public Arrivals {
public:
    /// All outlive it.
    Incoming(Peers& peers, Turn& turn, UcxData& data, UcxNetwork& network) noexcept
        : peers_(peers), turn_(turn), data_(data), network_(network) {}

    void frame_came(std::span<const std::byte> frame) noexcept override;
    bool data_came(std::span<const std::byte> head, const Load& load) noexcept override;
    void fetched(nhi::PeerId from, bool is_whole) noexcept override;
    /// The owner of the buffer is to hear of it, also if the process sleeps.
    void gave_back() noexcept override { turn_.wake(); }
    unsigned look() noexcept override { return data_.look(); }
    [[nodiscard]] bool waits() const noexcept override { return data_.waits(); }

private:
    [[nodiscard]] nhi::PeerId sender_of(const FrameHead& head) noexcept;

    Peers& peers_;
    Turn& turn_;
    UcxData& data_;
    UcxNetwork& network_;
};

}  // namespace fci::ucx
