// SPDX-License-Identifier: BSD-3-Clause
// Levels: a group in parts (§2.6.12): the members of each host, or eight neighbours of many on one
// host. A part is a group with a table, and one member speaks for it to the others: by messages to
// other hosts, else in a table of those who speak. So a collective goes up in each part, across
// between them, and down again.
//
// The calls are those of TableGroup. The first of a part speaks for it, or the root. Where
// broadcasts have hints it is the first always, who knows which broadcasts there were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fci_core/group/hosts/exchange.h"
#include "fci_core/group/table/table_group.h"
#include "fci_core/group/hints/hinting.h"
#include "fci_core/group/hosts/parts.h"

namespace fci::group {

class Levels {
public:
    /// `here`: the members of this part; nullptr where there is one only. `between`: the first of
    /// each part, for these, and where no messages go between parts.
    Levels(mp::MessagePassing& messages, const Members& members, Parts parts, bool by_messages,
           TableGroup* here, TableGroup* between, Hinting hinting);

    /// The first collective over messages: `formed` is how `here` was. FCI_ICL_EUNREACHABLE, at
    /// all: there is none. FCI_ICL_EPEER: one has gone before all could tell that they have it;
    /// then all collectives fail here, and others that call them hear of it.
    [[nodiscard]] int form(int formed, unsigned looks) noexcept;

    [[nodiscard]] int barrier(unsigned looks) noexcept;
    [[nodiscard]] int broadcast(unsigned root, void* data, std::size_t* bytes,
                                unsigned looks) noexcept;
    /// Of operations that commute, but where parts are neighbours. Without messages: to all only.
    [[nodiscard]] int reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
                             const Reduction& reduction, unsigned looks) noexcept;

    [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
    [[nodiscard]] TableGroup* here() const noexcept { return here_; }
    [[nodiscard]] TableGroup* between() const noexcept { return between_; }
    /// After FCI_ICL_EPEER: the rank of who has gone.
    [[nodiscard]] unsigned lost() const noexcept { return lost_; }
    /// Of data, in all parts alike.
    [[nodiscard]] std::size_t longest() const noexcept { return longest_; }
    /// For what, in the collective that is under way. nullptr: for one message, like a receive.
    [[nodiscard]] progress::Wait* waiting() noexcept {
        if (phase_ != Phase::across) return here_;
        if (!by_messages_) return between_;
        return exchange_.is_only_told() && !hinting_.works() ? nullptr : &exchange_;
    }
    [[nodiscard]] Exchange& exchange() noexcept { return exchange_; }
    [[nodiscard]] Hinting& hinting() noexcept { return hinting_; }
    /// Of the last collective, counted alike by all members; 0: one goes on.
    [[nodiscard]] std::uint64_t ended() const noexcept {
        return phase_ == Phase::none ? number_ : 0;
    }

private:
    /// Of the collective that is under way.
    enum class Phase : std::uint8_t { none, up, across, down };

    [[nodiscard]] bool speaks() const noexcept { return speaker_ == parts_.place[self_]; }
    void begin(unsigned root) noexcept;
    [[nodiscard]] int end(int answer) noexcept;
    [[nodiscard]] int broadcast_by_leaders(unsigned root, void* data, std::size_t* bytes,
                                           unsigned looks) noexcept;
    [[nodiscard]] int broadcast_in_vain(unsigned root) noexcept;
    void begin_chain(const void* data, std::size_t bytes, int code) noexcept;
    [[nodiscard]] int bring_down(unsigned root, void* data, std::size_t* bytes,
                                 unsigned looks) noexcept;
    [[nodiscard]] int bring(const void* own, std::size_t* bytes, const Reduction& reduction,
                            unsigned looks) noexcept;
    void begin_across(const Steps& steps, std::size_t bytes, int code, bool deaf = false) noexcept;
    [[nodiscard]] unsigned rank_of(const TableGroup& part, unsigned place) const noexcept;
    [[nodiscard]] int lose(unsigned rank) noexcept;
    [[nodiscard]] bool go_across(const Reduction& reduction, unsigned looks) noexcept;
    [[nodiscard]] bool meet_between(const Reduction& reduction, unsigned looks) noexcept;
    [[nodiscard]] std::size_t length_or_lack() const noexcept;
    [[nodiscard]] int tell(unsigned looks) noexcept;
    [[nodiscard]] int hear(void* data, std::size_t* bytes, unsigned looks) noexcept;

    mp::MessagePassing& messages_;
    const Parts parts_;
    const unsigned self_, part_;
    const bool leads_;        // the first of its part
    const bool by_messages_;  // between parts
    TableGroup *const here_, *const between_;
    const std::vector<unsigned> leaders_;   // by part: the rank of its first
    const std::vector<nhi::PeerId> peers_;  // by rank
    std::vector<unsigned> speakers_;        // by part, in this collective
    bool is_lost_ = false;  // see form()
    unsigned lost_ = FCI_ICL_NO_RANK;
    unsigned root_part_ = 0;                  // where that is not its first
    unsigned speaker_ = 0;                    // of this part: its place there
    Phase phase_ = Phase::none;
    std::uint64_t number_ = 0;  // of the collective
    std::uint64_t longest_ = Entry::kLong;
    Hinting hinting_;
    Exchange exchange_;  // also where there are no messages: it has what is on its way
};

}  // namespace fci::group
