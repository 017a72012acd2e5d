// SPDX-License-Identifier: BSD-3-Clause
// Hinting: whether the broadcasts of a group between hosts have hints (§2.6.11), and which way they
// go: with a hint, and from one host to the next; or, while nobody hears any, down a tree. The root
// of a broadcast says which way the next ones go, so all members know that before these begin.
//
// Most often members wait for the hint alone. The message that is sent behind it to the next member
// lingers on its way, and costs no packet of its own; a member that lacks the hint asks for it.
//
// A member here is the leader of its host.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fci_core/base/status.h"
#include "fci_core/group/hints/hint_slots.h"
#include "fci_core/group/table/table_group.h"
#include "fci_core/group/hints/long_broadcast.h"
#include "fci_core/group/hosts/match.h"
#include "fci_core/group/hosts/notes.h"
#include "fci_core/group/hosts/send_nothing.h"
#include "fci_core/group/hosts/share.h"

namespace fci::group {

/// A member's offer while a group is formed. The offer whose `brief` has the greatest name is
/// taken, so that a member that can have no hints decides for all.
struct HintOffer {
    static constexpr std::uint64_t kNothing = 0, kImpossible = ~std::uint64_t{0};  // as a name

    nhi::HintGroup brief;  // for what a table takes
    nhi::HintGroup bulk;   // for long broadcasts
};

class Hinting {
public:
    /// `hints`: of the network; nullptr: it has none. `hosts`: the members' addresses. `key`: of
    /// the group.
    Hinting(mp::MessagePassing& messages, std::uint64_t key, nhi::Hints* hints,
            std::vector<std::uint32_t> hosts) noexcept
        : messages_(messages), key_(key), hints_(hints), hosts_(std::move(hosts)) {}

    [[nodiscard]] HintOffer offer(bool is_first) const noexcept;
    /// `taken`: the offer that counts. `member`: the number of this process, if it leads its host.
    void open(const HintOffer& taken, bool leads, unsigned member);
    void close() noexcept { slots_.reset(); }
    /// All members know the same of it.
    [[nodiscard]] bool works() const noexcept { return works_; }

    // --- of a leader, in each broadcast ---
    void begin() noexcept;
    /// Of the broadcast: that of its hint.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] HintSlots& slots() noexcept { return *slots_; }
    /// It goes down a tree, without hints.
    [[nodiscard]] bool by_tree() const noexcept { return by_tree_; }
    /// A member died and a broadcast was lost with it, so this process does not know which way the
    /// next ones go. All that may wait for it, by either way, are to learn that nothing comes.
    [[nodiscard]] bool is_unsure() const noexcept { return is_unsure_; }
    /// At the root: puts the trailer behind the data, and sends the hint.
    void send(Share& share) noexcept;
    /// Takes the trailer off the data that have come. `root`: at the last host of a chain, which
    /// knows whether no host had a hint.
    void end(Share& share, nhi::PeerId root) noexcept;

    /// For long broadcasts; works().
    [[nodiscard]] std::unique_ptr<LongBroadcast> make_long(const Parts& parts,
                                                           const Members& members) const;
    /// To the leader of the root's host: this process takes no part in it, if it is a long one.
    void refuse_long(nhi::PeerId leader, std::uint64_t number) const {
        send_nothing(messages_, leader, match_of(key_, number, true));
    }
    /// So much of a long one of so many bytes may be under way by hints. 0: it goes another way.
    [[nodiscard]] std::size_t window(std::uint64_t bytes) const noexcept;
    /// Too much is lost of what `root` sends, which is this process, or of its host.
    void report_lossy(nhi::PeerId root) noexcept;

    // --- notes of other members ---
    void on_unheard(const HintUnheard& note) noexcept;
    void on_lacking(nhi::PeerId source, const HintLacking& note) noexcept;
    void on_lossy() noexcept;

private:
    static constexpr unsigned kHostsLeast = 3;  // with two, a message is a hint
    static constexpr Nanoseconds kOff = 10'000'000'000;
    static constexpr std::uint64_t kPlain = 64;  // broadcasts
    static constexpr unsigned kOwnMost = 16;

    [[nodiscard]] Nanoseconds now() const noexcept { return messages_.engine().device.now(); }

    mp::MessagePassing& messages_;
    const std::uint64_t key_;
    nhi::Hints* const hints_;
    const std::vector<std::uint32_t> hosts_;  // by member
    bool works_ = false, by_tree_ = false, is_unsure_ = false;
    nhi::HintMember bulk_{};          // of this process, if it leads its host
    std::uint64_t number_ = 0;        // of the broadcast
    std::uint64_t joined_by_ = 0;     // behind that one all are known to have joined. 0: not known
    std::unique_ptr<HintSlots> slots_{};
    Nanoseconds off_until_ = 0, long_off_until_ = 0;
    unsigned unheard_ = 0, own_ = 0;  // of the last hints of this process
};

}  // namespace fci::group
