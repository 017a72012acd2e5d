// SPDX-License-Identifier: BSD-3-Clause
// Who comes to the door, who may come in, and for how long one waits for another.
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>

#include "drivers/shm/handshake.h"
#include "drivers/shm/socket.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

/// As a process that has nothing to do, for some seconds at most.
bool sleeps_until(Party& self, const std::function<bool()>& reached) {
    for (unsigned i = 0; i < 20 && !reached(); ++i) {
        self.device->sleep(500 * kMs);
        self.turn();
    }
    return reached();
}

/// Connects to the door of user `owner` at `card` and leaves, for ever.
[[noreturn]] void hammer(uid_t owner, const ddi::Card& card) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                     "fci/%u/%08x/%u", owner, ntohl(card.host), ntohs(card.port));
    const auto bytes =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<unsigned>(length));
    for (;;) {
        host::Descriptor one(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        (void)!connect(one.get(), reinterpret_cast<const sockaddr*>(&address), bytes);
    }
}

// A job goes on, and others may still join it, while somebody else does nothing but knock.
TEST(ShmDoor, strangers__cost_little_and_keep_nobody_out) {
    HandClock clock;
    const Tuning tuning{.clock = &clock};
    Party self(party_settings(), tuning), peer(party_settings(), tuning);
    const uid_t owner = geteuid();
    peer.meet(self.device->card());
    ASSERT_TRUE(self.until([&] { return peer.turn(), !self.attached.empty(); }));
    ASSERT_TRUE(peer.until([&] { return !peer.attached.empty(); }));
    // Of another user, if this one may start processes of others; else it just never says a word.
    Child stranger([&]() -> int {
        if (owner == 0 && (setgid(60'118) != 0 || setuid(60'118) != 0)) return 1;
        hammer(owner, self.device->card());
    });
    calls = {};
    const Nanoseconds start = clock.time;
    unsigned most = 0;
    std::uint64_t word = 0;
    Limit limit("strangers");
    for (; clock.time - start < 300 * kMs || self.strangers <= 8; clock.time += kMs / 100) {
        if (!limit.holds()) break;
        const unsigned before = calls.accepted;
        self.turn();
        most = std::max(most, calls.accepted - before);
        ASSERT_EQ(peer.put(peer.attached[0], 0, ++word), Status::ok);
        ASSERT_EQ(self.word(self.attached[0], 0), word);
    }
    const Nanoseconds took = clock.time - start;
    EXPECT_GT(self.strangers, 8u);
    EXPECT_LE(most, 8u) << "in one turn";
    EXPECT_LE(calls.accepted, 8 * (took / kMs + 2));
    // In a process of its own: it waits in line with the strangers, and this one lets them in.
    Child late([&]() -> int {
        Party visitor;
        visitor.meet(self.device->card());
        return visitor.sleep_until([&] { return !visitor.attached.empty(); }) ? 0 : 1;
    });
    EXPECT_TRUE(self.until([&] {
        clock.time += kMs / 100;
        return self.attached.size() == 2;
    }));
    EXPECT_EQ(late.result(), 0);
}

TEST(ShmDoor, visitor__who_never_says_a_word_has_to_leave) {
    Party self;
    const host::Descriptor visitor = connect_to(self.device->card());
    ASSERT_TRUE(visitor);
    EXPECT_TRUE(sleeps_until(self, [&] { return is_hung_up(visitor.get()); }));
}

// Who has knocked may compute; he makes room when all places are taken and another one comes.
TEST(ShmDoor, visitor__who_does_not_go_on_keeps_nobody_out) {
    Party self;
    ddi::Card card = self.device->card();
    std::vector<host::Descriptor> idle;
    for (unsigned i = 0; i < 40; ++i) {
        card.port = static_cast<std::uint16_t>(card.port + 1);
        ++card.incarnation;
        idle.push_back(connect_to(self.device->card()));
        ASSERT_TRUE(idle.back());
        const Hello knock = make_hello(party_settings(), card, 0, &card);
        ASSERT_TRUE(send_record(idle.back().get(), &knock, sizeof knock, {}));
    }
    Party late;
    late.meet(self.device->card());
    EXPECT_TRUE(self.until([&] { return late.turn(), !self.attached.empty(); }));
    EXPECT_TRUE(late.lost.empty());
    self.turn();
    EXPECT_FALSE(is_hung_up(idle.back().get())) << "though nobody needs his place";
}

