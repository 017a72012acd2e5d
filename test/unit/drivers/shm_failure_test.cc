// System calls that fail while two meet, though nothing is short: a security module may forbid that
// open files are handed over.
#include <cerrno>

#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

struct ShmFailure : testing::Test {
    void SetUp() override { calls = {}; }
    void TearDown() override { calls = {}; }
    void act() {
        for (unsigned i = 0; i < 40; ++i) self.turn();
    }
    HandClock clock;
    Party self{party_settings(), {.clock = &clock}};
    OddHost host;
    Received received;
};

TEST_F(ShmFailure, hello__that_cannot_be_sent_ends_the_way_out_and_begins_another) {
    self.meet(host.card);
    const host::Descriptor link = host.accept();
    ASSERT_EQ(hear(link, &received), Kind::hello);
    calls.fail = [] { return EACCES; };
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    act();
    EXPECT_TRUE(is_hung_up(link.get()));
    EXPECT_TRUE(self.lost.empty());
    calls.fail = {};
    clock.time += 100 * kMs;
    act();
    const host::Descriptor next = host.accept();
    ASSERT_TRUE(next);
    EXPECT_EQ(hear(next, &received), Kind::hello);
}

// A guest that was not sent what it takes has not met this process, whatever it says.
TEST_F(ShmFailure, hello__that_cannot_be_sent_to_a_guest_is_no_answer) {
    const host::Descriptor guest = connect_to(self.device->card());
    const Shown shown(host.card);
    ASSERT_TRUE(say(guest, shown.hello));
    act();
    ASSERT_EQ(hear(guest, &received), Kind::welcome);
    unsigned sent = 0;
    calls.fail = [&] { return ++sent == 1 ? 0 : EACCES; };  // the guest's own goes through
    ASSERT_TRUE(say(guest, shown.hello, shown.files()));
    act();
    EXPECT_FALSE(is_readable(guest.get())) << "it is neither answered nor sent away";
    ASSERT_TRUE(say(guest, make_word(Kind::met)));
    act();
    EXPECT_TRUE(self.attached.empty());
    EXPECT_TRUE(is_hung_up(guest.get()));
}

}  // namespace
}  // namespace fci::shm
