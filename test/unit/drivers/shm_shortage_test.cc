// SPDX-License-Identifier: BSD-3-Clause
// Descriptors and memory run out while processes meet. Nobody has died of that.
#include <sys/socket.h>

#include <cerrno>

#include "drivers/host/descriptor.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

/// Runs `what` in a child without privileges, of a user that runs nothing else if that can be.
int as_ordinary_user(const std::function<int()>& what) {
    return Child([&] {
               if (geteuid() == 0 && (setgid(60'117) != 0 || setuid(60'117) != 0)) return 100;
               return what();
           })
        .result();
}

bool both_meet(Party& one, Party& other) {
    return one.until(
        [&] { return other.turn(), !one.attached.empty() && !other.attached.empty(); });
}

/// By their own clock, in so much of its time.
bool both_meet(Party& one, Party& other, HandClock& clock, Nanoseconds within) {
    for (const Nanoseconds end = clock.time + within; clock.time < end; clock.time += 1'000'000) {
        one.turn();
        other.turn();
        if (!one.attached.empty() && !other.attached.empty()) return true;
    }
    return false;
}

struct ShmShortage : testing::Test {
    void TearDown() override { calls = {}; }
};

// The first Hello with descriptors is that of the one, the second one that of the other.
TEST_F(ShmShortage, send__each_failure_of_each_hello_is_tried_again) {
    for (const int error : {ETOOMANYREFS, ENOBUFS, ENOMEM, EAGAIN}) {
        for (unsigned first = 0; first < 2; ++first) {
            for (const unsigned times : {1u, 3u}) {
                unsigned sends = 0;
                Party host, visitor;
                calls.fail = [&] {
                    const bool now = sends >= first && sends < first + times;
                    return ++sends, now ? error : 0;
                };
                const nhi::PeerId id = visitor.meet(host.device->card());
                ASSERT_TRUE(both_meet(visitor, host)) << error << " at " << first;
                EXPECT_GT(sends, first + times);
                EXPECT_TRUE(visitor.lost.empty() && host.lost.empty());
                EXPECT_EQ(visitor.put(id, 0, 7), Status::ok);
                EXPECT_EQ(host.word(host.attached[0], 0), 7u);
                EXPECT_EQ(host.device->peers(), 2u);
            }
        }
    }
}

TEST_F(ShmShortage, accept__failing_some_times_in_a_row_loses_nobody) {
    for (const int error : {EMFILE, ENFILE, ENOMEM, ECONNABORTED, EINTR}) {
        for (const unsigned times : {1u, 2u, 5u}) {
            Party host, visitor;
            unsigned failed = 0;
            calls.fail_accept = [&] { return failed < times ? (++failed, error) : 0; };
            const nhi::PeerId id = visitor.meet(host.device->card());
            ASSERT_TRUE(both_meet(visitor, host)) << error << ", " << times << " times";
            EXPECT_EQ(failed, times);
            EXPECT_TRUE(visitor.lost.empty() && host.lost.empty());
            EXPECT_EQ(visitor.put(id, 0, 7), Status::ok);
        }
    }
}

// The kernel counts for real: more are under way than a process of this user may have open.
TEST_F(ShmShortage, send__too_many_under_way_is_no_death) {
    EXPECT_EQ(as_ordinary_user([] {
                  const rlimit few{100, 100};
                  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
                  int pair[2];
                  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return 2;
                  host::Descriptor in(pair[0]), out(pair[1]);
                  int files[120];
                  std::fill(std::begin(files), std::end(files), pair[0]);
                  alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
                  char byte = 0;
                  iovec data{&byte, 1};
                  msghdr message{};
                  message.msg_iov = &data;
                  message.msg_iovlen = 1;
                  message.msg_control = control;
                  message.msg_controllen = sizeof control;
                  cmsghdr* const header = CMSG_FIRSTHDR(&message);
                  header->cmsg_level = SOL_SOCKET;
                  header->cmsg_type = SCM_RIGHTS;
                  header->cmsg_len = CMSG_LEN(sizeof files);
                  std::copy_n(reinterpret_cast<const char*>(files), sizeof files,
                              reinterpret_cast<char*>(CMSG_DATA(header)));
                  if (sendmsg(out.get(), &message, 0) != 1) return 3;
                  HandClock clock;
                  const Tuning tuning{.short_untold = 100'000'000, .clock = &clock};
                  Party host(party_settings(), tuning), visitor(party_settings(), tuning);
                  testing::internal::CaptureStderr();
                  visitor.meet(host.device->card());
                  if (both_meet(visitor, host, clock, 500'000'000)) return 4;  // it did not run out
                  if (!visitor.lost.empty() || !host.lost.empty()) return 5;
                  const std::string said = testing::internal::GetCapturedStderr();
                  if (said.find("ulimit -n") == std::string::npos) return 7;
                  in.close();
                  out.close();
                  // The kernel may take a while to see that they are not under way any more.
                  const bool met = visitor.until([&] {
                      clock.time += 10'000;
                      return host.turn(), !visitor.attached.empty() && !host.attached.empty();
                  });
                  return met ? 0 : 6;
              }),
              0);
}

