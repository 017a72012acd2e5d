// SPDX-License-Identifier: BSD-3-Clause
// Records: the requests between two processes (figs. 2.34-2.38, 2.67), one cache line each.
//
//   kind          | sent by  | meaning                                                 | section
//   send          | sender   | send request that holds the whole message               | 2.6.5
//   announce      | sender   | send request: the message is here, ask for it; or it    | 2.6.2
//                 |          | follows                                                 |
//   clear_to_send | receiver | receive request for an announced message                | 2.6.2
//   offer         | receiver | receive request before any send request (one-sided)     | 2.6.3
//   piece         | sender   | the next part of a message, in the ring                 | 2.6.4
//   sent          | sender   | my share of the copying is done; or I am refused        | -
//   taken         | receiver | matched and copied: the send is complete; or as `sent`  | 2.6.8
//   withdraw      | receiver | take that offer back, if it is still there              | -
//   withdrawn     | sender   | answer: it is not here (any more)                       | -
//   decline       | sender   | offers of this epoch cannot be used                     | -
//   ask           | receiver | announce what waits, or the next that would             | -
//   unsend        | sender   | forget that send request, if it is not matched          | -
//   unsent        | receiver | answer: forgotten                                       | -
// To add a kind: its row here, its record and check below, and a case in MessagePassing::dispatch.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "fci_core/gcs/request_block.h"
#include "fci_core/mp/move/claims.h"
#include "fci_core/mp/move/path.h"

namespace fci::mp {

enum class Kind : std::uint8_t {
    send, announce, clear_to_send, offer, piece, sent, taken, withdraw, withdrawn, decline,
    unsend, unsent, ask, none
};

// Flags of a control word.
inline constexpr std::uint8_t kImmediate = 1;  // send: an immediate word precedes the data
inline constexpr std::uint8_t kInRing = 2;     // the data, or its attached part, is in the ring,
                                               // and gcs::kRingWord says where
inline constexpr std::uint8_t kWantsTaken = 4; // send: answer with `taken` once it is matched
inline constexpr std::uint8_t kRefused = 4;    // sent, taken: the kernel lets me copy no more of it
inline constexpr std::uint8_t kFailed = 8;     // sent, taken: the copying failed
inline constexpr std::uint8_t kAll = 16;       // sent, taken: I copied all, no answer needed;
                                               // announce: nothing else waits, which ends the ask
inline constexpr std::uint8_t kInPool = 32;    // send, piece: the data is in the sender's pool
inline constexpr std::uint8_t kFollows = 32;   // announce: the data comes next, without being asked
inline constexpr unsigned kSpaceShift = 6;     // two bits: the matching space

/// Spaces 0 and 1 are those of icl.h. The third is matched as well, for groups; the last one holds
/// active messages, handled on arrival.
inline constexpr std::uint32_t kGroupSpace = 2;
inline constexpr std::uint32_t kActiveSpace = 3;

/// A word of a group has no data: it tells a member that none come. That member may have left the
/// group, and no receive takes the word then; so its sender waits for no receive.
constexpr bool is_word(std::uint32_t space, bool has_immediate, std::uint64_t bytes) noexcept {
    return space == kGroupSpace && has_immediate && bytes == 0;
}

// Flags of a send.
inline constexpr std::uint32_t kSendImmediate = 1;
inline constexpr std::uint32_t kSendSynchronous = 2;
inline constexpr std::uint32_t kSendBuffered = 4;
/// Over a network, of short ones: Transfer::let_linger().
inline constexpr std::uint32_t kSendLingering = 8;

constexpr std::uint8_t control_flags(std::uint32_t space, std::uint32_t send_flags) noexcept {
    static_assert(kSendImmediate == kImmediate && kSendSynchronous * 2 == kWantsTaken);
    return static_cast<std::uint8_t>(space << kSpaceShift | (send_flags & kSendImmediate) |
                                     (send_flags & kSendSynchronous) * 2);
}

struct Control {
    Kind kind;
    std::uint8_t flags;
    std::uint16_t bytes;  // of data that comes with the request

