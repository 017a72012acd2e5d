// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/levels.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/result.h"

namespace fci::group {

namespace {

/// What each part brings to the forming of a group.
struct Formed {
    std::uint64_t longest;
    HintOffer hints;
};
static_assert(sizeof(Formed) <= Entry::kShort, "it fits into each table");
constexpr Reduction kFormed{[](void*, const void* in, void* inout) {
                                const auto& other = *static_cast<const Formed*>(in);
                                auto& both = *static_cast<Formed*>(inout);
                                both.longest = std::min(both.longest, other.longest);
                                if (other.hints.brief.name > both.hints.brief.name) {
                                    both.hints = other.hints;
                                }
                            },
                            nullptr};

constexpr Reduction kNothing{[](void*, const void*, void*) {}, nullptr};

std::vector<unsigned> leaders_of(const Parts& parts) {
    std::vector<unsigned> leaders;
    for (const auto& ranks : parts.ranks) leaders.push_back(ranks.front());
    return leaders;
}

}  // namespace

Levels::Levels(mp::MessagePassing& messages, const Members& members, Parts parts,
               bool by_messages, TableGroup* here, TableGroup* between, Hinting hinting)
    : messages_(messages),
      parts_(std::move(parts)),
      self_(members.self),
      part_(parts_.of[members.self]),
      leads_(parts_.place[members.self] == 0),
      by_messages_(by_messages),
      here_(here),
      between_(between),
      leaders_(leaders_of(parts_)),
      peers_(members.peers),
      speakers_(leaders_),
      hinting_(std::move(hinting)),
      exchange_(messages, members.key) {
    FCI_ASSERT(parts_.count() > 1 && (here == nullptr) == (parts_.ranks[part_].size() == 1));
}

// --- parts of a collective ---

/// `root` speaks for its part, or, where there is none, the first of each.
void Levels::begin(unsigned root) noexcept {
    FCI_ASSERT(phase_ == Phase::none && (root == TableGroup::kAll || root < parts_.of.size()));
    ++number_;
    speaker_ = 0;
    speakers_[root_part_] = leaders_[root_part_];
    if (root == TableGroup::kAll) return;
    root_part_ = parts_.of[root];
    speakers_[root_part_] = root;
    if (root_part_ == part_) speaker_ = parts_.place[root];
}

int Levels::end(int answer) noexcept {
    FCI_ASSERT(!exchange_.is_busy());
    if (answer == FCI_ICL_EPEER && speaks() && !is_lost_) lost_ = exchange_.lost();
    if (by_messages_) ++messages_.engine().counters.host_collectives;
    phase_ = Phase::none;
    return answer;
}

/// Of who has this place in that table.
unsigned Levels::rank_of(const TableGroup& part, unsigned place) const noexcept {
    FCI_ASSERT(&part == here_ || &part == between_);
    if (place >= part.members().size()) return FCI_ICL_NO_RANK;
    return &part == between_ ? leaders_[place] : parts_.ranks[part_][place];
}

int Levels::lose(unsigned rank) noexcept {
    lost_ = rank;
    return FCI_ICL_EPEER;
}

/// What all of this part bring, combined, to the speaker. *bytes: likewise.
int Levels::bring(const void* own, std::size_t* bytes, const Reduction& reduction,
                  unsigned looks) noexcept {
    if (is_lost_) return FCI_ICL_EPEER;
    if (here_ != nullptr) {
        const int answer =
            here_->reduce(speaker_, own, exchange_.data(), bytes, reduction, looks);
        return answer == FCI_ICL_EPEER ? lose(rank_of(*here_, here_->lost())) : answer;
    }
    if (*bytes != 0) std::memcpy(exchange_.data(), own, *bytes);
    return FCI_ICL_DONE;
}

void Levels::begin_across(const Steps& steps, std::size_t bytes, int code, bool deaf) noexcept {
    // What another one says of its data may be anything.
    const std::size_t why = code == FCI_ICL_EPEER ? lost_ : std::min(bytes, Entry::kLong);
    exchange_.begin(steps, part_, number_, why, code, deaf || is_lost_);
    phase_ = Phase::across;
}

/// What a table is told of what there is here.
std::size_t Levels::length_or_lack() const noexcept {
    if (exchange_.code() == FCI_ICL_DONE) return exchange_.length();
    return exchange_.code() == FCI_ICL_EPEER ? Entry::kNobody : Entry::kNoLength;
}

/// In the table of those who speak. One who has nothing to bring says that there.
bool Levels::meet_between(const Reduction& reduction, unsigned looks) noexcept {
    FCI_ASSERT(between_ != nullptr && speaks());
    std::size_t length = length_or_lack();
    unsigned gone = exchange_.lost();
    void* const share = length == Entry::kNobody ? static_cast<void*>(&gone) : exchange_.data();
    const int answer =
        between_->reduce(TableGroup::kAll, share, exchange_.data(), &length, reduction, looks);
    if (answer == FCI_ICL_EAGAIN) return false;
    if (answer == FCI_ICL_EPEER) {
        exchange_.fail(answer, rank_of(*between_, between_->lost()));
    } else if (answer == FCI_ICL_ETRUNC && length == Entry::kNobody) {
        exchange_.fail(FCI_ICL_EPEER, between_->lost());
    } else if (answer != FCI_ICL_DONE) {
        exchange_.fail(answer, length);
    }
    return true;
}

/// Whether it is across, or need not go there.
bool Levels::go_across(const Reduction& reduction, unsigned looks) noexcept try {
    if (phase_ != Phase::across) return true;
    const bool is_across =
        by_messages_ ? exchange_.advance(speakers_.data(), peers_.data(), reduction) == FCI_ICL_DONE
                     : meet_between(reduction, looks);
    if (!is_across) return false;
    // Another one has written what is here, and no table would take so much.
    if (exchange_.length() > longest_) exchange_.fail(FCI_ICL_ETRUNC, exchange_.length());
    phase_ = Phase::down;
    return true;
} catch (const std::bad_alloc&) {  // there may be memory again
    return false;
}

/// What came about, to all of this part.
int Levels::tell(unsigned looks) noexcept {
    FCI_ASSERT(speaks());
    if (here_ == nullptr || is_lost_) return FCI_ICL_DONE;
    std::size_t length = length_or_lack();
    unsigned gone = exchange_.lost();
    void* const told = length == Entry::kNobody ? static_cast<void*>(&gone) : exchange_.data();
    return here_->broadcast(speaker_, told, &length, looks);
}

/// The same, from the speaker. *bytes: what there is room for, and what came.
int Levels::hear(void* data, std::size_t* bytes, unsigned looks) noexcept {
    FCI_ASSERT(here_ != nullptr && !speaks());
    if (is_lost_) return FCI_ICL_EPEER;
    std::size_t length = *bytes;
    const int answer = here_->broadcast(speaker_, data, &length, looks);
    if (answer == FCI_ICL_EPEER) return lose(rank_of(*here_, here_->lost()));
    if (answer != FCI_ICL_DONE) return answer;
    const bool is_there = length < Entry::kNobody;
    *bytes = is_there ? length : 0;
    if (is_there) return FCI_ICL_DONE;
    return length == Entry::kNoLength ? FCI_ICL_ETRUNC : lose(here_->lost());
}

// --- collectives ---

int Levels::form(int formed, unsigned looks) noexcept {
    if (phase_ == Phase::none) {
        begin(TableGroup::kAll);
        is_lost_ = formed == FCI_ICL_EPEER;
        if (is_lost_) lost_ = rank_of(*here_, here_->lost());
        const bool has_table = here_ != nullptr && formed == FCI_ICL_DONE;
        if (has_table) longest_ = here_->table().longest();
        if (formed != FCI_ICL_DONE && !is_lost_) formed = FCI_ICL_EUNREACHABLE;
        if (speaks()) {
            const Formed own{longest_, hinting_.offer(part_ == 0)};
            std::memcpy(exchange_.data(), &own, sizeof own);
            begin_across(Steps::all(parts_.count(), part_), sizeof own, formed);
        } else if (formed == FCI_ICL_EUNREACHABLE) {
            return end(formed);
        } else {
            phase_ = Phase::down;
        }
    }
    if (!go_across(kFormed, looks)) return FCI_ICL_EAGAIN;
    int answer = exchange_.code();
    Formed all{};
    if (!speaks()) {
        std::size_t bytes = sizeof all;
        answer = hear(&all, &bytes, looks);
    } else if (formed == FCI_ICL_DONE) {
        const int told = tell(looks);
        if (told != FCI_ICL_DONE) answer = told;
        std::memcpy(&all, exchange_.data(), sizeof all);
    }
    if (answer == FCI_ICL_EAGAIN) return answer;
    if (answer == FCI_ICL_EPEER && speaks() && !is_lost_) lost_ = exchange_.lost();
    is_lost_ = answer == FCI_ICL_EPEER;
    if (answer == FCI_ICL_DONE) {
        longest_ = all.longest;
        hinting_.open(all.hints, leads_, part_);
    }
    return end(answer == FCI_ICL_ETRUNC ? FCI_ICL_EUNREACHABLE : answer);
}

int Levels::barrier(unsigned looks) noexcept {
    std::size_t none = 0;
    return reduce(TableGroup::kAll, nullptr, nullptr, &none, kNothing, looks);
}

int Levels::reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
                   const Reduction& reduction, unsigned looks) noexcept {
    const bool is_for_all = root == TableGroup::kAll;
    if (phase_ == Phase::none) {
        begin(root);
        phase_ = Phase::up;
    }
    if (phase_ == Phase::up) {
        std::size_t length = *bytes;
        const int came = bring(own, &length, reduction, looks);
        if (came == FCI_ICL_EAGAIN) return came;
        if (speaks()) {
            begin_across(!by_messages_ ? Steps{}
                         : is_for_all  ? Steps::all(parts_.count(), part_)
                                       : Steps::up(parts_.count(), part_, root_part_),
                         length, came);
        } else if (is_for_all) {
            phase_ = Phase::down;  // also who lacks something: the speaker says what became of it
        } else {
            return end(came);
        }
    }
    if (!go_across(reduction, looks)) return FCI_ICL_EAGAIN;
    if (!speaks()) {
        std::size_t length = *bytes;
        const int answer = hear(result, &length, looks);
        if (answer == FCI_ICL_EAGAIN) return answer;
        const bool is_other = std::exchange(*bytes, length) != length;
        return end(answer == FCI_ICL_DONE && is_other ? FCI_ICL_ETRUNC : answer);
    }
    const int told = is_for_all ? tell(looks) : FCI_ICL_DONE;
    if (told != FCI_ICL_DONE) return told == FCI_ICL_EAGAIN ? told : end(told);
    const bool takes = exchange_.code() == FCI_ICL_DONE && (is_for_all || root == self_);
    if (takes && *bytes != 0) std::memcpy(result, exchange_.data(), *bytes);
    *bytes = exchange_.length();
    return end(exchange_.code());
}

