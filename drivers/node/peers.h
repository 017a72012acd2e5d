// SPDX-License-Identifier: BSD-3-Clause
// Peers: one table over the peers of both networks, the near one, which is this host's memory, and
// the far one.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/types.h"

namespace fci::node {

enum Side : std::uint8_t { kNear, kFar };
inline constexpr std::array kSides{kNear, kFar};

class Peers {
public:
    enum class State : std::uint8_t { known, connecting, attached, lost };
    struct Entry {
        nhi::PeerId id;  // as that side numbers it
        Side side;
        State state;
    };
    static_assert(sizeof(Entry) <= 8, "an unmet peer costs little");

    /// The process itself is a peer on both sides, and is reached by the near one.
    Peers() {
        const nhi::PeerId self = add(kNear, nhi::kSelf);
        FCI_ASSERT(self == nhi::kSelf);
        known_[kFar].push_back(self);
    }
    [[nodiscard]] nhi::PeerId size() const noexcept {
        return static_cast<nhi::PeerId>(all_.size());
    }
    /// nullptr for an id out of range.
    [[nodiscard]] const Entry* find(nhi::PeerId id) const noexcept {
        return id < all_.size() ? &all_[id] : nullptr;
    }
    /// The own id of the peer that has `id` on that side; kNoPeer: not known yet.
    [[nodiscard]] nhi::PeerId find(Side side, nhi::PeerId id) const noexcept {
        return id < known_[side].size() ? known_[side][id] : nhi::kNoPeer;
    }
    /// As find(), but adds the peer if it is not known.
    nhi::PeerId add(Side side, nhi::PeerId id) {
        if (const nhi::PeerId known = find(side, id); known != nhi::kNoPeer) return known;
        FCI_ASSERT(size() < nhi::kNoPeer);
        if (id >= known_[side].size()) known_[side].resize(id + 1, nhi::kNoPeer);
        all_.push_back({id, side, State::known});
        return known_[side][id] = size() - 1;
    }
    void set(nhi::PeerId id, State state) noexcept {
        FCI_ASSERT(id < all_.size());
        Entry& entry = all_[id];
        const State before = std::exchange(entry.state, state);
        if (id == nhi::kSelf) return;
        --count(entry.side, before);
        ++count(entry.side, state);
    }
    /// How many other peers of a side are in that state, which is not `known`.
    [[nodiscard]] unsigned in(Side side, State state) const noexcept {
        FCI_ASSERT(state != State::known);
        return counts_[side][static_cast<unsigned>(state)];
    }
    [[nodiscard]] std::size_t memory() const noexcept {
        return all_.capacity() * sizeof(Entry) +
               (known_[kNear].capacity() + known_[kFar].capacity()) * sizeof(nhi::PeerId);
    }

private:
    unsigned& count(Side side, State state) noexcept {
        return counts_[side][static_cast<unsigned>(state)];
    }

    std::vector<Entry> all_;                     // by id
    std::array<std::vector<nhi::PeerId>, 2> known_;  // by the side's id
    std::array<std::array<unsigned, 4>, 2> counts_{};
};

}  // namespace fci::node
