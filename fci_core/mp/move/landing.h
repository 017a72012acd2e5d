// SPDX-License-Identifier: BSD-3-Clause
// Landing: the copy of a long message from its sender's pool into the receive's buffer. Which copy
// is the fastest depends on whether the buffer is in this core's cache, as a message came there a
// moment ago. The receiver decides alone, and the sender knows nothing of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"

namespace fci::mp {

enum class Landing : std::uint8_t {
    wide,        // copy_wide(): the best where the buffer is in a cache, and never bad
    library,     // the C library's, which may have a way of its own for memory in no cache
    past_cache,  // copy_past_cache()
};

/// Buffers of long messages, each with the bytes received since. The table may forget a buffer: at
/// worst a copy is slower.
class WarmBuffers {
public:
    // Bytes that a core's own cache and its part of the next one may hold.
    static constexpr std::uint64_t kReach = 2 << 20;

    /// A message of so many bytes begins to go there. True: that memory may be in a cache, as less
    /// than kReach was received since one last began to go there.
    bool take(const std::byte* at, std::uint64_t bytes) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        Entry& entry = table_[(address >> 6 ^ address >> 12 ^ address >> 18) % table_.size()];
        const bool is_warm = entry.address == address && received_ - entry.received < kReach;
        entry = {address, received_};
        received_ += bytes;
        return is_warm;
    }

private:
    struct Entry {
        std::uintptr_t address = 0;
        std::uint64_t received = 0;  // bytes in all before that message
    };
    std::array<Entry, 256> table_{};
    std::uint64_t received_ = 0;
};

/// Chooses the copy of one peer's data into buffers that are in no cache of this core. Past the
/// cache is twice as fast between cores with an L3 in common, and half as fast between others; so
/// all ways are tried now and then, a few messages each, and their best times are compared.
class ColdLanding {
public:
    // Shorter messages are better in the cache, as the program may read most of them at once.
    static constexpr std::uint64_t kLeast = 256 * 1024;

    struct Choice {
        Landing landing;
        bool is_timed;  // learn() wants to know how long it takes
    };
    /// For the next message.
    [[nodiscard]] Choice choose() noexcept {
        const std::uint32_t turn = messages_++ % kRetryEvery;
        if (turn >= kTrials * kLandings) return {best(), false};
        const auto landing = static_cast<Landing>(turn / kTrials);
        if (turn % kTrials == 0) cost(landing) = std::numeric_limits<float>::infinity();
        return {landing, true};
    }
    /// The `bytes` of a timed message took so long to come, from the first on.
    void learn(Landing landing, std::uint64_t bytes, Nanoseconds took) noexcept {
        FCI_ASSERT(bytes != 0);
        cost(landing) =
            std::min(cost(landing), static_cast<float>(took) / static_cast<float>(bytes));
    }

private:
    static constexpr std::uint32_t kLandings = 3;
    static constexpr std::uint32_t kTrials = 4;  // messages; the first find the other's buffers
    static constexpr std::uint32_t kRetryEvery = 384;

    float& cost(Landing landing) noexcept { return costs_[static_cast<unsigned>(landing)]; }
    [[nodiscard]] Landing best() const noexcept {
        return static_cast<Landing>(std::min_element(costs_.begin(), costs_.end()) -
                                    costs_.begin());
    }

    std::uint32_t messages_ = 0;
    std::array<float, kLandings> costs_{};
};

}  // namespace fci::mp