int Levels::broadcast(unsigned root, void* data, std::size_t* bytes, unsigned looks) noexcept {
    if (is_lost_) return broadcast_in_vain(root);
    if (hinting_.works()) return broadcast_by_leaders(root, data, bytes, looks);
    if (phase_ == Phase::none) {
        begin(root);
        phase_ = Phase::down;
        if (speaks()) {
            const std::size_t length = root == self_ ? *bytes : 0;
            if (length != 0) std::memcpy(exchange_.data(), data, length);
            begin_across(Steps::down(parts_.count(), part_, root_part_), length, FCI_ICL_DONE);
        }
    }
    if (!go_across(kNothing, looks)) return FCI_ICL_EAGAIN;
    return bring_down(root, data, bytes, looks);
}

/// Of a group that one part of it cannot have. It does not know whether the others have hints, and
/// whether this is a long one.
int Levels::broadcast_in_vain(unsigned root) noexcept try {
    if (phase_ == Phase::none) {
        begin(root);
        if (!speaks() && !leads_) return end(FCI_ICL_EPEER);
        begin_across(Steps::tree_and_chain(parts_.count(), part_, root_part_), 0, FCI_ICL_EPEER);
    }
    if (!go_across(kNothing, 1)) return FCI_ICL_EAGAIN;
    if (leads_ && root_part_ != part_) {
        const nhi::PeerId leader = peers_[leaders_[root_part_]];
        // With hints it is the leader that sends, and it waits until its message is taken.
        if (leaders_[root_part_] != root) exchange_.discard(leader);
        hinting_.refuse_long(leader, number_);
    }
    return end(FCI_ICL_EPEER);
} catch (const std::bad_alloc&) {  // there may be memory again
    return FCI_ICL_EAGAIN;
}

