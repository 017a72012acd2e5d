// SPDX-License-Identifier: BSD-3-Clause
// The door of a tcp device by itself: how many stand there, how long, and when it is open.
#include "drivers/tcp/door.h"
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

constexpr std::size_t kAtOnce = 32;

struct TcpDoor : testing::Test {
    TcpDoor() {
        std::string error;
        ddi::Card card = card_of(50, 0);
        EXPECT_EQ(door.open(&card, {}, &error), Status::ok) << error;
        most = std::clamp<std::size_t>(host::descriptors_most() / 8, Door::kCallersLeast,
                                       Door::kCallersMost);
    }
    /// So many knock, who say nothing, and are let in.
    void fill(std::size_t count) {
        knock(count);
        for (std::size_t i = 0; i < count; i += kAtOnce) door.answer(now());
        EXPECT_TRUE(system.queue.empty());
    }
    void knock(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) system.queue.emplace_back();
    }
    [[nodiscard]] std::size_t here() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            system.all, [](const auto& pair) { return pair.second.is_open; }));
    }
    [[nodiscard]] Nanoseconds now() const { return system.time; }

    HandStreams system;
    Door door{system};
    std::size_t most = 0;
};

TEST_F(TcpDoor, answer__lets_in_a_few_at_a_time) {
    knock(kAtOnce + 1);
    door.answer(now());
    EXPECT_EQ(here(), kAtOnce);
    EXPECT_TRUE(system.door_is_open);
    door.answer(now());
    EXPECT_EQ(here(), kAtOnce + 1);
    EXPECT_EQ(system.at(1).name.source, Streams::Source::caller);
    EXPECT_EQ(system.at(2).name.detail, 2u);
    EXPECT_EQ(system.at(2).interests, Streams::kIn);
}

/// A process may have closed its standard input.
TEST_F(TcpDoor, answer__number_0_is_a_stream_like_any_other) {
    system.last = -1;
    knock(2);
    door.answer(now());
    EXPECT_EQ(here(), 2u);
    EXPECT_EQ(system.accepts, 3u) << "until nobody is left";
    EXPECT_TRUE(system.at(0).is_watched);
}

TEST_F(TcpDoor, answer__when_full_sends_nobody_away_who_has_just_come) {
    fill(most);
    EXPECT_TRUE(system.door_is_open);
    const Nanoseconds came = now();
    knock(1);
    system.time = came + 50 * kMs - 1;
    door.answer(now());
    EXPECT_EQ(here(), most);
    EXPECT_EQ(system.queue.size(), 1u) << "it waits outside";
    EXPECT_EQ(door.take_strangers(), 0u);
    EXPECT_FALSE(system.door_is_open);
    EXPECT_EQ(door.due(), came + 50 * kMs);
    door.tend(now());
    EXPECT_FALSE(system.door_is_open);
    system.time = came + 50 * kMs;
    door.tend(now());
    EXPECT_TRUE(system.door_is_open);
    door.answer(now());
    EXPECT_TRUE(system.queue.empty());
    EXPECT_TRUE(system.all.at(system.last).is_open);
    EXPECT_FALSE(system.all.at(1).is_open) << "who came first goes first";
    EXPECT_TRUE(system.all.at(3).is_open);
    EXPECT_EQ(door.take_strangers(), 2u) << "for the next one there is room as well";
    EXPECT_EQ(here(), most - 1);
    EXPECT_EQ(door.take_strangers(), 0u) << "since it was asked last";
}

/// So that knocking costs this process little.
TEST_F(TcpDoor, answer__rests_after_it_sent_somebody_away) {
    fill(most);
    system.time += 50 * kMs;
    knock(1);
    door.answer(now());
    EXPECT_FALSE(system.door_is_open);
    EXPECT_EQ(door.due(), now() + 5 * kMs);
    system.time += 5 * kMs - 1;
    door.tend(now());
    EXPECT_FALSE(system.door_is_open);
    system.time += 1;
    door.tend(now());
    EXPECT_TRUE(system.door_is_open);
    EXPECT_EQ(door.due(), now() - 55 * kMs + 5 * kSecond) << "when the next one has to go";
}

