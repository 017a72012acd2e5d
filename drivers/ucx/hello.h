// SPDX-License-Identifier: BSD-3-Clause
// Hello: what two processes that have met by TCP tell each other about their ways by UCX. Each
// writes it into the tail of the block that the other one's TCP device keeps for it; the address of
// the writer's worker follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace fci::ucx {

/// Whether the two reach each other by UCX, as one end finds. They go by it if both say `works`.
enum class Verdict : std::uint32_t { unknown, works, fails };

struct Hello {
    std::uint64_t address_bytes;  // of the worker's address; written last, 0 until then
    std::uint64_t key;            // that frames to the writer carry
    std::uint64_t block_bytes;    // that the writer keeps for the reader: 1 to nhi::kPairLimit
    std::uint32_t number;         // of the reader, as the writer numbers its peers
    Verdict verdict;              // written once, after the rest
    std::uint64_t farewell;       // frames that the writer has sent when it closed, plus 1; else 0
};
static_assert(std::has_unique_object_representations_v<Hello>, "it travels as bytes");

/// Of the tail: addresses have 40 to 600 bytes, and grow with the ports of a host.
inline constexpr std::uint32_t kTail = 16 * 1024;
inline constexpr std::size_t kAddressMost = kTail - sizeof(Hello);

/// The peer's hello, in the tail of its block here. Without a block, or before it has come, it says
/// nothing.
inline Hello hello_in(std::span<const std::byte> block) noexcept {
    Hello hello{};
    if (block.size() >= kTail) std::memcpy(&hello, block.last(kTail).data(), sizeof hello);
    return hello;
}

}  // namespace fci::ucx
