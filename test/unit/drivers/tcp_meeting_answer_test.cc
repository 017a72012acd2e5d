// SPDX-License-Identifier: BSD-3-Clause
// Callers of a tcp device, in each state that the two may be in: fed by hand, in virtual time.
#include "drivers/tcp/guesses.h"
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

// Of two that call each other the call of incarnation 50 goes on, against 9, or the other one.
constexpr std::uint64_t kYields = 9, kGoesOn = 8;

struct TcpAnswer : testing::Test {
    /// One more caller; its stream.
    int knock(const Hello& hello, unsigned turns = 64) {
        party.knock(hello);
        party.turns(turns);
        return party.system->last;
    }
    int knock(std::uint64_t incarnation) { return knock(party.hello_of(card_of(incarnation))); }
    /// The verdict that was said there; none: nothing was.
    [[nodiscard]] std::optional<Verdict> said_to(int stream) const {
        const auto& sent = party.one(stream).sent;
        if (sent.empty()) return {};
        return read_as<Hello>(sent).verdict;
    }

    HandParty party;
};

TEST_F(TcpAnswer, caller__is_a_peer_when_it_has_said_its_hello) {
    const int stream = knock(kYields);
    EXPECT_EQ(said_to(stream), Verdict::welcome);
    EXPECT_EQ(read_as<Hello>(party.one(stream).sent).to.incarnation, kYields);
    ASSERT_EQ(party.listener.attached.size(), 1u);
    const nhi::PeerId id = party.listener.attached[0];
    EXPECT_EQ(party.device->card_of(id)->incarnation, kYields);
    EXPECT_TRUE(party.one(stream).is_tuned);
    EXPECT_EQ(party.device->sizes(id), 0x5678u);
    EXPECT_EQ(party.device->about(id).rank, 7);
    EXPECT_EQ(party.listener.strangers, 0u);
    EXPECT_EQ(party.one(stream).name.source, Streams::Source::peer);
}

TEST_F(TcpAnswer, caller__that_keeps_all_that_a_pair_can_have) {
    Hello hello = party.hello_of(card_of(kYields));
    hello.block_bytes = nhi::kPairLimit;
    EXPECT_EQ(said_to(knock(hello)), Verdict::welcome);
    EXPECT_EQ(party.network().link(party.listener.attached.at(0)).block_bytes, nhi::kPairLimit);
}

/// The address at which the caller listens is its own business, but it is IPv4.
TEST_F(TcpAnswer, caller__whose_card_has_another_family) {
    Hello hello = party.hello_of(card_of(kYields));
    hello.from.family = 99;
    EXPECT_EQ(said_to(knock(hello)), Verdict::welcome);
    EXPECT_EQ(party.device->card_of(party.listener.attached.at(0))->family, AF_INET);
}

TEST_F(TcpAnswer, crossing__the_own_call_goes_on) {
    party.system->room_of_calls = 0;
    const nhi::PeerId id = party.call(card_of(kYields));
    const int own = party.system->last;
    const int theirs = knock(kYields);
    EXPECT_EQ(said_to(theirs), Verdict::crossing);
    EXPECT_FALSE(party.one(theirs).is_open);
    EXPECT_TRUE(party.one(own).is_open);
    EXPECT_TRUE(party.listener.attached.empty());
    party.one(own).room = SIZE_MAX;
    party.system->bring(own, party.hello_of(card_of(kYields)));
    party.turns(2);
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpAnswer, crossing__the_others_call_goes_on) {
    party.system->room_of_calls = 0;
    const nhi::PeerId id = party.call(card_of(kGoesOn));
    const int own = party.system->last;
    EXPECT_EQ(said_to(knock(kGoesOn)), Verdict::welcome);
    EXPECT_FALSE(party.one(own).is_open);
    EXPECT_EQ(party.listener.attached, std::vector{id});
    party.system->time += 100 * kSecond;
    party.turns();
    EXPECT_EQ(party.system->calls, 1u);
    EXPECT_TRUE(party.listener.lost.empty());
}

/// Between two tries nothing is under way that could go on.
TEST_F(TcpAnswer, crossing__not_while_the_own_call_waits) {
    const nhi::PeerId id = party.call(card_of(kYields));
    party.system->at(party.system->last).at_its_end = 0;
    party.turns(2);
    EXPECT_EQ(said_to(knock(kYields)), Verdict::welcome);
    EXPECT_EQ(party.listener.attached, std::vector{id});
    party.system->time += 100 * kSecond;
    party.turns();
    EXPECT_EQ(party.system->calls, 1u) << "it is not called any more";
}

TEST_F(TcpAnswer, caller__that_has_a_connection_gets_no_other_one) {
    const int first = knock(kYields);
    const int second = knock(kYields);
    EXPECT_NE(first, second);
    EXPECT_EQ(said_to(second), std::nullopt);
    EXPECT_FALSE(party.one(second).is_open);
    EXPECT_TRUE(party.one(first).is_open);
    EXPECT_EQ(party.listener.attached.size(), 1u);
    EXPECT_EQ(party.listener.strangers, 0u);
}