TEST_F(TcpDoor, answer__without_descriptors_closes_the_door_for_a_while) {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
        system.accept_error = error;
        system.accepts = 0;
        door.answer(now());
        EXPECT_EQ(system.accepts, 1u);
        EXPECT_FALSE(system.door_is_open) << error;
        EXPECT_EQ(door.due(), now() + 50 * kMs);
        system.time += 50 * kMs - 1;
        door.tend(now());
        EXPECT_FALSE(system.door_is_open) << error;
        system.time += 1;
        door.tend(now());
        EXPECT_TRUE(system.door_is_open) << error;
        EXPECT_EQ(door.due(), 0);
    }
}

TEST_F(TcpDoor, answer__where_nobody_is_left_the_door_stays_open) {
    for (const int error : {EAGAIN, EINTR, ECONNABORTED}) {
        system.accept_error = error;
        door.answer(now());
        EXPECT_TRUE(system.door_is_open) << error;
        EXPECT_EQ(door.due(), 0);
    }
}

/// Of a shorter rest and a longer one the longer one.
TEST_F(TcpDoor, answer__a_rest_is_not_shortened) {
    fill(most);
    system.accept_error = EMFILE;
    system.time += 50 * kMs;
    door.answer(now());  // it has sent one away, for 5 ms, and found no descriptor, for 50
    EXPECT_EQ(door.due(), now() + 50 * kMs);
}

TEST_F(TcpDoor, tend__who_says_nothing_for_five_seconds_goes) {
    fill(1);
    const Nanoseconds came = now();
    EXPECT_EQ(door.due(), came + 5 * kSecond);
    system.time += kSecond;
    fill(1);
    EXPECT_EQ(door.due(), came + 5 * kSecond);
    system.time = came + 5 * kSecond - 1;
    door.tend(now());
    EXPECT_EQ(here(), 2u);
    system.time = came + 5 * kSecond;
    door.tend(now());
    EXPECT_FALSE(system.all.at(1).is_open);
    EXPECT_TRUE(system.all.at(2).is_open);
    EXPECT_EQ(door.take_strangers(), 1u);
    EXPECT_EQ(door.due(), came + 6 * kSecond);
    system.time += kSecond;
    door.tend(now());
    EXPECT_TRUE(door.is_empty());
    EXPECT_EQ(door.due(), 0);
}

TEST_F(TcpDoor, due__of_a_rest_and_a_caller_the_first) {
    fill(1);
    system.accept_error = EMFILE;
    door.answer(now());
    EXPECT_EQ(door.due(), now() + 50 * kMs);
    system.accept_error = 0;
    system.time += 5 * kSecond - 20 * kMs;
    door.tend(now());
    system.accept_error = EMFILE;
    door.answer(now());
    EXPECT_EQ(door.due(), now() + 20 * kMs) << "the caller's";
}

TEST_F(TcpDoor, hear__who_has_said_his_hello_leaves_with_his_stream) {
    fill(2);
    Hello hello{};
    hello.pid = 4711;
    system.bring(2, hello, sizeof hello - 1);
    EXPECT_FALSE(door.hear(2).has_value());
    EXPECT_FALSE(door.hear(77).has_value()) << "nobody is there";
    EXPECT_FALSE(door.hear(1).has_value());
    EXPECT_EQ(here(), 2u);
    system.bring(2, std::byte{0});
    auto visitor = door.hear(2);
    ASSERT_TRUE(visitor.has_value());
    EXPECT_EQ(visitor->hello.pid, 4711u);
    EXPECT_EQ(visitor->stream.get(), 2);
    EXPECT_TRUE(system.all.at(2).is_open);
    visitor.reset();
    EXPECT_FALSE(system.all.at(2).is_open);
    EXPECT_FALSE(door.hear(2).has_value());
    EXPECT_EQ(door.take_strangers(), 0u);
    EXPECT_FALSE(door.is_empty());
}

TEST_F(TcpDoor, hear__who_leaves_without_a_hello_is_a_stranger) {
    fill(1);
    system.bring(1, std::byte{1});
    EXPECT_FALSE(door.hear(1).has_value());
    system.at(1).at_its_end = 0;
    EXPECT_FALSE(door.hear(1).has_value());
    EXPECT_TRUE(door.is_empty());
    EXPECT_FALSE(system.all.at(1).is_open);
    EXPECT_EQ(door.take_strangers(), 1u);
}

