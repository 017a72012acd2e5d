// SPDX-License-Identifier: BSD-3-Clause
// Going out: how long somebody is tried who is not there, who is waited for, and what of an answer
// is believed. All by a clock that goes on only where the test sets it.
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fci_core/ddi/crossing.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

constexpr Nanoseconds kSecond = 1000 * kMs;
constexpr Nanoseconds kPauseMost = 75 * kMs;  // half as much again as the longest one

struct ShmGoingOut : testing::Test {
    void SetUp() override { calls = {}; }
    void TearDown() override { calls = {}; }
};

/// A process, its own clock, and a place at which nobody listens.
struct Caller {
    explicit Caller(Tuning tuning = {}) : self(party_settings(), with(tuning)) {
        card.host = htonl(INADDR_LOOPBACK);
        card.port = htons(1023);
        card.incarnation = 4711;
    }
    /// When the peer is lost; `most`: not until then.
    Nanoseconds lost_after(Nanoseconds most, Nanoseconds step = kMs / 10) {
        const Nanoseconds start = clock.time;
        for (; self.lost.empty() && clock.time - start < most; clock.time += step) self.turn();
        return clock.time - start;
    }
    Tuning with(Tuning tuning) {
        tuning.clock = &clock;
        return tuning;
    }
    HandClock clock;
    Party self;
    ddi::Card card;
};

TEST_F(ShmGoingOut, patience__of_a_place_that_was_given_and_of_one_that_was_typed) {
    const Tuning tuning{.patience_typed = 200 * kMs, .patience_given = 100 * kMs};
    for (const bool typed : {true, false}) {
        Caller f(tuning);
        if (typed) f.card.incarnation = 0;
        const Nanoseconds patience = typed ? tuning.patience_typed : tuning.patience_given;
        const std::size_t descriptors = open_descriptors();
        f.self.meet(f.card);
        const Nanoseconds took = f.lost_after(kSecond);
        EXPECT_EQ(open_descriptors(), descriptors);
        EXPECT_GE(took, patience);
        EXPECT_LE(took, patience + kPauseMost + kMs);
        ASSERT_EQ(f.self.lost.size(), 1u);
        EXPECT_EQ(f.self.lost[0].why, Status::unreachable);
        const std::string& reason = f.self.lost[0].reason;
        EXPECT_EQ(reason.find("FCI_CONNECT_MS") != std::string::npos, typed) << reason;
        EXPECT_NE(reason.find(typed ? "200 ms" : "100 ms"), std::string::npos) << reason;
    }
}

TEST_F(ShmGoingOut, patience__where_nothing_else_is_said) {
    const ddi::Settings settings = party_settings();
    EXPECT_EQ(Tuning{}.patience_typed, 30 * kSecond);
    EXPECT_EQ(Tuning{}.patience_given, 300 * kMs);
    ddi::Card card;
    EXPECT_EQ(Tuning{}.patience_for(card), 30 * kSecond);
    card.incarnation = 1;
    EXPECT_EQ(Tuning{}.patience_for(card), 300 * kMs);
}

// Many want to meet a process that lives: it is tried for as long as that lasts.
TEST_F(ShmGoingOut, connect__to_a_door_where_too_many_stand_is_tried_for_ever) {
    Caller f;
    calls.fail_connect = [] { return EAGAIN; };
    f.self.meet(f.card);
    f.lost_after(10 * kSecond, kMs);
    EXPECT_TRUE(f.self.lost.empty());
    calls.fail_connect = [] { return ECONNREFUSED; };
    EXPECT_LE(f.lost_after(kSecond), kPauseMost + kMs) << "its patience is long over";
    EXPECT_FALSE(f.self.lost.empty());
}

