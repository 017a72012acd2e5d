// SPDX-License-Identifier: BSD-3-Clause
// Link: what can be done with one peer, beside transfers. It is decided when the peer attaches, and
// stays so until it is lost. Of two processes, both have the same kind of link.
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
    std::size_t block_bytes = 0;  // of it, also where it is written by transfers
    /// Its low bits: events that must be raised by a transfer.
    const std::uint64_t* wanted_events = nullptr;
    /// At `wanted_events`: all of them, whatever the peer wants. After each that was raised, link()
    /// is asked again for another word.
    static constexpr std::uint64_t kAlways = ~std::uint64_t{0};

    bool mapped = false;     // NetworkInterface::map() works, here for it, there for this process
    bool same_host = false;  // the peer uses the same processors
    bool direct = false;     // NetworkInterface::data() reaches it, and it this process
};

}  // namespace fci::nhi
