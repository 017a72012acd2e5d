// SPDX-License-Identifier: BSD-3-Clause
// Work: whether the next turn has more to do than to look at the peer that sent last (§2.6.10).
#pragma once

#include <cstdint>

namespace fci::mp {

class Work {
public:
    /// There may be work. Most turns ask only this.
    [[nodiscard]] bool any() const noexcept { return bits_ != 0; }
    /// An order or a request waits here that could go on.
    [[nodiscard]] bool busy() const noexcept { return (bits_ & kBusy) != 0; }
    void set_busy() noexcept { bits_ |= kBusy; }
    /// An operation must wait until there is memory again. The turn says so to its caller, and the
    /// next turn tries again.
    void set_starved() noexcept { bits_ |= kStarved | kBusy; }
    /// Several peers are active, so there are others to be looked at.
    void set_several(bool several) noexcept {
        bits_ = static_cast<std::uint8_t>((bits_ & ~kSeveral) | (several ? kSeveral : 0));
    }

    /// The turn goes through all that waits now; each that must wait on sets its bit again.
    void begin() noexcept { bits_ &= kSeveral | kStarved; }
    /// Whether an operation must wait for memory; clears that.
    [[nodiscard]] bool end_starved() noexcept {
        const bool starved = (bits_ & kStarved) != 0;
        bits_ &= static_cast<std::uint8_t>(~kStarved);
        return starved;
    }

private:
    static constexpr std::uint8_t kBusy = 1, kSeveral = 2, kStarved = 4;
    std::uint8_t bits_ = 0;
};

}  // namespace fci::mp
