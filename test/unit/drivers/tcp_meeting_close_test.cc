// SPDX-License-Identifier: BSD-3-Clause
// A process that closes while it calls: whoever may have answered hears a goodbye.
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

/// The stream of a call: what it got, and what the device did with it, when it closed so.
HandStreams::One closed_with(const std::function<void(HandParty&)>& before) {
    std::map<int, HandStreams::One> remains;
    HandParty party;
    party.system->remains = &remains;
    party.system->room_of_calls = 0;
    party.call(card_of(9));
    before(party);
    party.device.reset();
    EXPECT_EQ(remains.size(), 1u);
    EXPECT_FALSE(remains[1].is_open);
    return std::move(remains[1]);
}

TEST(tcp_call_closing, close__says_goodbye_to_who_may_have_answered) {
    const HandStreams::One one = closed_with([](HandParty& party) {
        party.one(1).room = SIZE_MAX;
        party.turn();
    });
    ASSERT_EQ(one.sent.size(), sizeof(Hello) + sizeof kGoodbye);
    EXPECT_EQ(read_as<FrameHead>(one.sent, sizeof(Hello)).kind, FrameKind::goodbye);
}

TEST(tcp_call_closing, close__says_nothing_where_no_hello_was_said) {
    Nanoseconds paused = 0;
    const HandStreams::One one = closed_with([&](HandParty& party) {
        party.one(1).room = 0;
        party.turn();
        party.system->meanwhile = [&] { ++paused; };
    });
    EXPECT_TRUE(one.sent.empty());
    EXPECT_EQ(paused, 0);
}

TEST(tcp_call_closing, close__says_goodbye_in_pieces_and_waits_until_it_is_there) {
    unsigned pauses = 0;
    const HandStreams::One one = closed_with([&](HandParty& party) {
        party.one(1).room = sizeof(Hello) + 3;
        party.turn();
        party.system->meanwhile = [&, &system = *party.system] {
            ++pauses;
            if (pauses == 2) system.all[1].room = 1;
            if (pauses == 4) system.all[1].room = SIZE_MAX;
            system.all[1].under_way = pauses < 9 ? 8 : 0;
        };
    });
    EXPECT_EQ(one.sent.size(), sizeof(Hello) + sizeof kGoodbye);
    EXPECT_EQ(read_as<FrameHead>(one.sent, sizeof(Hello)).kind, FrameKind::goodbye);
    EXPECT_EQ(pauses, 9u);
}

TEST(tcp_call_closing, close__waits_a_tenth_of_a_second_for_that_and_not_for_what_broke) {
    for (const bool breaks : {false, true}) {
        Nanoseconds began = 0, ended = 0;
        (void)closed_with([&](HandParty& party) {
            party.one(1).room = sizeof(Hello);
            party.one(1).refusal = EAGAIN;
            party.turn();
            if (breaks) party.one(1).refusal = EPIPE;
            began = ended = party.system->time;
            party.system->meanwhile = [&, &system = *party.system] { ended = system.time; };
        });
        EXPECT_EQ(ended - began, breaks ? 0 : 100 * kMs);
    }
}

}  // namespace
}  // namespace fci::tcp::test
