// SPDX-License-Identifier: BSD-3-Clause
// ClaimWord: how two processes share the copying of one long message. The sender takes pieces from
// the front, the receiver from the back, until they meet. A generation keeps a late comer from
// claiming in a word that serves another message by now.
#pragma once

#include <cstdint>

#include "fci_core/base/flag.h"

namespace fci::mp {

class ClaimWord {
public:
    static constexpr std::uint64_t kNone = ~0ull;
    static constexpr std::uint64_t kPiecesMost = (1u << 24) - 1;
    static constexpr std::uint16_t kGenerations = 1u << 10;

    /// The word's name in a request: its index and its generation.
    static constexpr std::uint16_t name(unsigned index, std::uint16_t generation) noexcept {
        return static_cast<std::uint16_t>(index | generation << 6);
    }
    static constexpr unsigned index_of(std::uint16_t name) noexcept { return name & 63; }
    static constexpr std::uint16_t generation_of(std::uint16_t name) noexcept { return name >> 6; }

    /// Makes the word fresh; claims of earlier generations fail from now on.
    static std::uint16_t renew(std::uint64_t& word) noexcept {
        const std::uint64_t old = flag::load_relaxed(word);
        const auto generation =
            static_cast<std::uint16_t>(((old >> kGenerationShift) + 1) % kGenerations);
        flag::store_release(word, std::uint64_t{generation} << kGenerationShift);
        return generation;
    }

    /// The piece that the caller may copy now, or kNone when all are taken.
    static std::uint64_t take(std::uint64_t& word, std::uint16_t generation, std::uint64_t pieces,
                              bool front) noexcept {
        std::uint64_t seen = flag::load_acquire(word);
        for (;;) {
            const std::uint64_t from_front = seen & kPiecesMost;
            const std::uint64_t from_back = seen >> kBackShift & kPiecesMost;
            if (seen >> kGenerationShift != generation || from_front + from_back >= pieces) {
                return kNone;
            }
            const std::uint64_t more = front ? 1 : std::uint64_t{1} << kBackShift;
            if (flag::compare_exchange(word, seen, seen + more)) {
                return front ? from_front : pieces - 1 - from_back;
            }
        }
    }

private:
    static constexpr unsigned kBackShift = 24;
    static constexpr unsigned kGenerationShift = 48;
};

}  // namespace fci::mp
