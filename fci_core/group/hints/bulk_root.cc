// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/bulk_root.h"

#include <algorithm>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/send_nothing.h"

namespace fci::group {

namespace {

/// The member takes no part. No other messages of this broadcast come here.
bool take_refusal(mp::MessagePassing& messages, nhi::PeerId member, std::uint64_t match) {
    const mp::Pattern refusal{member, mp::kGroupSpace, match, 0};
    if (messages.probe(refusal, nullptr, nullptr) != mp::kSuccess) return false;
    mp::Outcome outcome{};
    (void)messages.receive(refusal, {}, {}, nullptr, &outcome);
    return true;
}

}  // namespace

void BulkRoot::begin(std::uint64_t number, std::uint64_t match, std::span<const std::byte> data) {
    FCI_ASSERT(!is_busy() && number > number_ && data.size() <= UINT32_MAX);
    number_ = number;
    match_ = match;
    data_ = data;
    sent_ = losses_.unheard = 0;
    was_sent_ = was_shut_ = false;
    std::erase_if(wanted_, [&](const Wanted& one) { return one.number != number_; });
    has_lost_ = false;
    for (Member& member : members_) {
        member.had = 0;
        member.is_over = &member == &members_[self_];
    }
    window_ = std::max(hints_.window(), nhi::Hints::kMost);
    Wait::begin(messages_.engine().device.now());
}

bool BulkRoot::advance() {
    has_news_ = has_no_room_ = false;
    look_for_lost();
    answer();
    leave_behind();
    send_hints();
    const bool is_over =
        std::all_of(members_.begin(), members_.end(), [](const Member& it) { return it.is_over; });
    if (!is_over || is_busy()) return false;
    judge();
    data_ = {};
    return true;
}

/// Down a tree of 8 hosts the root sends the data three times; what is unheard it sends again.
void BulkRoot::judge() noexcept {
    const auto times = static_cast<unsigned>(std::bit_width(members_.size() - 1));
    FCI_ASSERT(times != 0);  // a message is a hint where there are two hosts
    const bool is_too_much = losses_.unheard * 3 >= data_.size() * times;
    losses_.lossy = losses_.lossy << 1 | (is_too_much ? 1u : 0u);
}

/// It looks for members that have gone, and first for those that take no part, which may have gone
/// since. A process hears only of the death of one that it has met.
void BulkRoot::look_for_lost() {
    for (Member& member : members_) {
        // Also of one that is through: what it says now would keep this process awake.
        const bool refuses =
            &member != &members_[self_] && take_refusal(messages_, member.peer, match_);
        member.is_over = member.is_over || refuses;
        if (member.is_over) continue;
        if (messages_.meetings().connected(member.peer) != nullptr &&
            !messages_.engine().peers.is_lost(member.peer)) {
            continue;
        }
        member.is_over = true;
        if (std::exchange(has_lost_, true)) continue;
        lost_ = static_cast<unsigned>(&member - members_.data());
    }
}

void BulkRoot::on_progress(nhi::PeerId source, const LongProgress& note) {
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [&](const Member& it) { return it.peer == source; });
    if (found == members_.end() || note.number < number_) return;
    has_news_ = true;
    const bool is_now = note.number == number_ && !found->is_over;
    if (note.wanted != 0) {
        wanted_.push_back({note.number, static_cast<unsigned>(found - members_.begin()), note.at,
                           note.wanted});
    } else if (is_now && note.at <= data_.size()) {
        found->had = std::max(found->had, note.at);
        found->is_over = found->had == data_.size();
        const bool was_late = found->behind_until == number_;
        if (found->is_over && !was_late && note.heard < data_.size()) {
            losses_.unheard += data_.size() - note.heard;
        }
    }
    if (!is_now) return;
    if (note.heard != 0) found->unheard = 0;
    const bool is_unheard = note.wanted != 0 && note.heard == 0 && was_sent_ &&
                            messages_.engine().device.now() - sent_at_.first >= kUnheardMost;
    if (is_unheard && ++found->unheard > 1) found->behind_until = number_ + kBehindFor;
}

