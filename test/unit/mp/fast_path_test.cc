// SPDX-License-Identifier: BSD-3-Clause
// The fast paths, each for itself: what they take they take whole, and what is not theirs they
// leave as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/unit/mp/pair.h"

namespace fci::mp {
namespace {

using namespace test;

constexpr sim::WorldOptions kReachable{.mapped = true, .stores = true};
constexpr std::uint64_t kImmediateWord = 0x0123456789abcdef;

/// Both have met, and a message has found that nothing is in the way of others.
void open_way(Pair& p) {
    std::vector<std::byte> none;
    p.attach();
    ASSERT_EQ(p.send(0, 0, 998, none, 900), kDone);
    ASSERT_EQ(p.receive(1, 998, none, 901), kAccepted);
    p.settle();
    p.recorder.outcomes.clear();
}

/// A line takes the fast path only where it is known to have room: another send looks for that.
void look_for_capacity(Pair& p) {
    auto data = pattern(60);
    std::vector<std::byte> to(60);
    ASSERT_EQ(p.receive(1, 997, to, 902), kAccepted);
    ASSERT_EQ(p.send(0, 0, 997, data, 903), kDone);
    p.settle();
    ASSERT_EQ(to, data);
    p.recorder.outcomes.erase(902);
}

/// A receive that is posted without a look for messages, and what is behind its buffer.
struct Posted {
    std::vector<std::byte> memory;
    std::uint32_t handle = 0;

