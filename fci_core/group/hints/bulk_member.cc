// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/bulk_member.h"

#include <algorithm>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/notes.h"

namespace fci::group {

void BulkMember::begin(nhi::PeerId root, std::uint64_t number, std::uint64_t match,
                       std::span<std::byte> data) {
    FCI_ASSERT(!is_busy() && number >= number_ && !data.empty() && data.size() <= UINT32_MAX);
    pieces_.begin(data.size());
    root_ = root;
    number_ = number;
    match_ = match;
    data_ = data;
    told_ = 0;
    was_lost_ = false;
    (void)hints_.expect(name_, number_, data_);
}

void BulkMember::be_patient(std::size_t window) noexcept {
    window_ = window;
    pulls_ = number_ <= deaf_.until;
    news_at_ = now();
    patience_ = kPatienceFirst;
    was_late_ = false;
    Wait::begin(news_at_);
}

bool BulkMember::advance() {
    has_news_ = false;
    // A process hears of the death of those that it has met.
    was_lost_ = was_lost_ || messages_.meetings().connected(root_) == nullptr ||
                messages_.engine().peers.is_lost(root_);
    for (Ask& one : asks_) tell_of(one);
    if (was_lost_ || pieces_.left() == 0) {
        if (is_busy()) return false;
        if (!was_lost_) report(data_.size(), 0);
        deaf_.unheard = pieces_.has_heard() ? 0 : deaf_.unheard + 1;
        if (deaf_.unheard == 0) deaf_.until = 0;
        if (deaf_.unheard > 1 && deaf_.until < number_) deaf_.until = number_ + kDeafFor;
        end();
        return true;
    }
    ask_for_gaps();
    // Only while the root may have to wait for it.
    const std::size_t here = pieces_.first_bytes();
    if (here > told_ + window_ / 2 && data_.size() > told_ + window_) {
        report(here, 0);
        told_ = here;
    }
    ask_for_rest();
    return false;
}

void BulkMember::end() noexcept {
    hints_.withdraw(name_, number_);
    data_ = {};
}

/// A piece is here as a whole, or not at all: what was asked for is written by its message.
void BulkMember::arrived(const nhi::Hint& hint, std::size_t bytes) noexcept {
    if (hint.number != number_ || hint.total != data_.size()) return;
    if (!pieces_.hear(hint.offset, bytes)) return;
    has_news_ = true;
    patience_ = kPatienceFirst;
    news_at_ = 0;  // since the next turn
}

void BulkMember::report(std::size_t at, std::size_t wanted) {
    const LongProgress progress{key_, number_, static_cast<std::uint32_t>(at),
                                static_cast<std::uint32_t>(wanted), pieces_.heard_bytes()};
    send_note(messages_, root_, progress);
}

/// There is room for one more. The receive first, so that what comes finds it.
void BulkMember::ask(const Pieces::Range& what) {
    FCI_ASSERT(asked_ < kAsksMost && what.at + what.bytes <= data_.size());
    Ask& one = *std::find_if(asks_.begin(), asks_.end(), [](auto& it) { return !it.is_open; });
    const iovec to{data_.data() + what.at, what.bytes};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        Ask& done = *static_cast<Ask*>(user);
                                        done.outcome = *status;
                                        done.of->end(done);
                                    },
                                    &one, nullptr};
    one.of = this;
    one.what = what;
    const int answer = messages_.receive({root_, mp::kGroupSpace, match_, 0}, {&to, 1}, completion,
                                         &one.receive, &one.outcome);
    one.is_open = true;
    one.is_told = false;
    ++asked_;
    if (answer == mp::kAccepted) return tell_of(one);
    if (answer < 0) one.outcome.error = answer;
    end(one);  // that the root has gone
}

void BulkMember::tell_of(Ask& ask) {
    if (!ask.is_open || ask.is_told || was_lost_) return;
    report(ask.what.at, ask.what.bytes);
    ask.is_told = true;
    ++messages_.engine().counters.hints_lacked;
    messages_.engine().begin_in_wait();
}

void BulkMember::end(Ask& ask) noexcept {
    FCI_ASSERT(ask.is_open && asked_ != 0);
    ask.is_open = false;
    --asked_;
    has_news_ = true;
    if (ask.outcome.error != FCI_ICL_OK || (ask.outcome.flags & mp::kSendImmediate) != 0) {
        was_lost_ = true;
        return;
    }
    const std::size_t got = ask.outcome.received;
    FCI_ASSERT(got <= ask.what.bytes);
    pieces_.take(ask.what.at, got);
    pulls_ = got != 0 && !pieces_.has_heard();
    patience_ = got != 0 ? kPatienceFirst : std::min(2 * patience_, kPatienceLast);
    news_at_ = 0;
}

/// There may be turns in which nobody looks for hints.
void BulkMember::ask_for_gaps() {
    if (!pieces_.begin_turn(hints_.looks())) return;
    while (asked_ < kAsksMost) {
        const auto gap = pieces_.next_gap();
        if (!gap) break;
        ask(*gap);
    }
    pieces_.end_turn();
}

/// After some time in which nothing has come; that is known for sure at the second look only, as
/// this process may not have had a core.
void BulkMember::ask_for_rest() {
    const Nanoseconds at = now();
    if (news_at_ == 0) news_at_ = at;
    if (is_busy() || pieces_.left() == 0) return;
    if (!pulls_) {
        const bool is_late = at - news_at_ >= patience_;
        if (!std::exchange(was_late_, is_late) || !is_late) return;
    }
    ask(pieces_.rest(kPullMost));
}

void BulkMember::give_up() noexcept {
    hints_.withdraw(name_, number_);
    for (Ask& one : asks_) {
        if (one.is_open) (void)messages_.cancel(one.receive);
    }
}

}  // namespace fci::group
