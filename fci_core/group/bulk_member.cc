#include "fci_core/group/bulk_member.h"

#include <algorithm>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/group/note.h"

namespace fci::group {

void BulkMember::begin(nhi::PeerId root, std::uint64_t number, std::uint64_t match,
                       std::span<std::byte> data) {
    FCI_ASSERT(!is_busy() && number >= number_ && !data.empty() && data.size() <= UINT32_MAX);
    have_.assign((data.size() + kPiece - 1) / kPiece, false);
    root_ = root;
    number_ = number;
    match_ = match;
    data_ = data;
    left_ = pieces();
    first_left_ = heard_ = heard_before_ = looked_ = told_ = 0;
    was_lost_ = pulls_ = false;
    be_patient();
    (void)hints_.expect(name_, number_, data_);
}

void BulkMember::be_patient() noexcept {
    news_at_ = messages_.engine().device.now();
    patience_ = kPatienceFirst;
    was_late_ = false;
    Wait::begin(news_at_);
}

int BulkMember::advance() {
    has_news_ = false;
    // Only who has met a process hears of its death.
    was_lost_ = was_lost_ || messages_.meetings().connected(root_) == nullptr ||
                messages_.engine().peers.is_lost(root_);
    for (Ask& one : asks_) tell_of(one);
    if (was_lost_ || left_ == 0) {
        if (is_busy()) return FCI_ICL_EAGAIN;
        if (!was_lost_) tell(data_.size(), 0);
        end();
        return left_ == 0 ? FCI_ICL_DONE : FCI_ICL_EPEER;
    }
    ask_for_gaps();
    while (first_left_ < pieces() && have_[first_left_]) ++first_left_;
    const std::size_t step = std::max<std::size_t>(hints_.window() / 2 / kPiece, 1);
    if (first_left_ >= told_ + step) {
        tell(first_left_ * kPiece, 0);
        told_ = first_left_;
    }
    ask_for_rest(messages_.engine().device.now());
    return FCI_ICL_EAGAIN;
}

void BulkMember::end() noexcept {
    hints_.withdraw(name_, number_);
    data_ = {};
}

void BulkMember::take(std::size_t piece) noexcept {
    if (have_[piece]) return;
    have_[piece] = true;
    --left_;
}

/// A piece is here as a whole, or not at all: what was asked for is written by its message.
void BulkMember::arrived(const nhi::Hint& hint, std::size_t bytes) noexcept {
    const std::size_t piece = hint.offset / kPiece;
    const bool is_piece = hint.number == number_ && hint.total == data_.size() &&
                          hint.offset % kPiece == 0 && piece < pieces() &&
                          bytes == std::min(kPiece, data_.size() - hint.offset);
    if (!is_piece) return;
    take(piece);
    heard_ = std::max(heard_, piece + 1);
    has_news_ = true;
    patience_ = kPatienceFirst;
    news_at_ = 0;  // since the next turn
    was_late_ = false;
}

void BulkMember::tell(std::size_t at, std::size_t wanted) {
    Note note{};
    note.key = key_;
    note.said = {number_, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(wanted),
                 heard_ != 0, 0};
    group::tell(messages_, root_, note);
}

/// There is room for one more. The receive first, so that what comes finds it.
void BulkMember::ask(std::size_t first, std::size_t count) {
    Ask& one = *std::find_if(asks_.begin(), asks_.end(), [](auto& it) { return !it.is_open; });
    const std::size_t at = first * kPiece, bytes = std::min(count * kPiece, data_.size() - at);
    const iovec to{data_.data() + at, bytes};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        Ask& done = *static_cast<Ask*>(user);
                                        done.outcome = *status;
                                        done.of->end(done);
                                    },
                                    &one, nullptr};
    one.of = this;
    one.first = first;
    one.count = count;
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
    const std::size_t at = ask.first * kPiece;
    tell(at, std::min(ask.count * kPiece, data_.size() - at));
    ask.is_told = true;
    ++messages_.engine().counters.hints_lacked;
}

void BulkMember::end(Ask& ask) noexcept {
    FCI_ASSERT(ask.is_open);
    ask.is_open = false;
    --asked_;
    has_news_ = true;
    if (ask.outcome.error != FCI_ICL_OK || (ask.outcome.flags & mp::kSendImmediate) != 0) {
        was_lost_ = true;
        return;
    }
    const std::size_t at = ask.first * kPiece, got = ask.outcome.received;
    const std::size_t count =
        at + got == data_.size() ? pieces() - ask.first : got / kPiece;
    for (std::size_t i = 0; i < std::min(count, ask.count); ++i) take(ask.first + i);
    // Where nothing comes by hints the next part is asked for at once.
    pulls_ = count != 0 && heard_ == 0;
    patience_ = count != 0 ? kPatienceFirst : std::min(2 * patience_, kPatienceLast);
    news_at_ = 0;
    was_late_ = false;
}

/// What has not come though later pieces had come before the last turn: whatever was on its way
/// then has been read meanwhile. Each is asked for once.
void BulkMember::ask_for_gaps() {
    while (looked_ < heard_before_ && asked_ < kAsksMost) {
        if (have_[looked_]) {
            ++looked_;
            continue;
        }
        std::size_t end = looked_;
        while (end < heard_before_ && !have_[end]) ++end;
        const std::size_t first = std::exchange(looked_, end);
        ask(first, end - first);
    }
    heard_before_ = heard_;
}

/// After some time in which nothing has come; that is known for sure at the second look only, as
/// this process may not have had a core.
void BulkMember::ask_for_rest(Nanoseconds now) {
    if (news_at_ == 0) news_at_ = now;
    if (is_busy() || left_ == 0) return;
    if (!pulls_) {
        const bool is_late = now - news_at_ >= patience_;
        if (!std::exchange(was_late_, is_late) || !is_late) return;
    }
    std::size_t first = first_left_;
    while (have_[first]) ++first;
    std::size_t end = first;
    while (end < pieces() && !have_[end] && end - first < kPullMost / kPiece) ++end;
    looked_ = std::max(looked_, end);  // what of that comes by a hint all the same is no gap
    ask(first, end - first);
}

void BulkMember::give_up() noexcept {
    hints_.withdraw(name_, number_);
    for (Ask& one : asks_) {
        if (one.is_open) (void)messages_.cancel(one.receive);
    }
}

}  // namespace fci::group