// Who computes receives nothing, and holds up nothing: all others meet, whatever is the limit.
TEST_F(ShmShortage, crowd__nothing_is_under_way_to_those_who_do_not_look) {
    constexpr unsigned kCrowd = 10, kBusy = 5;
    for (const unsigned looks : {0u, 1u, 3u}) {
        calls = {};
        std::vector<std::unique_ptr<Party>> crowd;
        for (unsigned i = 0; i < kCrowd; ++i) crowd.push_back(std::make_unique<Party>());
        for (auto& one : crowd) {
            for (auto& other : crowd) one->meet(other->device->card());
        }
        // The first ones look so often, in between, and then compute.
        for (unsigned i = 0; i < looks; ++i) {
            for (auto& one : crowd) one->turn();
        }
        const auto met = [&] {
            return std::all_of(crowd.begin() + kBusy, crowd.end(), [&](auto& one) {
                return one->attached.size() >= kCrowd - kBusy - 1;
            });
        };
        for (Limit limit("the others"); !met() && limit.holds();) {
            for (unsigned i = kBusy; i < kCrowd; ++i) crowd[i]->turn();
        }
        EXPECT_TRUE(met());
        for (auto& one : crowd) EXPECT_TRUE(one->lost.empty());
        if (looks == 0) {
            EXPECT_EQ(calls.files_sent, calls.files_received);
        }
    }
}

/// This process may have no more than `more` files open besides those that are.
struct FewFiles {
    explicit FewFiles(rlim_t more) {
        getrlimit(RLIMIT_NOFILE, &old);
        const rlimit few{lowest_free_descriptor(more), old.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    ~FewFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0); }
    rlimit old{};
};

// A program has used them up, and closes some a while later.
TEST_F(ShmShortage, connect__waits_for_descriptors) {
    for (rlim_t more = 0; more < 5; ++more) {
        HandClock clock;
        const Tuning tuning{.clock = &clock};
        Party host(party_settings(), tuning), visitor(party_settings(), tuning);
        {
            const FewFiles few(more);
            visitor.meet(host.device->card());
            EXPECT_FALSE(both_meet(visitor, host, clock, 500'000'000)) << more;
        }
        EXPECT_TRUE(both_meet(visitor, host, clock, 500'000'000)) << more;
        EXPECT_TRUE(visitor.lost.empty() && host.lost.empty()) << more;
    }
}

TEST_F(ShmShortage, connect__says_what_helps_where_descriptors_stay_away) {
    for (rlim_t more = 0; more < 2; ++more) {
        Party host, visitor(party_settings(), {.short_untold = 50'000'000});
        testing::internal::CaptureStderr();
        {
            const FewFiles few(more);
            visitor.meet(host.device->card());
            EXPECT_TRUE(visitor.until([&] { return !visitor.lost.empty(); }));
        }
        const std::string said = testing::internal::GetCapturedStderr();
        ASSERT_EQ(visitor.lost.size(), 1u);
        EXPECT_EQ(visitor.lost[0].why, Status::exhausted);
        EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
        EXPECT_EQ(said.find("FCI_RING_BYTES"), std::string::npos) << said;
    }
}

// Where even what is kept for that is gone, somebody at the door must not keep everybody awake.
TEST_F(ShmShortage, accept__without_any_descriptor_at_all) {
    Party self, visitor;
    visitor.meet(self.device->card());
    rlimit old{};
    getrlimit(RLIMIT_NOFILE, &old);
    const rlimit none{0, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    self.turn_for(5'000'000);
    unsigned slept = 0;
    for (const Nanoseconds end = monotonic_now() + 100'000'000; monotonic_now() < end; ++slept) {
        self.device->sleep(100'000'000);
        self.turn();
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    EXPECT_LE(slept, 10u);
    EXPECT_TRUE(both_meet(visitor, self));
}

}  // namespace
}  // namespace fci::shm
