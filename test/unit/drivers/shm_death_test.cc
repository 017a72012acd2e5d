// SPDX-License-Identifier: BSD-3-Clause
// Death of a process that was met, or is about to be: what tells of it, and in which order.
#include <fcntl.h>

#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/steps.h"

namespace fci::shm {
namespace {

/// A sleep that ended by itself, and one turn; or one more, as the sockets close one by one.
bool hears_by_sleeping(Party& self) {
    for (unsigned i = 0; i < 2 && self.lost.empty(); ++i) {
        const Nanoseconds before = monotonic_now();
        self.device->sleep(kForEver);
        if (monotonic_now() - before >= kForEver) return false;
        self.turn();
    }
    return !self.lost.empty();
}

TEST(ShmDeath, kill__noticed_by_turns_and_what_was_written_stays) {
    Party self;
    Child child([&] { return visit(self.device->card(), 77); });
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    const nhi::PeerId id = self.attached[0];
    ASSERT_TRUE(self.until([&] { return self.word(id, 0) == 77; }));
    EXPECT_NE(self.device->describe(id).find(std::to_string(child.pid())), std::string::npos);
    child.signal(SIGKILL);
    child.await_end();
    for (unsigned turns = 0; turns < 32 && self.lost.empty(); ++turns) self.turn();
    ASSERT_FALSE(self.lost.empty()) << "of 16 turns one asks the kernel";
    EXPECT_EQ(self.lost[0].id, id);
    EXPECT_EQ(self.lost[0].why, Status::lost);
    EXPECT_NE(self.lost[0].reason.find("died"), std::string::npos) << self.lost[0].reason;
    EXPECT_EQ(self.word(id, 0), 77u);
    EXPECT_EQ(self.put(id, 0, 1), Status::lost);
}

// The end of the link and that of the process are two events, and what is told of them is one more.
TEST(ShmDeath, kill__is_seen_and_told_in_one_turn) {
    Party self;
    Child child([&] { return visit(self.device->card(), 1); });
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    ASSERT_TRUE(self.until([&] { return self.word(self.attached[0], 0) == 1; }));
    for (unsigned i = 0; i < 40; ++i) self.turn();
    child.signal(SIGKILL);
    child.await_end();
    const Nanoseconds later = self.device->now() + 1'000'000;
    EXPECT_EQ(self.device->network().poll(later), 3u);
    EXPECT_EQ(self.lost.size(), 1u);
}

// The kernel is asked once to tell of the end of a process, however often that process is heard of.
TEST(ShmDeath, process__is_watched_once_and_no_more_when_it_has_gone) {
    calls = {};
    const std::size_t before = open_descriptors();
    Party self;
    const std::size_t alone = open_descriptors();
    const Steps steps;
    Child child([&] {
        Party visitor;
        const ddi::Card card = visitor.device->card();
        Steps::give(steps.child_out(), sizeof card, &card);
        if (!steps.child_waits()) return 1;
        visitor.meet(self.device->card());
        for (;;) visitor.sleep_until([&] { return !visitor.lost.empty(); });
    });
    ddi::Card card;
    ASSERT_TRUE(Steps::take(steps.in(), sizeof card, &card));
    nhi::PeerId id = 0;
    ASSERT_EQ(self.device->add_peer(card, &id), Status::ok);
    unsigned watched = 0;
    calls.fail_watch = [&] { return ++watched, 0; };
    steps.go_on();
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    EXPECT_EQ(watched, 2u) << "its link and its process";
    child.signal(SIGKILL);
    child.await_end();
    ASSERT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_EQ(open_descriptors(), alone + 4) << "those of the steps";
    self.device.reset();
    EXPECT_EQ(open_descriptors(), before + 4);
    calls = {};
}

TEST(ShmDeath, process__that_is_the_own_one_is_not_watched) {
    calls = {};
    Party self, other;
    unsigned watched = 0;
    calls.fail_watch = [&] { return ++watched, 0; };
    self.meet(other.device->card());
    ASSERT_TRUE(self.until([&] { return other.turn(), !self.attached.empty(); }));
    ASSERT_TRUE(other.until([&] { return !other.attached.empty(); }));
    EXPECT_EQ(watched, 2u) << "the two ends of a link";
    calls = {};
}

/// A process that was called and has read nothing is killed; then another one opens its place. The
/// card by which it was called may say which process is meant.
void expect_lost_with_its_process(bool is_named) {
    HandClock clock;
    Party self(party_settings(), {.clock = &clock});
    const Steps steps;
    Child child([&]() -> int {
        const OddHost host;
        Steps::give(steps.child_out(), sizeof host.card, &host.card);
        for (;;) pause();
    });
    ddi::Card card;
    ASSERT_TRUE(Steps::take(steps.in(), sizeof card, &card));
    if (!is_named) card.incarnation = 0;
    self.meet(card);
    child.signal(SIGKILL);
    child.await_end();
    for (unsigned i = 0; i < 40; ++i) self.turn();
    if (is_named) {
        ASSERT_EQ(self.lost.size(), 1u);
        EXPECT_EQ(self.lost[0].why, Status::lost);
        return;
    }
    EXPECT_TRUE(self.lost.empty()) << "the one that is meant may still come";
    const host::Descriptor next = listen_at(card);
    ASSERT_TRUE(next);
    clock.time += 100'000'000;
    for (unsigned i = 0; i < 40; ++i) self.turn();
    EXPECT_TRUE(accept_from(next.get()));
}

TEST(ShmDeath, kill__of_one_that_was_called_is_a_loss_if_no_other_could_be_meant) {
    expect_lost_with_its_process(true);
    expect_lost_with_its_process(false);
}

TEST(ShmDeath, kill__wakes_a_sleeper) {
    Party self;
    Child child([&] { return visit(self.device->card(), 77); });
    ASSERT_TRUE(self.sleep_until([&] { return !self.attached.empty(); }));
    child.signal(SIGKILL);
    child.await_end();
    ASSERT_TRUE(hears_by_sleeping(self));
    EXPECT_EQ(self.lost[0].why, Status::lost);
}

// A child of the peer keeps its sockets open.
TEST(ShmDeath, kill__noticed_though_a_grandchild_lives) {
    Party self;
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    Child child([&] {
        Party other;
        other.meet(self.device->card());
        if (!other.until([&] { return !other.attached.empty(); })) return 1;
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            alarm(300);
            for (;;) pause();
        }
        const ddi::Card card = other.device->card();
        if (write(pipes[1], &grandchild, sizeof grandchild) < 0) return 1;
        if (write(pipes[1], &card, sizeof card) < 0) return 1;
        for (;;) pause();
    });
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    pid_t grandchild = 0;
    ddi::Card card;
    ASSERT_EQ(read(pipes[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
    ASSERT_EQ(read(pipes[0], &card, sizeof card), ssize_t{sizeof card});
    child.signal(SIGKILL);
    child.await_end();
    ASSERT_TRUE(hears_by_sleeping(self));
    EXPECT_TRUE(sleeps_well(self));
    // Nor does anybody wait for an answer from the name that the grandchild holds, whether the
    // kernel still knows the dead one or not.
    for (const bool forgotten : {false, true}) {
        if (forgotten) {
            EXPECT_EQ(child.result(), -1);
        }
        Party third;
        third.meet(card);
        ASSERT_TRUE(third.until([&] { return !third.lost.empty(); })) << forgotten;
        EXPECT_EQ(third.lost[0].why, Status::unreachable);
    }
    kill(grandchild, SIGKILL);
    close(pipes[0]);
    close(pipes[1]);
}

TEST(ShmDeath, stop__is_not_death) {
    Party self;
    Child child([&] { return visit(self.device->card(), 1); });
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    child.signal(SIGSTOP);
    self.turn_for(200'000'000);
    EXPECT_TRUE(self.lost.empty());
    child.signal(SIGCONT);
    EXPECT_EQ(self.put(self.attached[0], 0, 1), Status::ok);
}

// Its sockets close before the kernel says that it is dead, and it may lose its core in between.
TEST(ShmDeath, kill__of_a_stranger_whose_sockets_close_first) {
    constexpr Nanoseconds kPatience = 200'000'000, kMs = 1'000'000;
    const Steps steps;
    Child child([&] {
        const Party other;
        const ddi::Card card = other.device->card();
        Steps::give(steps.child_out(), sizeof card, &card);
        if (!steps.child_waits() || dup2(steps.child_in(), 0) != 0 ||
            dup2(steps.child_out(), 1) != 1) {
            return 1;
        }
        (void)close_range(3, ~0u, 0);
        Steps::give(1, 1);
        _exit(Steps::take(0, 1) ? 0 : 1);
    });
    ddi::Card card;
    ASSERT_TRUE(Steps::take(steps.in(), sizeof card, &card));
    HandClock clock;
    Party self(party_settings(), {.patience_given = kPatience, .clock = &clock});
    const auto pass = [&](Nanoseconds time) {
        for (const Nanoseconds end = clock.time + time; clock.time < end; clock.time += kMs) {
            self.turn();
        }
    };
    self.meet(card);
    pass(2 * kPatience);  // it listens, and does not look
    steps.go_on();
    ASSERT_TRUE(steps.waits());
    pass(kPatience / 2);
    EXPECT_TRUE(self.lost.empty()) << "it is not dead yet";
    steps.go_on();
    child.await_end();
    pass(kPatience / 4);
    ASSERT_FALSE(self.lost.empty());
    EXPECT_EQ(self.lost[0].why, Status::lost);
}

}  // namespace
}  // namespace fci::shm