    Posted(Pair& p, int at, nhi::PeerId source, std::uint64_t match, std::size_t bytes, int number)
        : memory(bytes + 64, std::byte{0xEE}) {
        handle = fast::post(p.ends[at]->engine(), {source, 0, match, 0}, memory.data(), bytes,
                            p.recorder.on(number));
    }
    [[nodiscard]] bool holds(std::span<const std::byte> data) const {
        return std::equal(data.begin(), data.end(), memory.begin()) &&
               std::all_of(memory.begin() + static_cast<long>(data.size()), memory.end(),
                           [](std::byte b) { return b == std::byte{0xEE}; });
    }
};

TEST(fast_path, every_length_with_and_without_an_immediate) {
    Pair p(kEnhancedMixed, kReachable);
    open_way(p);
    int number = 0;
    for (const std::uint32_t flags : {0u, kSendImmediate}) {
        for (const std::size_t bytes :
             {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 41, 48, 49, 1000, 4096}) {
            const auto data = pattern(bytes, static_cast<unsigned>(bytes + flags));
            for (const bool any : {false, true}) {
                const std::uint64_t match = 7 + static_cast<std::uint64_t>(number);
                const nhi::PeerId source = any ? kAnySource : p.there[1];
                const Posted posted(p, 1, source, match, bytes + 3, ++number);
                ASSERT_NE(posted.handle, 0u);
                look_for_capacity(p);
                ASSERT_TRUE(p.send_fast(0, p.there[0], flags, match, kImmediateWord, data))
                    << bytes << ' ' << flags;
                p.settle();
                ASSERT_TRUE(p.recorder.has(number)) << bytes << ' ' << flags;
                const Outcome& outcome = p.recorder.outcomes[number];
                EXPECT_EQ(outcome.error, kSuccess);
                EXPECT_EQ(outcome.source, p.there[1]);
                EXPECT_EQ(outcome.flags, flags);
                EXPECT_EQ(outcome.immediate, flags != 0 ? kImmediateWord : 0);
                EXPECT_EQ(outcome.match, match);
                EXPECT_EQ(outcome.length, bytes);
                EXPECT_EQ(outcome.received, bytes);
                EXPECT_TRUE(posted.holds(data)) << bytes << ' ' << flags;
            }
        }
    }
    EXPECT_EQ(p.ends[1]->engine().orders.used(), 0u);
    EXPECT_GT(p.ends[0]->engine().counters.sent_inline, 0u);
}

TEST(fast_path, a_message_that_is_too_long_is_cut) {
    Pair p(kEnhancedMixed, kReachable);
    open_way(p);
    int number = 0;
    for (const std::size_t bytes : {1, 8, 16, 17, 48, 1000}) {
        const auto data = pattern(bytes);
        const Posted posted(p, 1, p.there[1], 7, bytes - 1, ++number);
        ASSERT_NE(posted.handle, 0u);
        const iovec range{const_cast<std::byte*>(data.data()), bytes};
        ASSERT_GE(p.ends[0]->send({p.there[0], 0, 0, 7, 0, {&range, 1}}, {}, nullptr), 0);
        p.settle();
        ASSERT_TRUE(p.recorder.has(number)) << bytes;
        EXPECT_EQ(p.recorder.error(number), kTruncated);
        EXPECT_EQ(p.recorder.outcomes[number].length, bytes);
        EXPECT_EQ(p.recorder.outcomes[number].received, bytes - 1);
        EXPECT_TRUE(posted.holds(std::span(data).first(bytes - 1))) << bytes;
    }
}

TEST(fast_path, post__leaves_alone_what_is_not_its) {
    Pair p(kEnhancedMixed, kReachable);
    std::byte memory[64];
    const auto post = [&](nhi::PeerId source, std::uint64_t bytes, const Completion& completion) {
        return fast::post(p.ends[1]->engine(), {source, 0, 7, 0}, memory, bytes, completion);
    };
    EXPECT_EQ(post(p.there[1], 8, p.recorder.on(1)), 0u) << "not met yet";
    open_way(p);
    const std::uint64_t most = small_limits().offer_bytes - 1;
    EXPECT_EQ(post(p.there[1], most + 1, p.recorder.on(2)), 0u) << "to be offered";
    EXPECT_EQ(post(p.there[1], 8, {}), 0u) << "nobody asks";
    EXPECT_EQ(post(p.there[1] + 1, 8, p.recorder.on(3)), 0u) << "nobody known";
    EXPECT_EQ(p.ends[1]->engine().orders.used(), 0u);
    for (const std::uint32_t handle :
         {post(p.there[1], most, p.recorder.on(4)), post(kAnySource, 8, p.recorder.on(5))}) {
        ASSERT_NE(handle, 0u);
        EXPECT_EQ(p.ends[1]->cancel(handle), kSuccess);
    }
    p.settle();
    EXPECT_EQ(p.recorder.error(4), kCanceled);
    EXPECT_EQ(p.recorder.error(5), kCanceled);
    EXPECT_EQ(p.ends[1]->engine().orders.used(), 0u);
}

// A process that waits looks for a while, or until something else is due.
TEST(fast_path, comes_in_a_moment__where_the_next_message_is_here) {
    for (const bool stores : {true, false}) {
        Pair p(kEnhancedMixed, {.mapped = true, .stores = stores});
        p.attach();
        Engine& engine = p.ends[1]->engine();
        const auto comes = [&] { return fast::comes_in_a_moment(engine, engine.arrival()); };
        EXPECT_FALSE(engine.is_more_due());
        EXPECT_FALSE(comes());
        engine.work.set_busy();
        EXPECT_FALSE(comes());
        auto data = pattern(8);
        EXPECT_EQ(p.send(0, 0, 7, data, 1), kDone);
        while (!p.world.idle()) p.devices[1]->network().poll(0);
        EXPECT_TRUE(comes());
        std::vector<std::byte> to(8);
        p.receive(1, 7, to, 2);
        p.settle();
        EXPECT_FALSE(comes());
        EXPECT_EQ(to, data);
    }
}

int receive(Pair& p, std::span<const iovec> to, const Completion& completion) {
    return p.ends[1]->receive({p.there[1], 0, 7, 0}, to, completion, nullptr, nullptr);
}

// Nobody asks: such a receive ends in silence, at once or later.
TEST(fast_path, a_receive_that_nobody_asks_for_is_filled) {
    Pair p(kEnhancedMixed, kReachable);
    open_way(p);
    for (const std::size_t bytes : {8, 1000}) {
        const auto data = pattern(bytes);
        std::vector<std::byte> to(bytes);
        const iovec range{to.data(), to.size()};
        ASSERT_EQ(receive(p, {&range, 1}, {}), kAccepted);
        ASSERT_TRUE(p.send_fast(0, p.there[0], 0, 7, 0, data));
        p.settle();
        EXPECT_EQ(to, data);
        EXPECT_EQ(p.ends[1]->engine().orders.used(), 0u);
    }
}

// A receive of several ranges goes through a bounce, which the fast path knows nothing of.
TEST(fast_path, a_receive_of_several_ranges_gets_each) {
    Pair p(kEnhancedMixed, kReachable);
    open_way(p);
    for (const std::size_t bytes : {12, 100}) {
        const auto data = pattern(bytes);
        std::vector<std::byte> one(5), other(bytes - 5);
        const iovec ranges[] = {{one.data(), one.size()}, {other.data(), other.size()}};
        ASSERT_EQ(receive(p, ranges, p.recorder.on(1)), kAccepted);
        ASSERT_EQ(p.send(0, 0, 7, std::span(const_cast<std::byte*>(data.data()), bytes), 2), kDone);
        p.settle();
        ASSERT_TRUE(p.recorder.has(1));
        EXPECT_TRUE(std::equal(one.begin(), one.end(), data.begin()));
        EXPECT_TRUE(std::equal(other.begin(), other.end(), data.begin() + 5));
        p.recorder.outcomes.clear();
    }
}

}  // namespace
}  // namespace fci::mp
