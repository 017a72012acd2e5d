// SPDX-License-Identifier: BSD-3-Clause
// Hello: the first record of both ends of a connection: it names the writer, and the settings on
// which both must agree. Each end checks all of the other's. The wire is in clear: strangers are
// kept out because only processes that have a process's card know its incarnation. In every version
// the hello has this length, the magic first and `to` at its place, so that processes of two
// versions can tell each other that they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drivers/tcp/streams.h"
#include "fci_core/ddi/agreement.h"
#include "fci_core/ddi/card.h"
#include "fci_core/nhi/types.h"

namespace fci::tcp {

enum class Verdict : std::uint32_t {
    welcome,   // also in every caller's hello
    crossing,  // both call: this connection ends, and the answerer's own call goes on
    mismatch,  // the settings differ
    gone,      // the answerer gave the caller up before, and takes it no more under this card
};

struct Hello {
    static constexpr std::uint64_t kMagic = 0x0600'7063'7449'4346;  // "FCItcp", version 6
    static constexpr std::uint64_t kAnyVersion = 0xffff'ffff'ffff;  // of the magic

    std::uint64_t magic;
    std::uint64_t job;
    std::uint64_t layout_digest;
    std::uint64_t sizes;
    std::uint64_t block_bytes;  // of the block that the writer keeps for the reader
    ddi::Card from;             // the writer's
    ddi::Card to;               // the reader's, as far as the writer knows it
    std::uint32_t pid;
    Verdict verdict;
    std::int32_t rank;         // the writer's, in its job; -1: not known
    std::uint32_t tail_bytes;  // behind that block (ddi::NetworkRequest)

    [[nodiscard]] bool is_of_another_version() const noexcept {
        return magic != kMagic && ((magic ^ kMagic) & kAnyVersion) == 0;
    }
    [[nodiscard]] bool has_sound_block() const noexcept {
        return block_bytes != 0 && block_bytes <= nhi::kPairLimit &&
               tail_bytes <= nhi::kPairLimit - block_bytes;
    }
    /// A refusal that says nothing of its writer.
    [[nodiscard]] bool is_bare() const noexcept {
        return verdict == Verdict::mismatch && from.port == 0;
    }
    /// The settings that the two must have in common, as ddi::difference() compares them.
    [[nodiscard]] ddi::Settings settings() const {
        ddi::Settings told;
        told.job = job;
        told.layout_digest = layout_digest;
        return told;
    }
};
static_assert(sizeof(Hello) == 88 && offsetof(Hello, to) == 56, "of every version");
static_assert(std::has_unique_object_representations_v<Hello>);

/// Sends the hello: 0, or an errno.
int say(Stream& stream, const Hello& hello) noexcept;

/// The hello of the other end, as it comes.
class HelloReader {
public:
    enum class Heard : std::uint8_t { part, all, closed };

    Heard hear(Stream& stream) noexcept;
    [[nodiscard]] const Hello& hello() const noexcept { return hello_; }

private:
    Hello hello_{};
    std::size_t bytes_ = 0;  // of the hello, that are here
};

}  // namespace fci::tcp