/// Both at once: of the second one the listener has not heard yet.
TEST_F(TcpAnswer, caller__that_calls_twice_at_once) {
    party.knock(party.hello_of(card_of(kYields)));
    (void)knock(kYields);
    EXPECT_EQ(said_to(1), Verdict::welcome);
    EXPECT_EQ(said_to(2), std::nullopt);
    EXPECT_EQ(party.listener.attached.size(), 1u);
}

TEST_F(TcpAnswer, caller__that_was_lost_does_not_come_back) {
    const int stream = knock(kYields);
    party.system->at(stream).at_its_end = ECONNRESET;
    party.turns();
    ASSERT_EQ(party.listener.lost.size(), 1u);
    const int again = knock(kYields);
    EXPECT_EQ(said_to(again), Verdict::gone);
    EXPECT_FALSE(party.one(again).is_open);
    // Another process at its place does.
    EXPECT_EQ(said_to(knock(kGoesOn)), Verdict::welcome);
    EXPECT_EQ(party.listener.attached.size(), 2u);
}

/// The listener hears of the loss at the end of the turn in which it comes.
TEST_F(TcpAnswer, caller__that_is_being_lost_does_not_come_back) {
    const int stream = knock(kYields);
    party.knock(party.hello_of(card_of(kYields)), 0);
    party.turns();
    const int again = party.system->last;
    party.system->at(stream).at_its_end = ECONNRESET;
    party.system->bring(again, party.hello_of(card_of(kYields)));
    party.turn();
    EXPECT_EQ(said_to(again), Verdict::gone);
    EXPECT_EQ(party.listener.lost.size(), 1u);
}

TEST_F(TcpAnswer, caller__that_cannot_be_answered_is_no_peer) {
    Hello hello = party.hello_of(card_of(kYields));
    HandStreams::One one;
    one.here.assign(reinterpret_cast<const std::byte*>(&hello),
                    reinterpret_cast<const std::byte*>(&hello) + sizeof hello);
    one.room = sizeof(Hello) - 1;
    party.system->queue.push_back(std::move(one));
    party.turns();
    EXPECT_FALSE(party.one(1).is_open);
    EXPECT_TRUE(party.listener.attached.empty());
    EXPECT_EQ(said_to(knock(kYields)), Verdict::welcome);
    EXPECT_EQ(party.listener.attached.size(), 1u);
}

/// They are no guesses: who has the card, or the job, knows whom it calls.
TEST_F(TcpAnswer, caller__that_differs_and_has_the_card_does_not_guess) {
    testing::internal::CaptureStderr();
    Hello hello = party.hello_of(card_of(kYields));
    hello.job = 78;
    for (unsigned i = 0; i < 2 * Guesses::kMost; ++i) {
        hello.from.incarnation = 100 + i;
        EXPECT_EQ(said_to(knock(hello, 2)), Verdict::mismatch);
    }
    hello.job = 77;
    hello.verdict = Verdict::gone;  // no caller says so
    for (unsigned i = 0; i < 2 * Guesses::kMost; ++i) {
        EXPECT_EQ(said_to(knock(hello, 2)), std::nullopt);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(party.listener.strangers, 2 * Guesses::kMost);
}

TEST(tcp_answer, caller__that_typed_the_place_and_another_job_guesses) {
    ddi::Settings open = hand_settings();
    open.answers_typed = true;
    HandParty party(open);
    testing::internal::CaptureStderr();
    Hello hello = party.hello_of(card_of(kYields));
    hello.to.incarnation = 0;
    for (unsigned i = 0; i < Guesses::kMost; ++i) {
        hello.job = 78 + i;
        party.knock(hello);
        party.turns(2);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("without knowing its secret"), std::string::npos) << said;
}

/// A caller that waits at an open door lets nobody sleep.
TEST_F(TcpAnswer, door__without_descriptors_is_asked_once_in_a_while) {
    party.system->accept_error = EMFILE;
    party.turns(100);
    EXPECT_EQ(party.system->accepts, 1u);
    EXPECT_EQ(party.system->rings_at, party.system->time + 50 * kMs);
    party.system->accept_error = 0;
    party.knock(party.hello_of(card_of(kYields)));
    party.device->sleep(60 * kMs);
    party.turns();
    EXPECT_EQ(party.listener.attached.size(), 1u);
}

TEST_F(TcpAnswer, due__is_the_first_of_all_that_waits) {
    EXPECT_EQ(party.system->rings_at, 0);
    const Nanoseconds began = party.system->time;
    party.knock(party.hello_of(card_of(kYields)), 1);
    party.turns();
    EXPECT_EQ(party.system->rings_at, began + 5 * kSecond) << "a caller's hello";
    party.system->room_of_calls = 0;
    (void)party.call(card_of(kGoesOn));
    party.turn();
    EXPECT_EQ(party.system->rings_at, began + 5 * kSecond);
    party.system->time = began + 5 * kSecond;
    party.turn();
    EXPECT_EQ(party.listener.strangers, 1u);
    EXPECT_EQ(party.system->rings_at, began + 10 * kSecond) << "a host's answer";
}

}  // namespace
}  // namespace fci::tcp::test
