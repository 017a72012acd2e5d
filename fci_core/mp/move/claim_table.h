// SPDX-License-Identifier: BSD-3-Clause
// ClaimTable: the claim words (claims.h) in the block in which a peer writes, of the receives that
// share the copying of their message with it.
#pragma once

#include <bit>
#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/mp/move/claims.h"

namespace fci::mp {

class ClaimTable {
public:
    /// Called if both sides map the block; otherwise there are no words.
    void open(std::byte* block, const gcs::Layout& layout) noexcept {
        block_ = block;
        layout_ = layout;
    }
    /// The index of a free word, or -1.
    [[nodiscard]] int take() noexcept {
        const int index = std::countr_one(used_);
        if (block_ == nullptr || index >= static_cast<int>(gcs::Layout::kClaims)) return -1;
        used_ |= std::uint64_t{1} << index;
        return index;
    }
    /// Frees the word; a sender that still claims under the old name gets nothing.
    void give(int index) noexcept {
        FCI_ASSERT((used_ >> index & 1) != 0);
        ClaimWord::renew(*word(index));
        used_ &= ~(std::uint64_t{1} << index);
    }
    [[nodiscard]] std::uint64_t* word(int index) const noexcept {
        const auto at = layout_.claim(static_cast<unsigned>(index));
        return reinterpret_cast<std::uint64_t*>(block_ + static_cast<std::uint64_t>(at));
    }

private:
    static_assert(gcs::Layout::kClaims <= 64);
    std::byte* block_ = nullptr;
    gcs::Layout layout_{};
    std::uint64_t used_ = 0;  // bits
};

}  // namespace fci::mp
