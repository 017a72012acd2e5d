// SPDX-License-Identifier: BSD-3-Clause
// LongBroadcast: one whose data no table and no single hint takes, in a group that has hints
// (§2.6.11). A short one goes before it and says how long it is, and whether it goes by hints: the
// root knows that. Then the data go from the root to the leader of its host, from there to the
// leaders of all other hosts, and from each leader to the others of its host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/base/result.h"
#include "fci_core/group/hints/bulk_member.h"
#include "fci_core/group/hints/bulk_root.h"
#include "fci_core/group/table/table_group.h"
#include "fci_core/group/hosts/handover.h"
#include "fci_core/group/hosts/parts.h"
#include "fci_core/group/table/reduction.h"

namespace fci::group {

class LongBroadcast {
public:
    /// The data of the short broadcast that announces it.
    struct Announcement {
        std::uint64_t bytes;
        std::uint32_t by_hints;
        std::uint32_t window;  // so much the root sends before it has to hear of all
    };

    /// `member`: of a group of hints for this alone, if this process leads its host.
    LongBroadcast(mp::MessagePassing& messages, nhi::Hints& hints, const nhi::HintMember& member,
                  std::uint64_t key, const Parts& parts, const Members& members);

    /// A broadcast from that root may be about to begin here: it is not announced yet, but hints of
    /// it may come already. `window`: at the root, the bytes that may be under way by hints; 0: it
    /// goes another way.
    void expect(unsigned root, std::uint64_t number, std::span<std::byte> room,
                std::size_t window) noexcept;
    /// The short broadcast that announces it.
    [[nodiscard]] Collective announcing(unsigned root) noexcept;
    /// It does not go by hints.
    void withdraw() noexcept;
    /// The announcement is over, by `answer` and, with FCI_ICL_EPEER, the rank of the lost member.
    /// `number`: of the collective, counted from 1. `room`: for just these data, borrowed until the
    /// end. FCI_ICL_DONE: it goes on, though this member may take no part; then it says so to all
    /// that wait for it. FCI_ICL_EUNSUPPORTED, at all members, or FCI_ICL_ETRUNC: it goes another
    /// way.
    [[nodiscard]] int begin(unsigned root, std::uint64_t number, std::span<std::byte> room,
                            int answer, unsigned lost) noexcept;
    /// This member takes no part in a broadcast that may have begun elsewhere, because of `code`.
    void refuse(unsigned root, std::uint64_t number, int code, unsigned lost) noexcept;
    [[nodiscard]] bool goes_on() const noexcept { return phase_ != Phase::none; }
    /// False: not yet. May throw bad_alloc, and goes on from there when it is called again.
    [[nodiscard]] bool advance();
    /// After the end: FCI_ICL_DONE, FCI_ICL_EPEER, or as refused.
    [[nodiscard]] int code() const noexcept { return code_; }
    /// After FCI_ICL_EPEER: the rank of the lost member, or FCI_ICL_NO_RANK.
    [[nodiscard]] unsigned lost() const noexcept { return lost_; }
    /// After the end: of those that went from this host to all others too much was lost.
    [[nodiscard]] bool is_lossy() const noexcept;
    void on_progress(nhi::PeerId source, const LongProgress& note);

    /// nullptr: for messages.
    [[nodiscard]] progress::Wait* waiting() noexcept;
    [[nodiscard]] std::array<progress::Wait*, 2> waits() const noexcept {
        return {out_.get(), in_.get()};
    }
    [[nodiscard]] bool is_busy() const noexcept;
    void give_up() noexcept;

private:
    enum class Phase : std::uint8_t { none, begun, refused, to_leader, between, down };

    [[nodiscard]] unsigned leader_of(unsigned part) const noexcept {
        return parts_.ranks[part].front();
    }
    [[nodiscard]] bool leads() const noexcept { return leader_of(part_) == self_; }
    [[nodiscard]] bool is_roots_part() const noexcept { return parts_.of[root_] == part_; }
    void set_out(unsigned root, std::uint64_t number, int code) noexcept;
    void begin_first();
    void send_refusal();
    void begin_between();
    void begin_down();
    void fail(unsigned lost) noexcept;
    bool end() noexcept;

    const Parts& parts_;
    const std::vector<nhi::PeerId> peers_;  // by rank
    const unsigned self_, part_;
    std::unique_ptr<BulkRoot> out_{};  // of a leader
    std::unique_ptr<BulkMember> in_{};
    mp::MessagePassing& messages_;
    const std::uint64_t key_;
    Handover here_;
    Phase phase_ = Phase::none;
    unsigned root_ = 0;
    std::uint64_t number_ = 0, refused_ = 0;  // the last ones
    Announcement announcement_{};
    std::span<std::byte> data_{};
    std::size_t handed_ = 0;  // to so many of this host
    bool is_here_ = false;  // all of it
    int code_ = FCI_ICL_DONE;
    unsigned lost_ = FCI_ICL_NO_RANK;
};

}  // namespace fci::group
