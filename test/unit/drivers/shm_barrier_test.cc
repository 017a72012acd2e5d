// SPDX-License-Identifier: BSD-3-Clause
// The barrier that all processors pass before a sleeper looks for the last time: when it is asked
// for, and what is shown by then. The kernel hands each call for it to the test, in a child.
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "drivers/shm/shared_header.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

const SharedHeader* shown = nullptr;
volatile std::sig_atomic_t passed = 0;
volatile std::uint64_t wanted_then = 0;

void on_barrier(int) {
    passed = passed + 1;
    wanted_then = shown->wanted_events;
}

/// From here on each barrier of this process is a SIGSYS.
bool trap_barriers() {
    constexpr auto kNumber = static_cast<unsigned>(offsetof(seccomp_data, nr));
    constexpr auto kCommand = static_cast<unsigned>(offsetof(seccomp_data, args));
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCommand),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof filter / sizeof filter[0], filter};
    return std::signal(SIGSYS, on_barrier) != SIG_ERR &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kCannot = 99;

/// Whether `change` of the events makes all pass the barrier `times` times, the last time with what
/// it shows to the writers.
int passes(const std::function<void(nhi::NetworkInterface&)>& before,
           const std::function<void(nhi::NetworkInterface&)>& change, int times) {
    return Child([&] {
               HandClock clock;
               Party self(party_settings(), {.clock = &clock});
               nhi::NetworkInterface& network = self.device->network();
               if (network.ordering() == nhi::Ordering::by_all) return kCannot;
               shown = reinterpret_cast<const SharedHeader*>(
                   self.device->communication_memory().data() - kSharedHeaderBytes);
               before(network);
               if (!trap_barriers()) return kCannot;
               change(network);
               if (passed != times) return 1;
               return times == 0 || wanted_then == shown->wanted_events ? 0 : 2;
           })
        .result();
}

const auto kNothing = [](nhi::NetworkInterface&) {};
const auto kConfigure = [](nhi::NetworkInterface& network) {
    (void)network.configure_event(3, {.flag = false, .interrupt = true});
};
const auto kMask = [](nhi::NetworkInterface& network) {
    (void)network.mask_event_interrupt(3, true);
};
const auto kUnmask = [](nhi::NetworkInterface& network) {
    (void)network.mask_event_interrupt(3, false);
};

TEST(ShmBarrier, barrier__is_used_where_the_kernel_has_it_and_where_it_is_wanted) {
    constexpr long kBoth =
        MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    const bool has_it = known > 0 && (known & kBoth) == kBoth;
    for (const Barrier wanted : {Barrier::system, Barrier::others, Barrier::none}) {
        HandClock clock;
        const Party self(party_settings(), {.barrier = wanted, .clock = &clock});
        const bool uses = self.device->network().ordering() != nhi::Ordering::by_all;
        EXPECT_EQ(uses, has_it && wanted != Barrier::none);
    }
}

TEST(ShmBarrier, barrier__is_passed_after_the_wish_for_an_event_is_shown) {
    const int result = passes(kNothing, kConfigure, 1);
    if (result == kCannot) GTEST_SKIP() << "there is no such barrier here, or it cannot be seen";
    EXPECT_EQ(result, 0);
}

TEST(ShmBarrier, barrier__is_passed_after_an_event_was_unmasked) {
    const auto masked = [](nhi::NetworkInterface& network) { kConfigure(network), kMask(network); };
    const int result = passes(masked, kUnmask, 1);
    if (result == kCannot) GTEST_SKIP() << "there is no such barrier here, or it cannot be seen";
    EXPECT_EQ(result, 0);
    EXPECT_EQ(passes(kMask, kUnmask, 0), 0) << "nobody wants that event";
    EXPECT_EQ(passes(kConfigure, kUnmask, 0), 0) << "it was not masked";
    EXPECT_EQ(passes(kConfigure, kMask, 0), 0);
}

constexpr unsigned kFences = 64;  // so many a process makes before it is registered

/// A process with another thread cannot be registered at once, as that would hold up the caller.
void register_later(Party& self, const std::function<void()>& make_fence) {
    nhi::NetworkInterface& network = self.device->network();
    const auto& own = *reinterpret_cast<const SharedHeader*>(
        self.device->communication_memory().data() - kSharedHeaderBytes);
    const auto is_registered = [&] {
        return network.link(nhi::kSelf).wanted_events == &own.wanted_events;
    };
    EXPECT_FALSE(is_registered());
    EXPECT_EQ(*network.link(nhi::kSelf).wanted_events, nhi::Link::kAlways);
    EXPECT_EQ(network.ordering(), nhi::Ordering::by_fence);  // is the first one
    for (unsigned i = 1; i < kFences - 1; ++i) make_fence();
    EXPECT_FALSE(is_registered());
    make_fence();
    EXPECT_TRUE(self.until(is_registered));
    EXPECT_EQ(network.ordering(), nhi::Ordering::by_sleeper);
    sigset_t blocked;
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 0) << "signals are for the program's threads";
}

// No test: what a child of the one below becomes. A process is registered once.
TEST(ShmBarrierImage, DISABLED_of_a_process) {
    const std::string way = std::getenv("FCI_TEST_WAY");
    std::atomic<bool> enough = false;
    std::thread other;
    if (way != "alone") other = std::thread([&] { enough.wait(false); });
    Party self;
    nhi::NetworkInterface& network = self.device->network();
    if (network.link(nhi::kSelf).block == nullptr) {
        std::puts("there is no such barrier here");
    } else if (way == "alone") {
        EXPECT_EQ(network.ordering(), nhi::Ordering::by_sleeper);
    } else if (way == "asks") {
        register_later(self, [&] { (void)network.ordering(); });
    } else {
        register_later(self, [&] { EXPECT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok); });
    }
    enough = true;
    enough.notify_all();
    if (other.joinable()) other.join();
}

TEST(ShmBarrier, register__at_once_where_there_is_one_thread_and_else_after_some_fences) {
    for (const char* const way : {"alone", "asks", "raises"}) {
#ifdef __SANITIZE_THREAD__
        if (way == std::string("alone")) continue;  // the sanitizer has a thread of its own
#endif
        EXPECT_EQ(Child([&] {
                      setenv("FCI_TEST_WAY", way, 1);
                      execl("/proc/self/exe", "image", "--gtest_also_run_disabled_tests",
                            "--gtest_brief=1", "--gtest_filter=ShmBarrierImage.*", nullptr);
                      return 1;
                  }).result(),
                  0)
            << way;
    }
}

}  // namespace
}  // namespace fci::shm
