// SPDX-License-Identifier: BSD-3-Clause
// Run: goes through the plans of a group with levels (plan.h), one collective after the other. A
// stage that is through hands the share on to the next one; a process that lacks something goes on
// to the end and says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fci_core/group/hints/chain.h"
#include "fci_core/group/hints/hinting.h"
#include "fci_core/group/hosts/exchange.h"
#include "fci_core/group/hosts/messenger.h"
#include "fci_core/group/hosts/share.h"
#include "fci_core/group/levels.h"
#include "fci_core/group/plan.h"

namespace fci::group {

class Run {
public:
    Run(mp::MessagePassing& messages, std::uint64_t key, Levels levels, Hinting hinting);

    /// The first collective over messages: `formed` is how the table of this part was formed.
    /// FCI_ICL_EUNREACHABLE, at all members: there is no group. FCI_ICL_EPEER: a member died before
    /// all could tell that they have it; then all collectives fail here, and the other members that
    /// call them learn of it.
    [[nodiscard]] int form(int formed, unsigned looks) noexcept;
    /// A barrier, a broadcast or a reduction, whose arguments are valid, called again while it
    /// answers FCI_ICL_EAGAIN. Operations must commute between hosts; where parts are neighbours
    /// any associative one will do, and there is no root.
    [[nodiscard]] int call(Collective& it, unsigned looks) noexcept;

    [[nodiscard]] const Levels& levels() const noexcept { return levels_; }
    [[nodiscard]] Hinting& hinting() noexcept { return hinting_; }
    /// After FCI_ICL_EPEER: the rank of the lost member.
    [[nodiscard]] unsigned lost() const noexcept { return lost_; }
    /// Bytes of data that all parts take.
    [[nodiscard]] std::size_t longest() const noexcept { return longest_; }
    /// The number of the last collective, counted alike by all members; 0: one goes on.
    [[nodiscard]] std::uint64_t ended() const noexcept { return goes_on_ ? 0 : number_; }

    /// The wait of the collective that goes on. nullptr: for one message, like a receive.
    [[nodiscard]] progress::Wait* waiting() noexcept;
    [[nodiscard]] std::array<progress::Wait*, 4> waits() noexcept {
        return {wait_of(levels_.here), wait_of(levels_.between), &exchange_, &chain_};
    }
    /// A message is under way in memory of this object.
    [[nodiscard]] bool is_busy() const noexcept { return messenger_.is_busy(); }
    void give_up() noexcept { messenger_.give_up(); }

private:
    /// The share of each part in the forming of a group.
    struct Formed {
        std::uint64_t longest;
        HintOffer hints;
    };
    static_assert(sizeof(Formed) <= Entry::kShort, "it fits into each table");
    static void combine_formed(void*, const void* in, void* inout);

    void begin(Flow flow, const Collective& it, bool has_table) noexcept;
    [[nodiscard]] Way way() const noexcept;
    [[nodiscard]] int go_on(Collective& it, unsigned looks) noexcept;
    [[nodiscard]] bool advance(Stage stage, Collective& it, unsigned looks);
    [[nodiscard]] bool up(Collective& it, unsigned looks) noexcept;
    [[nodiscard]] bool across(const Collective& it);
    [[nodiscard]] bool between(const Collective& it, unsigned looks) noexcept;
    [[nodiscard]] bool chain();
    [[nodiscard]] bool hand(Collective& it, unsigned looks) noexcept;
    [[nodiscard]] bool send_down(unsigned looks) noexcept;
    [[nodiscard]] bool receive_down(Collective& it, unsigned looks) noexcept;
    void end_across() noexcept;
    [[nodiscard]] int end(Collective& it);

    Levels levels_;
    Hinting hinting_;
    Share share_{};
    Messenger messenger_;
    Exchange exchange_;
    Chain chain_;
    Formed formed_{};
    bool is_lost_ = false;  // see form()
    unsigned lost_ = FCI_ICL_NO_RANK;
    std::size_t longest_ = Entry::kLong;

    std::uint64_t number_ = 0;  // of the collective
    Plan plan_{};
    unsigned at_ = 0;                // the stage
    bool goes_on_ = false, has_begun_ = false;  // the collective; the stage
    unsigned root_part_ = 0;
    unsigned source_ = 0;            // the place in the table of this part that tells the others
    std::vector<unsigned> leaders_;  // by part: the rank that speaks for it
};

}  // namespace fci::group
