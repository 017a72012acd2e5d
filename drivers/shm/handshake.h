// SPDX-License-Identifier: BSD-3-Clause
// Handshake: the records that two processes exchange when they meet and when one leaves, and the
// check that both mean the same job, the same version and the same layout (house rules of §3.2.3).
//
//   record   | sent by         | meaning
//   Hello    | the caller      | the knock: names the caller, without descriptors
//   Welcome  | the listener    | asks for the caller's descriptors
//   Hello    | both, in turn   | with three descriptors: header, block for the other side, waker
//   Met      | the caller      | it has everything it needs: both are attached
//   Crossed  | the listener    | instead of a Welcome: it calls, too, and its call goes on
//   Refusal  | either          | instead of the record that is due
//   Bye      | either          | before it lets the link go in good order
//
// Linux counts descriptors that were sent and not yet received, for all processes of a user
// together, and lets there be as many as one process may have open. A process that only computes
// does not receive. So descriptors are sent only to a peer that asked for them, and no process asks
// for more at a time than its share of that number. Whichever ranks compute, the others go on
// meeting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"
#include "fci_core/ddi/device.h"

namespace fci::shm {

inline constexpr std::uint64_t kHandshakeMagic = 0x4d48532049434631ull;
inline constexpr std::uint32_t kVersion = 7;  // of everything in this directory that is shared
inline constexpr unsigned kHelloFiles = 3;

enum class Kind : std::uint16_t {
    hello = 1,
    refusal = 2,
    bye = 3,
    welcome = 4,
    met = 5,
    crossed = 6
};

/// Starts every record of every version.
struct Prologue {
    std::uint64_t magic;
    std::uint32_t version;
    Kind kind;
    std::uint16_t bytes;
};

struct Hello {
    Prologue prologue;
    ddi::Card card;
    std::uint64_t expects;  // incarnation of the process that is meant; 0: any that listens there
    std::uint64_t job;
    std::uint64_t layout_digest;
    std::uint64_t header_bytes;   // sizeof(SharedHeader)
    std::uint64_t block_bytes;    // of the block that comes with this
    std::uint64_t sizes;          // how the block is divided; not for this driver
    std::uint64_t guard_address;  // in the sender's address space (guard.h)
    std::uint64_t tries;          // meetings that the sender began in vain before
    std::int64_t rank;            // in its job; -1: nobody told it
};

/// Why two processes do not go together.
enum class Objection : std::uint32_t {
    none,
    malformed,  // no Hello at all: no answer
    version,
    job,
    layout = 5,  // 4 was of version 2
    replaced,   // the process that was meant is not there any more
    resources,  // the answering side ran out of descriptors or memory
    user,       // either has another user than at its start, and that they are of one was not shown
};

struct Refusal {
    Prologue prologue;
    Objection objection;
    std::uint32_t version;
    std::uint64_t reserved;
    std::uint64_t layout_digest;
};

/// Welcome, Met, Crossed, Bye.
struct Word {
    Prologue prologue;
};

static_assert(std::has_unique_object_representations_v<Hello> &&
              std::has_unique_object_representations_v<Refusal> &&
              std::has_unique_object_representations_v<Word>);
static_assert(sizeof(Prologue) == 16, "the same in every version");
static_assert(offsetof(Refusal, version) == 20, "read by those of another version");

Hello make_hello(const ddi::Settings& settings, const ddi::Card& card, std::uint64_t expects,
                 const void* guard, std::uint64_t tries = 0) noexcept;
Refusal make_refusal(const ddi::Settings& settings, Objection objection) noexcept;
Word make_word(Kind kind) noexcept;

/// Copies the prologue of a received record. False: the record is not of this driver.
bool read_prologue(const void* bytes, std::size_t length, Prologue* prologue) noexcept;

/// Copies a Hello out of received bytes and compares it with the own side.
Objection check_hello(const void* bytes, std::size_t length, const ddi::Settings& settings,
                      const ddi::Card& own, Hello* hello) noexcept;
bool read_refusal(const void* bytes, std::size_t length, Refusal* refusal) noexcept;

/// For the user: both values and the remedy. `theirs` is the other side's refusal, with its values.
std::string objection_text(const Refusal& theirs, const ddi::Settings& settings,
                           const std::string& who);
Status objection_status(Objection objection) noexcept;

}  // namespace fci::shm
