// SPDX-License-Identifier: BSD-3-Clause
// Receives: what arrives meets what is posted, request by request.
#include "fci_core/mp/receives.h"

#include <gtest/gtest.h>

#include <cstring>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

constexpr std::uint64_t kMatch = 7;

struct Arrivals : Forger {
    /// A short message that is all in its line. `send`: of one that wants to hear that it was
    /// matched.
    void arrive(std::uint64_t match, std::uint16_t bytes, std::uint32_t send = 0) {
        const AnnounceRecord words{match, send != 0 ? send : 0x1111, 0x2222, 0x3333, 0x44, 0x55, 0};
        say(Kind::send, words, send != 0 ? kWantsTaken : 0, bytes);
    }
    void announce(std::uint64_t match, std::uint64_t length, std::uint32_t send) {
        say(Kind::announce, AnnounceRecord{match, 0, length, 0, send, 0, 0});
    }
    int receive(std::uint64_t match, std::size_t bytes, Outcome* outcome, int number = 2) {
        const iovec range{to.data(), bytes};
        return mp.receive({there, 0, match, 0}, {&range, 1}, recorder.on(number), nullptr, outcome);
    }
    void expect_told(Kind kind, std::uint64_t handle) {
        const gcs::Line line = hear();
        EXPECT_EQ(Control::of(line).kind, kind);
        EXPECT_EQ(Control::of(line).flags, 0);
        EXPECT_EQ(unpack<HandleRecord>(line).handle, handle);
    }
    void expect_silence() {
        turns();
        EXPECT_FALSE(in.ready());
    }
    [[nodiscard]] std::size_t waiting() const { return mp.engine().arrived.size(); }
};

TEST(receives, synchronous__is_told_when_it_is_matched_and_not_before) {
    for (const bool posted : {true, false}) {
        SCOPED_TRACE(posted);
        Arrivals f;
        if (posted) f.posted(kMatch, 8, f.there);
        f.arrive(kMatch, 8, 33);
        Outcome outcome{};
        if (!posted) {
            f.expect_silence();
            EXPECT_EQ(f.receive(kMatch, 8, &outcome), kDone);
        }
        f.expect_told(Kind::taken, 33);
        f.expect_silence();
    }
}

TEST(receives, synchronous__that_is_thrown_away_is_told) {
    Arrivals f;
    f.arrive(kMatch, 8, 33);
    EXPECT_EQ(f.mp.receives().discard_matching({f.there, 0, kMatch, 0}), 1);
    f.expect_told(Kind::taken, 33);
    f.arrive(kMatch, 8);
    EXPECT_EQ(f.mp.receives().discard_matching({f.there, 0, kMatch, 0}), 1);
    f.expect_silence();
    EXPECT_EQ(f.waiting(), 0u);
}

// It is kept, as one that came with its send request is.
TEST(receives, word_of_a_group__is_taken_as_it_comes) {
    constexpr auto kFlags = control_flags(kGroupSpace, kSendImmediate);
    Arrivals f;
    const auto announce = [&](std::uint8_t flags, std::uint64_t length, std::uint32_t send) {
        f.say(Kind::announce, AnnounceRecord{kMatch, 5, length, 0, send, 0, 0}, flags);
    };
    announce(control_flags(0, kSendImmediate), 0, 31);
    announce(control_flags(kGroupSpace, 0), 0, 32);
    announce(kFlags, 8, 33);
    f.expect_silence();
    EXPECT_EQ(f.waiting(), 3u) << "each of them is held back";
    EXPECT_EQ(f.mp.receives().discard_matching({f.there, kGroupSpace, kMatch, 0}), 2);
    f.expect_told(Kind::taken, 32);
    f.expect_told(Kind::taken, 33);
    for (const std::uint32_t send : {34, 35}) {
        announce(kFlags, 0, send);
        f.expect_told(Kind::taken, send);
    }
    EXPECT_EQ(f.mp.receives().discard_matching({f.there, kGroupSpace, kMatch, 0}), 2);
    f.expect_silence();
    announce(kFlags, 0, 36);
    f.expect_told(Kind::taken, 36);
    f.say(Kind::unsend, HandleRecord{36});
    f.expect_silence();
    Outcome outcome{};
    EXPECT_EQ(f.mp.receive({f.there, kGroupSpace, kMatch, 0}, {}, f.recorder.on(2), nullptr,
                           &outcome),
              kDone);
    EXPECT_EQ(outcome.flags, kSendImmediate);
    EXPECT_EQ(outcome.immediate, 5u);
    EXPECT_EQ(outcome.received, 0u);
    f.expect_silence();
    EXPECT_EQ(f.waiting(), 1u);
    EXPECT_FALSE(f.gave_up());
}

