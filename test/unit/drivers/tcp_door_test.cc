// SPDX-License-Identifier: BSD-3-Clause
// The door of a tcp device: who is let in, who hears a word, and what the others cost.
#include <sys/resource.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>

#include "drivers/tcp/door.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

TEST(tcp_door, strangers__are_counted_and_not_answered) {
    Party party;
    const auto turned_away = [&](Hello hello, std::size_t bytes = sizeof(Hello)) {
        const unsigned before = party.listener.strangers;
        Caller caller(party.device->card());
        caller.say(&hello, bytes);
        if (bytes < sizeof hello) ::shutdown(caller.socket.get(), SHUT_WR);
        Hello answer;
        EXPECT_FALSE(caller.hear(party, &answer));
        EXPECT_TRUE(caller.is_closed);
        EXPECT_EQ(party.listener.strangers, before + 1);
    };
    const Hello good = hello_to(party);
    const auto with = [&](auto change) {
        Hello hello = good;
        change(hello);
        return hello;
    };
    turned_away(with([](Hello& h) { h.magic ^= 1; }));
    turned_away(with([](Hello& h) { h.from.incarnation = 0; }));
    turned_away(with([](Hello& h) { h.from.port = 0; }));
    turned_away(with([](Hello& h) { h.to.incarnation ^= 1; }));  // knows the job, not the card
    turned_away(with([](Hello& h) { h.to.incarnation = 0; }));
    turned_away(with([](Hello& h) { h.to.incarnation = 0, h.job = 78; }));
    turned_away(with([&](Hello& h) { h.from.incarnation = party.device->card().incarnation; }));
    turned_away(with([](Hello& h) { h.block_bytes = nhi::kPairLimit + 1; }));
    turned_away(with([](Hello& h) { h.block_bytes = 0; }));
    turned_away(with([](Hello& h) { h.verdict = Verdict{7}; }));
    turned_away(good, 40);
    turned_away(good, 1);
    EXPECT_EQ(party.device->peers(), 1u);
}

TEST(tcp_door, callers__of_another_version_hear_which_one_this_is) {
    constexpr std::uint64_t kNextVersion = Hello::kMagic + (1ull << 48);
    Party party;
    Hello hello = hello_to(party);
    hello.magic = kNextVersion;
    const Caller caller(party.device->card());
    caller.say(&hello, sizeof hello);
    Hello answer;
    ASSERT_TRUE(caller.hear(party, &answer));
    EXPECT_EQ(answer.magic, Hello::kMagic);
    EXPECT_EQ(answer.verdict, Verdict::mismatch);
    EXPECT_TRUE(answer.is_bare());
    hello.to.incarnation ^= 1;  // a stranger of any version hears nothing
    const Caller stranger(party.device->card());
    stranger.say(&hello, sizeof hello);
    EXPECT_FALSE(stranger.hear(party, &answer));
    EXPECT_TRUE(party.listener.attached.empty());
}

/// A caller with this hello, but of another job or with other settings, is answered.
bool hears_of_difference(Party& party, Hello hello, bool job, Hello* answer) {
    if (job) hello.job = 78;
    if (!job) hello.layout_digest = 5;
    const Caller caller(party.device->card());
    caller.say(&hello, sizeof hello);
    return caller.hear(party, answer);
}

TEST(tcp_door, callers__that_disagree_hear_why) {
    Party party;
    for (const bool job : {true, false}) {
        Hello answer;
        ASSERT_TRUE(hears_of_difference(party, hello_to(party), job, &answer));
        EXPECT_EQ(answer.verdict, Verdict::mismatch);
        EXPECT_EQ(answer.layout_digest, 0x1234u);
    }
    EXPECT_TRUE(party.listener.attached.empty());
}

// Its job is all that keeps others from a process that answers whoever has typed its address.
TEST(tcp_door, callers__who_typed_the_place_and_differ_learn_nothing) {
    ddi::Settings open = settings();
    open.answers_typed = true;
    Party party(open);
    for (const bool job : {true, false}) {
        Hello hello = hello_to(party);
        hello.to.incarnation = 0;
        Hello answer;
        ASSERT_TRUE(hears_of_difference(party, hello, job, &answer));
        Hello nothing{};
        nothing.magic = Hello::kMagic;
        nothing.verdict = Verdict::mismatch;
        EXPECT_EQ(std::memcmp(&answer, &nothing, sizeof answer), 0);
    }
}

