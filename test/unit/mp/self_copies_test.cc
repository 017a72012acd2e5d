// SPDX-License-Identifier: BSD-3-Clause
// A process that sends to itself: which messages are copied once, and that none overtakes another.
#include "fci_core/mp/self_copies.h"

#include <gtest/gtest.h>

#include <cstring>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

/// One process of two; the other one does nothing.
struct Alone : Pair {
    explicit Alone(const Protocol& protocol = kEnhancedMixed)
        : Pair(protocol, {.mapped = true, .stores = true}) {
        attach();
    }
    MessagePassing& mp() { return *ends[0]; }
    const Counters& counters() { return mp().engine().counters; }
    int post(int number, std::uint64_t match, std::span<const iovec> to,
             nhi::PeerId source = nhi::kSelf) {
        return mp().receive({source, 0, match, 0}, to, recorder.on(number), nullptr, &last);
    }
    int send_self(int number, std::uint64_t match, std::span<const iovec> from,
                  std::uint32_t flags = 0) {
        return mp().send({nhi::kSelf, 0, flags, match, 99, from}, recorder.on(number), nullptr);
    }
    Outcome last{};
};

iovec range(std::vector<std::byte>& of, std::size_t at, std::size_t bytes) {
    return {of.data() + at, bytes};
}
iovec all(std::vector<std::byte>& of) { return range(of, 0, of.size()); }

struct self_copies : ::testing::TestWithParam<const Protocol*> {};
INSTANTIATE_TEST_SUITE_P(protocols, self_copies, ::testing::ValuesIn(kProtocols), protocol_name);