/// A root that does not lead tells its own part first, and is through then.
int Levels::broadcast_by_leaders(unsigned root, void* data, std::size_t* bytes,
                                 unsigned looks) noexcept {
    const std::size_t room = *bytes;
    if (phase_ == Phase::none) {
        begin(root);
        speakers_[root_part_] = leaders_[root_part_];
        if (leads_) hinting_.begin();
        const bool is_roots_part = root_part_ == part_;
        phase_ = is_roots_part && speaker_ != 0 ? Phase::up : Phase::down;
        if (phase_ == Phase::down && leads_) {
            begin_chain(data, is_roots_part ? room : 0, FCI_ICL_DONE);
        }
    }
    if (phase_ == Phase::up) {
        std::size_t length = room;
        int answer = self_ == root ? here_->broadcast(speaker_, data, &length, looks)
                                   : hear(data, &length, looks);
        if (answer == FCI_ICL_EAGAIN) return answer;
        if (!leads_) {
            *bytes = length;
            return end(answer);
        }
        if (answer == FCI_ICL_DONE && length > room) answer = FCI_ICL_ETRUNC;  // nor is it here
        begin_chain(data, length, answer);
    }
    if (phase_ == Phase::across) {
        if (!go_across(kNothing, looks)) {
            const unsigned before = Steps::before(parts_.count(), part_);
            hinting_.ask_if_late(exchange_.early(), peers_[leaders_[before]]);
            return FCI_ICL_EAGAIN;
        }
        const bool is_last = Steps::next(parts_.count(), part_) == root_part_;
        hinting_.end(exchange_, is_last ? peers_[leaders_[root_part_]] : nhi::kNoPeer);
        if (root_part_ == part_ && speaker_ != 0) {
            *bytes = exchange_.length();  // not before: the caller says it again meanwhile
            return end(exchange_.code());
        }
    }
    return bring_down(root, data, bytes, looks);
}

