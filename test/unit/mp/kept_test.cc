// SPDX-License-Identifier: BSD-3-Clause
// Short messages that their receiver holds back, and go on as copies: who sent them need not wait.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "test/unit/mp/pair.h"

using namespace fci;
using namespace fci::mp;
using namespace fci::mp::test;

namespace {

/// What icl.h gives to no user: the memory is found by where it is.
struct Kept {
    std::map<void*, std::size_t> now;
    std::size_t most = ~std::size_t{0};  // copies
    unsigned refused = 0, lost = 0;
    std::vector<std::size_t> lengths;
} kept;

decltype(Engine::keeper) keeper() {
    kept = {};
    return {[](const Completion* of, std::size_t bytes) -> void* {
                EXPECT_NE(of->done, nullptr);
                if (kept.now.size() == kept.most) return ++kept.refused, nullptr;
                void* const memory = std::malloc(bytes + 1);
                kept.now[memory] = bytes;
                kept.lengths.push_back(bytes);
                return memory;
            },
            [](void* memory, void*, const Outcome* outcome) {
                EXPECT_EQ(kept.now.erase(memory), 1u);
                kept.lost += outcome->error != kSuccess;
                std::free(memory);
            }};
}

/// Numbered in its first bytes, and then written over: the buffer is the sender's again.
int send_number(Pair& p, std::uint32_t flags, int number, std::vector<std::byte>& data) {
    const auto value = static_cast<std::uint32_t>(number);
    if (data.size() >= sizeof value) std::memcpy(data.data(), &value, sizeof value);
    const int result = p.send(0, flags, 7, data, number);
    if (result == kDone) std::fill(data.begin(), data.end(), std::byte{0xee});
    return result;
}

void expect_number(Pair& p, int number, std::size_t bytes) {
    std::vector<std::byte> to(bytes + 1);
    const int receive = 1'000'000 + number;
    p.receive(1, 7, to, receive);
    p.settle();
    ASSERT_TRUE(p.recorder.has(receive)) << number;
    ASSERT_EQ(p.recorder.outcomes[receive].received, bytes);
    std::uint32_t value = 0;
    if (bytes < sizeof value) return;
    std::memcpy(&value, to.data(), sizeof value);
    ASSERT_EQ(value, static_cast<std::uint32_t>(number));
}

}  // namespace

TEST(kept, whatever_the_receiver_does__sends_of_any_length_are_complete) {
    for (const std::size_t bytes : {0, 4, 48, 49, 1000, 4096}) {
        Pair p;
        p.attach();
        p.ends[0]->engine().keeper = keeper();
        constexpr int kMessages = 1500;
        std::vector<std::byte> data(bytes);
        for (int i = 0; i < kMessages; ++i) {
            if (send_number(p, 0, i, data) == kAccepted) {  // room comes, and then it is held
                p.settle();
                ASSERT_TRUE(p.recorder.has(i)) << bytes;
            }
        }
        EXPECT_FALSE(kept.now.empty()) << bytes;
        for (int i = 0; i < kMessages; ++i) expect_number(p, i, bytes);
        EXPECT_TRUE(kept.now.empty());
        EXPECT_EQ(kept.lost, 0u);
        EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
    }
}

/// In the place of the send, though younger ones wait for room behind it.
TEST(kept, those_that_waited_for_room__are_complete_too_and_stay_in_order) {
    Pair p;
    p.attach();
    p.ends[0]->engine().keeper = keeper();
    constexpr int kMessages = 1000;
    std::vector<std::vector<std::byte>> all(kMessages, std::vector<std::byte>(500));
    for (int i = 0; i < kMessages; ++i) (void)send_number(p, 0, i, all[i]);
    EXPECT_TRUE(kept.now.empty());  // they wait for room: nobody has taken a turn
    p.settle();
    EXPECT_FALSE(kept.now.empty());
    for (auto& data : all) std::fill(data.begin(), data.end(), std::byte{0xee});
    for (int i = 0; i < kMessages; ++i) expect_number(p, i, 500);
    EXPECT_TRUE(kept.now.empty());
}

TEST(kept, without_memory_and_synchronous__the_send_waits) {
    Pair p;
    p.attach();
    p.ends[0]->engine().keeper = keeper();
    kept.most = 10;
    constexpr int kMessages = 1000;
    std::vector<std::vector<std::byte>> all(kMessages, std::vector<std::byte>(500));
    for (int i = 0; i < kMessages; ++i)
        (void)send_number(p, i == 900 ? kSendSynchronous : 0, i, all[i]);
    p.settle();
    EXPECT_EQ(kept.now.size(), 10u);
    EXPECT_GT(kept.refused, 0u);
    EXPECT_FALSE(p.recorder.has(900));
    for (int i = 0; i < kMessages; ++i) expect_number(p, i, 500);
    EXPECT_TRUE(p.recorder.has(900));
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

/// What is complete cannot be taken back, and its copy is no order of the user's.
TEST(kept, cancelled__arrives_all_the_same) {
    Pair p;
    p.attach();
    p.ends[0]->engine().keeper = keeper();
    constexpr int kMessages = 300;
    std::vector<std::vector<std::byte>> all(kMessages, std::vector<std::byte>(500));
    std::vector<std::uint32_t> handles(kMessages);
    for (int i = 0; i < kMessages; ++i) {
        std::memcpy(all[i].data(), &i, sizeof i);
        (void)p.send(0, 0, 7, all[i], i, &handles[i]);
    }
    p.settle();
    for (const std::uint32_t handle : handles) (void)p.ends[0]->cancel(handle);
    for (int i = 0; i < kMessages; ++i) expect_number(p, i, 500);
    EXPECT_TRUE(kept.now.empty());
}

TEST(kept, the_peer_closes__the_memory_comes_back) {
    Pair p;
    p.attach();
    p.ends[0]->engine().keeper = keeper();
    std::vector<std::byte> data(500);
    for (int i = 0; i < 500; ++i) {
        (void)send_number(p, 0, i, data);
        p.settle();
    }
    ASSERT_FALSE(kept.now.empty());
    p.ends[1].reset();
    p.devices[1].reset();
    p.turns(0, 2000);
    EXPECT_TRUE(kept.now.empty());
    EXPECT_NE(kept.lost, 0u);
}
