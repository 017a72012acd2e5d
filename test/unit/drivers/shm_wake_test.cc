// SPDX-License-Identifier: BSD-3-Clause
// The race that a sleeper and a writer run (house rule: no fence in the writer's path): whoever
// unmasks and then finds nothing must be woken by whoever wrote meanwhile.
#include <poll.h>

#include <atomic>
#include <thread>
#include <tuple>

#include "fci_core/base/prng.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/seed.h"

namespace fci::shm {
namespace {

/// Spins while both run at the same time, and gives way when they cannot.
void wait_for(const std::atomic<std::uint64_t>& word, std::uint64_t round) {
    for (unsigned i = 0; word.load() < round; ++i) {
        i < 2000 ? flag::pause() : std::this_thread::yield();
    }
}

// With a barrier of the whole system or with a fence of each writer; the reader masks after each
// look, or never.
class ShmWake : public testing::TestWithParam<std::tuple<Barrier, bool>> {};
INSTANTIATE_TEST_SUITE_P(Barrier, ShmWake,
                         testing::Combine(testing::Values(Barrier::system, Barrier::others,
                                                          Barrier::none),
                                          testing::Bool()));

TEST_P(ShmWake, unmask__look_or_be_woken) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
    constexpr std::uint64_t kRounds = 1'000;
    const auto [barrier, masks] = GetParam();
    const Tuning tuning{.barrier = barrier};
    Party reader(party_settings(), tuning), writer(party_settings(), tuning);
    const nhi::PeerId to = writer.meet(reader.device->card());
    ASSERT_TRUE(writer.until([&] { return reader.turn(), !writer.attached.empty(); }));
    const nhi::PeerId from = reader.attached.at(0);
    nhi::NetworkInterface& net = reader.device->network();
    ASSERT_EQ(net.mask_event_interrupt(0, true), Status::ok);
    ASSERT_EQ(net.configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    std::atomic<std::uint64_t> start = 0, done = 0;
    std::atomic<bool> enough = false;
    std::jthread thread([&] {
        Prng prng(seeded(1));
        for (std::uint64_t round = 1;; ++round) {
            const std::uint64_t pauses = prng.below(40);
            wait_for(start, round);
            if (enough) return;
            for (std::uint64_t i = 0; i < pauses; ++i) flag::pause();
            EXPECT_EQ(writer.put(to, 0, round), Status::ok);
            done = round;
        }
    });
    Prng prng(seeded(2));
    unsigned missed = 0, woken = 0;
    std::uint64_t round = 0;
    while (++round <= kRounds) {
        const std::uint64_t pauses = prng.below(40);
        start = round;
        for (std::uint64_t i = 0; i < pauses; ++i) flag::pause();
        EXPECT_EQ(net.mask_event_interrupt(0, false), Status::ok);
        const bool seen = reader.word(from, 0) == round;
        wait_for(done, round);
        pollfd wake{reader.device->wait_fd(), POLLIN, 0};
        const bool called = poll(&wake, 1, 0) == 1;
        missed += !seen && !called;
        woken += called;
        if (masks) {
            EXPECT_EQ(net.mask_event_interrupt(0, true), Status::ok);
        }
        if (called) reader.device->sleep(0);  // takes notice
    }
    enough = true;
    start = round;
    thread.join();
    EXPECT_EQ(missed, 0u);
    EXPECT_GT(woken, 0u);
}

}  // namespace
}  // namespace fci::shm