TEST_F(ShmGoingOut, connect__without_what_it_takes_ends_when_that_lasts) {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
        SCOPED_TRACE(error);
        Caller f({.patience_given = kMs, .short_untold = 400 * kMs});
        calls.fail_connect = [&] { return error; };
        testing::internal::CaptureStderr();
        f.self.meet(f.card);
        const Nanoseconds took = f.lost_after(2 * kSecond);
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_GT(took, 400 * kMs);
        EXPECT_LE(took, 400 * kMs + kPauseMost + kMs);
        ASSERT_EQ(f.self.lost.size(), 1u);
        EXPECT_EQ(f.self.lost[0].why, Status::exhausted);
        const bool of_files = error == EMFILE || error == ENFILE;
        EXPECT_EQ(said.find("ulimit -n") != std::string::npos, of_files) << said;
        EXPECT_EQ(said.find("FCI_RING_BYTES") != std::string::npos, !of_files) << said;
    }
}

TEST_F(ShmGoingOut, connect__that_is_interrupted_is_tried_again_and_what_else_fails_is_not) {
    Caller f;
    calls.fail_connect = [] { return EINTR; };
    f.self.meet(f.card);
    f.lost_after(200 * kMs);
    EXPECT_TRUE(f.self.lost.empty());
    Caller other;
    calls.fail_connect = [] { return EACCES; };
    other.self.meet(other.card);
    other.self.turn();
    ASSERT_EQ(other.self.lost.size(), 1u);
    EXPECT_EQ(other.self.lost[0].why, Status::unreachable);
}

TEST_F(ShmGoingOut, hello__says_how_often_its_sender_came_in_vain) {
    OddHost host;
    Caller f;
    f.self.meet(host.card);
    for (std::uint64_t i = 0; i < 4; ++i) {
        host::Descriptor link;
        for (unsigned n = 0; !link && n < 10'000; ++n, f.clock.time += kMs / 10) {
            f.self.turn();
            link = host.accept();
        }
        ASSERT_TRUE(link);
        Received received;
        ASSERT_EQ(hear(link, &received), Kind::hello);
        Hello hello;
        std::memcpy(&hello, received.bytes.data(), sizeof hello);
        EXPECT_EQ(hello.tries, i);
        EXPECT_EQ(hello.expects, host.card.incarnation);
        EXPECT_EQ(received.file_count, 0u);
    }
    EXPECT_TRUE(f.self.lost.empty());
}

// A process that lets a meeting go says so; without that word it would be taken for dead.
TEST_F(ShmGoingOut, shortage__lets_a_meeting_go_and_begins_it_again) {
    OddHost host;
    Caller f;
    f.self.meet(host.card);
    const host::Descriptor link = host.accept();
    Received received;
    ASSERT_EQ(hear(link, &received), Kind::hello);
    calls.fail = [] { return ENOBUFS; };
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    f.self.turn();
    EXPECT_EQ(hear(link, &received), Kind::bye);
    EXPECT_TRUE(is_hung_up(link.get()));
    calls.fail = {};
    host::Descriptor next;
    for (unsigned i = 0; !next && i < 1000; ++i, f.clock.time += kMs / 10) {
        f.self.turn();
        next = host.accept();
    }
    ASSERT_EQ(hear(next, &received), Kind::hello);
    Hello hello;
    std::memcpy(&hello, received.bytes.data(), sizeof hello);
    EXPECT_EQ(hello.tries, 1u);
    EXPECT_TRUE(f.self.lost.empty());
}

// It is on the way here, so this way is given up; for half a second, in case it does not come.
TEST_F(ShmGoingOut, crossed__is_waited_for_and_not_for_ever) {
    OddHost host;
    Caller f;
    f.self.meet(host.card);
    const host::Descriptor link = host.accept();
    Received received;
    ASSERT_EQ(hear(link, &received), Kind::hello);
    ASSERT_TRUE(say(link, make_word(Kind::crossed)));
    f.self.turn();
    EXPECT_TRUE(is_hung_up(link.get()));
    const Nanoseconds until = f.clock.time + 500 * kMs;
    for (; f.clock.time < until; f.clock.time += kMs / 4) {
        f.self.turn();
        ASSERT_FALSE(host.accept()) << until - f.clock.time;
    }
    f.self.turn();
    EXPECT_TRUE(host.accept());
    EXPECT_TRUE(f.self.lost.empty());
}

