// SPDX-License-Identifier: BSD-3-Clause
// Calls of a tcp device, from the first packet to the answer: fed by hand, in virtual time.
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

constexpr Nanoseconds kNot = -1;

/// One call to the process with this card.
struct TcpCall : testing::Test {
    explicit TcpCall(const ddi::Card& to = card_of(9), std::uint32_t connect_ms = 200)
        : party(within(connect_ms)), card(to) {
        party.system->room_of_calls = 0;
        began = party.system->time;
        id = party.call(card);
    }
    static ddi::Settings within(std::uint32_t connect_ms) {
        ddi::Settings wanted = hand_settings();
        wanted.connect_ms = connect_ms;
        return wanted;
    }
    /// It gets there.
    void connect() {
        stream().room = SIZE_MAX;
        party.turn();
    }
    HandStreams::One& stream() { return party.one(party.system->last); }
    template <class Change>
    void answer(Change change) {
        connect();
        Hello hello = party.hello_of(card_of(9));
        change(hello);
        party.system->bring(party.system->last, hello);
        party.turn();
    }
    /// The other end hangs up.
    void hang_up() {
        connect();
        stream().at_its_end = 0;
        party.turn();
    }
    void until(Nanoseconds time) {
        party.system->time = time;
        party.turn();
    }
    /// When the next call is made, looked for in steps; kNot: none is, for so long.
    Nanoseconds called_again(Nanoseconds step, Nanoseconds most) {
        const unsigned before = party.system->calls;
        const Nanoseconds from = party.system->time;
        while (party.system->time < from + most) {
            until(party.system->time + step);
            if (party.system->calls != before) return party.system->time - from;
        }
        return kNot;
    }
    [[nodiscard]] bool is_lost() const { return !party.listener.lost.empty(); }

    HandParty party;
    const ddi::Card card;
    Nanoseconds began = 0;
    nhi::PeerId id = nhi::kNoPeer;
};

