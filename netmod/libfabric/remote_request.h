// SPDX-License-Identifier: BSD-3-Clause
// The requests and answers of endpoints for access to remote memory: headers of active messages.
// Data follows in the header as far as it has room there, which keeps the order under every
// protocol, else as the message's data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fci::libfabric {

/// Active messages that the provider uses.
enum : std::uint32_t { kRequestMessage = 1, kAnswerMessage = 2 };

enum class Access : std::uint8_t { write, read, atomic, fetch, compare };
inline constexpr unsigned kAccesses = 5;

constexpr bool brings_data_back(Access access) noexcept {
    return access == Access::read || access >= Access::fetch;
}
constexpr bool is_atomic(Access access) noexcept { return access >= Access::atomic; }

/// Written by the initiator; the target believes nothing of it.
struct Request {
    Access access;
    std::uint8_t flags;
    std::uint8_t datatype, operator_;  // of atomics: fi_datatype, fi_op
    std::uint32_t before;     // bytes of the same range in earlier requests
    std::uint64_t operation;  // the initiator's number, returned as it is
    std::uint64_t key;
    std::uint64_t address;    // in the region
    std::uint64_t bytes;      // of this request
    std::uint64_t place;      // of its first byte in the operation
    std::uint64_t immediate;
    std::uint32_t after;      // ... and in later ones. A range is refused as a whole
    std::uint32_t unused;
};
static_assert(sizeof(Request) == 64);

enum : std::uint8_t {
    kLastRequest = 1,    // of its operation: the target's counters and queue hear of it now
    kHasImmediate = 2,
};

enum class Verdict : std::uint8_t { done, unknown_key, out_of_bounds, no_access, malformed,
                                    not_enabled, fault };
inline constexpr unsigned kVerdicts = 7;

/// Written by the target; the initiator believes nothing of it.
struct Answer {
    std::uint64_t operation;
    std::uint64_t place;   // of the data that comes along
    Verdict verdict;
    std::uint8_t is_last;  // for its request
    std::uint8_t unused[6];
};
static_assert(sizeof(Answer) == 24);

/// Data that goes in one header: some elements of any type, twice the half with what is compared.
inline constexpr std::size_t kPieceBytes = 960;
inline constexpr std::size_t kHeaderBytes = sizeof(Request) + kPieceBytes;
static_assert(kPieceBytes % 64 == 0 && kHeaderBytes <= 1024);

}  // namespace fci::libfabric
