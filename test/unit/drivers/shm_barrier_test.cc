// The barrier that all processors pass before a sleeper looks for the last time: when it is asked
// for, and what is shown by then. The kernel hands each call for it to the test, in a child.
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstddef>
#include <functional>

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

}  // namespace
}  // namespace fci::shm
