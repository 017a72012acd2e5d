// SPDX-License-Identifier: BSD-3-Clause
// The contract of the network interface and the device (App. C, §3.2.2-3.2.3), once for all
// drivers: events, sleeping, and going away.
#include <atomic>
#include <string>
#include <thread>

#include "fci_core/base/flag.h"
#include "fci_core/base/prng.h"
#include "test/conformance/nhi.h"
#include "test/unit/seed.h"

namespace fci::conformance {
namespace {

// --- events ---

TEST_P(Nhi, event__counted_where_it_was_asked_for) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1);
    ASSERT_EQ(network(1).configure_event(4, {.flag = true, .interrupt = false}), Status::ok);
    world_->settle();
    for (unsigned i = 0; i < 10; ++i) {
        const std::uint64_t word = i;
        Transfer transfer(b);
        transfer.put(LcsAddress{0}, &word, 8).raise(4).raise(5);
        ASSERT_EQ(initiate(0, transfer), Status::ok);
    }
    EXPECT_TRUE(world_->until([&] { return network(1).event_count(4) == 10; }));
    EXPECT_EQ(network(1).event_count(5), 0u);
    EXPECT_EQ(network(0).event_count(4), 0u);
    EXPECT_EQ(network(1).event_count(nhi::kEventsMax), 0u);
}

TEST_P(Nhi, event__comes_after_the_data) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    ASSERT_EQ(network(1).configure_event(1, {.flag = true, .interrupt = false}), Status::ok);
    world_->settle();
    bool after = true;
    std::vector<std::uint64_t> data(512);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        std::ranges::fill(data, i);
        Transfer transfer(b);
        transfer.put(LcsAddress{0}, data.data(), 4096).raise(1);
        ASSERT_EQ(initiate(0, transfer), Status::ok);
        world_->turn();
        const std::uint32_t count = network(1).event_count(1);
        after = after && line_is_whole(words(1, a), 513, count);
    }
    EXPECT_TRUE(after);
}

