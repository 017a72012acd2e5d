// SPDX-License-Identifier: BSD-3-Clause
// Work: what the next turn has to do besides looking at the peer that sent last (§2.6.10).
#pragma once

#include <cstdint>

namespace fci::mp {

class Work {
public:
    /// There may be something. The one look that most turns take.
    [[nodiscard]] bool any() const noexcept { return bits_ != 0; }
    /// Something waits here that could go on.
    [[nodiscard]] bool busy() const noexcept { return (bits_ & kBusy) != 0; }
    void set_busy() noexcept { bits_ |= kBusy; }
    /// Something must wait until there is memory again. The turn says so to its caller, and the
    /// next one tries again.
    void set_starved() noexcept { bits_ |= kStarved | kBusy; }
    /// Several peers are active, so there are others to be looked at.
    void set_several(bool several) noexcept {
        bits_ = static_cast<std::uint8_t>((bits_ & ~kSeveral) | (several ? kSeveral : 0));
    }

    /// All that waits is gone through from here on: what still waits then says so again.
    void begin() noexcept { bits_ &= kSeveral | kStarved; }
    /// Whether something must wait for memory; asked once.
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
