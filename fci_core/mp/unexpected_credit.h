// SPDX-License-Identifier: BSD-3-Clause
// UnexpectedCredit: the memory at a peer for messages that match no receive there yet (§2.6.6, G9).
// The sender takes of it, and the receiver gives back the bytes that it has disposed of.
#pragma once

#include <cstdint>

namespace fci::mp {

class UnexpectedCredit {
public:
    void open(std::uint64_t most) noexcept { most_ = granted_ = left_ = most; }
    /// A longer message is announced: Limits::eager_bytes_of() the pair, known when it attaches.
    void set_eager_bytes(std::uint64_t bytes) noexcept { eager_bytes_ = bytes; }
    [[nodiscard]] std::uint64_t eager_bytes() const noexcept { return eager_bytes_; }
    /// The credit suffices, as far as is known without reading the peer's returns.
    [[nodiscard]] bool has(std::uint64_t bytes) const noexcept { return bytes <= left_; }
    /// has() must have been true.
    void take(std::uint64_t bytes) noexcept { left_ -= bytes; }
    /// `disposed`: bytes in all, as the peer says; a wrong number harms only the peer.
    void give(std::uint64_t disposed) noexcept {
        left_ += disposed + most_ - granted_;
        granted_ = disposed + most_;
    }

private:
    std::uint64_t left_ = 0;     // bytes that may be sent, at least
    std::uint64_t granted_ = 0;  // bytes that were ever allowed; left_ is the rest of them
    std::uint64_t most_ = 0;     // bytes at a time
    std::uint64_t eager_bytes_ = 0;  // in one message
};

}  // namespace fci::mp
