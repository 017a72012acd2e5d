// Peer and PeerTable: who is known, and the memory that ties two processes together (§2.6.6).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/shm/region.h"
#include "drivers/shm/shared_header.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"
#include "fci_core/nhi/types.h"

namespace fci::shm {

enum class Copying : std::uint8_t { untried, allowed, refused };

/// How this process goes to meet a peer.
struct Call {
    Nanoseconds give_up = 0, next_try = 0, pause = 0;  // while nobody listens there
    std::uint32_t tries = 0;  // meetings that were begun in vain
    bool asked = false;       // connect() was called, and the outcome is open
    bool gives_way = false;   // the peer may come by itself, and that way would go on
};

struct Peer {
    // What a transfer needs, in one line.
    std::byte* block = nullptr;  // the block that it keeps for this process
    std::size_t block_bytes = 0;
    SharedHeader* header = nullptr;
    std::byte* communication = nullptr;
    std::size_t communication_bytes = 0;
    int wake_fd = -1;
    bool fence = false;  // between the last write and the look at `wanted_events`

    std::array<Copying, 2> copying{};  // by direction
    pid_t pid = 0;                    // as this process sees it; 0: not visible
    std::uint64_t guard_address = 0;  // in its address space (guard.h)
    std::uint64_t incarnation = 0;

    Region own_block;         // in which it writes
    host::Descriptor own_block_fd;  // until it was handed over
    Region its_block, its_header;
    host::Descriptor wake, pidfd;
    std::vector<int> links;  // sockets to it

    std::uint64_t sizes = 0;  // its Settings::sizes

    bool connected = false;  // its memory is here; the listener may not know yet
    bool gone = false;     // it was found dead; likewise
    bool ended = false;    // its process has; what it said before may still wait in the sockets
    Call call;
};

enum class State : std::uint8_t { known, connecting, attached, lost };

struct Entry {
    ddi::Card card;
    std::unique_ptr<Peer> peer;  // from the first attempt to meet it
    State state = State::known;
};
static_assert(sizeof(Entry) <= 32, "an unconnected peer costs little");
static_assert(State::connecting < State::attached && State::attached < State::lost,
              "from `attached` on its memory is here");

/// All peers, by id. An entry is for ever: a process that comes back gets another id.
class PeerTable {
public:
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

    nhi::PeerId add(const ddi::Card& card) {
        FCI_ASSERT(size() < nhi::kGroupFlag);
        by_place_[place(card)].push_back(size());
        all_.push_back({card, nullptr, State::known});
        return size() - 1;
    }

    /// The id that `card` names; its card is completed if it was a typed one. kNoPeer: none.
    /// What has been lost is named by its incarnation only.
    nhi::PeerId find(const ddi::Card& card) noexcept {
        const auto ids = by_place_.find(place(card));
        if (ids == by_place_.end()) return nhi::kNoPeer;
        nhi::PeerId best = nhi::kNoPeer;
        for (const nhi::PeerId id : ids->second) {
            const Entry& entry = all_[id];
            if (card.incarnation != 0 && entry.card.incarnation == card.incarnation) return id;
            if (entry.state != State::lost && entry.card.names(card)) best = id;
        }
        if (best != nhi::kNoPeer && all_[best].card.incarnation == 0) all_[best].card = card;
        return best;
    }

    /// As find(), for this very process, and without completing anything.
    [[nodiscard]] nhi::PeerId find_exactly(const ddi::Card& card) const noexcept {
        const auto ids = by_place_.find(place(card));
        if (ids == by_place_.end()) return nhi::kNoPeer;
        for (const nhi::PeerId id : ids->second) {
            if (all_[id].card.incarnation == card.incarnation) return id;
        }
        return nhi::kNoPeer;
    }

    /// One that was at this place before the process of `card` was; kNoPeer: none.
    [[nodiscard]] nhi::PeerId replaced_by(const ddi::Card& card) const noexcept {
        const auto ids = by_place_.find(place(card));
        if (ids == by_place_.end()) return nhi::kNoPeer;
        for (const nhi::PeerId id : ids->second) {
            if (all_[id].state != State::lost && all_[id].card.incarnation != card.incarnation) {
                return id;
            }
        }
        return nhi::kNoPeer;
    }

    /// Bytes, as far as they are known here: of the table, not of the peers.
    [[nodiscard]] std::size_t memory() const noexcept {
        constexpr std::size_t kPlace =
            sizeof(void*) + sizeof(decltype(by_place_)::value_type) + sizeof(nhi::PeerId);
        return all_.capacity() * sizeof(Entry) + by_place_.bucket_count() * sizeof(void*) +
               by_place_.size() * kPlace;
    }

private:
    static std::uint64_t place(const ddi::Card& card) noexcept {
        return std::uint64_t{card.host} << 16 | card.port;
    }

    std::vector<Entry> all_;
    std::unordered_map<std::uint64_t, std::vector<nhi::PeerId>> by_place_;
};

}  // namespace fci::shm
