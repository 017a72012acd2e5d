// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/knocker.h"

#include <arpa/inet.h>

#include <cstring>
#include <utility>

#include "drivers/tcp/guesses.h"
#include "drivers/tcp/hello.h"
#include "drivers/tcp/own.h"

namespace fci::simulation {

Knocker::Knocker(std::unique_ptr<tcp::Streams> streams, std::uint64_t seed,
                 const ddi::Settings& settings)
    : streams_(std::move(streams)),
      prng_(seed),
      settings_(settings),
      may_guess_(prng_.chance(15)) {}

void Knocker::act(const ddi::Card& whom) {
    const bool guesses = std::exchange(may_guess_, false);
    for (std::uint64_t left = guesses ? tcp::Guesses::kMost + 50 : prng_.between(1, 12); left != 0;
         --left) {
        call(whom);
    }
}

void Knocker::call(const ddi::Card& whom) {
    if (left_ == 0) return;
    --left_;
    const int number = streams_->call({}, whom);
    if (number < 0) return;
    tcp::Stream stream(*streams_, number);
    if (!prng_.chance(30)) say_something(stream, whom);
    if (prng_.chance(30)) return;  // hangs up on the way
    calls_.push_back(std::move(stream));
    while (calls_.size() > kCallsMost) calls_.pop_front();
}

/// Nothing that a process of this job would say to that one.
void Knocker::say_something(tcp::Stream& stream, const ddi::Card& whom) {
    ddi::Card own = whom;
    own.port = htons(9);
    own.incarnation = prng_.next() | 1;
    tcp::Hello hello = tcp::Own{settings_, own}.hello_to(whom, tcp::Verdict::welcome);
    hello.block_bytes = 4096;
    std::size_t bytes = sizeof hello;
    switch (prng_.below(6)) {
        case 0:
            bytes = prng_.between(1, sizeof hello - 1);
            break;
        case 1:
            hello.to.incarnation ^= prng_.next() | 1;
            break;
        case 2:
            hello.magic ^= std::uint64_t{1} << 48;
            break;
        case 3:
            hello.job ^= 1;
            break;
        case 4:
            hello.verdict = tcp::Verdict::gone;
            break;
        default:
            for (std::size_t i = 0; i < sizeof hello; i += 8) {
                const std::uint64_t word = prng_.next();
                std::memcpy(reinterpret_cast<std::byte*>(&hello) + i, &word, sizeof word);
            }
    }
    const iovec all{&hello, bytes};
    (void)stream.send({&all, 1});
}

}  // namespace fci::simulation
