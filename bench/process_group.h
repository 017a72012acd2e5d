// SPDX-License-Identifier: BSD-3-Clause
// Processes: a few processes on chosen cores, with a page of memory that all see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/bare_ring.h"
#include "bench/floor.h"

namespace fci::bench {

inline constexpr unsigned kCrewMost = 16;

struct alignas(256) SharedPage {
    fci_handoff token;
    std::uint64_t word[64];  // free for the members
    std::uint32_t turn;      // as well
    struct alignas(64) Member {
        std::uint64_t has_card, finished, disturbed;
        unsigned char card[16];
    } member[kCrewMost];
    alignas(64) std::uint64_t epoch, rounds;  // the request of number 0 to the others
    BareRings rings;
};

/// A member's part, with its number; 0 is the calling process.
using Part = std::function<bool(unsigned number, SharedPage& page)>;

/// Runs `part` in cores.size() processes, on these cores (-1: anywhere), until all have returned.
/// False: a member returned false or died, or there was no memory or process to be had. Then the
/// others are ended.
bool run_processes(const std::vector<int>& cores, const Part& part);

/// Time per call of `once`, called in growing batches for about `budget_ns`.
template <class Once>
double time_per_call(std::int64_t budget_ns, Once&& once) {
    std::uint64_t calls = 1;
    for (;;) {
        const std::int64_t begin = fci_now_ns();
        for (std::uint64_t i = 0; i < calls; ++i) once();
        const std::int64_t took = fci_now_ns() - begin;
        if (took >= budget_ns || calls > (1ull << 40))
            return static_cast<double>(took) / static_cast<double>(calls);
        const std::int64_t per_call = took / static_cast<std::int64_t>(calls) + 1;
        const auto wanted = static_cast<std::uint64_t>(budget_ns / per_call + 1);
        calls = wanted < calls * 16 ? (wanted > calls ? wanted : calls * 2) : calls * 16;
    }
}

}  // namespace fci::bench
