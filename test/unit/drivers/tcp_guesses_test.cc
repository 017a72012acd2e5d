// SPDX-License-Identifier: BSD-3-Clause
// Callers that try numbers: how many a device hears in a second, and what that costs true callers.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "drivers/tcp/guesses.h"
#include "test/unit/drivers/no_streams.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

constexpr Nanoseconds kMs = 1'000'000, kSecond = 1000 * kMs;
constexpr std::size_t kBacklog = 4096;

TEST(tcp_guesses, many__are_those_of_one_second_and_told_once) {
    Guesses guesses;
    Nanoseconds now = 5 * kSecond;
    unsigned told = 0;
    for (unsigned i = 0; i < 10 * Guesses::kMost; ++i, now += 2 * kSecond / Guesses::kMost) {
        told += guesses.add(now);
    }
    EXPECT_EQ(told, 0u) << "as of processes that look for one that has ended";
    EXPECT_FALSE(guesses.are_many(now));
    for (unsigned i = 0; i < 10 * Guesses::kMost; ++i) told += guesses.add(now);
    EXPECT_EQ(told, 1u);
    EXPECT_TRUE(guesses.are_many(now + kSecond / 2));
    EXPECT_FALSE(guesses.are_many(now + kSecond));
}

TEST(tcp_guesses, many__are_counted_to_the_last_one_and_the_last_nanosecond) {
    const auto told_of_last = [](Nanoseconds after) {
        Guesses guesses;
        const Nanoseconds began = 5 * kSecond;
        for (unsigned i = 1; i < Guesses::kMost; ++i) EXPECT_FALSE(guesses.add(began));
        EXPECT_FALSE(guesses.are_many(began));
        const bool told = guesses.add(began + after);
        EXPECT_EQ(guesses.are_many(began + after), told);
        EXPECT_EQ(guesses.are_many(began + after + kSecond - 1), told);
        EXPECT_FALSE(guesses.are_many(began + after + kSecond));
        return told;
    };
    EXPECT_TRUE(told_of_last(0));
    EXPECT_TRUE(told_of_last(kSecond - 1));
    EXPECT_FALSE(told_of_last(kSecond)) << "of another second";
}

/// Each more of them makes it last.
TEST(tcp_guesses, many__a_second_after_the_last_one) {
    Guesses guesses;
    for (unsigned i = 0; i < Guesses::kMost; ++i) (void)guesses.add(kSecond);
    EXPECT_FALSE(guesses.add(kSecond + 1));
    EXPECT_TRUE(guesses.are_many(2 * kSecond));
    EXPECT_FALSE(guesses.are_many(2 * kSecond + 1));
}

/// A system whose queue of callers is always full of those that guess.
struct Flood final : test::NoStreams {
    int listen(ddi::Card* card) noexcept override {
        card->port = htons(4000);
        return 0;
    }
    int accept(int) noexcept override {
        if (queue.empty()) return -EAGAIN;
        here[++last].hello = queue.front();
        queue.pop_front();
        return last;
    }
    std::uint32_t caller(int) noexcept override { return htonl(0x0a4d0004); }
    ssize_t receive(int stream, std::span<const iovec> ranges) noexcept override {
        One& one = here.at(stream);
        if (one.has_said_it) return -EAGAIN;
        one.has_said_it = true;
        EXPECT_EQ(ranges[0].iov_len, sizeof(Hello));
        std::memcpy(ranges[0].iov_base, &one.hello, sizeof(Hello));
        ++heard;
        return sizeof(Hello);
    }
    ssize_t send(int stream, std::span<const iovec> ranges, bool) noexcept override {
        answered.push_back(here.at(stream).hello.to.incarnation);
        return static_cast<ssize_t>(bytes_in(ranges));
    }
    void watch(int stream, Source, std::uint32_t, unsigned interests) noexcept override {
        if (stream == 0) is_open = interests == kIn;
    }
    std::size_t look(std::span<Event, kEventsMost> events) noexcept override {
        std::size_t told = 0;
        if (is_open && !queue.empty()) events[told++] = {Source::door, 0};
        for (const auto& [stream, one] : here) {
            if (told == events.size()) break;
            if (one.has_said_it) continue;
            events[told++] = {Source::caller, static_cast<std::uint32_t>(stream)};
        }
        return told;
    }
    void close(int stream) noexcept override { here.erase(stream); }