/// Nine who do not answer; `ninth_is_own`: the way to that one would be the one that goes on.
struct Crowd {
    explicit Crowd(Caller& caller, bool ninth_is_own) {
        const std::uint64_t own = caller.self.device->card().incarnation;
        std::uint64_t incarnation = 4711;
        while (hosts.size() < 9) {
            const bool wanted = hosts.size() == 8 && ninth_is_own;
            if (ddi::is_own_way(own, ++incarnation) != wanted) continue;
            hosts.push_back(std::make_unique<OddHost>(incarnation));
            caller.self.meet(hosts.back()->card);
            links.push_back(hosts.back()->accept());
        }
    }
    [[nodiscard]] bool ninth_stands() { return links[8] || (links[8] = hosts[8]->accept()); }
    std::vector<std::unique_ptr<OddHost>> hosts;
    std::vector<host::Descriptor> links;
};

TEST_F(ShmGoingOut, many_at_once__the_ninth_whose_way_gives_way_may_come_by_itself) {
    Caller f;
    Crowd crowd(f, false);
    for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(crowd.links[i]) << i;
    const Nanoseconds until = f.clock.time + 100 * kMs;
    for (; f.clock.time < until; f.clock.time += kMs / 4) {
        f.self.turn();
        ASSERT_FALSE(crowd.ninth_stands()) << until - f.clock.time;
    }
    f.self.turn();
    EXPECT_TRUE(crowd.ninth_stands());
}

TEST_F(ShmGoingOut, many_at_once__the_ninth_has_its_turn_as_soon_as_there_are_fewer) {
    Caller f;
    Crowd crowd(f, false);
    crowd.links[3].close();
    for (unsigned i = 0; i < 3; ++i, f.clock.time += 20'000) f.self.turn();
    EXPECT_TRUE(crowd.ninth_stands());
}

TEST_F(ShmGoingOut, many_at_once__the_own_way_is_begun_at_once) {
    Caller f;
    Crowd crowd(f, true);
    EXPECT_TRUE(crowd.ninth_stands());
}

/// The outcome of an answer that is changed so: where the peer attached, Status::ok.
Status answered(const std::function<void(Shown&, std::vector<int>&)>& change, bool typed = false,
                bool welcomes = true) {
    OddHost host;
    Caller f;
    ddi::Card card = host.card;
    if (typed) card.incarnation = 0;
    f.self.meet(card);
    const host::Descriptor link = host.accept();
    Received received;
    EXPECT_EQ(hear(link, &received), Kind::hello);
    if (welcomes) {
        EXPECT_TRUE(say(link, make_word(Kind::welcome)));
        f.self.turn();
        EXPECT_EQ(hear(link, &received), Kind::hello);
        EXPECT_EQ(received.file_count, kHelloFiles);
    }
    Shown shown(host.card);
    std::vector<int> files = shown.files();
    change(shown, files);
    EXPECT_TRUE(say(link, shown.hello, files));
    for (unsigned i = 0; i < 40; ++i) f.self.turn();
    EXPECT_EQ(f.self.attached.size() + f.self.lost.size(), 1u);
    if (!f.self.lost.empty()) {
        EXPECT_TRUE(is_hung_up(link.get()));
        return f.self.lost[0].why;
    }
    EXPECT_EQ(hear(link, &received), Kind::met);
    EXPECT_EQ(f.self.device->card_of(1)->incarnation, shown.hello.card.incarnation);
    return Status::ok;
}

void another(Shown& shown, std::uint64_t incarnation) {
    shown.hello.card.incarnation = incarnation;
    reinterpret_cast<SharedHeader*>(shown.header.data())->incarnation = incarnation;
}

TEST_F(ShmGoingOut, reply__of_who_was_meant) {
    EXPECT_EQ(answered([](Shown&, auto&) {}), Status::ok);
    EXPECT_EQ(answered([](Shown&, auto&) {}, true), Status::ok);
    EXPECT_EQ(answered([](Shown& shown, auto&) { another(shown, 99); }, true), Status::ok)
        << "whoever is there";
}

TEST_F(ShmGoingOut, reply__of_somebody_else) {
    EXPECT_EQ(answered([](Shown& shown, auto&) { another(shown, 99); }), Status::unreachable);
    EXPECT_EQ(answered([](Shown& shown, auto&) { ++shown.hello.card.port; }), Status::mismatch);
    EXPECT_EQ(answered([](Shown& shown, auto&) { shown.hello.job += 1; }), Status::mismatch);
    EXPECT_EQ(answered([](Shown& shown, auto&) { shown.hello.layout_digest += 1; }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown&, auto&) {}, false, false), Status::mismatch)
        << "before it was asked";
}