/// From a leader to the others, with hints or without. `code`: why there are no data at the root.
void Levels::begin_chain(const void* data, std::size_t bytes, int code) noexcept {
    const bool is_first = root_part_ == part_;
    const unsigned hosts = parts_.count();
    if (hinting_.is_unsure()) {
        begin_across(Steps::tree_and_chain(hosts, part_, root_part_), 0, FCI_ICL_EPEER, true);
        return;
    }
    begin_across(hinting_.by_tree() ? Steps::down(hosts, part_, root_part_)
                                    : Steps::chain(hosts, part_, root_part_),
                 bytes, code);
    exchange_.listen(hinting_.wait());
    if (!is_first || exchange_.code() != FCI_ICL_DONE) return;
    if (bytes != 0) std::memcpy(exchange_.data(), data, bytes);
    hinting_.tell(exchange_);
}

/// What is here at who speaks for this part, to all of it.
int Levels::bring_down(unsigned root, void* data, std::size_t* bytes, unsigned looks) noexcept {
    if (!speaks()) {
        const int answer = hear(data, bytes, looks);
        return answer == FCI_ICL_EAGAIN ? answer : end(answer);
    }
    const int told = tell(looks);
    if (told != FCI_ICL_DONE) return told == FCI_ICL_EAGAIN ? told : end(told);
    const std::size_t length = exchange_.length();
    const bool fits = exchange_.code() == FCI_ICL_DONE && length <= *bytes;
    if (fits && length != 0 && root != self_) std::memcpy(data, exchange_.data(), length);
    *bytes = length;
    return end(exchange_.code());
}

}  // namespace fci::group
