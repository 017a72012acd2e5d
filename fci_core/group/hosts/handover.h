// SPDX-License-Identifier: BSD-3-Clause
// Handover: messages of one collective between members of one host, from memory to memory of their
// callers: of a long broadcast, which no table of flags takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/base/result.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

class Handover {
public:
    explicit Handover(mp::MessagePassing& messages) noexcept : messages_(messages) {}

    /// Those of before are over. `match`: of all of these.
    void begin(std::uint64_t match) noexcept;
    /// A message to a member that has gone is over at once. May throw bad_alloc; then nothing is
    /// sent.
    void send(nhi::PeerId to, std::span<const std::byte> data);
    void receive(nhi::PeerId from, std::span<std::byte> to);
    /// Takes it whenever it comes: until then its sender may need his memory.
    void discard(nhi::PeerId from);
    [[nodiscard]] bool is_busy() const noexcept { return sending_ + receiving_ != 0; }
    /// The data have not come, or not all of them.
    [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
    void give_up() noexcept;

private:
    mp::MessagePassing& messages_;
    std::uint64_t match_ = 0;
    unsigned sending_ = 0, receiving_ = 0;
    std::size_t wanted_ = 0;
    std::uint32_t receive_ = 0;
    bool has_failed_ = false;
};

}  // namespace fci::group
