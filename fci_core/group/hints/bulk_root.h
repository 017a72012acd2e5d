// SPDX-License-Identifier: BSD-3-Clause
// BulkRoot: a long broadcast at the host from which it goes to all others (§2.6.11): by hints,
// straight from the memory of the caller, but never more than a slow member's sockets can hold.
// Members ask for lost parts, which go by messages; so does everything to a host that hears no
// hints, or is so late that the others would wait for it.
//
// A member here is the leader of its host.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fci_core/base/result.h"
#include "fci_core/group/hosts/network_wait.h"
#include "fci_core/group/hosts/notes.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/nhi/hints.h"

namespace fci::group {

class BulkRoot final : public NetworkWait {
public:
    /// `name`: of the group of hints. `members`: by host, of which this is `self`.
    BulkRoot(mp::MessagePassing& messages, nhi::Hints& hints, std::uint64_t name,
             std::span<const nhi::PeerId> members, unsigned self)
        : messages_(messages), hints_(hints), name_(name), self_(self) {
        for (const nhi::PeerId peer : members) members_.push_back({peer});
    }

    /// Broadcast `number` of them; `match`: of its messages. `data` is borrowed until the end.
    void begin(std::uint64_t number, std::uint64_t match, std::span<const std::byte> data);
    /// False: not yet. True: all members that are left have all. May throw bad_alloc, and goes on
    /// from there when it is called again.
    [[nodiscard]] bool advance();
    /// A member has gone: the first one of them was of host lost().
    [[nodiscard]] bool has_lost() const noexcept { return has_lost_; }
    [[nodiscard]] unsigned lost() const noexcept { return lost_; }
    /// After the end: of the last ones so much was lost that a tree of messages is better.
    [[nodiscard]] bool is_lossy() const noexcept { return std::popcount(losses_.lossy & 0xf) > 2; }
    /// There will be nothing of that broadcast: members that have asked for it hear so. May throw
    /// bad_alloc, and goes on from there when it is called again.
    void refuse(std::uint64_t number, std::uint64_t match);
    /// From a member. May throw bad_alloc.
    void on_progress(nhi::PeerId source, const LongProgress& note);
    [[nodiscard]] bool is_busy() const noexcept { return sending_ != 0; }

    [[nodiscard]] bool is_over() noexcept override {
        return has_news_ || may_send() ||
               messages_.engine().arrived.find({mp::kAnySource, mp::kGroupSpace, match_, 0});
    }

private:
    static constexpr std::uint64_t kBehindFor = 64;        // broadcasts
    static constexpr Nanoseconds kUnheardMost = 1'000'000;  // then a hint does not come any more
    static constexpr Nanoseconds kShutMost = 20'000'000;   // the window, for one that is late

    struct Member {
        nhi::PeerId peer;
        std::uint32_t had = 0;
        bool is_over = false;             // it has all, or has gone
        unsigned unheard = 0;             // it has said so often in a row that it hears nothing
        std::uint64_t behind_until = 0;   // up to that broadcast no hint waits for it
    };
    struct Wanted {
        std::uint64_t number;  // of the broadcast; a member may begin before its root
        unsigned host;
        std::uint32_t at, bytes;
    };

    [[nodiscard]] bool is_behind(const Member& member) const noexcept {
        return member.behind_until >= number_;
    }
    void judge() noexcept;
    void look_for_lost();
    void answer();
    void answer(const Wanted& one);
    [[nodiscard]] std::vector<Wanted>::iterator next_wanted(std::uint64_t number) noexcept;
    void leave_behind() noexcept;
    [[nodiscard]] std::size_t window_end() const noexcept;
    [[nodiscard]] bool may_send() const noexcept {
        return sent_ < data_.size() && sent_ < window_end() && !has_no_room_;
    }
    void send_hints();

    mp::MessagePassing& messages_;
    nhi::Hints& hints_;
    const std::uint64_t name_;
    const unsigned self_;
    std::vector<Member> members_;  // by host
    std::uint64_t number_ = 0, match_ = 0;
    std::span<const std::byte> data_{};
    std::size_t window_ = 0, sent_ = 0;  // by hints
    std::vector<Wanted> wanted_{};
    struct {
        std::uint64_t unheard = 0;  // bytes that members lacked, but those left behind
        unsigned lossy = 0;         // the last broadcasts, a bit for each, the last one lowest
    } losses_;
    unsigned sending_ = 0;  // messages that are under way in `data_`
    struct {
        Nanoseconds first = 0, last = 0;
    } sent_at_;  // hints
    bool has_news_ = false, has_no_room_ = false, was_sent_ = false, was_shut_ = false;
    bool has_lost_ = false;
    unsigned lost_ = 0;
};

}  // namespace fci::group
