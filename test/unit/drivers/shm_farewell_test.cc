// SPDX-License-Identifier: BSD-3-Clause
// What a device does in its last moments: everybody who is on the way to it hears a goodbye, nobody
// else hears anything, and nobody comes in behind that.
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

struct ShmFarewell : testing::Test {
    void SetUp() override { calls = {}; }
    void TearDown() override { calls = {}; }
    HandClock clock;
    Party self{party_settings(), {.clock = &clock}};
};

/// The last word on a link that has ended, behind all others.
Kind last_word(const host::Descriptor& link) {
    EXPECT_TRUE(is_hung_up(link.get()));
    Kind last{};
    for (unsigned i = 0; i < 10; ++i) {
        Received received;
        const Kind kind = hear(link, &received);
        if (kind == Kind{}) break;
        last = kind;
    }
    return last;
}

TEST_F(ShmFarewell, close__says_goodbye_on_each_link_and_to_those_at_the_door) {
    OddHost host;
    self.meet(host.card);
    const host::Descriptor called = host.accept();
    const host::Descriptor guest = connect_to(self.device->card());
    for (unsigned i = 0; i < 40; ++i) self.turn();
    ASSERT_EQ(calls.accepted, 2u) << "the one by the host, the other by the device";
    const host::Descriptor at_the_door = connect_to(self.device->card());
    self.device.reset();
    EXPECT_EQ(last_word(called), Kind::bye);
    EXPECT_EQ(last_word(guest), Kind::bye);
    EXPECT_EQ(last_word(at_the_door), Kind::bye);
}

// The numbers of descriptors that the device does not have may be those of the program.
TEST_F(ShmFarewell, close__says_nothing_to_the_sockets_of_the_program) {
    OddHost host;
    self.meet(host.card);
    std::vector<host::Descriptor> ends;
    for (unsigned i = 0; i < 4; ++i) {
        int pair[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        ends.emplace_back(pair[0]);
        ends.emplace_back(pair[1]);
    }
    OddHost another(4712);
    self.meet(another.card);  // its link has a higher number than those
    self.device.reset();
    for (const host::Descriptor& end : ends) {
        EXPECT_FALSE(is_readable(end.get()));
        EXPECT_FALSE(is_hung_up(end.get()));
    }
}

// Somebody who came in behind the last look at the door would take the end for a death.
TEST_F(ShmFarewell, close__lets_nobody_in_while_it_says_goodbye) {
    const ddi::Card card = self.device->card();
    unsigned refused = 0;
    calls.fail_accept = [&] {
        const host::Descriptor late = connect_to(card);
        refused += !late && errno == ECONNREFUSED;
        return 0;
    };
    self.device.reset();
    EXPECT_EQ(refused, 1u);
}

}  // namespace
}  // namespace fci::shm
