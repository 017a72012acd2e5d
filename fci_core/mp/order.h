// SPDX-License-Identifier: BSD-3-Clause
// Order: an operation that the user started and that is not finished (§2.6.10). Requests travel;
// orders stay at home.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/base/intrusive_list.h"
#include "fci_core/base/result.h"
#include "fci_core/base/status.h"
#include "fci_core/gcs/cells.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/mp/match/matching.h"
#include "fci_core/mp/move/landing.h"
#include "fci_core/mp/records.h"
#include "fci_core/nhi/types.h"

namespace fci::mp {

/// How an operation was answered or ended: the codes for the plugs, by the words of the core.
inline constexpr int kAccepted = FCI_ICL_OK;
inline constexpr int kDone = FCI_ICL_DONE;
inline constexpr int kSuccess = FCI_ICL_OK;
inline constexpr int kAgain = FCI_ICL_EAGAIN;
inline constexpr int kInvalid = FCI_ICL_EINVAL;
inline constexpr int kNoMemory = FCI_ICL_ENOMEM;
inline constexpr int kPeerLost = FCI_ICL_EPEER;
inline constexpr int kTruncated = FCI_ICL_ETRUNC;
inline constexpr int kCanceled = FCI_ICL_ECANCELED;
inline constexpr int kNoMessage = FCI_ICL_ENOMSG;
inline constexpr int kNoEntry = FCI_ICL_ENOENT;
inline constexpr int kMismatch = FCI_ICL_EMISMATCH;
inline constexpr int kFault = FCI_ICL_EFAULT;
inline constexpr int kUnreachable = FCI_ICL_EUNREACHABLE;
inline constexpr int kHeld = FCI_ICL_EHELD;

using Outcome = ::fci_icl_status;
using Completion = ::fci_icl_completion;
static_assert(std::is_same_v<decltype(Outcome::source), nhi::PeerId>);

/// Members that only few orders need, so that the others stay small.
struct OrderExtras {
    std::unique_ptr<std::byte[]> bounce;  // several ranges are gathered or scattered through it
    std::vector<iovec> ranges;            // receive: where the bounce goes in the end
    std::vector<std::byte> header;        // active message: goes along with the announcement
};

enum class OrderState : std::uint8_t {
    queued,       // send: waits for a free request slot, or for the peer
    unasked,      // send: waits for an offer or an ask
    announced,    // send: waits for the receive request, or for `taken`
    posted,       // receive: in the posted list
    withdrawing,  // receive: posted, its offer is being taken back
    moving,       // data is on its way
    finished,     // only the completion is still to be told
};

/// The members of every order, and all that a short message needs of a receive: with the place in
/// the list of receives two cache lines.
struct alignas(gcs::kLineBytes) OrderHot : PostedNode {
    OrderHot* next_free = nullptr;  // of the pool
    std::uint32_t handle = 0;
    int error = kSuccess;
    // The members that reset() sets lie together.
    OrderState state = OrderState::queued;
    bool is_send = false;
    bool offered = false;      // receive: its offer may be in use at the source
    bool in_list = false;      // ListLink is in use
    bool has_immediate = false;
    std::int8_t claim_index = -1;  // receive: the claim word it holds in its peer's block
    Path path = Path::ring;
    Path chosen = Path::ring;  // receive: the path that CopyPath chose
    std::byte* data = nullptr;   // the user's buffer, or the bounce
    std::uint64_t bytes = 0;     // of `data`
    // Receive: `bytes` if a message may be put there at once; kNever: the receive is offered, or
    // has several ranges, or no completion.
    std::int64_t direct_bytes = kNever;
    static constexpr std::int64_t kNever = -1;
    Completion completion{};
};
static_assert(sizeof(OrderHot) == 2 * gcs::kLineBytes);

/// How far the two sides of a shared copy are.
struct CopyShare {
    bool own_done = false, peer_done = false;
    bool refused = false;  // this side copies no more of it, and has said so
    bool alone = false;    // this side copies all of it
};

/// For CopyPath: a receive whose data was asked for.
struct CopyTiming {
    Nanoseconds started = 0;       // 0: the time of this message says nothing about a path
    std::uint64_t chosen_for = 0;  // the length for which the path was chosen
    std::uint32_t number = 0;      // CopyPath::begin()
    bool paid_for_memory = false;  // the message waited for memory that later ones find there
};

/// As an ArrivedNode it is a send that is unasked.
struct Order : OrderHot, ListLink, ArrivedNode {
    nhi::PeerId peer = nhi::kNoPeer;  // send: destination; receive: the source once matched
    std::uint32_t space = 0;     // of a send
    std::uint64_t match = 0, immediate = 0;
    std::uint64_t length = 0;    // of the message
    std::uint64_t wanted = 0;    // bytes that travel
    std::unique_ptr<OrderExtras> extras;