    struct One {
        Hello hello{};
        bool has_said_it = false;
    };
    std::deque<Hello> queue;
    std::map<int, One> here;  // by stream
    std::vector<std::uint64_t> answered;
    unsigned heard = 0;
    int last = 0;
    bool is_open = false;
};

struct TcpGuesses : testing::Test {
    TcpGuesses() {
        auto made = std::make_unique<Flood>();
        flood = made.get();
        Status status = Status::ok;
        std::string error;
        device = open_over(std::move(made), settings(), &status, &error);
        EXPECT_EQ(status, Status::ok) << error;
        device->set_listener(&listener);
        guess.magic = Hello::kMagic;
        guess.job = 77;
        guess.layout_digest = 0x1234;
        guess.block_bytes = kBlockBytes;
        guess.from = {AF_INET, htons(4711), htonl(0x0a4d0004), 99};
        guess.to = device->card();
    }
    /// So long a turn each tenth of a millisecond, with a queue that is full all the time.
    void go_on(Nanoseconds time) {
        for (const Nanoseconds end = flood->time + time; flood->time < end;) {
            flood->time += kMs / 10;
            while (flood->queue.size() < kBacklog) {
                ++guess.to.incarnation;
                flood->queue.push_back(guess);
            }
            device->network().poll(flood->time);
        }
    }

    Flood* flood;
    std::unique_ptr<ddi::Device> device;
    Listener listener;
    Hello guess{};
};

TEST_F(TcpGuesses, door__hears_a_few_thousand_a_second_and_says_so_once) {
    testing::internal::CaptureStderr();
    go_on(5 * kSecond);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_GT(flood->heard, 5 * 1000u) << "true callers are among them";
    EXPECT_LT(flood->heard, 5 * 3500u);
    EXPECT_GE(listener.strangers + 64, flood->heard);
    EXPECT_TRUE(flood->answered.empty());
    EXPECT_NE(said.find("somebody at 10.77.0.4 has called this process, at 127.0.0.1:4000, 200 "
                        "times in a second"),
              std::string::npos)
        << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST_F(TcpGuesses, true_caller__behind_a_full_queue_is_answered_soon) {
    testing::internal::CaptureStderr();
    go_on(kSecond);
    Hello caller = guess;
    caller.to = device->card();
    flood->queue.push_back(caller);
    go_on(3 * kSecond / 2);
    (void)testing::internal::GetCapturedStderr();
    ASSERT_EQ(flood->answered.size(), 1u);
    EXPECT_EQ(flood->answered[0], device->card().incarnation);
    EXPECT_EQ(listener.attached.size(), 1u);
}

TEST_F(TcpGuesses, door__is_open_as_ever_a_second_later) {
    testing::internal::CaptureStderr();
    go_on(kSecond);
    (void)testing::internal::GetCapturedStderr();
    flood->queue.clear();
    for (unsigned i = 0; i < 3000; ++i) device->network().poll(flood->time += kMs);
    Hello silent = guess;
    for (unsigned i = 0; i < 64; ++i) flood->queue.push_back(silent);
    const unsigned before = flood->heard;
    for (unsigned i = 0; i < 8; ++i) device->network().poll(flood->time);
    EXPECT_EQ(flood->heard - before, 64u) << "no time goes by";
}

// The same with the kernel's sockets.
TEST(tcp_guesses_of_the_kernel, sentence__names_the_address_and_true_callers_come_in) {
    Party party;
    testing::internal::CaptureStderr();
    for (unsigned i = 0; i < 2 * Guesses::kMost; ++i) {
        Hello wrong = hello_to(party);
        wrong.to.incarnation += 1 + i;
        const Caller caller(party.device->card());
        caller.say(&wrong, sizeof wrong);
        Hello answer;
        EXPECT_FALSE(caller.hear(party, &answer));
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("somebody at 127.0.0.1 has called"), std::string::npos) << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    const Impostor peer(party);
    EXPECT_EQ(party.listener.strangers, 2 * Guesses::kMost);
}

}  // namespace
}  // namespace fci::tcp