TEST(ShmDoor, connect__to_one_who_reads_and_does_not_answer) {
    OddHost host;
    HandClock clock;
    Party self(party_settings(), {.answer_limit = 100 * kMs, .clock = &clock});
    const auto is_lost_within = [&](Nanoseconds time) {
        for (const Nanoseconds end = clock.time + time; clock.time < end; clock.time += kMs) {
            self.turn();
        }
        return !self.lost.empty();
    };
    self.meet(host.card);
    // It does not look: it may compute, for as long as it likes.
    EXPECT_FALSE(is_lost_within(400 * kMs));
    host::Descriptor link = accept_from(host.listening.get());
    ASSERT_TRUE(link);
    EXPECT_FALSE(is_lost_within(400 * kMs));
    Received received;
    ASSERT_EQ(receive_record(link.get(), &received), Reception::record);
    EXPECT_FALSE(is_lost_within(90 * kMs));
    ASSERT_TRUE(is_lost_within(60 * kMs));
    EXPECT_EQ(self.lost[0].why, Status::unreachable);
    EXPECT_NE(self.lost[0].reason.find("does not answer"), std::string::npos)
        << self.lost[0].reason;
}

// The words that a host owes after its first answer have a limit of their own.
TEST(ShmDoor, connect__to_one_who_answers_once_and_then_no_more) {
    OddHost host;
    HandClock clock;
    Party self(party_settings(), {.answer_limit = 100 * kMs, .clock = &clock});
    const auto is_lost_within = [&](Nanoseconds time) {
        for (const Nanoseconds end = clock.time + time; clock.time < end; clock.time += kMs) {
            self.turn();
        }
        return !self.lost.empty();
    };
    self.meet(host.card);
    const host::Descriptor link = host.accept();
    Received received;
    ASSERT_EQ(hear(link, &received), Kind::hello);
    EXPECT_FALSE(is_lost_within(90 * kMs));
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    self.turn();
    ASSERT_EQ(hear(link, &received), Kind::hello);
    EXPECT_FALSE(is_lost_within(95 * kMs));
    EXPECT_TRUE(is_lost_within(60 * kMs));
}

// It has been let go in the middle of the handshake; whoever let it go still lives.
TEST(ShmDoor, connect__comes_again_when_it_was_sent_away) {
    OddHost host;
    Party self;
    self.meet(host.card);
    for (unsigned i = 0; i < 3; ++i) {
        host::Descriptor link;
        ASSERT_TRUE(self.until([&] { return !!(link = accept_from(host.listening.get())); }));
        if (i == 1) {
            const Word welcome = make_word(Kind::welcome);
            ASSERT_TRUE(send_record(link.get(), &welcome, sizeof welcome, {}));
            self.turn();
        }
    }
    EXPECT_TRUE(self.lost.empty());
}

/// A process of `user` in a user namespace of its own, in which nobody has a number.
bool become_nameless(uid_t user) {
    return setgid(user) == 0 && setuid(user) == 0 && unshare(CLONE_NEWUSER) == 0;
}

/// How a nameless process of `guest` fares at one of `host`: 0 they met, 1 refused, else no result.
int nameless_meet(uid_t host, uid_t guest) {
    int cards[2];
    if (pipe(cards) != 0) return 10;
    Child first([&] {
        if (!become_nameless(host)) return 11;
        Party self;
        (void)!write(cards[1], &self.device->card(), sizeof(ddi::Card));
        (void)self.until([&] { return !self.attached.empty() && !self.lost.empty(); });
        return self.attached.empty() ? 0 : 1;
    });
    close(cards[1]);
    ddi::Card card;
    const bool heard = read(cards[0], &card, sizeof card) == static_cast<ssize_t>(sizeof card);
    close(cards[0]);
    if (!heard) return 12;
    return Child([&] {
               if (!become_nameless(guest)) return 13;
               Party self;
               self.meet(card);
               if (!self.until([&] { return !self.attached.empty() || !self.lost.empty(); })) {
                   return 14;
               }
               if (!self.attached.empty()) return 0;
               return self.lost[0].reason.find("same one") != std::string::npos ? 1 : 15;
           })
        .result();
}

TEST(ShmDoor, user__without_a_number_is_not_taken_for_another_one) {
    const uid_t user = geteuid() == 0 ? 60'119 : geteuid();
    if (Child([&] { return become_nameless(user) ? 0 : 1; }).result() != 0) {
        GTEST_SKIP() << "the kernel lets no ordinary user make a user namespace here";
    }
    EXPECT_EQ(nameless_meet(user, user), 0);
    if (geteuid() != 0) GTEST_SKIP() << "two users at a time take a test that runs as root";
    EXPECT_EQ(nameless_meet(user, 60'120), 1);
}

}  // namespace
}  // namespace fci::shm