/// A member that is through may ask for the next broadcast already.
std::vector<BulkRoot::Wanted>::iterator BulkRoot::next_wanted(std::uint64_t number) noexcept {
    return std::find_if(wanted_.begin(), wanted_.end(),
                        [&](const Wanted& one) { return one.number == number; });
}

void BulkRoot::answer() {
    for (auto one = next_wanted(number_); one != wanted_.end(); one = next_wanted(number_)) {
        answer(*one);
        wanted_.erase(one);
    }
}

void BulkRoot::refuse(std::uint64_t number, std::uint64_t match) {
    for (auto one = next_wanted(number); one != wanted_.end(); one = next_wanted(number)) {
        send_nothing(messages_, members_[one->host].peer, match);
        wanted_.erase(one);
    }
}

/// By one message. Data that have not gone by hints yet may come by them, where they are heard.
void BulkRoot::answer(const Wanted& one) {
    Member& member = members_[one.host];
    if (member.is_over) return;
    const std::size_t end = is_behind(member) ? data_.size() : sent_;
    const std::size_t at = std::min<std::size_t>(one.at, end);
    const iovec part{const_cast<std::byte*>(data_.data() + at),
                     std::min<std::size_t>(one.bytes, end - at)};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status*) {
                                        auto& own = *static_cast<BulkRoot*>(user);
                                        FCI_ASSERT(own.sending_ != 0);
                                        --own.sending_;
                                        own.has_news_ = true;
                                    },
                                    this, nullptr};
    const int answer = messages_.send(
        {member.peer, mp::kGroupSpace, 0, match_, 0, {&part, part.iov_len != 0 ? 1u : 0u}},
        completion, nullptr);
    sending_ += answer == mp::kAccepted;
    messages_.engine().counters.hints_repaired += part.iov_len;
}

/// Leaves members behind, in this broadcast, for which the others have waited for long. Not before
/// the second look, as it may have been this process that had no core.
void BulkRoot::leave_behind() noexcept {
    const bool is_shut = sent_ < data_.size() && sent_ >= window_end() &&
                         messages_.engine().device.now() - sent_at_.last >= kShutMost;
    if (!std::exchange(was_shut_, is_shut) || !is_shut) return;
    const std::size_t end = window_end();
    for (Member& member : members_) {
        if (!member.is_over && !is_behind(member) && member.had + window_ <= end) {
            member.behind_until = number_;
        }
    }
}

/// Of all that hints wait for; where they wait for nobody, none are sent.
std::size_t BulkRoot::window_end() const noexcept {
    std::size_t least = SIZE_MAX;
    for (const Member& member : members_) {
        if (!member.is_over && !is_behind(member)) {
            least = std::min<std::size_t>(least, member.had);
        }
    }
    return least == SIZE_MAX ? data_.size() : least + window_;
}

void BulkRoot::send_hints() {
    const bool somebody_hears = std::any_of(members_.begin(), members_.end(), [&](auto& member) {
        return !member.is_over && !is_behind(member);
    });
    if (!somebody_hears) sent_ = data_.size();
    while (may_send()) {
        const auto part = data_.subspan(sent_, std::min(data_.size() - sent_, nhi::Hints::kMost));
        const Status status = hints_.hint({name_, number_, static_cast<std::uint32_t>(sent_),
                                           static_cast<std::uint32_t>(data_.size()), 0},
                                          part);
        if (status == Status::again) {
            has_no_room_ = true;
            return;
        }
        sent_at_.last = messages_.engine().device.now();
        if (!std::exchange(was_sent_, true)) sent_at_.first = sent_at_.last;
        sent_ += part.size();  // also what nobody hears: it is asked for
    }
}

}  // namespace fci::group