// Ping-pong in which both sides sleep whenever nothing is there: not one wake-up may be lost.
TEST_P(Nhi, sleep__no_wake_up_is_lost) {
    if (!GetParam().clocks) GTEST_SKIP() << "needs devices that run at the same time";
    open_attached(2);
    const std::uint64_t rounds = 20'000 / slowness();
    std::atomic<unsigned> late = 0, slept = 0;
    const auto play = [&](unsigned me, bool serves) {
        ddi::Device& own = device(me);
        nhi::NetworkInterface& net = own.network();
        const nhi::PeerId other = ear(me).attached[0];
        const auto* const in = reinterpret_cast<const std::uint64_t*>(own.block(other).data());
        EXPECT_EQ(net.mask_event_interrupt(0, true), Status::ok);
        EXPECT_EQ(net.configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
        for (std::uint64_t round = 1; round <= rounds && late == 0; ++round) {
            Transfer transfer(other);
            transfer.put(LcsAddress{0}, &round, 8).raise(0);
            if (serves) {
                EXPECT_EQ(net.initiate_transfer(transfer), Status::ok);
            }
            while (flag::load_acquire(*in) < round && late == 0) {
                EXPECT_EQ(net.mask_event_interrupt(0, false), Status::ok);
                if (flag::load_acquire(*in) < round) {
                    const Nanoseconds before = own.now();
                    own.sleep(kForEver);
                    ++slept;
                    if (own.now() - before >= kForEver) ++late;
                    if (round % 7 == 0) net.poll(own.now());
                }
                EXPECT_EQ(net.mask_event_interrupt(0, true), Status::ok);
            }
            if (!serves) {
                EXPECT_EQ(net.initiate_transfer(transfer), Status::ok);
            }
        }
    };
    {
        std::jthread first([&] { play(0, true); });
        std::jthread second([&] { play(1, false); });
    }
    EXPECT_EQ(late, 0u);
    EXPECT_GT(slept, 0u);
}

// The event stays unmasked for many messages, and turns in between take notice of wake-ups.
TEST_P(Nhi, sleep__stream_to_a_sleeper) {
    if (!GetParam().clocks) GTEST_SKIP() << "needs devices that run at the same time";
    open_attached(2);
    const std::uint64_t messages = 20'000 / slowness();
    ASSERT_EQ(network(1).configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    std::jthread writer([&] {
        Prng prng(seeded(3));
        for (std::uint64_t i = 1; i <= messages; ++i) {
            Transfer transfer(ear(0).attached[0]);
            transfer.put(LcsAddress{0}, &i, 8).raise(0);
            EXPECT_EQ(initiate_alone(0, transfer), Status::ok);
            for (std::uint64_t n = prng.below(300); n != 0; --n) flag::pause();
            if (prng.chance(1)) std::this_thread::yield();
        }
        while (!network(0).is_idle()) network(0).poll(device(0).now());
    });
    const std::uint64_t* const in = words(1, ear(1).attached[0]);
    unsigned late = 0;
    std::uint64_t seen = 0;
    while (seen < messages && late == 0) {
        ASSERT_EQ(network(1).mask_event_interrupt(0, false), Status::ok);
        const std::uint64_t now = flag::load_acquire(*in);
        if (now == seen) {
            const Nanoseconds before = device(1).now();
            device(1).sleep(kForEver);
            if (device(1).now() - before >= kForEver) ++late;
        }
        seen = now;
    }
    EXPECT_EQ(late, 0u);
}

TEST_P(Nhi, sleep__times_out_and_masked_events_do_not_wake) {
    if (!GetParam().clocks) GTEST_SKIP() << "time is virtual";
    open_attached(2);
    ASSERT_EQ(network(1).configure_event(0, {.flag = true, .interrupt = true}), Status::ok);
    ASSERT_EQ(network(1).mask_event_interrupt(0, true), Status::ok);
    world_->settle();
    Transfer transfer(id_of(0, 1));
    transfer.raise(0);
    ASSERT_EQ(network(0).initiate_transfer(transfer), Status::ok);
    Nanoseconds before = device(1).now();
    device(1).sleep(30'000'000);
    EXPECT_GE(device(1).now() - before, 29'000'000);
    ASSERT_EQ(network(1).mask_event_interrupt(0, false), Status::ok);
    ASSERT_EQ(network(0).initiate_transfer(transfer), Status::ok);
    before = device(1).now();
    device(1).sleep(kForEver);
    EXPECT_LT(device(1).now() - before, kForEver);
    // The first event alone may have ended the sleep.
    EXPECT_TRUE(world_->until([&] { return network(1).event_count(0) == 2; }));
}

// --- going away ---

TEST_P(Nhi, close__is_told_and_leaves_what_was_written) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    const std::uint64_t word = 13;
    ASSERT_EQ(put(1, a, 24, &word, 8), Status::ok);
    world_->settle();
    world_->close(1);
    ASSERT_TRUE(world_->until([&] { return ear(0).lost.size() == 1; }));
    EXPECT_EQ(ear(0).lost[0].id, b);
    EXPECT_EQ(ear(0).lost[0].why, Status::not_found);  // `lost` is for those that died
    EXPECT_NE(ear(0).lost[0].reason.find("closed"), std::string::npos) << ear(0).lost[0].reason;
    ASSERT_EQ(device(0).block(b).size(), kBlockBytes);
    EXPECT_EQ(words(0, b)[3], 13u);
    Transfer transfer(b);
    transfer.put(LcsAddress{0}, &word, 8);
    EXPECT_EQ(initiate(0, transfer), Status::lost);
    EXPECT_EQ(device(0).connect(b), Status::lost);
    world_->settle();
    EXPECT_EQ(ear(0).lost.size(), 1u);
}

/// The process that closes has not read all that it was sent, which must not cost what it has sent.
TEST_P(Nhi, close__loses_nothing_that_a_busy_peer_has_not_taken) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    const std::uint64_t unread = 7;
    ASSERT_EQ(put(0, b, 24, &unread, 8), Status::ok);
    while (!network(0).is_idle()) network(0).poll(device(0).now());
    const std::uint64_t count = 32;  // as many as a queue of each kind holds
    for (std::uint64_t i = 1; i <= count; ++i) {
        Transfer transfer(a);
        transfer.put(LcsAddress{8 * i}, &i, 8);
        ASSERT_EQ(initiate_alone(1, transfer), Status::ok);
    }
    while (!network(1).is_idle()) network(1).poll(device(1).now());
    world_->close(1);
    ASSERT_TRUE(world_->until([&] { return ear(0).lost.size() == 1; }));
    EXPECT_EQ(ear(0).lost[0].why, Status::not_found) << ear(0).lost[0].reason;
    for (std::uint64_t i = 1; i <= count; ++i) EXPECT_EQ(words(0, b)[i], i);
}

TEST_P(Nhi, reopen__at_the_same_place_is_another_rank) {
    open_attached(2);
    const nhi::PeerId old = id_of(0, 1);
    ddi::Settings settings = usual_settings();
    settings.wanted = device(1).card();
    world_->close(1);
    world_->open(settings);
    EXPECT_TRUE(device(2).card().same_place(settings.wanted));
    EXPECT_NE(device(2).card().incarnation, settings.wanted.incarnation);
    ASSERT_EQ(device(2).connect(id_of(2, 0)), Status::ok);
    const auto is_heard = [&] { return ear(0).attached.size() == 2 && !ear(0).lost.empty(); };
    ASSERT_TRUE(world_->until([&] { return is_heard() && ear(2).attached.size() == 1; }));
    ASSERT_EQ(ear(0).lost.size(), 1u);
    EXPECT_EQ(ear(0).lost[0].id, old);
    EXPECT_NE(ear(0).attached[1], old);
    EXPECT_EQ(id_of(0, 2), ear(0).attached[1]);
}

}  // namespace
}  // namespace fci::conformance
