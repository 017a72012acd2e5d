// SPDX-License-Identifier: BSD-3-Clause
// Chain: the stage in which a broadcast with hints comes to a host and goes on to the next one
// (§2.6.11). The hint of the root brings the data, most often; behind it each leader sends them to
// the next host by a message, for which nobody waits where the hint is heard.
#pragma once

#include "fci_core/group/hints/hint_slots.h"
#include "fci_core/group/hosts/messenger.h"
#include "fci_core/group/hosts/network_wait.h"
#include "fci_core/nhi/types.h"

namespace fci::group {

class Chain final : public NetworkWait {
public:
    Chain(mp::MessagePassing& messages, std::uint64_t key, Messenger& messenger,
          Share& share) noexcept
        : messages_(messages), key_(key), messenger_(messenger), share_(share) {}

    /// Of one host in the chain. kNoPeer: the root has no host before it, the last one none behind.
    struct Link {
        nhi::PeerId before = nhi::kNoPeer, next = nhi::kNoPeer;
        unsigned rank_before = FCI_ICL_NO_RANK;  // for the case that it has gone
    };
    /// Broadcast `number` of the hints. At the root the share is what it brings, with its trailer.
    void begin(HintSlots& slots, std::uint64_t number, const Link& link) noexcept;
    /// False: not through yet; a turn may bring it. The share then has data and trailer, or says
    /// why not. May throw bad_alloc, and goes on from there when it is called again.
    [[nodiscard]] bool advance();

private:
    static constexpr Nanoseconds kAskFirst = 2'000'000;

    [[nodiscard]] bool is_over() noexcept override;

    /// Where this host has come to. The message is received only when it is here, as the buffer of
    /// a receive that stands could not be taken back at once when the hint comes.
    enum class At : std::uint8_t { either, message, next, end };

    [[nodiscard]] bool go_on();
    [[nodiscard]] bool receive_either();
    void take(std::size_t bytes) noexcept;
    void ask_if_late();

    mp::MessagePassing& messages_;
    const std::uint64_t key_;
    Messenger& messenger_;
    Share& share_;
    HintSlots* slots_ = nullptr;
    std::uint64_t number_ = 0;
    Link link_{};
    At at_ = At::end;
    Nanoseconds asks_after_ = 0;
};

}  // namespace fci::group
