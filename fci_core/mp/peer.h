// SPDX-License-Identifier: BSD-3-Clause
// Peer: the state of message passing with one other process.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/base/intrusive_list.h"
#include "fci_core/base/report.h"
#include "fci_core/gcs/request_block.h"
#include "fci_core/mp/limits.h"
#include "fci_core/mp/move/claim_table.h"
#include "fci_core/mp/move/copy_path.h"
#include "fci_core/mp/order.h"
#include "fci_core/mp/pools.h"
#include "fci_core/mp/unexpected_credit.h"
#include "fci_core/mp/waiting_line.h"

namespace fci::mp {

/// A receive request of the peer that waits here for a send (one-sided, §2.6.3).
struct Offer {
    Pattern pattern;  // source: this process, as the peer's requests are all from it
    OfferRecord record;
};

/// A request that went out before the peer's offers could be known. If it is a message, it may have
/// used one of them up.
struct SentNote {
    std::uint64_t match = 0;
    std::uint64_t number = 0;  // of the request; 0: none
    std::uint32_t send = 0;    // the order of one that was announced
    std::uint8_t space = 0;
    bool used = true;  // matched with an offer, known to both sides; or no message at all
};
static_assert(sizeof(SentNote) == 24);

/// A peer that will be lost once all that it wrote is taken.
struct Departure {
    Status why = Status::ok;         // ok: none
    std::uint64_t last_request = 0;  // the number of the last one that is still heard
    int failure = kPeerLost;         // the code with which operations end
};

struct Push;

struct Peer {
    static constexpr unsigned kSentNotes = 64;
    static constexpr unsigned kOffersMost = 16;

    gcs::LineReader in;
    UnexpectedCredit credit;  // in the gap before a member that begins a cache line
    PeerRow* row = nullptr;  // for fci_info --job
    gcs::LineWriter out;
    nhi::PeerId id = nhi::kNoPeer;
    bool fast_path = false;      // see takes_fast_path()
    bool takes_notes = false;    // the peer makes offers: the fast path notes each send
    bool attached = false;
    bool lost = false;
    bool present = false;        // attached and not lost
    bool connecting = false;
    bool credit_owed = false;
    Departure departure;

    // Sending.
    IntrusiveList<WaitingLine> control;  // requests that found no free slot
    IntrusiveList<Order> pending;      // sends that wait for a slot, in order
    IntrusiveList<Order> streams;      // sends whose pieces go through the ring
    Pools pools;
    CopyPath path;
    struct {
        bool is_there = false;  // the network brings data from buffer to buffer
        unsigned expected = 0;  // receives for which data may come
        IntrusiveList<Push> pushes;    // pushes that are not all here, in order
        IntrusiveList<Order> crossed;  // receives whose offers crossed their announcements
        bool crossed_in_vain = false;  // the offers were declined, so this side must ask
    } data;
    enum class Permission : std::uint8_t { unknown, given, refused };
    std::array<Permission, 2> may_copy{};  // by the kernel, for each direction (SharedCopies)
    std::uint32_t copied_in = 0;       // the last push that did a piece of a kernel copy
    ClaimTable claims;

    // One-sided: the peer's offers here, and the requests that they must be checked against.
    std::vector<Offer> offers;
    std::array<SentNote, kSentNotes> notes{};
    int declined_epoch = -1;           // offers of this epoch are refused

    // One-sided: own offers at the peer.
    std::uint8_t offer_epoch = 0;      // grows with every decline
    unsigned offers_out = 0;

    // One-sided: sends that wait for an ask of the other side (asks.h).
    ArrivedList unasked;      // sends from here, in order; their envelopes name this process
    bool asked = false;       // the peer has asked, and was not answered
    bool ask_stands = false;  // this process has asked the peer, and was not answered
    bool ask_due = false;     // a later turn finds out whether this process must ask the peer

    bool may_take_fast_path = false;  // as far as it depends on the protocol and the limits

    /// Request `number` is a message. `used`: it was matched with an offer. `send`: the order of
    /// one that was announced.
    [[gnu::always_inline]] void note(std::uint64_t number, std::uint64_t match,
                                     std::uint32_t space, bool used,
                                     std::uint32_t send = 0) noexcept {
        notes[number % kSentNotes] = {match, number, send, static_cast<std::uint8_t>(space), used};
    }
    /// The last request is no message: an offer that crosses it stands.
    void note_other() noexcept { note(out.sent(), 0, 0, true); }
    /// The peer has memory for the message even if no receive there matches it.
    [[nodiscard]] bool has_unexpected_credit(std::uint64_t charge) noexcept {
        if (credit.has(charge)) [[likely]] return true;
        credit.give(out.disposed());
        return credit.has(charge);
    }
    /// No cell is here for a message of so many bytes, and it is worth lending the peer one.
    [[nodiscard]] bool is_worth_a_cell(std::uint64_t bytes, const Limits& limits) const noexcept {
        const std::uint64_t after =
            limits.lend_after[static_cast<unsigned>(gcs::Cells::size_for(bytes))];
        return pools.cells.may_lend(bytes) && row->bytes_sent >= after &&
               row->bytes_received >= after;
    }
    /// The cell in which, by the peer's word, a message of so many bytes is; nullptr: it cannot be.
    [[nodiscard]] gcs::Cells::Cell* find_cell(nhi::NetworkInterface& network, std::uint64_t name,
                                              std::uint64_t bytes,
                                              gcs::Cells::State state) noexcept {
        gcs::Cells::Cell* const known = pools.cells.find(name, bytes, state);
        if (known != nullptr) return known;
        pools.cells.meet(network, id, in.layout(), name);
        return pools.cells.find(name, bytes, state);
    }
    /// No request, send or piece waits here to be written to the peer.
    [[nodiscard]] bool is_written() const noexcept {
        return control.empty() && pending.empty() && streams.empty();
    }
    void sever() noexcept {
        FCI_ASSERT(present == (attached && !lost));
        lost = true;
        attached = present = fast_path = credit_owed = false;
        departure.failure = kUnreachable;
    }
    /// A short message can go out at once, with nothing to look up. Anything that stands in its way
    /// clears `fast_path`; the next send that goes out at once asks this again.
    [[nodiscard]] bool takes_fast_path() const noexcept {
        return out.reachable() && sends_at_once();
    }
    /// As takes_fast_path(), also if the peer is reached by transfers.
    [[nodiscard]] bool sends_at_once() const noexcept {
        return present && may_take_fast_path && control.empty() && pending.empty() &&
               offers.empty();
    }
};

/// Data can go to the peer as its request or offer says.
template <class Record>
[[nodiscard]] bool has_way(const Peer& peer, const Record& record) noexcept {
    const bool is_direct = record.path == static_cast<std::uint8_t>(Path::direct);
    return names_a_way(record) && (!is_direct || peer.data.is_there);
}

}  // namespace fci::mp
