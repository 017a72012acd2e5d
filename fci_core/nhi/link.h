// SPDX-License-Identifier: BSD-3-Clause
// Link: the ways to one peer beside transfers. They are decided when the peer attaches, and stay
// until it is lost. Two processes have the same kind of link to each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fci::nhi {

struct Link {
    /// The block that the peer keeps for this process (LCS addresses below kPairLimit), where it
    /// can be written by plain stores; nullptr: by transfers only. Stores do what
    /// initiate_transfer() would: the bytes in the order in which they must be seen, the last word
    /// of all by flag::store_release; then a look at `wanted_events`, and if a bit of an event that
    /// comes with them is set, initiate_transfer() with that event alone.
    std::byte* block = nullptr;
    std::size_t block_bytes = 0;  // of the block, also if it is written by transfers
    /// The low bits of this word: events that must be raised by a transfer.
    const std::uint64_t* wanted_events = nullptr;
    /// The word at `wanted_events` while all events must be raised, wanted or not. After each
    /// raised event the caller asks link() again, which may give another word.
    static constexpr std::uint64_t kAlways = ~std::uint64_t{0};

    bool mapped = false;     // NetworkInterface::map() works for both processes
    bool same_host = false;  // the peer uses the same processors
    bool direct = false;     // NetworkInterface::data() works in both directions
};

}  // namespace fci::nhi
