// SPDX-License-Identifier: BSD-3-Clause
// UnexpectedCredit: the memory at a peer for messages that nobody there has asked for yet (§2.6.6,
// G9). The sender takes of it, and the receiver gives back what it has disposed of.
#pragma once

#include <cstdint>

namespace fci::mp {

class UnexpectedCredit {
public:
    void open(std::uint64_t most) noexcept { most_ = granted_ = left_ = most; }
    /// A longer message is announced: Limits::eager_bytes_of() the pair, known when it attaches.
    void set_eager_bytes(std::uint64_t bytes) noexcept { eager_bytes_ = bytes; }
    [[nodiscard]] std::uint64_t eager_bytes() const noexcept { return eager_bytes_; }
    /// As far as is known without a look at what was given back.
    [[nodiscard]] bool has(std::uint64_t bytes) const noexcept { return bytes <= left_; }
    /// has() must have said yes.
    void take(std::uint64_t bytes) noexcept { left_ -= bytes; }
    /// `disposed`: bytes in all, as the peer says; what it says wrong harms only itself.
    void give(std::uint64_t disposed) noexcept {
        left_ += disposed + most_ - granted_;
        granted_ = disposed + most_;
    }

private:
    std::uint64_t left_ = 0;     // at least
    std::uint64_t granted_ = 0;  // all that was ever allowed; `left_` is what is left of that
    std::uint64_t most_ = 0;     // at a time
    std::uint64_t eager_bytes_ = 0;  // in one message
};

}  // namespace fci::mp
