// SPDX-License-Identifier: BSD-3-Clause
// Knocker: a stranger who calls the processes of a simulated network: he says nothing, or some of a
// hello, or one for somebody else, stays or hangs up. Nobody may lose anything by that.
#pragma once

#include <deque>
#include <memory>

#include "drivers/tcp/streams.h"
#include "fci_core/base/prng.h"
#include "fci_core/ddi/card.h"
#include "fci_core/ddi/device.h"

namespace fci::simulation {

class Knocker {
public:
    /// `settings`: of those that he calls.
    Knocker(std::unique_ptr<tcp::Streams> streams, std::uint64_t seed,
            const ddi::Settings& settings);

    /// Once, or a few times; seldom as often as one who guesses whom he calls.
    void act(const ddi::Card& whom);

private:
    // A door sends away 160 silent callers in a second, if it has no room for more: a true caller
    // behind all of these is heard before it loses patience.
    unsigned left_ = 1000;
    static constexpr std::size_t kCallsMost = 40;  // at a time: more than a small door has room for

    void call(const ddi::Card& whom);
    void say_something(tcp::Stream& stream, const ddi::Card& whom);

    std::unique_ptr<tcp::Streams> streams_;
    Prng prng_;
    const ddi::Settings settings_;
    bool may_guess_;
    std::deque<tcp::Stream> calls_{};
};

}  // namespace fci::simulation
