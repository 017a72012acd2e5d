// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/hinting.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::group {

/// Each draws, as only that shows whether it could have hints.
HintOffer Hinting::offer(bool is_first) const noexcept {
    HintOffer own{};
    const bool can = hints_ != nullptr && hosts_.size() >= kHostsLeast &&
                     hints_->draw(&own.brief) == Status::ok &&
                     hints_->draw(&own.bulk) == Status::ok;
    if (can && is_first) return own;
    return {{can ? HintOffer::kNothing : HintOffer::kImpossible, {}}, {}};
}

void Hinting::open(const HintOffer& taken, bool leads, unsigned member) {
    const std::uint64_t name = taken.brief.name;
    works_ = name != HintOffer::kNothing && name != HintOffer::kImpossible;
    if (!works_ || !leads) return;
    FCI_ASSERT(hints_ != nullptr && member < hosts_.size());
    const auto rank = static_cast<std::uint16_t>(member);
    slots_ = std::make_unique<HintSlots>(*hints_, nhi::HintMember{taken.brief, rank, hosts_});
    bulk_ = {taken.bulk, rank, hosts_};
}

// --- a broadcast ---

void Hinting::begin() noexcept {
    FCI_ASSERT(works_ && slots_ != nullptr);
    ++number_;
}

void Hinting::send(Share& share) noexcept {
    const Trailer trailer{0, Hears::never, now() < off_until_};
    std::memcpy(share.data() + share.length(), &trailer, sizeof trailer);
    share.set_length(share.length() + sizeof trailer);
    if (by_tree_) return;
    slots_->send(number_, {share.data(), share.length()});
    if (unheard_ != 0 && ++own_ > kOwnMost) unheard_ = own_ = 0;
}

void Hinting::end(Share& share, nhi::PeerId root) noexcept try {
    slots_->pass(number_);
    if (share.is_good() && share.length() < sizeof(Trailer)) {
        share.fail(FCI_ICL_ETRUNC, share.length());
    }
    is_unsure_ = is_unsure_ || share.code() == FCI_ICL_EPEER;
    if (!share.is_good()) return;
    Trailer trailer;
    share.set_length(share.length() - sizeof trailer);
    std::memcpy(&trailer, share.data() + share.length(), sizeof trailer);
    const bool was_chain = !by_tree_;
    by_tree_ = trailer.by_tree != 0;
    if (was_chain && by_tree_) off_until_ = now() + kOff;  // at all members about then
    if (!was_chain || root == nhi::kNoPeer || trailer.is_heard != 0) return;
    send_note(messages_, root, HintUnheard{key_, number_, trailer.hears, {}});
} catch (const std::bad_alloc&) {  // it is said of the next one
}

// --- a long broadcast ---

std::unique_ptr<LongBroadcast> Hinting::make_long(const Parts& parts,
                                                  const Members& members) const {
    FCI_ASSERT(works_);
    return std::make_unique<LongBroadcast>(messages_, *hints_, bulk_, key_, parts, members);
}

/// Data a little too long for a table would be lost for a late member, as short hints are.
std::size_t Hinting::window(std::uint64_t bytes) const noexcept {
    const bool is_off = now() < std::max(off_until_, long_off_until_);
    return is_off || bytes <= nhi::Hints::kShortMost ? 0 : hints_->window();
}

void Hinting::report_lossy(nhi::PeerId root) noexcept try {
    if (root == nhi::kSelf) return on_lossy();
    send_note(messages_, root, LongLossy{key_});
} catch (const std::bad_alloc&) {  // it is said of the next one
}

// --- notes of other members ---

void Hinting::on_lacking(nhi::PeerId source, const HintLacking& note) noexcept try {
    if (slots_ == nullptr) return;
    slots_->be_plain(number_ + kPlain);
    send_note(messages_, source, HintFollows{key_, note.number});
} catch (const std::bad_alloc&) {  // it asks again
}

/// Of a few, half were not heard by anybody, and nobody hears any: then none are sent for a while.
/// When it is said of the first one all have joined; what was sent before that may have been too
/// early for all of them. Where hints are late only, or one of many is lost, they go on.
void Hinting::on_unheard(const HintUnheard& note) noexcept {
    if (note.number <= joined_by_) return;
    if (joined_by_ == 0) joined_by_ = number_;
    if (note.hears == Hears::lately) return;
    if (unheard_++ == 0) own_ = 1;
    FCI_ASSERT(own_ != 0 && own_ <= kOwnMost);
    if (unheard_ < 2 || 2 * unheard_ < own_ || now() < off_until_) return;
    unheard_ = own_ = 0;
    off_until_ = now() + kOff;
    ++messages_.engine().counters.hints_off;
    log::hint_once(note.hears == Hears::never,
                   "no other host hears multicast, so broadcasts go by TCP, and it is tried again "
                   "every 10 s\n"
                   "  cause    a switch or a firewall between the hosts drops it\n"
                   "  remedy   let UDP to 239.255.0.0/16 pass (docs/hosts.md); or do without: "
                   "FCI_MULTICAST=off");
}

void Hinting::on_lossy() noexcept {
    if (now() < long_off_until_) return;
    long_off_until_ = now() + kOff;
    ++messages_.engine().counters.hints_off;
    log::hint_once(true,
                   "much of what is sent by multicast is lost, so long broadcasts go by TCP, and "
                   "it is tried again every 10 s\n"
                   "  cause    a switch lets only so much of it pass (storm control), a host is "
                   "deaf, or a network is wireless\n"
                   "  remedy   raise that limit (docs/hosts.md); or do without: "
                   "FCI_MULTICAST=off");
}

}  // namespace fci::group
