// SPDX-License-Identifier: BSD-3-Clause
// System calls that fail while two meet, though nothing is short: a security module may forbid that
// open files are handed over.
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

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

TEST_F(ShmFailure, hello__that_cannot_be_sent_to_one_who_has_refused_tells_his_reason) {
    self.meet(host.card);
    const host::Descriptor link = host.accept();
    ASSERT_EQ(hear(link, &received), Kind::hello);
    calls.fail = [&] {
        EXPECT_TRUE(say(link, make_refusal(party_settings(), Objection::job)));
        return EPIPE;
    };
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    act();
    ASSERT_EQ(self.lost.size(), 1u);
    EXPECT_EQ(self.lost[0].why, Status::mismatch) << self.lost[0].reason;
}

TEST_F(ShmFailure, reply__of_another_kind_of_library_is_described) {
    for (const bool of_version : {true, false}) {
        OddHost other(of_version ? 4801 : 4802);
        self.meet(other.card);
        const host::Descriptor link = other.accept();
        ASSERT_TRUE(say(link, make_word(Kind::welcome)));
        act();
        Shown shown(other.card);
        if (of_version) ++shown.hello.prologue.version;
        if (!of_version) shown.hello.layout_digest = 0xabc;
        ASSERT_TRUE(say(link, shown.hello, shown.files()));
        act();
        ASSERT_FALSE(self.lost.empty());
        const std::string& reason = self.lost.back().reason;
        const std::string told =
            of_version ? "runs version " + std::to_string(kVersion + 1) : "request layout 0xabc";
        EXPECT_NE(reason.find(told), std::string::npos) << reason;
    }
    EXPECT_EQ(self.lost.size(), 2u);
}

// The host has said why and gone before this process could say a word.
TEST_F(ShmFailure, hello__to_one_who_has_refused_already_is_no_loss_of_his_reason) {
    calls.connected = [&] {
        const host::Descriptor link = host.accept();
        EXPECT_TRUE(say(link, make_refusal(party_settings(), Objection::job)));
    };
    self.meet(host.card);
    ASSERT_FALSE(calls.connected);
    act();
    ASSERT_EQ(self.lost.size(), 1u);
    EXPECT_EQ(self.lost[0].why, Status::mismatch) << self.lost[0].reason;
}

// Whoever sleeps on the descriptor is called where there is something to tell, and not else.
TEST_F(ShmFailure, wait_fd__calls_where_a_meeting_failed_at_once) {
    self.meet(host.card);
    EXPECT_FALSE(is_readable(self.device->wait_fd())) << "nothing is known yet";
    const OddHost another(4712);
    calls.fail_connect = [] { return EACCES; };
    self.meet(another.card);
    EXPECT_TRUE(is_readable(self.device->wait_fd()));
    act();
    EXPECT_EQ(self.lost.size(), 1u);
}

/// A process that may be sent descriptors by one other at a time.
struct ShmOnePlace : ShmFailure {
    ShmOnePlace() { own = std::make_unique<Party>(party_settings(), one_place()); }
    [[nodiscard]] Tuning one_place() { return {.descriptors = 1, .clock = &clock}; }
    std::unique_ptr<Party> own;
};

// One that waited for the place has gone; the next one is not kept from it.
TEST_F(ShmOnePlace, place__of_one_who_waited_for_it_and_left) {
    OddHost others[] = {OddHost(4801), OddHost(4802), OddHost(4803)};
    std::vector<host::Descriptor> links;
    for (const OddHost& other : others) {
        own->meet(other.card);
        links.push_back(other.accept());
        ASSERT_EQ(hear(links.back(), &received), Kind::hello);
        ASSERT_TRUE(say(links.back(), make_word(Kind::welcome)));
        own->turn();
    }
    ASSERT_EQ(hear(links[0], &received), Kind::hello);
    EXPECT_FALSE(is_readable(links[2].get()));
    links[1].close();
    own->turn();
    const Shown shown(others[0].card);
    ASSERT_TRUE(say(links[0], shown.hello, shown.files()));
    own->turn();
    EXPECT_EQ(own->attached.size(), 1u);
    ASSERT_EQ(hear(links[2], &received), Kind::hello);
    EXPECT_EQ(received.file_count, kHelloFiles);
}

/// Looks for those who do not answer come four times in this.
constexpr Nanoseconds kLimit = 100 * kMs;

struct ShmSilence : ShmFailure {
    ShmSilence() {
        own = std::make_unique<Party>(party_settings(),
                                      Tuning{.answer_limit = kLimit, .clock = &clock});
    }
    void wait(Nanoseconds time) {
        clock.time += time;
        for (unsigned i = 0; i < 40; ++i) own->turn();
    }
    std::unique_ptr<Party> own;
};

TEST_F(ShmSilence, silence__of_one_who_has_read_is_borne_for_just_the_limit) {
    own->meet(host.card);
    const host::Descriptor link = host.accept();
    ASSERT_EQ(hear(link, &received), Kind::hello);
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_TRUE(own->lost.empty()) << i << " quarters";
        wait(kLimit / 4);
    }
    EXPECT_EQ(own->lost.size(), 1u) << "four quarters after the first look";
}

// A peer that was met owes nothing, and who waits to be asked for his answer owes none yet.
TEST_F(ShmSilence, silence__of_others_is_none_while_one_is_being_met) {
    own->meet(host.card);
    const host::Descriptor link = host.accept();
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    wait(kMs);
    const Shown shown(host.card);
    ASSERT_TRUE(say(link, shown.hello, shown.files()));
    wait(kMs);
    ASSERT_EQ(own->attached.size(), 1u);
    while (hear(link, &received) != Kind::met) {
    }
    const OddHost busy(4712);  // does not even read
    own->meet(busy.card);
    for (unsigned i = 0; i < 20; ++i) wait(kLimit / 4);
    EXPECT_TRUE(own->lost.empty());
}

TEST_F(ShmFailure, connect__while_it_is_under_way_begins_nothing) {
    const nhi::PeerId id = self.meet(host.card);
    const host::Descriptor link = host.accept();
    EXPECT_TRUE(link);
    EXPECT_EQ(self.device->connect(id), Status::ok);
    act();
    EXPECT_FALSE(host.accept());
}

// More memory than there may be is no lack that passes, so it is told at once.
TEST_F(ShmFailure, connect__without_memory_for_a_block_is_not_tried_again) {
    EXPECT_EQ(Child([&] {
                  Party own(party_settings(), {.clock = &clock});
                  const rlimit little{4096, 4096};
                  if (setrlimit(RLIMIT_FSIZE, &little) != 0) return 1;
                  testing::internal::CaptureStderr();
                  own.meet(host.card);
                  own.turn();
                  testing::internal::GetCapturedStderr();
                  if (own.lost.size() != 1) return 2;
                  if (own.lost[0].why != Status::exhausted) return 3;
                  return own.lost[0].reason.find("ulimit -f") != std::string::npos ? 0 : 4;
              }).result(),
              0);
}

}  // namespace
}  // namespace fci::shm
