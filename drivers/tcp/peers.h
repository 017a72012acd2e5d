// Peers: the processes that this one knows, by id and by place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/tcp/connection.h"
#include "drivers/tcp/pages.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"
#include "fci_core/nhi/types.h"

namespace fci::tcp {

enum class State : std::uint8_t {
    known,
    connecting,  // called, or waited for since both called
    joined,      // connected, but the listener has not heard of it yet
    attached,
    ending,  // it is gone, likewise
    lost,
};

/// Of a peer that was called, or has called.
struct Peer {
    host::Descriptor calling{};  // a connection that has no answer yet
    bool said_hello = false;     // on it
    Hello answer{};              // what came of it
    std::size_t heard = 0;       // bytes of that
    Nanoseconds call_at = 0;     // the next time that it is called, while nobody listens there
    Nanoseconds give_up = 0;     // connecting, until then
    std::unique_ptr<FrameDecoder::Target> memory{};  // here, that it writes
    std::optional<Connection> connection{};
    Pages block{};  // of that memory
    std::uint64_t sizes = 0;
    std::uint64_t block_bytes = 0;  // that it keeps for this process
    std::uint32_t pid = 0;
};

class Peers {
public:
    struct Entry {
        ddi::Card card;
        State state = State::known;
        std::unique_ptr<Peer> peer;  // nullptr: known only
    };

    [[nodiscard]] nhi::PeerId size() const noexcept {
        return static_cast<nhi::PeerId>(entries_.size());
    }
    Entry& operator[](nhi::PeerId id) noexcept { return entries_[id]; }
    const Entry& operator[](nhi::PeerId id) const noexcept { return entries_[id]; }
    /// The process that the card names, a new one if need be. A typed card names the youngest.
    nhi::PeerId find_or_add(const ddi::Card& card) {
        const auto [first, last] = by_place_.equal_range(place_of(card));
        nhi::PeerId found = nhi::kNoPeer;
        for (auto at = first; at != last; ++at) {
            const bool younger = found == nhi::kNoPeer || at->second > found;
            if (younger && entries_[at->second].card.names(card)) found = at->second;
        }
        if (found != nhi::kNoPeer) {
            if (card.incarnation != 0) entries_[found].card.incarnation = card.incarnation;
            return found;
        }
        entries_.push_back({card, State::known, nullptr});
        by_place_.emplace(place_of(card), size() - 1);
        return size() - 1;
    }

private:
    static std::uint64_t place_of(const ddi::Card& card) noexcept {
        return std::uint64_t{card.host} << 16 | card.port;
    }

    std::vector<Entry> entries_;
    std::unordered_multimap<std::uint64_t, nhi::PeerId> by_place_;
};

}  // namespace fci::tcp
