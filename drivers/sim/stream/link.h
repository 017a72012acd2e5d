// SPDX-License-Identifier: BSD-3-Clause
// Link: a simulated connection: two ends, and a pipe from each to the other.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>

#include "fci_core/base/status.h"

namespace fci::sim {

/// Bytes that one end has written and the other one has not read. `here` of them are at the
/// reader's.
struct Pipe {
    /// Bytes that are read before a window of one byte opens by another one; else a long message
    /// would take millions of turns.
    static constexpr std::size_t kReadForOneMore = 64;

    std::deque<std::byte> bytes{};
    std::size_t here = 0;
    std::size_t room = 0;    // bytes, in all
    std::size_t window = 0;  // bytes at the reader's; it opens while much is read
    std::size_t taken = 0;
    bool is_fresh = true;    // nothing was written so far
    bool moves = false;      // some bytes arrive at a time that is known
    bool ends = false;       // the writer writes no more
    bool is_at_end = false;  // the reader's system knows that the writer writes no more
    bool is_lost = false;    // bytes written from now on arrive nowhere
    bool is_corked = false;
    Nanoseconds corked_until = 0;
    Nanoseconds heard = 0;  // when the reader's system said something last

    [[nodiscard]] std::size_t under_way() const noexcept { return bytes.size() - here; }
    [[nodiscard]] std::size_t free() const noexcept { return room - std::min(room, bytes.size()); }
    void lose_under_way() noexcept {
        bytes.resize(here);
        is_lost = true;
    }
    /// Takes the first `count` bytes to be written; there is room for them.
    void put(std::span<const iovec> ranges, std::size_t count) {
        if (is_lost) return;
        for (const iovec& range : ranges) {
            const auto* const from = static_cast<const std::byte*>(range.iov_base);
            const std::size_t part = std::min(count, range.iov_len);
            bytes.insert(bytes.end(), from, from + part);
            count -= part;
        }
    }
    /// Reads `count` bytes, which are here.
    void take(std::span<const iovec> ranges, std::size_t count) {
        here -= count;
        taken += count;
        window = std::max(window, std::min(room, taken / kReadForOneMore));
        for (const iovec& range : ranges) {
            const auto part = static_cast<std::ptrdiff_t>(std::min(count, range.iov_len));
            std::copy_n(bytes.begin(), part, static_cast<std::byte*>(range.iov_base));
            bytes.erase(bytes.begin(), bytes.begin() + part);
            count -= static_cast<std::size_t>(part);
        }
    }
};

struct Link {
    struct End {
        unsigned process = 0;
        bool is_open = false;  // a process has this end
        int error = 0;         // why nothing goes through the link any more
        Pipe in{};
        std::size_t tells_from = 1;
    };
    End ends[2];  // the caller's, and the listener's
    bool is_connected = false;  // the call got there
    bool is_silent = false;  // nothing arrives any more, and neither end hears so

    [[nodiscard]] Pipe& out_of(unsigned side) noexcept { return ends[1 - side].in; }
};

}  // namespace fci::sim