    [[nodiscard]] std::uint32_t space() const noexcept { return flags >> kSpaceShift; }
    [[nodiscard]] std::uint32_t word() const noexcept {
        return static_cast<std::uint32_t>(kind) | std::uint32_t{flags} << 8 |
               std::uint32_t{bytes} << 16;
    }
    static Control of(const gcs::Line& line) noexcept {
        return {static_cast<Kind>(line.control & 0xff),
                static_cast<std::uint8_t>(line.control >> 8),
                static_cast<std::uint16_t>(line.control >> 16)};
    }
};

/// Kind and flags of the control word.
inline std::uint32_t kind_of(const gcs::Line& line) noexcept {
    return flag::load_part_acquire<std::uint16_t>(line.control, 0);
}
/// The control word of a whole message. `immediate_bytes`: 8, or 0 without one.
constexpr std::uint32_t line_control(std::uint32_t space, std::uint32_t immediate_bytes,
                                     std::uint64_t bytes) noexcept {
    return static_cast<std::uint32_t>(Kind::send) | immediate_bytes << 5 |
           space << (8 + kSpaceShift) | static_cast<std::uint32_t>(bytes) << 16;
}
/// The matching space if the control word is a plain send with exactly these flags; any other word
/// gives a value > 3, so one comparison tells both.
constexpr std::uint32_t plain_space(std::uint32_t control, std::uint32_t flags) noexcept {
    const std::uint32_t expected = static_cast<std::uint32_t>(Kind::send) | flags << 8;
    return std::rotl((control - expected) << 16, 2);
}
static_assert(8 + kSpaceShift == 14);

// A handle names an order of the process that it is sent back to (HandlePool): that one sets it and
// looks it up, the other one only sends it back.

/// Set by the sender of the message.
struct AnnounceRecord {
    std::uint64_t match, immediate, length;  // read by the receiver, for the match and its status
    std::uint64_t address;   // of the message at the sender; the receiver hands it to the kernel
    std::uint32_t send;      // the sender's order; the receiver's clear-to-send brings it back
    std::uint32_t receive;   // the receiver's order whose offer it was matched with, or 0; the
                             // receiver must come to the same
    std::uint64_t reserved;  // 0; nobody reads it
};
/// Set by the receiver.
struct ClearToSendRecord {
    std::uint32_t send;         // from the announcement; read by the sender
    std::uint32_t receive;      // the receiver's order; comes back with each piece and with `sent`
    std::uint64_t address;      // of its buffer; the sender hands it to the kernel
    std::uint64_t bytes;        // wanted: at most the message's length, which the sender checks
    std::uint32_t piece_bytes;  // that both sides copy at a time; read by the sender
    std::uint16_t claim;        // ClaimWord::name(), read by the sender; 0 but for Path::shared
    std::uint8_t path;          // read by the sender
    std::uint8_t reserved;      // 0; nobody reads it
};
/// Set by the receiver; read by the sender, and all but `match`, `ignore`, `seen` and `epoch` as in
/// a ClearToSendRecord, once a send was matched with it.
struct OfferRecord {
    std::uint64_t match, ignore;
    std::uint64_t address, bytes;  // the whole receive buffer
    std::uint32_t receive;
    std::uint32_t seen;            // requests of the sender that were taken before (low half)
    std::uint32_t piece_bytes;
    std::uint16_t claim;
    std::uint8_t path;
    std::uint8_t epoch;            // comes back with `decline`
};
/// A sender can send data in the way that the request or offer names.
template <class Record>
constexpr bool names_a_way(const Record& record) noexcept {
    return record.piece_bytes != 0 && ClaimWord::index_of(record.claim) < gcs::Layout::kClaims &&
           (record.path == static_cast<std::uint8_t>(Path::ring) ||
            record.path == static_cast<std::uint8_t>(Path::shared) ||
            record.path == static_cast<std::uint8_t>(Path::direct));
}
/// Set by the sender, read by the receiver.
struct PieceRecord {
    std::uint64_t receive;  // from the clear-to-send, or from the offer
    std::uint64_t offset;   // in the sender's pool, with kInPool
};
/// All other kinds. Set by the process that sends it, read by the other side.
struct HandleRecord {
    std::uint64_t handle;  // sent, withdraw, withdrawn: a receive; taken, unsend, unsent: a send;
                           // decline: an epoch; ask: 0, which nobody reads
};

template <class T>
concept WireRecord = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                     std::has_unique_object_representations_v<T> && sizeof(T) <= 56;
static_assert(WireRecord<AnnounceRecord> && WireRecord<ClearToSendRecord> &&
              WireRecord<OfferRecord> && WireRecord<PieceRecord> && WireRecord<HandleRecord>);

// Records that come with data in the ring leave the word free that says where.
static_assert(sizeof(AnnounceRecord) <= 8 * gcs::kRingWord);
static_assert(sizeof(PieceRecord) <= 8 * gcs::kRingWord);

template <WireRecord R>
gcs::Line pack(Control control, const R& record) noexcept {
    gcs::Line line;
    std::memcpy(line.word, &record, sizeof record);
    std::memset(reinterpret_cast<std::byte*>(line.word) + sizeof record, 0,
                sizeof line.word - sizeof record);
    line.control = control.word();
    return line;
}

template <WireRecord R>
R unpack(const gcs::Line& line) noexcept {
    R record;
    std::memcpy(&record, line.word, sizeof record);
    return record;
}

}  // namespace fci::mp
