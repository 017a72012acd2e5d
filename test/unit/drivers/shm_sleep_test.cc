// SPDX-License-Identifier: BSD-3-Clause
// Sleeps: for how long the kernel is asked to wait, and when it is not asked at all.
#include <arpa/inet.h>

#include <cerrno>
#include <vector>

#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

constexpr Nanoseconds kNoLimit = -1;

struct ShmSleep : testing::Test {
    void SetUp() override {
        calls = {};
        for (unsigned i = 0; i < 40; ++i) self.turn();
    }
    void TearDown() override { calls = {}; }
    /// Somebody stands at the door, so no sleep lasts.
    void let_nobody_sleep() { visitor = connect_to(self.device->card()); }
    /// The limit of the wait that a sleep of `time` comes to.
    std::int64_t limit_of(Nanoseconds time) {
        calls.waits = 0;
        self.device->sleep(time);
        EXPECT_GE(calls.waits, 1u) << time;
        return calls.wait_limit;
    }
    HandClock clock;
    Party self{party_settings(), {.clock = &clock}};
    host::Descriptor visitor;
};

TEST_F(ShmSleep, sleep__has_the_limit_that_is_given) {
    let_nobody_sleep();
    for (const Nanoseconds time : {0LL, 1LL, 999'999'999LL, 1'000'000'000LL, 2'500'000'001LL}) {
        EXPECT_EQ(limit_of(time), time);
        EXPECT_EQ(calls.waits, 1u);
    }
    EXPECT_EQ(limit_of(kNoLimit), -1);
}

// A kernel before Linux 5.11 knows only milliseconds: no sleep ends too early.
TEST_F(ShmSleep, sleep__by_milliseconds_where_the_kernel_knows_no_others) {
    let_nobody_sleep();
    for (const int error : {ENOSYS, EPERM}) {
        calls.fail_exact_wait = [=] { return error; };
        EXPECT_EQ(limit_of(0), 0);
        EXPECT_EQ(limit_of(1), kMs);
        EXPECT_EQ(limit_of(kMs), kMs);
        EXPECT_EQ(limit_of(kMs + 1), 2 * kMs);
        EXPECT_EQ(limit_of(7 * kMs), 7 * kMs);
        EXPECT_EQ(limit_of(1'000'000 * kMs), 1'000'000 * kMs);
        EXPECT_EQ(limit_of(1'000'000'000'000 * kMs), 1'000'000 * kMs) << "the longest";
        EXPECT_LT(limit_of(kNoLimit), 0);
        EXPECT_EQ(calls.waits, 2u);
    }
}

TEST_F(ShmSleep, sleep__that_is_over_or_interrupted_does_not_begin_anew) {
    errno = 0;
    limit_of(0);
    EXPECT_EQ(calls.waits, 1u);
    let_nobody_sleep();
    calls.fail_exact_wait = [] { return EINTR; };
    limit_of(kNoLimit);
    EXPECT_EQ(calls.waits, 1u);
}

TEST_F(ShmSleep, sleep__is_none_after_a_call_that_a_turn_has_heard) {
    ASSERT_EQ(self.device->network().configure_event(0, {.flag = false, .interrupt = true}),
              Status::ok);
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    clock.time += kMs;
    self.turn();
    calls.waits = 0;
    self.device->sleep(0);
    EXPECT_EQ(calls.waits, 0u);
    self.device->sleep(0);
    EXPECT_EQ(calls.waits, 1u) << "the call was one, and it is known by now";
}

TEST_F(ShmSleep, sleep__that_a_call_ends_has_told_of_it_by_its_end) {
    ASSERT_EQ(self.device->network().configure_event(0, {.flag = false, .interrupt = true}),
              Status::ok);
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    EXPECT_EQ(limit_of(kForEver), kForEver);
    EXPECT_EQ(limit_of(0), 0) << "it sleeps again";
}

TEST_F(ShmSleep, sleep__is_none_while_something_is_to_be_told) {
    ddi::Card elsewhere = self.device->card();
    elsewhere.host = htonl(0xcb007163);  // 203.0.113.99
    ++elsewhere.incarnation;
    self.meet(elsewhere);
    calls.waits = 0;
    self.device->sleep(0);
    EXPECT_EQ(calls.waits, 0u);
    self.turn();
    EXPECT_EQ(self.lost.size(), 1u);
}

TEST_F(ShmSleep, sleep__is_none_in_a_child) {
    EXPECT_EQ(Child([&] {
                  calls.waits = 0;
                  self.device->sleep(0);
                  return calls.waits == 0 ? 0 : 1;
              }).result(),
              0);
}

// Something may have happened, though the time for a turn has not come.
TEST_F(ShmSleep, turn__is_taken_after_a_sleep) {
    clock.time += kMs;
    self.turn();
    let_nobody_sleep();
    self.turn();
    EXPECT_EQ(calls.accepted, 0u) << "it was no time for one";
    self.device->sleep(0);
    self.turn();
    EXPECT_EQ(calls.accepted, 1u);
}

// The sleep looks at a few events; those that it has no room for are seen by the next turn.
TEST_F(ShmSleep, sleep__that_more_events_end_than_it_looks_at) {
    std::vector<host::Descriptor> guests;
    for (unsigned i = 0; i < 6; ++i) guests.push_back(connect_to(self.device->card()));
    clock.time += kMs;
    self.turn();
    ASSERT_EQ(calls.accepted, 6u);
    for (const host::Descriptor& guest : guests) ASSERT_TRUE(say(guest, make_word(Kind::bye)));
    self.device->sleep(kForEver);
    self.turn();
    for (const host::Descriptor& guest : guests) EXPECT_TRUE(is_hung_up(guest.get()));
}

}  // namespace
}  // namespace fci::shm
