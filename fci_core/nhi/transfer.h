// SPDX-License-Identifier: BSD-3-Clause
// Transfer: all that one destination must receive as one unit (§2.6.8, fig. 2.50).
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/types.h"

namespace fci::nhi {

/// Writes and events that reach one destination in the order in which they were put.
/// Parts point at the caller's bytes, which must stay until initiate_transfer() returns.
class Transfer {
public:
    static constexpr unsigned kPartsMax = 4;

    struct Part {
        std::uint64_t address;  // LcsAddress
        const void* from;
        std::size_t bytes;
    };

    explicit Transfer(PeerId destination) noexcept : destination_(destination) {}
    /// A copy of the transfer for another destination.
    Transfer(PeerId destination, const Transfer& like) noexcept : Transfer(like) {
        destination_ = destination;
    }

    /// The last aligned 8-byte word of the part becomes visible after all other bytes of it, and
    /// these after the parts before.
    Transfer& put(LcsAddress to, const void* from, std::size_t bytes) noexcept {
        FCI_ASSERT(parts_ < kPartsMax);
        part_[parts_++] = {static_cast<std::uint64_t>(to), from, bytes};
        return *this;
    }
    /// Raised after all writes of this transfer are visible.
    Transfer& raise(EventId event) noexcept {
        FCI_ASSERT(event < kEventsMax);
        events_ |= 1u << event;
        return *this;
    }

    /// The caller will give data for the same destination, mostly at once; this may go with them.
    Transfer& let_wait() noexcept {
        waits_ = true;
        return *this;
    }

    /// Most likely the receiver does not wait for this: it may stay with the system for a fifth of
    /// a second, or until another transfer for the same destination; nothing else that this process
    /// does sends it earlier.
    Transfer& let_linger() noexcept {
        lingers_ = true;
        return *this;
    }

    [[nodiscard]] PeerId destination() const noexcept { return destination_; }
    [[nodiscard]] unsigned parts() const noexcept { return parts_; }
    [[nodiscard]] const Part& part(unsigned i) const noexcept {
        FCI_ASSERT(i < parts_);
        return part_[i];
    }
    [[nodiscard]] std::uint32_t events() const noexcept { return events_; }
    [[nodiscard]] bool may_wait() const noexcept { return waits_; }
    [[nodiscard]] bool may_linger() const noexcept { return lingers_; }

private:
    PeerId destination_;
    unsigned parts_ = 0;
    std::uint32_t events_ = 0;
    bool waits_ = false, lingers_ = false;
    Part part_[kPartsMax];
};

}  // namespace fci::nhi