TEST_P(self_copies, send__into_the_receive_that_waits) {
    for (const std::size_t bytes : {0u, 49u, 4096u, 56'000u}) {
        for (const std::uint32_t waits : {0u, kSendSynchronous}) {
            const nhi::PeerId source = bytes == 49 ? kAnySource : nhi::kSelf;
            Alone a(*GetParam());
            auto data = pattern(bytes);
            std::vector<std::byte> to(bytes);
            const iovec from = all(data), into = all(to);
            EXPECT_EQ(a.post(1, 7, {&into, 1}, source), kAccepted);
            a.turns(0);
            const bool at_once = waits == 0 && bytes <= 4096;
            EXPECT_EQ(a.send_self(2, 7, {&from, 1}, kSendImmediate | waits),
                      at_once ? kDone : kAccepted);
            EXPECT_FALSE(a.recorder.has(1) || a.recorder.has(2)) << "told within the call";
            a.turns(0, 1);
            EXPECT_EQ(a.recorder.has(2), !at_once) << "with its receive";
            const Outcome& outcome = a.recorder.outcomes.at(1);
            EXPECT_EQ(outcome.error, kSuccess);
            EXPECT_EQ(outcome.source, nhi::kSelf);
            EXPECT_EQ(outcome.match, 7u);
            EXPECT_EQ(outcome.flags, kSendImmediate);
            EXPECT_EQ(outcome.immediate, 99u);
            EXPECT_EQ(outcome.length, bytes);
            EXPECT_EQ(outcome.received, bytes);
            EXPECT_EQ(to, data);
            EXPECT_EQ(a.counters().self_bytes, bytes);
            EXPECT_EQ(a.mp().engine().orders.used(), 0u);
        }
    }
}

TEST_P(self_copies, send__no_more_than_there_is_room_for) {
    Alone a(*GetParam());
    auto data = pattern(5000);
    std::vector<std::byte> to(4000, std::byte{1});
    const iovec from = all(data), into = range(to, 0, 3000);
    a.post(1, 7, {&into, 1});
    a.turns(0);
    EXPECT_EQ(a.send_self(2, 7, {&from, 1}), kAccepted);
    a.turns(0);
    EXPECT_EQ(a.recorder.error(2), kSuccess);
    EXPECT_EQ(a.recorder.error(1), kTruncated);
    EXPECT_EQ(a.recorder.outcomes.at(1).length, 5000u);
    EXPECT_EQ(a.recorder.outcomes.at(1).received, 3000u);
    EXPECT_EQ(std::memcmp(to.data(), data.data(), 3000), 0);
    EXPECT_EQ(to[3000], std::byte{1});
}

TEST_P(self_copies, send__several_ranges_into_several) {
    Alone a(*GetParam());
    auto data = pattern(5000);
    std::vector<std::byte> to(5000);
    const iovec from[] = {range(data, 0, 1), range(data, 1, 0), range(data, 1, 3999),
                          range(data, 4000, 1000)};
    const iovec into[] = {range(to, 0, 2500), range(to, 2500, 2500)};
    a.post(1, 7, into);
    a.turns(0);
    EXPECT_EQ(a.send_self(2, 7, from), kAccepted);
    a.turns(0);
    EXPECT_EQ(to, data);
}

TEST_P(self_copies, send__has_a_buffer_back_at_once) {
    Alone a(*GetParam());
    auto data = pattern(5000);
    std::vector<std::byte> to(5000);
    const iovec from = all(data), into = all(to);
    a.post(1, 7, {&into, 1});
    a.turns(0);
    EXPECT_EQ(a.send_self(2, 7, {&from, 1}, kSendBuffered), kDone);
    a.turns(0);
    EXPECT_EQ(to, data);
    EXPECT_FALSE(a.recorder.has(2));
}

/// One that is still on the way to itself is matched first.
TEST_P(self_copies, send__overtakes_none) {
    for (const std::size_t bytes : {8u, 4000u, 50'000u}) {
        Alone a(*GetParam());
        auto older = pattern(bytes), younger = pattern(100);
        for (std::byte& each : older) each ^= std::byte{0x55};
        std::vector<std::byte> to[2] = {std::vector<std::byte>(bytes),
                                        std::vector<std::byte>(bytes)};
        const iovec from[] = {all(older), all(younger)}, into[] = {all(to[0]), all(to[1])};
        EXPECT_GE(a.send_self(1, 7, {&from[0], 1}), 0);
        for (int n : {0, 1}) EXPECT_GE(a.post(10 + n, 7, {&into[n], 1}), 0);
        EXPECT_GE(a.send_self(2, 7, {&from[1], 1}), 0);
        a.turns(0);
        EXPECT_EQ(to[0], older) << bytes;
        EXPECT_EQ(a.recorder.outcomes.at(11).length, 100u);
        EXPECT_EQ(std::memcmp(to[1].data(), younger.data(), std::min<std::size_t>(bytes, 100)), 0);
        EXPECT_EQ(a.mp().engine().orders.used(), 0u);
    }
}

TEST_P(self_copies, receive__of_an_announced_message) {
    for (const bool waits : {true, false}) {
        for (const std::size_t room : {100'000u, 70'000u}) {
            Alone a(*GetParam());
            auto data = pattern(100'000);
            std::vector<std::byte> to(room);
            const iovec from = all(data), into = all(to);
            EXPECT_EQ(a.send_self(1, 7, {&from, 1}, waits ? kSendSynchronous : 0), kAccepted);
            a.turns(0);
            EXPECT_FALSE(a.recorder.has(1));
            EXPECT_EQ(a.post(2, 7, {&into, 1}), kAccepted);
            a.turns(0);
            EXPECT_EQ(a.recorder.error(1), kSuccess);
            EXPECT_EQ(a.recorder.error(2), room < 100'000 ? kTruncated : kSuccess);
            EXPECT_EQ(a.recorder.outcomes.at(2).received, room);
            EXPECT_EQ(std::memcmp(to.data(), data.data(), room), 0);
            EXPECT_EQ(a.counters().self_bytes, room);
            EXPECT_EQ(a.counters().ring_bytes + a.counters().kernel_bytes, 0u);
        }
    }
}

TEST_P(self_copies, cancel__a_send_that_was_announced) {
    Alone a(*GetParam());
    auto data = pattern(100'000);
    const iovec from = all(data);
    std::uint32_t handle = 0;
    EXPECT_EQ(a.mp().send({nhi::kSelf, 0, 0, 7, 0, {&from, 1}}, a.recorder.on(1), &handle),
              kAccepted);
    a.turns(0);
    EXPECT_EQ(a.mp().cancel(handle), kSuccess);
    a.turns(0);
    EXPECT_EQ(a.recorder.error(1), kCanceled);
    std::vector<std::byte> to(100'000);
    const iovec into = all(to);
    EXPECT_EQ(a.post(2, 7, {&into, 1}), kAccepted);
    a.turns(0);
    EXPECT_EQ(a.send_self(3, 7, {&from, 1}), kAccepted);
    a.turns(0);
    EXPECT_EQ(to, data);
}

}  // namespace
}  // namespace fci::mp::test
