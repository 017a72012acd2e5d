// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/long_broadcast.h"

#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/match.h"
#include "fci_core/group/hosts/send_nothing.h"

namespace fci::group {

LongBroadcast::LongBroadcast(mp::MessagePassing& messages, nhi::Hints& hints,
                             const nhi::HintMember& member, std::uint64_t key, const Parts& parts,
                             const Members& members)
    : parts_(parts),
      peers_(members.peers),
      self_(members.self),
      part_(parts.of[members.self]),
      messages_(messages),
      key_(key),
      here_(messages) {
    if (!leads()) return;
    std::vector<nhi::PeerId> leaders;
    for (unsigned part = 0; part < parts.count(); ++part) {
        leaders.push_back(peers_[leader_of(part)]);
    }
    out_ = std::make_unique<BulkRoot>(messages, hints, member.group.name, leaders, part_);
    in_ = std::make_unique<BulkMember>(messages, hints, member, key);
}

void LongBroadcast::expect(unsigned root, std::uint64_t number, std::span<std::byte> room,
                           std::size_t window) noexcept try {
    if (root == self_) {
        announcement_ = {room.size(), window != 0, static_cast<std::uint32_t>(window)};
    }
    if (!leads() || parts_.of[root] == part_) return;
    in_->begin(peers_[leader_of(parts_.of[root])], number, match_of(key_, number, true), room);
} catch (const std::bad_alloc&) {  // it is tried again in its turn
}

Collective LongBroadcast::announcing(unsigned root) noexcept {
    Collective it{};
    it.kind = FCI_ICL_BROADCAST;
    it.root = root;
    it.data = &announcement_;
    it.bytes = sizeof announcement_;
    return it;
}

void LongBroadcast::withdraw() noexcept {
    if (in_) in_->end();
}

void LongBroadcast::set_out(unsigned root, std::uint64_t number, int code) noexcept {
    FCI_ASSERT(!is_busy() && !goes_on() && number > number_);
    root_ = root;
    number_ = number;
    handed_ = 0;
    code_ = code;
    lost_ = FCI_ICL_NO_RANK;
    here_.begin(match_of(key_, number, true));
}

/// The announcement of another member may be anything: nothing is allocated, or waited for, that
/// the caller did not say, too.
int LongBroadcast::begin(unsigned root, std::uint64_t number, std::span<std::byte> room,
                         int answer, unsigned lost) noexcept {
    const bool differs = answer == FCI_ICL_DONE && announcement_.bytes != room.size();
    if (answer == FCI_ICL_DONE && announcement_.by_hints == 0) {
        withdraw();
        return differs ? FCI_ICL_ETRUNC : FCI_ICL_EUNSUPPORTED;
    }
    if (differs || answer != FCI_ICL_DONE) {
        refuse(root, number, differs ? FCI_ICL_ETRUNC : answer, lost);
        return FCI_ICL_DONE;
    }
    set_out(root, number, FCI_ICL_DONE);
    is_here_ = self_ == root;
    data_ = room;
    phase_ = Phase::begun;
    return FCI_ICL_DONE;
}

void LongBroadcast::refuse(unsigned root, std::uint64_t number, int code, unsigned lost) noexcept {
    set_out(root, number, code);
    withdraw();
    is_here_ = false;
    lost_ = lost;
    refused_ = number;
    phase_ = Phase::refused;
}

/// Says so to all that may wait for this process: to its host, if it is the leader or the root, and
/// to the leader of the root's host.
void LongBroadcast::send_refusal() {
    const nhi::PeerId source = peers_[leader_of(parts_.of[root_])];
    if (!leads() && self_ == root_) {
        send_nothing(messages_, peers_[leader_of(part_)], match_of(key_, number_, true));
    } else if (!leads()) {
        here_.discard(peers_[leader_of(part_)]);
    } else if (!is_roots_part()) {
        send_nothing(messages_, source, match_of(key_, number_, true));
    } else if (self_ != root_) {
        here_.discard(peers_[root_]);
    }
    phase_ = Phase::down;
}

bool LongBroadcast::advance() {
    FCI_ASSERT(goes_on());
    if (phase_ == Phase::begun) begin_first();
    if (phase_ == Phase::refused) send_refusal();
    if (phase_ == Phase::to_leader) {
        if (here_.is_busy()) return false;
        if (self_ == root_) return end();
        is_here_ = !here_.has_failed();
        if (is_here_) {
            begin_between();
        } else {
            fail(root_);
            refused_ = number_;
            phase_ = Phase::down;
        }
    }
    if (phase_ == Phase::between) {
        if (!(is_roots_part() ? out_->advance() : in_->advance())) return false;
        const bool has_failed = is_roots_part() ? out_->has_lost() : in_->has_lost();
        is_here_ = is_here_ || !has_failed;
        if (has_failed) fail(leader_of(is_roots_part() ? out_->lost() : parts_.of[root_]));
        phase_ = Phase::down;
    }
    if (leads()) begin_down();
    if (here_.is_busy()) return false;
    if (!leads() && here_.has_failed()) fail(leader_of(part_));
    return end();
}

void LongBroadcast::fail(unsigned lost) noexcept {
    FCI_ASSERT(code_ != FCI_ICL_EPEER);
    code_ = FCI_ICL_EPEER;
    lost_ = lost;
}

bool LongBroadcast::end() noexcept {
    phase_ = Phase::none;
    data_ = {};
    return true;
}

void LongBroadcast::begin_first() {
    const bool is_by_leader = is_roots_part() && leader_of(part_) != root_;
    if (self_ == root_ && is_by_leader) {
        here_.send(peers_[leader_of(part_)], data_);
        phase_ = Phase::to_leader;
    } else if (leads() && is_by_leader) {
        here_.receive(peers_[root_], data_);
        phase_ = Phase::to_leader;
    } else if (leads()) {
        begin_between();
    } else {
        here_.receive(peers_[leader_of(part_)], data_);
        phase_ = Phase::down;
    }
}

void LongBroadcast::begin_between() {
    if (is_roots_part()) {
        out_->begin(number_, match_of(key_, number_, true), data_);
    } else {
        if (!in_->is_for(number_, data_)) {
            in_->begin(peers_[leader_of(parts_.of[root_])], number_,
                       match_of(key_, number_, true), data_);
        }
        in_->be_patient(announcement_.window);
    }
    phase_ = Phase::between;
}

/// To the others of this host, or word that there is nothing. Other hosts may have asked for that
/// already. Nobody waits for that word to be taken: members that know that it goes another way do
/// not ask for it.
void LongBroadcast::begin_down() {
    if (!is_here_ && is_roots_part()) out_->refuse(number_, match_of(key_, number_, true));
    const auto& ranks = parts_.ranks[part_];
    for (; handed_ < ranks.size(); ++handed_) {
        const unsigned rank = ranks[handed_];
        if (rank == self_ || rank == root_) continue;
        if (is_here_) {
            here_.send(peers_[rank], data_);
        } else {
            send_nothing(messages_, peers_[rank], match_of(key_, number_, true));
        }
    }
}

bool LongBroadcast::is_lossy() const noexcept {
    return code_ == FCI_ICL_DONE && leads() && is_roots_part() && out_->is_lossy();
}

void LongBroadcast::on_progress(nhi::PeerId source, const LongProgress& note) {
    if (!out_) return;
    if (note.wanted == 0 || note.number > refused_) return out_->on_progress(source, note);
    send_nothing(messages_, source, match_of(key_, note.number, true));
}

progress::Wait* LongBroadcast::waiting() noexcept {
    if (phase_ != Phase::between) return nullptr;
    if (is_roots_part()) return out_.get();
    return in_.get();
}

bool LongBroadcast::is_busy() const noexcept {
    return here_.is_busy() || (out_ && out_->is_busy()) || (in_ && in_->is_busy());
}

void LongBroadcast::give_up() noexcept {
    here_.give_up();
    if (in_) in_->give_up();
}

}  // namespace fci::group
