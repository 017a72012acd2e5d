// SPDX-License-Identifier: BSD-3-Clause
// Messenger: the messages of one collective between processes of different hosts, one that comes
// and one that goes at a time. They are matched by the group and the number of the collective, and
// bring a share, or a word that says what its sender lacks. Nothing waits here.
#pragma once

#include <cstdint>

#include "fci_core/group/hosts/match.h"
#include "fci_core/group/hosts/share.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

class Messenger {
public:
    /// `key`: of the group, less than 2 to the power of 64 - kNumberBits.
    Messenger(mp::MessagePassing& messages, std::uint64_t key, Share& share) noexcept
        : messages_(messages), key_(key), share_(share) {}

    /// Collective `number`, counted alike by all members.
    void begin(std::uint64_t number) noexcept;

    /// Into the share's incoming(). Nobody else receives from this peer in this collective. The
    /// three of them may throw bad_alloc; nothing has happened then.
    void receive(nhi::PeerId peer);
    /// A message from `peer` is thrown away whenever it comes: its sender may need its buffer until
    /// then.
    void discard(nhi::PeerId peer);
    /// The share, or what it lacks. `lingers`: nobody waits for this message.
    void send(nhi::PeerId peer, bool lingers = false);

    /// A message of this collective has come from `peer`.
    [[nodiscard]] bool is_here(nhi::PeerId peer);
    /// The peer has been met, so that this process hears of its death; and it lives. May throw.
    [[nodiscard]] bool is_alive(nhi::PeerId peer);
    /// Either of these has happened. Loads only.
    [[nodiscard]] bool has_news(nhi::PeerId peer) const noexcept;

    /// A message is under way in memory of the share.
    [[nodiscard]] bool is_busy() const noexcept { return receiving_ || sending_; }
    /// The peer of the last send() has gone.
    [[nodiscard]] bool has_missed() const noexcept { return missed_; }
    /// After receive(), once it is over: data have come, and so many bytes. If not, the share fails
    /// by what its sender, of that rank, lacks or by its death. Another process has written it.
    [[nodiscard]] bool accept(unsigned rank, std::size_t* bytes) noexcept;
    /// Takes back messages that are under way, and throws away those of the group that have come.
    void give_up() noexcept;

    [[nodiscard]] mp::Engine& engine() const noexcept { return messages_.engine(); }

private:
    [[nodiscard]] mp::Pattern pattern(nhi::PeerId peer) const noexcept {
        return {peer, mp::kGroupSpace, match_of(key_, number_, false), 0};
    }

    mp::MessagePassing& messages_;
    const std::uint64_t key_;
    Share& share_;
    std::uint64_t number_ = 0;
    bool receiving_ = false, sending_ = false, missed_ = false;
    std::uint32_t receive_ = 0, send_ = 0;  // their orders
    mp::Outcome received_{};
};

}  // namespace fci::group
