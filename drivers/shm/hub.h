// Hub: what a process shows to all who write to it (§2.5.2 windows, indices; App. C events).
//
//   words                          | written by | read by
//   identity, window, index        | owner      | peers
//   attention, counting,           | owner      | peers, after every transfer that raises
//     interrupting                 |            |
//   copying                        | owner      | peers that close
//   rung, count                    | peers      | peers; owner (count)
//
// A peer that raises an event reads one word, `attention`; it is 0 in the lower half while the
// owner neither counts nor sleeps. The sleeper pays for that: it makes all other processors pass a
// barrier before it looks for the last time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fci_core/nhi/types.h"

namespace fci::shm {

inline constexpr std::uint64_t kHubMagic = 0x3142554849434600ull;
inline constexpr std::uint64_t kNowhere = ~0ull;  // an index that was never set

/// The generation is odd while the window is open and grows with every change.
struct WindowEntry {
    std::uint64_t generation;
    std::uint64_t base, bytes;
    std::uint64_t offset;  // in the communication memory
};

struct Hub {
    // Identity: constant.
    std::uint64_t magic;
    std::uint64_t incarnation;
    std::uint32_t hub_bytes;
    std::uint32_t senders_fence;  // the owner has no way to make others pass a barrier

    // The incarnation of the process whose memory the owner copies just now; 0: none (guard.h).
    std::uint64_t copying;

    // Lower half: the events that want anything. Upper half: grows whenever the owner gets ready
    // to sleep and whenever it took notice of being woken.
    alignas(64) std::uint64_t attention;
    std::uint32_t counting;
    std::uint32_t interrupting;

    // The upper half of `attention` for which the owner was woken last; others need not do it.
    alignas(64) std::uint32_t rung;

    alignas(64) std::uint32_t count[nhi::kEventsMax];
    alignas(64) WindowEntry window[nhi::kWindowsMax];
    alignas(64) std::uint64_t index[nhi::kIndicesMax];
};
static_assert(sizeof(Hub) % 64 == 0 && sizeof(Hub) <= 4096);
static_assert(offsetof(Hub, attention) / 64 != offsetof(Hub, rung) / 64,
              "what the owner writes and what its peers write are in lines of their own");
static_assert(std::is_trivially_copyable_v<Hub>, "zeroed memory is one");

/// Where the communication memory starts.
inline constexpr std::size_t kHubBytes = 4096;
static_assert(sizeof(Hub) <= kHubBytes);

}  // namespace fci::shm
