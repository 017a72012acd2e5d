// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/chain.h"

#include <algorithm>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/notes.h"

namespace fci::group {

static_assert(sizeof(Trailer) == Share::kBehind && HintSlots::kMost == Share::kMost);

void Chain::begin(HintSlots& slots, std::uint64_t number, const Link& link) noexcept {
    FCI_ASSERT(!messenger_.is_busy());
    slots_ = &slots;
    number_ = number;
    link_ = link;
    at_ = link.before == nhi::kNoPeer ? At::next : At::either;
    asks_after_ = kAskFirst;
    Wait::begin(0);
}

bool Chain::is_over() noexcept {
    if (at_ != At::either) return !messenger_.is_busy();
    return slots_->has(number_) || messenger_.has_news(link_.before);
}

/// False: neither the hint nor the message is here.
bool Chain::receive_either() {
    if (slots_->has(number_)) {
        messenger_.discard(link_.before);
        const std::span<const std::byte> hint = slots_->bytes(number_);
        std::memcpy(share_.incoming(), hint.data(), hint.size());
        take(hint.size());
        at_ = At::next;
        return true;
    }
    if (!messenger_.is_here(link_.before) && messenger_.is_alive(link_.before)) {
        ask_if_late();
        return false;
    }
    messenger_.receive(link_.before);
    at_ = At::message;
    return true;
}

/// Asks the leader before for the broadcast: its hint is lost, and its message may linger. A member
/// that has the next hint knows that at once. To ask once is enough, unless the leader that was
/// asked had no memory for the answer.
void Chain::ask_if_late() {
    const Nanoseconds waited = since() == 0 ? 0 : messenger_.engine().device.now() - since();
    const bool is_overtaken = asks_after_ == kAskFirst && slots_->has(number_ + 1);
    if (waited < asks_after_ && !is_overtaken) return;
    asks_after_ *= 2;
    ++messenger_.engine().counters.hints_asked;
    messenger_.engine().begin_in_wait();
    send_note(messages_, link_.before, HintLacking{key_, number_});
}

/// The trailer tells the hosts behind this one whether anybody hears hints.
void Chain::take(std::size_t bytes) noexcept {
    if (bytes < sizeof(Trailer)) return share_.fail(FCI_ICL_ETRUNC, bytes);
    share_.take(bytes);
    std::byte* const end = share_.data() + bytes - sizeof(Trailer);
    Trailer trailer;
    std::memcpy(&trailer, end, sizeof trailer);
    trailer.is_heard = trailer.is_heard != 0 || slots_->has(number_);
    trailer.hears =
        std::max(trailer.hears, slots_->hears(number_, messenger_.engine().device.now()));
    std::memcpy(end, &trailer, sizeof trailer);
}

bool Chain::advance() {
    const bool is_through = go_on();
    if (!is_through && since() == 0) Wait::begin(messenger_.engine().device.now());
    return is_through;
}

bool Chain::go_on() {
    if (at_ == At::either && !receive_either()) return false;
    if (at_ == At::message) {
        if (messenger_.is_busy()) return false;
        std::size_t bytes = 0;
        if (messenger_.accept(link_.rank_before, &bytes)) take(bytes);
        at_ = At::next;
    }
    if (at_ == At::next) {
        // A next host that had the hint may have closed in order: it is not missed.
        if (link_.next != nhi::kNoPeer) messenger_.send(link_.next, !slots_->is_plain(number_));
        at_ = At::end;
    }
    return !messenger_.is_busy();
}

}  // namespace fci::group