TEST_F(TcpDoor, guesses__slow_it_down_while_there_are_many) {
    for (unsigned i = 1; i < Guesses::kMost; ++i) EXPECT_FALSE(door.note_guess(now()));
    knock(3);
    door.answer(now());
    EXPECT_TRUE(system.door_is_open);
    EXPECT_TRUE(door.note_guess(now()));
    EXPECT_FALSE(door.note_guess(now())) << "told once";
    knock(3);
    door.answer(now());
    EXPECT_EQ(here(), 6u) << "they are heard";
    EXPECT_FALSE(system.door_is_open);
    EXPECT_EQ(door.due(), now() + 10 * kMs);
    system.time += 10 * kMs;
    door.tend(now());
    EXPECT_TRUE(system.door_is_open);
    system.time += kSecond - 10 * kMs;
    door.answer(now());
    EXPECT_TRUE(system.door_is_open) << "a second later";
}

TEST_F(TcpDoor, close__gives_up_all) {
    fill(2);
    door.close();
    EXPECT_TRUE(system.door_is_closed);
    EXPECT_EQ(here(), 0u);
    EXPECT_TRUE(door.is_empty());
}

// --- its place ---

struct Opened {
    Status status;
    std::string error;
    unsigned port;
    std::vector<unsigned> tried;
};

Opened opened(std::deque<int> errors, PortRange ports, std::uint64_t incarnation = 0,
              unsigned port = 0) {
    HandStreams system;
    system.listen_errors = std::move(errors);
    Door door(system);
    Opened result{};
    ddi::Card card = card_of(incarnation, static_cast<std::uint16_t>(port));
    result.status = door.open(&card, ports, &result.error);
    result.port = ntohs(card.port);
    result.tried = system.tried;
    EXPECT_EQ(system.door_is_open, result.status == Status::ok);
    return result;
}

TEST(tcp_door_place, open__tries_all_ports_from_one_that_is_its_own) {
    EXPECT_EQ(opened({}, {5000, 5003}, 2).port, 5002u);
    EXPECT_EQ(opened({}, {5000, 5003}, 4).port, 5000u);
    const Opened third = opened({EADDRINUSE, EADDRINUSE}, {5000, 5003}, 3);
    EXPECT_EQ(third.status, Status::ok);
    EXPECT_EQ(third.tried, (std::vector{5003u, 5000u, 5001u}));
    EXPECT_EQ(third.port, 5001u);
    const Opened none =
        opened({EADDRINUSE, EADDRINUSE, EADDRINUSE, EADDRINUSE, 0}, {5000, 5003}, 1);
    EXPECT_EQ(none.status, Status::exhausted);
    EXPECT_EQ(none.tried.size(), 4u);
    EXPECT_NE(none.error.find("no port of FCI_PORTS=5000-5003 is free at 10.77.0.3; each"),
              std::string::npos)
        << none.error;
}

TEST(tcp_door_place, open__what_is_wrong_with_all_ports_ends_it) {
    const Opened refused = opened({EACCES}, {80, 83}, 1);
    EXPECT_EQ(refused.tried, std::vector{81u});
    EXPECT_EQ(refused.status, Status::invalid);
    EXPECT_NE(refused.error.find("ports below 1024 are root's"), std::string::npos);
    const Opened elsewhere = opened({EADDRNOTAVAIL}, {});
    EXPECT_EQ(elsewhere.status, Status::invalid);
    EXPECT_NE(elsewhere.error.find("; no interface of this host has that address"),
              std::string::npos);
    EXPECT_EQ(elsewhere.error.find("root's"), std::string::npos);
    EXPECT_EQ(opened({EMFILE}, {}).status, Status::exhausted);
}

TEST(tcp_door_place, open__at_a_port_that_is_wanted_and_no_other) {
    EXPECT_EQ(opened({}, {5000, 5003}, 1, 6000).tried, std::vector{6000u});
    const Opened taken = opened({EADDRINUSE, 0}, {5000, 5003}, 1, 6000);
    EXPECT_EQ(taken.status, Status::exhausted);
    EXPECT_EQ(taken.tried.size(), 1u);
    EXPECT_NE(taken.error.find("cannot listen at 10.77.0.3:6000: "), std::string::npos);
    EXPECT_NE(taken.error.find("; another process has this port"), std::string::npos);
    const Opened any = opened({}, {});
    EXPECT_EQ(any.tried, std::vector{0u});
    EXPECT_EQ(any.port, 4000u) << "the system's";
}

}  // namespace
}  // namespace fci::tcp::test
