// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/handle_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "fci_core/base/prng.h"
#include "test/unit/seed.h"

namespace fci {
namespace {

struct Thing {
    Thing* next_free = nullptr;
    std::uint32_t handle = 0;
    int value = 0;
};

TEST(handle_pool, find__gives_what_was_taken) {
    HandlePool<Thing> pool;
    std::vector<Thing*> things;
    std::set<std::uint32_t> handles;
    for (int i = 0; i < 1000; ++i) {
        Thing* const thing = pool.take();
        ASSERT_NE(thing, nullptr);
        thing->value = i;
        things.push_back(thing);
        EXPECT_TRUE(handles.insert(thing->handle).second);
        EXPECT_NE(thing->handle, 0u);
    }
    EXPECT_EQ(pool.used(), 1000u);
    for (Thing* thing : things) EXPECT_EQ(pool.find(thing->handle), thing);
}

TEST(handle_pool, find__refuses_what_is_stale) {
    HandlePool<Thing> pool;
    Thing* const thing = pool.take();
    const std::uint32_t old = thing->handle;
    pool.give_back(*thing);
    EXPECT_EQ(pool.find(old), nullptr);
    Thing* const again = pool.take();
    EXPECT_EQ(again, thing);  // the place is used again ...
    EXPECT_NE(again->handle, old);
    EXPECT_EQ(pool.find(old), nullptr);  // ... under another number
}

TEST(handle_pool, trim__gives_memory_back_and_no_number_twice) {
    constexpr std::size_t kMany = 10'000;
    HandlePool<Thing> pool;
    std::vector<Thing*> things;
    std::set<std::uint32_t> handles;
    for (std::size_t i = 0; i < kMany; ++i) things.push_back(pool.take());
    const std::size_t most = pool.memory();
    Thing* const stays = things[kMany / 2];
    for (Thing* thing : things) {
        handles.insert(thing->handle);
        if (thing != stays) pool.give_back(*thing);
    }
    const std::uint32_t handle = stays->handle;
    pool.trim();
    EXPECT_LT(pool.memory(), most * 6 / 10);
    EXPECT_EQ(pool.find(handle), stays);
    pool.give_back(*stays);
    pool.trim();
    EXPECT_EQ(pool.memory(), pool.kChunksKept * pool.kChunk * sizeof(Thing));
    for (std::size_t i = 0; i < kMany; ++i) {
        Thing* const thing = pool.take();
        EXPECT_TRUE(handles.insert(thing->handle).second);
        EXPECT_EQ(pool.find(thing->handle), thing);
    }
    EXPECT_EQ(pool.used(), kMany);
}

TEST(handle_pool, find__refuses_what_was_never_given) {
    HandlePool<Thing> pool;
    EXPECT_EQ(pool.find(0), nullptr);
    EXPECT_EQ(pool.find(1), nullptr);
    Thing* const thing = pool.take();
    Prng chance(seeded(5));
    for (int i = 0; i < 100'000; ++i) {
        const auto guess = static_cast<std::uint32_t>(chance.next());
        ASSERT_EQ(pool.find(guess), guess == thing->handle ? thing : nullptr);
    }
}

TEST(handle_pool, generation__does_not_repeat_soon_and_is_never_zero) {
    HandlePool<Thing> pool;
    std::uint32_t last = 0;
    for (unsigned i = 0; i < 3u << (32 - HandlePool<Thing>::kIndexBits); ++i) {
        Thing* const thing = pool.take();
        ASSERT_NE(thing->handle, last);
        ASSERT_NE(thing->handle >> HandlePool<Thing>::kIndexBits, 0u);
        last = thing->handle;
        pool.give_back(*thing);
    }
}

TEST(handle_pool, for_each__sees_those_in_use_once) {
    HandlePool<Thing> pool;
    std::set<Thing*> expected;
    for (int i = 0; i < 200; ++i) expected.insert(pool.take());
    for (auto it = expected.begin(); it != expected.end();) {
        if ((*it)->handle % 3 == 0) {
            pool.give_back(**it);
            it = expected.erase(it);
        } else {
            ++it;
        }
    }
    std::set<Thing*> seen;
    pool.for_each([&](Thing& thing) { EXPECT_TRUE(seen.insert(&thing).second); });
    EXPECT_EQ(seen, expected);
    pool.for_each([&](Thing& thing) { pool.give_back(thing); });
    EXPECT_EQ(pool.used(), 0u);
}

}  // namespace
}  // namespace fci
