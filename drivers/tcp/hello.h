// SPDX-License-Identifier: BSD-3-Clause
// Hello: what both ends of a connection say first: who, and what they must agree on. Written by
// both, believed by neither. The wire is in clear: what keeps strangers out is that nobody knows
// the incarnation of a process but those who have its card. Of every version it has this length,
// the magic first and `to` at its place, so that two of them tell each other that they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drivers/tcp/streams.h"
#include "fci_core/ddi/agreement.h"
#include "fci_core/ddi/card.h"

namespace fci::tcp {

enum class Verdict : std::uint32_t {
    welcome,   // also of who calls
    crossing,  // both call: this connection goes, the answerer's own one comes
    mismatch,  // in what the hello says
    gone,      // the caller was given up before, and does not come back under this card
};

struct Hello {
    static constexpr std::uint64_t kMagic = 0x0500'7063'7449'4346;  // "FCItcp", version 5
    static constexpr std::uint64_t kAnyVersion = 0xffff'ffff'ffff;  // of the magic

    std::uint64_t magic;
    std::uint64_t job;
    std::uint64_t layout_digest;
    std::uint64_t sizes;
    std::uint64_t block_bytes;  // that its writer keeps for the reader
    ddi::Card from;             // the writer's
    ddi::Card to;               // the reader's, as far as the writer knows it
    std::uint32_t pid;
    Verdict verdict;
    std::int64_t rank;  // in its job; -1: nobody told it

    [[nodiscard]] bool is_of_another_version() const noexcept {
        return magic != kMagic && ((magic ^ kMagic) & kAnyVersion) == 0;
    }
    /// A refusal that says nothing of its writer.
    [[nodiscard]] bool is_bare() const noexcept {
        return verdict == Verdict::mismatch && from.port == 0;
    }
    /// What the two must have in common, as ddi::difference() compares it.
    [[nodiscard]] ddi::Settings settings() const {
        ddi::Settings told;
        told.job = job;
        told.layout_digest = layout_digest;
        return told;
    }
};
static_assert(sizeof(Hello) == 88 && offsetof(Hello, to) == 56, "of every version");
static_assert(std::has_unique_object_representations_v<Hello>);

/// 0, or why it cannot be said, as errno has it.
int say(Stream& stream, const Hello& hello) noexcept;

/// The hello of the other end, as it comes.
class HelloReader {
public:
    enum class Heard : std::uint8_t { part, all, closed };

    Heard hear(Stream& stream) noexcept;
    [[nodiscard]] const Hello& hello() const noexcept { return hello_; }

private:
    Hello hello_{};
    std::size_t bytes_ = 0;  // that are here
};

}  // namespace fci::tcp
