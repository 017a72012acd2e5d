// SPDX-License-Identifier: BSD-3-Clause
// PeerTable: the processes that a device knows, by id and by card. All drivers use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/ddi/card.h"
#include "fci_core/nhi/types.h"

namespace fci::ddi {

enum class PeerState : std::uint8_t {
    known,       // by its card only
    connecting,  // called, or waited for since both called
    joined,      // connected, but the listener has not heard of it yet
    attached,    // from this state on the peer's memory is here
    ending,      // gone, but the listener has not heard of it yet
    lost,        // for ever: a process that comes back gets another id
};

/// `Peer`: a driver's state of a process that was called, or has called; its member `state` says
/// how far the meeting has come.
template <class Peer>
class PeerTable {
public:
    struct Entry {
        Card card;
        std::unique_ptr<Peer> peer;  // nullptr: known only

        [[nodiscard]] PeerState state() const noexcept {
            return peer != nullptr ? peer->state : PeerState::known;
        }
    };
    static_assert(sizeof(Entry) == 24, "an unmet peer costs 32 bytes, with its place in the index");

    [[nodiscard]] nhi::PeerId size() const noexcept {
        return static_cast<nhi::PeerId>(all_.size());
    }
    [[nodiscard]] Entry& operator[](nhi::PeerId id) noexcept {
        FCI_ASSERT(id < all_.size());
        return all_[id];
    }
    [[nodiscard]] const Entry& operator[](nhi::PeerId id) const noexcept {
        FCI_ASSERT(id < all_.size());
        return all_[id];
    }

    nhi::PeerId add(const Card& card) {
        FCI_ASSERT(size() < nhi::kNoPeer);
        if ((all_.size() + 1) * 4 > index_.size() * 3) grow();
        all_.push_back({card, nullptr});
        enter(size() - 1);
        return size() - 1;
    }

    /// The id that `card` names; if the entry's card was typed, it is completed. kNoPeer: none. A
    /// lost process is named by its incarnation only.
    nhi::PeerId find(const Card& card) noexcept {
        nhi::PeerId best = nhi::kNoPeer;
        for_each_at(card, [&](nhi::PeerId id) {
            const Entry& entry = all_[id];
            const bool exact = card.incarnation != 0 && entry.card.incarnation == card.incarnation;
            if (exact || (entry.state() != PeerState::lost && entry.card.names(card))) best = id;
            return !exact;
        });
        if (best != nhi::kNoPeer && all_[best].card.incarnation == 0) all_[best].card = card;
        return best;
    }

    nhi::PeerId find_or_add(const Card& card) {
        const nhi::PeerId found = find(card);
        return found != nhi::kNoPeer ? found : add(card);
    }

    /// As find(), but for this very process, and without completing a card.
    [[nodiscard]] nhi::PeerId find_exactly(const Card& card) const noexcept {
        nhi::PeerId found = nhi::kNoPeer;
        for_each_at(card, [&](nhi::PeerId id) {
            if (all_[id].card.incarnation == card.incarnation) found = id;
            return found == nhi::kNoPeer;
        });
        return found;
    }

    /// The process that was at this place before the one of `card`; kNoPeer: none.
    [[nodiscard]] nhi::PeerId replaced_by(const Card& card) const noexcept {
        nhi::PeerId found = nhi::kNoPeer;
        for_each_at(card, [&](nhi::PeerId id) {
            const Entry& entry = all_[id];
            const bool before = entry.state() != PeerState::lost &&
                                entry.card.incarnation != card.incarnation;
            if (before) found = id;
            return !before;
        });
        return found;
    }

    /// Bytes of the table, not of the peers.
    [[nodiscard]] std::size_t memory() const noexcept {
        return all_.capacity() * sizeof(Entry) + index_.capacity() * sizeof(nhi::PeerId);
    }

private:
    [[nodiscard]] std::size_t first_of(const Card& card) const noexcept {
        const std::uint64_t place = std::uint64_t{card.host} << 16 | card.port;
        return static_cast<std::size_t>(place * 0x9e37'79b9'7f4a'7c15ull >> 32) &
               (index_.size() - 1);
    }

    /// Visits the entries at the place of `card`, oldest first, while `visit` returns true.
    template <class Visit>
    void for_each_at(const Card& card, Visit visit) const noexcept {
        if (index_.empty()) return;
        for (std::size_t at = first_of(card); index_[at] != nhi::kNoPeer;) {
            const nhi::PeerId id = index_[at];
            if (all_[id].card.same_place(card) && !visit(id)) return;
            at = (at + 1) & (index_.size() - 1);
        }
    }

    void enter(nhi::PeerId id) noexcept {
        std::size_t at = first_of(all_[id].card);
        while (index_[at] != nhi::kNoPeer) at = (at + 1) & (index_.size() - 1);
        index_[at] = id;
    }

    void grow() {
        constexpr std::size_t kFirst = 16;
        std::vector<nhi::PeerId> larger(index_.empty() ? kFirst : 2 * index_.size(), nhi::kNoPeer);
        index_.swap(larger);
        for (nhi::PeerId id = 0; id < size(); ++id) enter(id);
    }

    std::vector<Entry> all_;
    std::vector<nhi::PeerId> index_;  // by place; a power of two, a quarter of it free
};

}  // namespace fci::ddi
