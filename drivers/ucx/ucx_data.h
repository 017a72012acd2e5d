// SPDX-License-Identifier: BSD-3-Clause
// UcxData: long data by UCX's rendezvous, which reads from the sender's buffer into the receiver's,
// by RDMA where it can. Data of one peer are brought one after the other, in the order in which it
// sent them.
#pragma once

#include <span>
#include <vector>

#include "drivers/ucx/peers.h"
#include "drivers/ucx/road.h"
#include "drivers/ucx/turn.h"
#include "fci_core/nhi/data.h"

namespace fci::ucx {

class UcxData final : public nhi::DataWay {
public:
    /// Both outlive it.
    UcxData(Peers& peers, Turn& turn) noexcept : peers_(peers), turn_(turn) {}

    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                std::uint32_t events) noexcept override;
    [[nodiscard]] bool has_taken(nhi::PeerId id) const noexcept override;
    void give_back(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool waits() const noexcept override {
        return waits_ || (beside() != nullptr && beside()->waits());
    }
    void set_target(nhi::DataTarget* target) noexcept override;

    /// As Rendezvous::Listener has it: data of this peer, whose turn it was to be heard.
    bool came(nhi::PeerId from, const DataHead& head, const Load& load) noexcept;
    /// The same of the end of a fetch. Returns the events to raise.
    std::uint32_t fetched(nhi::PeerId from, bool is_whole) noexcept;
    /// Begins with what can be brought now. Returns how much that was.
    unsigned look() noexcept;

private:
    /// TCP's, for peers that go by it; or nullptr.
    [[nodiscard]] nhi::DataWay* beside() const noexcept {
        return turn_.beside() != nullptr ? turn_.beside()->data() : nullptr;
    }
    [[nodiscard]] bool has_loans() const noexcept;
    unsigned look_at(nhi::PeerId id, Peer& peer) noexcept;
    void drop_all(Peer& peer) noexcept;
    void let_go(Peer& peer, Nanoseconds end) noexcept;

    Peers& peers_;
    Turn& turn_;
    nhi::DataTarget* target_ = nullptr;
    std::vector<nhi::PeerId> with_coming_;
    bool waits_ = false;  // for the owner of the buffers to look at its requests
};

}  // namespace fci::ucx