TEST(receives, unsend__forgets_that_one_and_answers) {
    Arrivals f;
    for (const std::uint32_t send : {3, 4, 5}) f.announce(kMatch, 50'000, send);
    f.say(Kind::unsend, HandleRecord{4});
    f.expect_told(Kind::unsent, 4);
    EXPECT_EQ(f.waiting(), 2u);
    f.say(Kind::unsend, HandleRecord{4});
    f.expect_silence();
    EXPECT_EQ(f.receive(kMatch, 50'000, nullptr, 2), kAccepted);
    EXPECT_EQ(unpack<ClearToSendRecord>(f.hear()).send, 3u);
    EXPECT_EQ(f.receive(kMatch, 50'000, nullptr, 3), kAccepted);
    EXPECT_EQ(unpack<ClearToSendRecord>(f.hear()).send, 5u);
    f.say(Kind::unsend, HandleRecord{5});
    f.expect_silence();
    EXPECT_FALSE(f.gave_up());
}

TEST(receives, unsend__of_a_short_one_and_of_none) {
    Arrivals f;
    f.arrive(kMatch, 8);
    f.arrive(kMatch, 8, 33);
    f.say(Kind::unsend, HandleRecord{0});
    f.expect_silence();
    EXPECT_EQ(f.waiting(), 2u) << "one has no name";
    f.say(Kind::unsend, HandleRecord{33});
    f.expect_told(Kind::unsent, 33);
    EXPECT_EQ(f.waiting(), 1u);
}

TEST(receives, unsend__of_one_that_somebody_has_claimed) {
    Arrivals f;
    f.announce(kMatch, 50'000, 3);
    Arrived* claimed = nullptr;
    EXPECT_EQ(f.mp.probe({f.there, 0, kMatch, 0}, nullptr, &claimed), kSuccess);
    f.say(Kind::unsend, HandleRecord{3});
    f.expect_silence();
    f.mp.receives().discard(*claimed);
    f.expect_told(Kind::taken, 3);
}

TEST(receives, announce__of_nothing_is_taken_at_once) {
    for (const bool posted : {true, false}) {
        for (const std::uint64_t length : {0, 1}) {
            SCOPED_TRACE(length);
            Arrivals f;
            if (posted) f.posted(kMatch, 0, kAnySource);
            f.announce(kMatch, length, 3);
            if (!posted) {
                EXPECT_EQ(f.receive(kMatch, 0, nullptr), kAccepted);
            }
            f.expect_told(Kind::taken, 3);
            ASSERT_TRUE(f.recorder.has(2));
            EXPECT_EQ(f.recorder.error(2), length == 0 ? kSuccess : kTruncated);
            EXPECT_EQ(f.recorder.outcomes[2].length, length);
            EXPECT_EQ(f.recorder.outcomes[2].received, 0u);
            EXPECT_EQ(f.recorder.outcomes[2].source, f.there);
            EXPECT_EQ(f.recorder.outcomes[2].match, kMatch);
        }
    }
}

TEST(receives, announce__is_asked_for_with_what_there_is_room_for) {
    for (const std::size_t room : {9'999, 10'000, 10'001}) {
        SCOPED_TRACE(room);
        Arrivals f;
        const std::uint32_t handle = f.posted(kMatch, room, kAnySource);
        f.announce(kMatch, 10'000, 3);
        const gcs::Line line = f.hear();
        EXPECT_EQ(Control::of(line).kind, Kind::clear_to_send);
        const auto record = unpack<ClearToSendRecord>(line);
        EXPECT_EQ(record.send, 3u);
        EXPECT_EQ(record.receive, handle);
        EXPECT_EQ(record.address, reinterpret_cast<std::uint64_t>(f.to.data()));
        EXPECT_EQ(record.bytes, std::min<std::uint64_t>(room, 10'000));
        EXPECT_EQ(record.claim, 0u);
        f.expect_silence();
        EXPECT_FALSE(f.recorder.has(2));
    }
}

TEST(receives, probe__tells_all_but_takes_nothing) {
    Arrivals f;
    f.say(Kind::send, AnnounceRecord{kMatch, 4711, 0, 0, 0, 0, 0}, kImmediate | 1 << kSpaceShift,
          8);
    Outcome outcome{};
    EXPECT_EQ(f.mp.probe({f.there, 0, kMatch, 0}, &outcome, nullptr), kNoMessage);
    for (int i = 0; i < 2; ++i) {
        outcome = {};
        ASSERT_EQ(f.mp.probe({kAnySource, 1, kMatch, 0}, &outcome, nullptr), kSuccess);
        EXPECT_EQ(outcome.error, kSuccess);
        EXPECT_EQ(outcome.source, f.there);
        EXPECT_EQ(outcome.flags, kSendImmediate);
        EXPECT_EQ(outcome.immediate, 4711u);
        EXPECT_EQ(outcome.length, 8u);
        EXPECT_EQ(outcome.received, 0u);
    }
    EXPECT_EQ(f.waiting(), 1u);
}

TEST(receives, several_ranges__get_what_fits_and_no_more) {
    Arrivals f;
    f.arrive(kMatch, 24);
    std::byte first[10], second[10];
    std::memset(first, 0x5a, sizeof first);
    std::memset(second, 0x5a, sizeof second);
    const iovec ranges[] = {{first, 5}, {second, 6}};
    Outcome outcome{};
    EXPECT_EQ(f.mp.receive({f.there, 0, kMatch, 0}, ranges, f.recorder.on(2), nullptr, &outcome),
              kDone);
    EXPECT_EQ(outcome.error, kTruncated);
    EXPECT_EQ(outcome.length, 24u);
    EXPECT_EQ(outcome.received, 11u);
    EXPECT_EQ(first[5], std::byte{0x5a});
    EXPECT_EQ(second[6], std::byte{0x5a});
    const std::uint64_t sent[] = {0x1111, 0x2222};
    std::byte joined[11];
    std::memcpy(joined, first, 5);
    std::memcpy(joined + 5, second, 6);
    EXPECT_EQ(std::memcmp(joined, sent, sizeof joined), 0);
}

// All of a message that was there is disposed of when it is received, not before.
TEST(receives, credit__comes_back_for_what_waited_once_it_is_received) {
    Arrivals f;
    const std::uint64_t half = f.own.unexpected_bytes / 2, each = 4096;
    std::uint64_t there = 0;
    for (; there <= half; there += each + kSlotCharge) {
        f.say_with(Kind::send, HandleRecord{kMatch}, kInRing, each);
    }
    EXPECT_EQ(f.out.disposed(), 0u) << "all of it waits";
    for (; there != 0; there -= each + kSlotCharge) {
        Outcome outcome{};
        EXPECT_EQ(f.receive(kMatch, each, &outcome), kDone);
    }
    f.turns();
    EXPECT_GE(f.out.disposed(), half);
    EXPECT_EQ(f.out.disposed() % (each + kSlotCharge), 0u);
}

// However each of them ends, what it was kept in is used again.
TEST(receives, memory__of_what_was_announced_is_used_again) {
    Arrivals f;
    std::size_t memory = 0;
    for (std::uint32_t round = 0; round < 12; ++round) {
        f.announce(kMatch, 0, 3);
        if (round % 3 == 0) {
            EXPECT_EQ(f.receive(kMatch, 0, nullptr, static_cast<int>(round)), kAccepted);
        } else if (round % 3 == 1) {
            EXPECT_EQ(f.mp.receives().discard_matching({f.there, 0, kMatch, 0}), 1);
        } else {
            f.say(Kind::unsend, HandleRecord{3});
        }
        (void)f.hear();
        EXPECT_EQ(f.waiting(), 0u);
        if (round == 0) memory = f.mp.receives().memory();
        EXPECT_EQ(f.mp.receives().memory(), memory) << round;
    }
    EXPECT_NE(memory, 0u);
}

TEST(orders, find__what_a_peer_may_name) {
    Arrivals f;
    const std::uint32_t send = f.announced();
    Orders& orders = f.mp.engine().orders;
    const Peers& peers = f.mp.engine().peers;
    EXPECT_NE(orders.find(std::uint64_t{send}, peers[f.there], true), nullptr);
    EXPECT_EQ(orders.find(std::uint64_t{send}, peers[f.there], false), nullptr);
    EXPECT_EQ(orders.find(std::uint64_t{send}, peers.find(99), true), nullptr);
    EXPECT_EQ(f.mp.cancel(send), kSuccess);
    f.say(Kind::unsent, HandleRecord{send});
    EXPECT_EQ(orders.find(std::uint64_t{send}, peers[f.there], true), nullptr);
}

}  // namespace
}  // namespace fci::mp::test