    // Of a send that waits, and of a message whose data is on its way.
    std::uint32_t send_flags = 0;
    std::uint32_t peer_handle = 0;
    std::uint64_t moved = 0;     // bytes, done by this side
    std::uint64_t remote = 0;    // the other side's buffer; of data, its name
    std::uint32_t piece_bytes = 0;
    CopyShare share;
    std::uint16_t claims_generation = 0;
    std::uint64_t* claims = nullptr;  // the word from which both sides claim (claims.h)
    std::uint64_t own_pieces = 0;     // claimed and copied by this side
    CopyTiming timing;
    bool expects_data = false;  // receive: counted in Peer::data
    gcs::Cells::Cell* cell = nullptr;  // the data goes through it
    struct {
        ColdLanding::Choice choice{};
        Nanoseconds began = 0;
    } landing;  // where it comes in pieces

    [[nodiscard]] std::uint64_t pieces() const noexcept {
        FCI_ASSERT(piece_bytes != 0);
        return (wanted + piece_bytes - 1) / piece_bytes;
    }
    /// For the sender: the name of the word from which both sides claim.
    [[nodiscard]] std::uint16_t claim_name() const noexcept {
        if (path != Path::shared) return 0;
        FCI_ASSERT(claim_index >= 0);
        return ClaimWord::name(static_cast<unsigned>(claim_index), claims_generation);
    }
    /// Prepares for a new use; begin_moving() sets the members for moving data.
    void reset(bool send, OrderState first, const Completion& told) noexcept {
        error = kSuccess;
        state = first;
        is_send = send;
        offered = false;
        in_list = false;
        has_immediate = false;
        claim_index = -1;
        path = chosen = Path::ring;
        completion = told;
    }
    /// For a receive into one range.
    void set_range(void* at, std::uint64_t size) noexcept {
        data = static_cast<std::byte*>(at);
        bytes = size;
        direct_bytes = static_cast<std::int64_t>(size);
    }
    /// For a receive: as much of the message travels as there is room for.
    void limit() noexcept {
        wanted = std::min(length, bytes);
        if (wanted < length) error = kTruncated;
    }
    void begin_moving() noexcept {
        FCI_ASSERT(state != OrderState::moving && state != OrderState::finished);
        state = OrderState::moving;
        timing.started = 0;
        cell = nullptr;
        moved = own_pieces = 0;
        share = {};
    }
};

/// A message that waits for its receive (§2.6.2: unexpected).
struct Arrived : ArrivedNode, ListLink {
    std::uint64_t immediate = 0, length = 0;
    std::uint64_t address = 0;  // announced: in the sender's memory
    std::uint32_t send = 0;     // the sender's order: announced, or wants `taken`
    bool announced = false;     // the data is still at the sender
    struct Push* push = nullptr;  // the data comes (data_in.h)
    bool has_immediate = false;
    bool claimed = false;       // taken out of the matching by a probe
    std::uint32_t charge = 0;   // to be disposed of
    std::uint32_t capacity = 0;  // bytes behind this object
    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

}  // namespace fci::mp
