// SPDX-License-Identifier: BSD-3-Clause
// BareRings: what the processors take to pass a message, without FCI: two words and a number, in a
// line of its own, which the other one has been looking at. The token of t_c is in one line, and
// comes back to the process that has just had it.
#pragma once

#include <cstdint>

#include "fci_core/base/flag.h"

namespace fci::bench {

struct BareRings {
    static constexpr unsigned kLines = 128;
    struct alignas(64) Line {
        std::uint64_t word[7], number;
    };
    Line line[2][kLines];  // written by member 0, by member 1
};

/// Member 0 sends and waits for the answer, member 1 answers, `rounds` times. `sent`: so many went
/// before; returns how many it are then.
inline std::uint64_t pass_lines(BareRings& rings, unsigned member, std::uint64_t sent,
                                std::uint64_t rounds) {
    const std::uint64_t last = sent + rounds;
    std::uint64_t got = 0;
    while (sent != last) {
        ++sent;
        const BareRings::Line& in = rings.line[1 - member][sent % BareRings::kLines];
        const auto put = [&] {
            BareRings::Line& out = rings.line[member][sent % BareRings::kLines];
            out.word[0] = sent;
            out.word[1] = got;  // so that what came is read
            flag::store_release(out.number, sent);
        };
        if (member == 0) put();
        while (flag::load_acquire(in.number) != sent) continue;
        got = in.word[1];
        if (member == 1) put();
    }
    return last;
}

}  // namespace fci::bench
