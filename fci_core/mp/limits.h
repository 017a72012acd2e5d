// Limits: the sizes that one end of all its connections keeps to (§2.6.6).
#pragma once

#include <cstdint>

#include "fci_core/gcs/layout.h"
#include "fci_core/mp/copy_path.h"

namespace fci::mp {

struct Limits {
    gcs::Layout layout;
    std::uint64_t eager_bytes = 0;       // at most kEagerMost; with a header, a quarter of the ring
    std::uint64_t offer_bytes = 0;       // receives below are never offered
    std::uint64_t unexpected_bytes = 0;  // held for one peer
    CopyPath::Policy copy = CopyPath::Policy::measure;
    bool fast_path = true;  // tests compare with what happens without (fast_path.h)
};
inline constexpr std::uint64_t kInlineBytes = 40;  // with an immediate word; 48 without
inline constexpr std::uint64_t kEagerMost = 32768;
inline constexpr std::uint32_t kSlotsLeast = 4;
inline constexpr std::uint64_t kHeaderMost = 1024;
inline constexpr std::uint64_t kSlotCharge = 64;  // unexpected memory of an empty message

}  // namespace fci::mp
