// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/run.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/result.h"

namespace fci::group {

namespace {

bool goes_on(int answer) noexcept { return answer == FCI_ICL_EAGAIN; }

/// False: it goes on. Else the share has what the table answered.
bool settle(int answer, std::size_t length, unsigned lost, Share& share) noexcept {
    if (goes_on(answer)) return false;
    // Another member wrote the length: it may be anything.
    if (answer == FCI_ICL_DONE && length > Entry::kLong) answer = FCI_ICL_ETRUNC;
    if (answer == FCI_ICL_DONE) {
        share.set_length(length);
    } else {
        share.fail(answer, answer == FCI_ICL_EPEER ? lost : std::min(length, Entry::kLong));
    }
    return true;
}

/// A table takes a length, or why there are no data.
struct Told {
    explicit Told(Share& share) noexcept : gone(share.lost()), data(share.data()) {
        if (share.is_good()) {
            length = share.length();
        } else if (share.code() == FCI_ICL_EPEER) {
            length = Entry::kNobody;
            data = &gone;
        }
    }
    Told(const Told&) = delete;
    Told& operator=(const Told&) = delete;

    unsigned gone;
    void* data;
    std::size_t length = Entry::kNoLength;
};

}  // namespace

Run::Run(mp::MessagePassing& messages, std::uint64_t key, Levels levels, Hinting hinting)
    : levels_(std::move(levels)),
      hinting_(std::move(hinting)),
      messenger_(messages, key, share_),
      exchange_(messenger_, share_),
      chain_(messages, key, messenger_, share_),
      leaders_(levels_.first) {}

// --- the one loop ---

Way Run::way() const noexcept {
    if (!hinting_.works()) return Way::plain;
    if (hinting_.is_unsure()) return Way::is_unsure;
    return hinting_.by_tree() ? Way::by_tree : Way::by_chain;
}

void Run::begin(Flow flow, const Collective& it, bool has_table) noexcept {
    FCI_ASSERT(!goes_on_ && !is_busy());
    const Parts& parts = levels_.parts;
    const bool has_root = flow == Flow::to_root || flow == Flow::from_root;
    ++number_;
    leaders_[root_part_] = levels_.first[root_part_];
    if (has_root) root_part_ = parts.of[it.root];
    const bool is_root = has_root && it.root == levels_.self;
    const bool root_is_first = has_root && parts.place[it.root] == 0;
    plan_ = Plan::of(flow, {parts.count(), levels_.part, root_part_, root_is_first,
                            levels_.is_first(), is_root, has_table, levels_.by_messages, is_lost_,
                            way()});
    if (!plan_.first_leads) leaders_[root_part_] = it.root;
    const bool is_of_root = has_root && root_part_ == levels_.part;
    source_ = is_of_root ? parts.place[it.root] : 0;
    if (plan_.has_trailer) hinting_.begin();
    at_ = 0;
    goes_on_ = true;
    has_begun_ = false;
    messenger_.begin(number_);
    const bool brings = plan_.leads && (flow == Flow::from_root ? is_root : !has_table);
    share_.begin(brings || flow == Flow::forming ? it.bytes : 0);
    const void* const own = flow == Flow::from_root ? it.data : it.own;
    if (share_.length() != 0) std::memcpy(share_.data(), own, share_.length());
    if (plan_.ignores_input) share_.fail(FCI_ICL_EPEER, lost_);
}

int Run::go_on(Collective& it, unsigned looks) noexcept {
    try {
        while (at_ < plan_.count && advance(plan_.stages[at_], it, looks)) {
            ++at_;
            has_begun_ = false;
        }
        if (at_ == plan_.count) return end(it);
    } catch (const std::bad_alloc&) {  // there may be memory again
    }
    return FCI_ICL_EAGAIN;
}

bool Run::advance(Stage stage, Collective& it, unsigned looks) {
    switch (stage) {
        case Stage::up: return up(it, looks);
        case Stage::hand: return hand(it, looks);
        case Stage::across: return across(it);
        case Stage::between: return between(it, looks);
        case Stage::chain: return chain();
        case Stage::down: break;
    }
    return plan_.leads ? send_down(looks) : receive_down(it, looks);
}

/// Gives the caller what it is to have.
int Run::end(Collective& it) {
    const bool is_broadcast = plan_.flow == Flow::from_root;
    if (is_lost_ && is_broadcast && levels_.is_first() && root_part_ != levels_.part) {
        const unsigned leader = levels_.first[root_part_];
        // With hints it is the first member that sends, and it waits until its message is taken.
        if (leader != it.root) messenger_.discard(levels_.peers[leader]);
        hinting_.refuse_long(levels_.peers[leader], number_);
    }
    goes_on_ = false;
    if (levels_.by_messages) ++messenger_.engine().counters.host_collectives;
    if (share_.code() == FCI_ICL_EPEER) lost_ = share_.lost();
    FCI_ASSERT(!is_busy());
    const std::size_t room = it.bytes, length = share_.length();
    const bool is_root = it.root == levels_.self;
    if (plan_.flow == Flow::to_root && !plan_.leads) return share_.code();
    it.bytes = length;
    if (!plan_.leads && !is_broadcast && share_.is_good() && length != room) return FCI_ICL_ETRUNC;
    const bool is_told = plan_.flow == Flow::to_root ? is_root : !is_broadcast || !is_root;
    const bool takes = plan_.leads && is_told;
    const bool fits = share_.is_good() && length <= room;
    if (takes && fits && length != 0) std::memcpy(it.data, share_.data(), length);
    return share_.code();
}

progress::Wait* Run::waiting() noexcept {
    if (!goes_on_ || at_ == plan_.count) return wait_of(levels_.here);
    switch (plan_.stages[at_]) {
        case Stage::across:
            return exchange_.only_receives() && !hinting_.works() ? nullptr : &exchange_;
        case Stage::chain: return &chain_;
        case Stage::between: return wait_of(levels_.between);
        default: return wait_of(levels_.here);
    }
}

// --- stages ---

bool Run::up(Collective& it, unsigned looks) noexcept {
    std::size_t length = it.bytes;
    TableGroup& here = *levels_.here;
    const int answer =
        here.reduce(source_, it.own, share_.data(), &length, it.reduction, looks);
    return settle(answer, length, levels_.lost_in(here), share_);
}

bool Run::across(const Collective& it) {
    FCI_ASSERT(plan_.leads);
    if (!std::exchange(has_begun_, true)) {
        const bool is_source = plan_.flow == Flow::from_root && root_part_ == levels_.part;
        if (plan_.has_trailer && is_source && share_.is_good()) hinting_.send(share_);
        exchange_.begin(plan_.steps, levels_.part, plan_.ignores_input);
    }
    if (!exchange_.advance(leaders_.data(), levels_.peers.data(), it.reduction)) return false;
    end_across();
    return true;
}

bool Run::chain() {
    if (!std::exchange(has_begun_, true)) {
        FCI_ASSERT(plan_.leads && plan_.has_trailer);
        const unsigned hosts = levels_.parts.count();
        const unsigned before = Steps::before(hosts, levels_.part);
        const unsigned next = Steps::next(hosts, levels_.part);
        Chain::Link link{};
        if (root_part_ != levels_.part) {
            link.rank_before = levels_.first[before];
            link.before = levels_.peers[link.rank_before];
        } else if (share_.is_good()) {
            hinting_.send(share_);
        }
        if (next != root_part_) link.next = levels_.peers[levels_.first[next]];
        chain_.begin(hinting_.slots(), hinting_.number(), link);
    }
    if (!chain_.advance()) return false;
    end_across();
    return true;
}

void Run::end_across() noexcept {
    if (plan_.has_trailer) {
        const bool is_last = Steps::next(levels_.parts.count(), levels_.part) == root_part_;
        hinting_.end(share_, is_last ? levels_.peers[levels_.first[root_part_]] : nhi::kNoPeer);
    }
    // Another process wrote what has come, and no table would take so much.
    if (share_.length() > longest_) share_.fail(FCI_ICL_ETRUNC, share_.length());
}

/// In the table of leaders. One that lacks something says that there.
bool Run::between(const Collective& it, unsigned looks) noexcept {
    TableGroup& leaders = *levels_.between;
    Told told(share_);
    std::size_t length = told.length;
    const int answer = leaders.reduce(TableGroup::kAll, told.data, share_.data(), &length,
                                      it.reduction, looks);
    if (answer == FCI_ICL_ETRUNC && length == Entry::kNobody) {
        share_.fail(FCI_ICL_EPEER, leaders.lost());
        return true;
    }
    return settle(answer, length, levels_.lost_in(leaders), share_);
}

/// To the members of this part, from a root that does not lead it.
bool Run::hand(Collective& it, unsigned looks) noexcept {
    const std::size_t room = it.bytes;
    if (!receive_down(it, looks)) return false;
    if (!plan_.leads) return true;
    if (plan_.ignores_input) share_.fail(FCI_ICL_EPEER, lost_);
    if (!share_.is_good()) return true;
    if (share_.length() > room) {
        share_.fail(FCI_ICL_ETRUNC, share_.length());  // it is not here, so it does not go on
    } else if (share_.length() != 0) {
        std::memcpy(share_.data(), it.data, share_.length());
    }
    return true;
}

bool Run::send_down(unsigned looks) noexcept {
    Told told(share_);
    std::size_t length = told.length;
    const int answer = levels_.here->broadcast(source_, told.data, &length, looks);
    if (goes_on(answer)) return false;
    if (answer != FCI_ICL_DONE) share_.fail(answer, levels_.lost_in(*levels_.here));
    return true;
}

/// The word of the source counts more than what this member has seen before. Data go to the
/// caller's memory at once.
bool Run::receive_down(Collective& it, unsigned looks) noexcept {
    TableGroup& here = *levels_.here;
    std::size_t length = it.bytes;
    const int answer = here.broadcast(source_, it.data, &length, looks);
    if (goes_on(answer)) return false;
    share_.begin(0);
    if (answer == FCI_ICL_DONE && length >= Entry::kNobody) {
        const bool is_gone = length == Entry::kNobody;
        share_.fail(is_gone ? FCI_ICL_EPEER : FCI_ICL_ETRUNC, is_gone ? here.lost() : 0);
        return true;
    }
    return settle(answer, length, levels_.lost_in(here), share_);
}

// --- calls ---

int Run::call(Collective& it, unsigned looks) noexcept {
    if (!goes_on_) {
        const bool is_broadcast = it.kind == FCI_ICL_BROADCAST;
        begin(is_broadcast                     ? Flow::from_root
              : it.root == TableGroup::kAll    ? Flow::to_all
                                               : Flow::to_root,
              it, levels_.here != nullptr);
    }
    return go_on(it, looks);
}

void Run::combine_formed(void*, const void* in, void* inout) {
    const auto& other = *static_cast<const Formed*>(in);
    auto& both = *static_cast<Formed*>(inout);
    both.longest = std::min(both.longest, other.longest);
    if (other.hints.brief.name > both.hints.brief.name) both.hints = other.hints;
}

int Run::form(int formed, unsigned looks) noexcept {
    Collective it{};
    it.root = TableGroup::kAll;
    it.own = it.data = &formed_;
    it.bytes = sizeof formed_;
    it.reduction = {combine_formed, nullptr};
    if (!goes_on_) {
        const bool has_table = levels_.here != nullptr && formed == FCI_ICL_DONE;
        is_lost_ = formed == FCI_ICL_EPEER;
        if (is_lost_) lost_ = levels_.lost_in(*levels_.here);
        formed_.longest = has_table ? levels_.here->table().longest() : Entry::kLong;
        if (levels_.is_first()) formed_.hints = hinting_.offer(levels_.part == 0);
        begin(Flow::forming, it, has_table);
        if (formed != FCI_ICL_DONE && !is_lost_) share_.fail(FCI_ICL_EUNREACHABLE, 0);
    }
    const int answer = go_on(it, looks);
    if (goes_on_) return answer;
    is_lost_ = answer == FCI_ICL_EPEER;
    if (answer == FCI_ICL_DONE) {
        longest_ = formed_.longest;
        hinting_.open(formed_.hints, levels_.is_first(), levels_.part);
    }
    return answer == FCI_ICL_ETRUNC ? FCI_ICL_EUNREACHABLE : answer;
}

}  // namespace fci::group
