// SPDX-License-Identifier: BSD-3-Clause
// Alert: what the next turn that finds work must do besides (§2.6.10). Most turns ask only whether
// there is anything.
#pragma once

#include <cstdint>

namespace fci::progress {

class Alert {
public:
    [[nodiscard]] bool any() const noexcept { return bits_ != 0; }
    /// Each such turn tells the loop of it: requests wake this process, or cores are short, or
    /// something goes on.
    void set_always() noexcept { bits_ |= kAlways; }
    /// That, or nothing at all.
    void reset(bool always) noexcept { bits_ = always ? kAlways : 0; }

    /// It looks whether the network is to be polled.
    void set_look_up() noexcept { bits_ |= kLookUp; }
    [[nodiscard]] bool looks_up() const noexcept { return (bits_ & kLookUp) != 0; }
    void looked_up() noexcept { bits_ &= kAlways; }

    /// Where others set kLookUp.
    [[nodiscard]] std::uint8_t* bits() noexcept { return &bits_; }
    static constexpr std::uint8_t kAlways = 1, kLookUp = 2;
    static_assert((kAlways & kLookUp) == 0);

private:
    std::uint8_t bits_ = 0;
};

}  // namespace fci::progress