TEST(tcp_door, callers__who_typed_the_place_and_differ_say_so) {
    ddi::Settings open = settings(), other = settings();
    open.answers_typed = true;
    other.job = 78;
    Party party(open), caller(other);
    ddi::Card place = party.device->card();
    place.incarnation = 0;
    nhi::PeerId id = 0;
    ASSERT_EQ(caller.device->add_peer(place, &id), Status::ok);
    ASSERT_EQ(caller.device->connect(id), Status::ok);
    ASSERT_TRUE(caller.until([&] {
        party.turn();
        return !caller.listener.lost.empty();
    }));
    EXPECT_EQ(caller.listener.lost[0].why, Status::mismatch);
    EXPECT_NE(caller.listener.lost[0].reason.find("is of another job, or has another version"),
              std::string::npos)
        << caller.listener.lost[0].reason;
}

TEST(tcp_door, callers__who_typed_the_place_are_answered_where_that_is_wanted) {
    ddi::Settings open = settings();
    open.answers_typed = true;
    Party party(open);
    Hello hello = hello_to(party);
    hello.to.incarnation = 0;
    const Caller caller(party.device->card());
    caller.say(&hello, sizeof hello);
    Hello answer;
    ASSERT_TRUE(caller.hear(party, &answer));
    EXPECT_EQ(answer.verdict, Verdict::welcome);
    hello.to.incarnation = 5;  // somebody else
    const Caller mistaken(party.device->card());
    mistaken.say(&hello, sizeof hello);
    EXPECT_FALSE(mistaken.hear(party, &answer));
}

TEST(tcp_door, callers__behind_a_translation_of_addresses_are_known_by_their_card) {
    Party party;
    Hello hello = hello_to(party);
    hello.from.host = htonl(0x0a000005);
    const Caller caller(party.device->card());
    caller.say(&hello, sizeof hello);
    Hello answer;
    ASSERT_TRUE(caller.hear(party, &answer));
    EXPECT_EQ(answer.verdict, Verdict::welcome);
}

TEST(tcp_door, callers__who_say_nothing_keep_nobody_out) {
    Party party;
    std::vector<std::unique_ptr<Caller>> silent;
    for (std::size_t i = 0; i < 2 * Door::kCallersMost; ++i) {
        silent.push_back(std::make_unique<Caller>(party.device->card()));
        party.turn();
    }
    const Nanoseconds before = own_time();
    const Impostor one(party);
    EXPECT_LT(own_time() - before, 2'000'000'000);  // they may stand there for 5 s
    EXPECT_GE(party.listener.strangers, Door::kCallersMost);
}

/// How many this process has.
std::ptrdiff_t descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

TEST(tcp_door, callers__who_say_nothing_take_an_eighth_of_all_descriptors) {
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit few{256, files.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    Party party;
    std::vector<std::unique_ptr<Caller>> silent;
    for (unsigned i = 0; i < 100; ++i) {
        silent.push_back(std::make_unique<Caller>(party.device->card()));
    }
    const std::ptrdiff_t before = descriptors();
    party.turns();
    EXPECT_EQ(descriptors() - before, 256 / 8);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
}

TEST(tcp_door, sleep__a_full_door_costs_no_time) {
    Party party;
    std::vector<std::unique_ptr<Caller>> silent;
    for (std::size_t i = 0; i < Door::kCallersMost + 500; ++i) {
        silent.push_back(std::make_unique<Caller>(party.device->card()));
    }
    const auto used = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    for (unsigned i = 0; i < 40; ++i) party.device->sleep(5'000'000);  // they come in
    const Nanoseconds before = used();
    for (unsigned i = 0; i < 100; ++i) party.device->sleep(10'000'000);
    EXPECT_LT(used() - before, 100'000'000);  // a tenth of a core, also under the sanitizers
}

TEST(tcp_door, callers__come_in_once_there_are_descriptors_again) {
    Party party;
    const Caller caller(party.device->card());
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    std::vector<host::Descriptor> all;
    const rlimit few{64, files.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (true) {
        host::Descriptor one(dup(0));
        if (!one) break;
        all.push_back(std::move(one));
    }
    const Hello mine = hello_to(party);
    caller.say(&mine, sizeof mine);
    party.turns();
    EXPECT_TRUE(party.listener.attached.empty());
    all.clear();
    EXPECT_TRUE(party.until([&] { return party.listener.attached.size() == 1; }));
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
}

TEST(tcp_door, hello__in_pieces) {
    Party party;
    const Hello mine = hello_to(party);
    const Caller caller(party.device->card());
    for (std::size_t i = 0; i < sizeof mine; ++i) {
        caller.say(reinterpret_cast<const char*>(&mine) + i, 1);
        party.turns(70);
    }
    EXPECT_TRUE(party.until([&] { return party.listener.attached.size() == 1; }));
}

}  // namespace
}  // namespace fci::tcp
