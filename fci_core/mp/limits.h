// SPDX-License-Identifier: BSD-3-Clause
// Limits: the sizes that one end of all its connections keeps to (§2.6.6).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/line.h"
#include "fci_core/mp/move/copy_path.h"

namespace fci::mp {

inline constexpr std::uint64_t kInlineBytes = 40;  // with an immediate word; 48 without
inline constexpr std::uint64_t kEagerMost = 32768;
inline constexpr std::uint32_t kSlotsLeast = 4;
inline constexpr std::uint64_t kHeaderMost = 1024;
inline constexpr std::uint64_t kSlotCharge = 64;  // unexpected memory of an empty message

// Bytes of messages that are pushed if they go directly: their data follows the announcement
// unasked. For shorter ones a copy costs less than an order.
inline constexpr std::uint64_t kPushLeast = 8 * 1024;
inline constexpr std::uint64_t kPushMost = 64 * 1024;

struct Limits {
    gcs::Layout layout;
    std::uint64_t eager_bytes = 0;       // at most kEagerMost; with a header, a quarter of the ring
    std::uint64_t far_eager_bytes = 0;   // over transfers, if it is more and the ring allows it
    std::uint64_t offer_bytes = 0;       // receives below are never offered
    std::uint64_t unexpected_bytes = 0;  // held for one peer
    // So many bytes each way, and a peer is lent a cell (gcs/cells.h): a small one, a large one.
    std::array<std::uint64_t, 2> lend_after{1024, 64 * 1024};
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    gcs::Laps laps = gcs::Laps::short_;  // where both sides can store
    CopyPath::Policy copy = CopyPath::Policy::measure;
    bool fast_path = true;  // tests compare with what happens without (fast_path.h)

    /// The limit of a pair with this layout. To announce a message first costs two more ways
    /// between the two, against a second copy, which is small beside them over transfers: a way
    /// takes microseconds there, and a tenth of one by stores. Both ends of a pair find the same.
    [[nodiscard]] std::uint64_t eager_bytes_of(const gcs::Layout& pair,
                                               bool takes_stores) const noexcept {
        if (takes_stores) return eager_bytes;
        const std::uint64_t quarter = pair.ring_bytes / 4;
        return std::max(eager_bytes, std::min(far_eager_bytes, quarter - kHeaderMost));
    }
    [[nodiscard]] std::uint64_t eager_most() const noexcept {
        return std::max(eager_bytes, far_eager_bytes);
    }
};

}  // namespace fci::mp