TEST_F(ShmGoingOut, reply__with_other_descriptors) {
    EXPECT_EQ(answered([](Shown&, std::vector<int>& files) { files.pop_back(); }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown&, std::vector<int>& files) { files.push_back(files[0]); }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown&, std::vector<int>& files) { files[2] = files[0]; }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown&, std::vector<int>& files) { std::swap(files[0], files[1]); }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown& shown, auto&) {
                  ++reinterpret_cast<SharedHeader*>(shown.header.data())->magic;
              }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown& shown, auto&) {
                  ++reinterpret_cast<SharedHeader*>(shown.header.data())->incarnation;
              }),
              Status::mismatch);
    EXPECT_EQ(answered([](Shown& shown, auto&) { shown.hello.block_bytes += 1; }),
              Status::mismatch);
}

TEST_F(ShmGoingOut, refusal__ends_the_call_with_its_reason) {
    struct {
        Objection objection;
        Status why;
        const char* said;
    } const all[] = {{Objection::job, Status::mismatch, "FCI_JOB"},
                     {Objection::layout, Status::mismatch, "FCI_ options"},
                     {Objection::version, Status::mismatch, "version"},
                     {Objection::user, Status::mismatch, "setuid"},
                     {Objection::replaced, Status::unreachable, "took its place"},
                     {Objection::resources, Status::exhausted, "ulimit -n"}};
    for (const auto& [objection, why, said] : all) {
        OddHost host;
        Caller f;
        f.self.meet(host.card);
        const host::Descriptor link = host.accept();
        testing::internal::CaptureStderr();
        ASSERT_TRUE(say(link, make_refusal(party_settings(), objection)));
        f.self.turn();
        testing::internal::GetCapturedStderr();
        ASSERT_EQ(f.self.lost.size(), 1u) << said;
        EXPECT_EQ(f.self.lost[0].why, why);
        EXPECT_NE(f.self.lost[0].reason.find(said), std::string::npos) << f.self.lost[0].reason;
    }
}

// A peer that has met the process goes by a Bye, and else by death; before, it may come again.
TEST_F(ShmGoingOut, end__of_a_link_before_and_after_they_met) {
    for (const bool bye : {true, false}) {
        for (const bool met : {true, false}) {
            SCOPED_TRACE(bye);
            OddHost host;
            Caller f;
            f.self.meet(host.card);
            host::Descriptor link = host.accept();
            Received received;
            ASSERT_EQ(hear(link, &received), Kind::hello);
            Shown shown(host.card);
            if (met) {
                ASSERT_TRUE(say(link, make_word(Kind::welcome)));
                f.self.turn();
                ASSERT_TRUE(say(link, shown.hello, shown.files()));
                for (unsigned i = 0; i < 40; ++i) f.self.turn();
                ASSERT_EQ(f.self.attached.size(), 1u);
            }
            if (bye) {
                ASSERT_TRUE(say(link, make_word(Kind::bye)));
            }
            link.close();
            for (unsigned i = 0; i < 40; ++i) f.self.turn();
            ASSERT_EQ(f.self.lost.size(), met || bye ? 1u : 0u) << met;
            if (f.self.lost.empty()) continue;
            EXPECT_EQ(f.self.lost[0].why, bye ? Status::not_found : Status::lost);
        }
    }
}

}  // namespace
}  // namespace fci::shm
