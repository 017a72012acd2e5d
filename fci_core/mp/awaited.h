// The shortest path of a receive that is waited for, inline in its caller: no order, no callback.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

[[gnu::always_inline]] inline bool MessagePassing::take_awaited(const Arrival& first,
                                                                const Pattern& pattern, void* data,
                                                                std::uint64_t bytes,
                                                                Outcome* outcome) noexcept {
    const std::uint64_t match = flag::load_relaxed(first.line.word[0]);
    const std::uint64_t length = flag::load_part_acquire<std::uint16_t>(first.line.control, 1);
    if (!pattern.fits(first.peer.rank, plain_space(kind_of(first.line), 0), match) ||
        length > bytes || length > kInlineBytes + 8 || !posted_.empty() || !arrived_.empty() ||
        is_more_due()) {
        return false;
    }
    copy_short(static_cast<std::byte*>(data),
               reinterpret_cast<const std::byte*>(first.line.word + 1), length);
    *outcome = {kSuccess, 0, first.peer.rank, match, 0, length, length};
    if (first.peer.in.advance_disposing(length)) [[unlikely]] offer_credit(first.peer);
    ++counters_.received_expected;
    return true;
}

}  // namespace fci::mp