/// To whoever is at that place.
struct TcpTypedCall : TcpCall {
    TcpTypedCall() : TcpCall(card_of(0)) {}
};
struct TcpPatientCall : TcpCall {
    TcpPatientCall() : TcpCall(card_of(0), 30'000) {}
};

TEST_F(TcpCall, hello__is_said_once_the_call_got_there) {
    EXPECT_TRUE(stream().to.same_place(card));
    party.turns();
    EXPECT_TRUE(stream().sent.empty());
    EXPECT_EQ(stream().interests, Streams::kOut);
    connect();
    EXPECT_EQ(stream().interests, Streams::kIn);
    ASSERT_EQ(stream().sent.size(), sizeof(Hello));
    const auto said = read_as<Hello>(stream().sent);
    EXPECT_EQ(said.magic, Hello::kMagic);
    EXPECT_EQ(said.job, 77u);
    EXPECT_EQ(said.layout_digest, 0x1234u);
    EXPECT_EQ(said.sizes, 0xabcdu);
    EXPECT_EQ(said.block_bytes, kBlockBytes);
    EXPECT_EQ(std::memcmp(&said.from, &party.device->card(), sizeof said.from), 0);
    EXPECT_EQ(std::memcmp(&said.to, &card, sizeof said.to), 0);
    EXPECT_EQ(said.pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(said.verdict, Verdict::welcome);
    EXPECT_EQ(said.rank, 3);
    party.turns();
    EXPECT_EQ(stream().sends, 1u);
}

TEST_F(TcpCall, answer__makes_it_a_peer) {
    EXPECT_EQ(party.device->sizes(id), 0u);
    EXPECT_TRUE(party.device->block(id).empty());
    answer([](Hello&) {});
    ASSERT_EQ(party.listener.attached, std::vector{id});
    EXPECT_TRUE(stream().is_tuned);
    EXPECT_EQ(party.device->sizes(id), 0x5678u);
    EXPECT_EQ(party.device->block(id).size(), kBlockBytes);
    const ddi::About about = party.device->about(id);
    EXPECT_STREQ(about.way, "tcp");
    EXPECT_EQ(about.pid, 12345u);
    EXPECT_EQ(about.rank, 7);
    EXPECT_EQ(about.loss, -1);
    EXPECT_EQ(party.network().link(id).block_bytes, kBlockBytes);
    EXPECT_EQ(party.device->describe(id), "pid 12345 at 10.77.0.3:4711");
    EXPECT_EQ(stream().interests, Streams::kIn);
    until(began + 100 * kSecond);
    EXPECT_EQ(party.system->calls, 1u);
    EXPECT_FALSE(is_lost());
}

TEST_F(TcpCall, answer__in_pieces) {
    connect();
    const Hello hello = party.hello_of(card);
    for (std::size_t i = 0; i < sizeof hello; ++i) {
        EXPECT_TRUE(party.listener.attached.empty());
        party.system->bring(party.system->last, reinterpret_cast<const char*>(&hello)[i]);
        party.turn();
    }
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpCall, answer__block_of_all_that_a_pair_can_have) {
    answer([](Hello& hello) { hello.block_bytes = nhi::kPairLimit; });
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpCall, answer__behind_a_translation_of_addresses) {
    answer([](Hello& hello) { hello.from.host = htonl(0x0a4d0099); });
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpTypedCall, answer__says_who_it_is) {
    answer([](Hello&) {});
    EXPECT_EQ(party.listener.attached, std::vector{id});
    EXPECT_EQ(party.device->card_of(id)->incarnation, 9u);
}

/// Both have called: who answers comes by itself, and where it does not, is called again.
TEST_F(TcpCall, answer__of_a_crossing_call_is_waited_for_half_a_second) {
    answer([](Hello& hello) { hello.verdict = Verdict::crossing; });
    EXPECT_FALSE(stream().is_open);
    EXPECT_EQ(party.system->rings_at, party.system->time + 500 * kMs);
    until(party.system->time + 500 * kMs - 1);
    EXPECT_EQ(party.system->calls, 1u);
    until(party.system->time + 1);
    EXPECT_EQ(party.system->calls, 2u);
    answer([](Hello&) {});
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpCall, hang_up__is_tried_eight_times_with_longer_and_longer_pauses) {
    Nanoseconds pause = 10 * kMs;
    for (unsigned i = 1; i < 8; ++i, pause = std::min(2 * pause, kSecond)) {
        hang_up();
        EXPECT_FALSE(is_lost()) << "after " << i;
        const Nanoseconds after = called_again(pause / 20, 2 * pause);
        EXPECT_GE(after, pause / 2) << i;
        EXPECT_LE(after, pause * 8 / 5) << i;
    }
    hang_up();
    EXPECT_EQ(party.system->calls, 8u);
    EXPECT_EQ(party.why(), Status::lost) << "the process that its card names has gone";
    EXPECT_TRUE(party.says("hung up without a word: it is another process than the one"));
}

TEST_F(TcpPatientCall, hang_up__of_whoever_is_there) {
    for (unsigned i = 1; i < 8; ++i) {
        hang_up();
        ASSERT_NE(called_again(kMs, 2 * kSecond), kNot);
    }
    hang_up();
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_TRUE(party.says("it answers only who has its whole card"));
}

TEST_F(TcpCall, hang_up__while_it_calls_or_says_hello) {
    for (const int error : {ECONNRESET, EPIPE}) {
        stream().outcome = error;
        connect();
        EXPECT_FALSE(is_lost());
        ASSERT_NE(called_again(kMs, kSecond), kNot);
    }
    stream().refusal = EPIPE;
    stream().outcome = 0;
    stream().room = 0;
    stream().at_its_end = 0;  // so that it is looked at
    stream().interests |= Streams::kIn;
    party.turn();
    EXPECT_FALSE(is_lost());
    EXPECT_NE(called_again(kMs, kSecond), kNot);
}

TEST_F(TcpCall, refused__nobody_is_there) {
    stream().outcome = ECONNREFUSED;
    connect();
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_TRUE(party.says("nobody listens at 10.77.0.3:4711; has the process ended"));
    EXPECT_EQ(party.system->calls, 1u);
}

TEST_F(TcpCall, refused__after_it_hung_up_it_has_ended) {
    hang_up();
    ASSERT_NE(called_again(kMs, kSecond), kNot);
    stream().outcome = ECONNREFUSED;
    connect();
    EXPECT_EQ(party.why(), Status::lost);
    EXPECT_TRUE(party.says("the process at 10.77.0.3:4711 ended before it answered"));
}

/// A process may still be on its way there: it is called for connect_ms, which is 200.
TEST_F(TcpTypedCall, refused__is_tried_as_long_as_the_user_says) {
    for (unsigned i = 0; i < 1000 && !is_lost(); ++i) {
        stream().outcome = ECONNREFUSED;
        if (stream().is_open) connect();
        if (!is_lost()) until(party.system->time + kMs);
    }
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_GE(party.system->time, began + 200 * kMs);
    EXPECT_GT(party.system->calls, 3u);
    EXPECT_TRUE(party.says("nobody listens at"));
}

TEST_F(TcpTypedCall, refused__after_it_hung_up_nobody_promised_a_process) {
    hang_up();
    until(began + 200 * kMs);
    ASSERT_EQ(party.system->calls, 2u);
    stream().outcome = ECONNREFUSED;
    connect();
    EXPECT_EQ(party.why(), Status::unreachable);
}

/// Only a process is waited for, and no road to it.
TEST_F(TcpTypedCall, failure__that_does_not_pass_ends_it) {
    stream().outcome = EHOSTUNREACH;
    connect();
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_EQ(party.system->calls, 1u);
}

/// The system may tell of a stream that was given up just now.
TEST_F(TcpCall, hang_up__between_two_tries_nothing_is_heard) {
    hang_up();
    party.system->also.push_back({Streams::Source::peer, id});
    party.turn();
    EXPECT_FALSE(is_lost());
    ASSERT_NE(called_again(kMs, kSecond), kNot);
    answer([](Hello&) {});
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpCall, failure__that_does_not_pass_ends_it) {
    stream().outcome = EHOSTUNREACH;
    connect();
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_TRUE(party.says("cannot connect to 10.77.0.3:4711: No route to host; is it the right"));
}

/// A hello that the system takes in part only is none: the next one begins anew.
TEST_F(TcpCall, hello__for_which_there_is_no_room_is_said_on_another_stream) {
    stream().room = sizeof(Hello) - 1;
    party.turn();
    EXPECT_FALSE(is_lost());
    EXPECT_FALSE(stream().is_open);
    ASSERT_NE(called_again(kMs, kSecond), kNot);
    connect();
    EXPECT_EQ(stream().sent.size(), sizeof(Hello));
}

TEST_F(TcpCall, silence__of_a_host_is_borne_for_ten_seconds) {
    EXPECT_EQ(party.device->network().poll(began), 0u);
    EXPECT_EQ(party.system->rings_at, began + 10 * kSecond);
    until(began + 10 * kSecond - 1);
    EXPECT_FALSE(is_lost());
    until(began + 10 * kSecond);
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_TRUE(party.says("10.77.0.3:4711 does not answer; is its host down"));
    EXPECT_TRUE(party.says("`nc -vz 10.77.0.3 4711` tries it"));
}

/// The host answers: its process may compute for hours. The user hears of it, once.
TEST_F(TcpCall, silence__of_a_process_is_told_and_borne) {
    connect();
    testing::internal::CaptureStderr();
    until(began + 10 * kSecond - 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    testing::internal::CaptureStderr();
    for (unsigned i = 0; i < 100; ++i) until(party.system->time + 5 * kSecond);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("the process at 10.77.0.3:4711 has not answered for 14 s. Its host has"),
              std::string::npos)
        << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    EXPECT_FALSE(is_lost());
    answer([](Hello&) {});
    EXPECT_EQ(party.listener.attached, std::vector{id});
}

TEST_F(TcpTypedCall, silence__of_a_process_is_borne_as_long_as_the_user_says) {
    connect();
    until(began + 200 * kMs - 1);
    EXPECT_FALSE(is_lost());
    until(began + 200 * kMs);
    EXPECT_EQ(party.why(), Status::unreachable);
    EXPECT_TRUE(party.says("does not answer"));
}

TEST_F(TcpCall, silence__begins_anew_with_each_call) {
    until(began + 9 * kSecond);
    hang_up();
    const Nanoseconds again = called_again(kMs, kSecond);
    ASSERT_NE(again, kNot);
    const Nanoseconds second = party.system->time;
    until(second + 10 * kSecond - 1);
    EXPECT_FALSE(is_lost());
    until(second + 10 * kSecond);
    EXPECT_EQ(party.why(), Status::unreachable);
}

TEST_F(TcpCall, connect__again_is_the_same_call) {
    EXPECT_EQ(party.device->connect(id), Status::ok);
    EXPECT_EQ(party.device->connect(id + 1), Status::invalid);
    answer([](Hello&) {});
    EXPECT_EQ(party.device->connect(id), Status::ok);
    EXPECT_EQ(party.device->connect(nhi::kSelf), Status::ok);
    EXPECT_EQ(party.system->calls, 1u);
}

/// Its ends are told in poll() only, and whoever sleeps comes back for them.
TEST(tcp_call, connect__that_fails_at_once_rings) {
    HandParty party;
    party.system->call_error = EADDRNOTAVAIL;
    const nhi::PeerId id = party.call(card_of(9));
    EXPECT_TRUE(party.listener.lost.empty());
    EXPECT_EQ(party.system->rings, 1u);
    EXPECT_EQ(party.device->connect(id), Status::lost);
    party.turn();
    EXPECT_EQ(party.why(), Status::unreachable);
}

}  // namespace
}  // namespace fci::tcp::test
