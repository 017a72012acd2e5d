// SPDX-License-Identifier: BSD-3-Clause
// Processes that give their rights away after they were opened, and those who would profit by it.
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <numeric>

#include "drivers/shm/credentials.h"
#include "drivers/shm/handshake.h"
#include "drivers/shm/socket.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/steps.h"

namespace fci::shm {
namespace {

constexpr uid_t kLowered = 60'121, kOther = 60'122;

bool lower(uid_t user) { return setgid(user) == 0 && setuid(user) == 0; }

/// Two ways for cards between a process and its child.
struct Cards {
    Cards() {
        EXPECT_EQ(pipe(down), 0);
        EXPECT_EQ(pipe(up), 0);
    }
    ~Cards() {
        for (const int fd : {down[0], down[1], up[0], up[1]}) close(fd);
    }
    static void say(const int* way, const ddi::Card& card) {
        (void)!write(way[1], &card, sizeof card);
    }
    static ddi::Card hear(const int* way) {
        ddi::Card card;
        return read(way[0], &card, sizeof card) == static_cast<ssize_t>(sizeof card) ? card
                                                                                     : ddi::Card{};
    }
    int down[2], up[2];
};

struct Lowered {
    bool host, guest;  // which of them gives its rights away
    bool both_call;    // the host goes to meet the guest, too
};

/// 0: the two met, wrote to each other, and parted in order.
int meet_lowered(const Lowered& lowered) {
    Cards cards;
    Child host([&] {
        Party self;
        Cards::say(cards.down, self.device->card());
        const ddi::Card guest = Cards::hear(cards.up);
        if (lowered.host && !lower(kLowered)) return 1;
        if (lowered.both_call) self.meet(guest);
        if (!self.until([&] { return !self.attached.empty() || !self.lost.empty(); })) return 2;
        if (self.attached.empty()) return 3;
        if (!self.until([&] { return self.word(self.attached[0], 0) == 7; })) return 4;
        if (self.put(self.attached[0], 0, 8) != Status::ok) return 5;
        return self.until([&] { return !self.lost.empty(); }) ? 0 : 6;
    });
    Child guest([&] {
        Party self;
        Cards::say(cards.up, self.device->card());
        const ddi::Card card = Cards::hear(cards.down);
        if (lowered.guest && !lower(kLowered)) return 11;
        const nhi::PeerId id = self.meet(card);
        if (!self.until([&] { return !self.attached.empty() || !self.lost.empty(); })) return 12;
        if (self.attached.empty()) return 13;
        if (self.put(id, 0, 7) != Status::ok) return 14;
        return self.until([&] { return self.word(id, 0) == 8; }) ? 0 : 15;
    });
    const int result = guest.result();
    return result != 0 ? result : host.result();
}

TEST(ShmCredentials, rights__given_away_before_two_have_met) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give rights away";
    for (const Lowered& one : {Lowered{true, true, false}, Lowered{true, false, false},
                               Lowered{false, true, false}, Lowered{true, true, true},
                               Lowered{true, false, true}, Lowered{false, true, true}}) {
        EXPECT_EQ(meet_lowered(one), 0) << one.host << one.guest << one.both_call;
    }
}

/// What a process of `user`, opened by it, hears that knocks at root's process with `expects`. 0:
/// it is refused as one of another user.
int knock_as(uid_t user, bool host_lowers, bool knows) {
    Party host;
    const ddi::Card door = host.device->card();
    const std::uint64_t expects = knows ? door.incarnation : 0;
    Child guest([&] {
        if (!lower(user)) return 1;
        Party self;  // so that its card names a listener of its own
        const host::Descriptor link = connect_to(door, 0);
        const Hello knock = make_hello(party_settings(), self.device->card(), expects, &self);
        if (!link || !send_record(link.get(), &knock, sizeof knock, {})) return 2;
        Received answer;
        Reception heard = Reception::nothing;
        self.until([&] {
            heard = receive_record(link.get(), &answer);
            return heard != Reception::nothing;
        });
        Refusal refusal{};
        if (heard != Reception::record) return 3;
        if (!read_refusal(answer.bytes.data(), answer.length, &refusal)) return 4;
        if (refusal.layout_digest != 0) return 5;
        return refusal.objection == Objection::user ? 0 : 6;
    });
    if (host_lowers && !lower(kLowered)) return 8;
    host.until([&] { return host.strangers != 0 || !host.attached.empty(); });
    return host.attached.empty() ? guest.result() : 7;
}

TEST(ShmCredentials, others__stay_out_whatever_they_know) {
    if (geteuid() != 0) GTEST_SKIP() << "two users at a time take a test that runs as root";
    for (const bool lowers : {false, true}) {
        for (const uid_t user : {kLowered, kOther}) {
            for (const bool knows : {false, true}) {
                EXPECT_EQ(Child([&] { return knock_as(user, lowers, knows); }).result(), 0)
                    << lowers << user << knows;
            }
        }
    }
}

/// The answer to the knock of another user who expects the process `expects`; none: he was sent
/// away without a word.
Kind answer_to(Party& self, std::uint64_t expects) {
    const Steps steps;
    Child guest([&] {
        if (!lower(kOther)) return 100;
        Party other;  // so that its card names a listener of its own
        const host::Descriptor link = connect_to(self.device->card(), 0);
        const Hello knock = make_hello(party_settings(), other.device->card(), expects, &other);
        if (!link || !send_record(link.get(), &knock, sizeof knock, {})) return 101;
        steps.child_goes_on();
        if (!steps.child_waits()) return 102;
        Received received;
        Prologue prologue{};
        const bool heard = receive_record(link.get(), &received) == Reception::record &&
                           read_prologue(received.bytes.data(), received.length, &prologue);
        if (heard) return static_cast<int>(prologue.kind);
        return is_hung_up(link.get()) ? 0 : 103;
    });
    EXPECT_TRUE(steps.waits());
    for (unsigned i = 0; i < 40; ++i) self.turn();
    steps.go_on();
    return static_cast<Kind>(guest.result());
}

// Where the proof cannot be asked for now the guest may come again, and is not believed meanwhile.
// Nothing is asked of one who does not know the process.
TEST(ShmCredentials, proof__that_cannot_be_had_now_is_none) {
    if (geteuid() != 0) GTEST_SKIP() << "two users at a time take a test that runs as root";
    HandClock clock;
    Party self(party_settings(), {.clock = &clock});
    unsigned asked = 0;
    calls = {};
    const std::uint64_t incarnation = self.device->card().incarnation;
    for (const bool knows : {true, false}) {
        calls.fail_connect = [&, here = getpid()] {
            if (getpid() != here) return 0;  // the guest's own
            return ++asked, EAGAIN;
        };
        EXPECT_EQ(answer_to(self, knows ? incarnation : incarnation + 1),
                  knows ? Kind{} : Kind::refusal);
        EXPECT_EQ(asked, 1u);
        EXPECT_EQ(self.strangers, knows ? 0u : 1u);
    }
    calls = {};
}

// The card of a knock is the knocker's own word: a true rank's card does not help another process.
TEST(ShmCredentials, proof__is_the_very_process_that_listens) {
    Party self;
    const ddi::Card& card = self.device->card();
    EXPECT_EQ(ask_for_proof(card, geteuid(), {getpid(), kOther}), Proof::given);
    EXPECT_EQ(ask_for_proof(card, geteuid(), {getppid(), geteuid()}), Proof::none);
    EXPECT_EQ(ask_for_proof(card, geteuid(), {0, geteuid()}), Proof::none);
    EXPECT_EQ(ask_for_proof(card, kOther, {getpid(), kOther}), Proof::none);
    ddi::Card nobody = card;
    nobody.port = static_cast<std::uint16_t>(~card.port);
    EXPECT_EQ(ask_for_proof(nobody, geteuid(), {getpid(), kOther}), Proof::none);
    const rlimit none{0, 1024};
    EXPECT_EQ(Child([&] {
                  if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
                  const Proof proof = ask_for_proof(card, geteuid(), {getpid(), kOther});
                  return proof == Proof::later ? 0 : 2;
              }).result(),
              0);
}

// The kernel does not copy from a process that may not be looked into; all else goes on.
TEST(ShmCredentials, copy__from_one_that_is_not_dumpable_is_refused_and_loses_nobody) {
    EXPECT_EQ(Child([] {
                  if (geteuid() == 0 && !lower(kOther)) return 1;
                  std::uint64_t words[100];
                  std::iota(std::begin(words), std::end(words), 0);
                  Party owner;
                  if (prctl(PR_SET_DUMPABLE, 0) != 0) return 2;
                  Child other([&] {
                      if (prctl(PR_SET_DUMPABLE, 0) != 0) return 11;
                      Party self;
                      const nhi::PeerId id = self.meet(owner.device->card());
                      if (!self.until([&] { return !self.attached.empty(); })) return 12;
                      std::uint64_t read[100];
                      const Status copied = self.device->network().copy(
                          id, nhi::NetworkInterface::Direction::read,
                          reinterpret_cast<std::uint64_t>(words), read, sizeof read);
                      if (copied != Status::unsupported) return 13;
                      return self.put(id, 0, 7) == Status::ok && self.lost.empty() ? 0 : 14;
                  });
                  if (!owner.until([&] { return !owner.lost.empty(); })) return 3;
                  if (owner.word(owner.attached[0], 0) != 7) return 4;
                  return other.result();
              }).result(),
              0);
}

}  // namespace
}  // namespace fci::shm
