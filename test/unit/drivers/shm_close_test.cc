// SPDX-License-Identifier: BSD-3-Clause
// Who has closed, or is not the process any more that was met, is not touched by kernel copies.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>

#include "drivers/shm/guard.h"
#include "drivers/shm/shared_header.h"
#include "fci_core/ddi/crossing.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/steps.h"

namespace fci::shm {
namespace {

using Direction = nhi::NetworkInterface::Direction;

constexpr unsigned char kOld = 1, kNew = 2, kForeign = 3;
constexpr std::size_t kBytes = 256 * 1024;
// Where all images can have memory, those with a sanitizer too.
constexpr std::uintptr_t kPlace = 0x7ea000000000;

unsigned char* map_place(std::size_t bytes, unsigned char content) {
    void* const place = reinterpret_cast<void*>(kPlace);
    void* const there = mmap(place, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (there != place) return nullptr;
    std::memset(there, content, bytes);
    return static_cast<unsigned char*>(there);
}

bool all_are(const unsigned char* bytes, std::size_t count, unsigned char content) {
    return std::all_of(bytes, bytes + count, [=](unsigned char byte) { return byte == content; });
}

/// In a child: meets `card`, holds kOld at kPlace and goes on when it is told to.
bool own_memory(Party& owner, const ddi::Card& card, const Steps& steps) {
    if (map_place(kBytes, kOld) == nullptr) return false;
    owner.meet(card);
    if (!owner.until([&] { return !owner.attached.empty(); })) return false;
    steps.child_goes_on();
    return steps.child_waits();
}

/// What lies at kPlace belongs to somebody else now. The child's result: nothing has changed it.
int own_something_else(const Steps& steps) {
    steps.child_goes_on();
    if (!steps.child_waits()) return 2;
    return all_are(reinterpret_cast<unsigned char*>(kPlace), kBytes, kNew) ? 0 : 3;
}

struct ShmClose : testing::Test {
    Party self;
    Steps steps;
    std::vector<unsigned char> data = std::vector<unsigned char>(kBytes, kForeign);

    Status copy(Direction direction) {
        return self.device->network().copy(self.attached.at(0), direction, kPlace, data.data(),
                                           data.size());
    }
    /// The peer came, and its memory can be reached; false: not on this machine.
    bool reach() {
        EXPECT_TRUE(self.until([&] { return !self.attached.empty(); }));
        EXPECT_TRUE(steps.waits());
        const Status first = copy(Direction::read);
        if (first == Status::unsupported) return false;
        EXPECT_EQ(first, Status::ok);
        EXPECT_TRUE(all_are(data.data(), kBytes, kOld));
        std::fill(data.begin(), data.end(), kForeign);
        return true;
    }
    void expect_refused() {
        EXPECT_EQ(copy(Direction::write), Status::lost);
        EXPECT_EQ(copy(Direction::read), Status::lost);
        EXPECT_TRUE(all_are(data.data(), kBytes, kForeign)) << "something was read";
        steps.go_on();
    }
};

TEST_F(ShmClose, copy__of_one_that_has_closed) {
    Child child([&] {
        Party owner;
        if (!own_memory(owner, self.device->card(), steps)) return 1;
        owner.device.reset();
        std::memset(reinterpret_cast<void*>(kPlace), kNew, kBytes);
        return own_something_else(steps);
    });
    if (!reach()) GTEST_SKIP() << "the kernel does not copy between processes here";
    steps.go_on();
    ASSERT_TRUE(steps.waits());
    expect_refused();
    EXPECT_EQ(child.result(), 0);
}

// No test: what a child of the one below becomes.
TEST(ShmCloseImage, DISABLED_of_an_exec) {
    const char* const descriptors = std::getenv("FCI_TEST_STEPS");
    ASSERT_NE(descriptors, nullptr);
    char* end = nullptr;
    const auto in = static_cast<int>(std::strtol(descriptors, &end, 10));
    const Steps steps(in, static_cast<int>(std::strtol(end, nullptr, 10)));
    if (map_place(kBytes, kNew) == nullptr) _exit(1);
    _exit(own_something_else(steps));
}

TEST_F(ShmClose, copy__of_one_that_runs_another_program) {
    Child child([&] {
        Party owner;
        if (!own_memory(owner, self.device->card(), steps)) return 1;
        const std::string descriptors =
            std::to_string(steps.child_in()) + " " + std::to_string(steps.child_out());
        setenv("FCI_TEST_STEPS", descriptors.c_str(), 1);
        execl("/proc/self/exe", "image", "--gtest_also_run_disabled_tests",
              "--gtest_filter=ShmCloseImage.*", nullptr);
        return 1;
    });
    if (!reach()) GTEST_SKIP() << "the kernel does not copy between processes here";
    steps.go_on();
    ASSERT_TRUE(steps.waits());
    expect_refused();
    EXPECT_EQ(child.result(), 0);
}

TEST_F(ShmClose, copy__of_another_process_with_its_number) {
    Child child([&] {
        Party owner;
        _exit(own_memory(owner, self.device->card(), steps) ? 0 : 1);  // without closing
        return 0;
    });
    if (!reach()) GTEST_SKIP() << "the kernel does not copy between processes here";
    pid_t number = child.pid();
    steps.go_on();
    ASSERT_EQ(child.result(), 0);
    clone_args how{};
    how.exit_signal = SIGCHLD;
    how.set_tid = reinterpret_cast<std::uint64_t>(&number);
    how.set_tid_size = 1;
    const long other = syscall(SYS_clone3, &how, sizeof how);
    if (other == 0) {
        alarm(300);
        _exit(map_place(kBytes, kNew) == nullptr ? 1 : own_something_else(steps));
    }
    if (other < 0) GTEST_SKIP() << "only the administrator chooses a process's number";
    ASSERT_TRUE(steps.waits());
    expect_refused();
    int status = -1;
    waitpid(number, &status, 0);
    EXPECT_EQ(status, 0);
}

// The peer copies again and again, so that mostly a copy is going on when the owner closes.
class ShmCloseRace : public testing::TestWithParam<Direction> {
protected:
    static constexpr std::size_t kMany = 8 * 1024 * 1024;

    /// In the peer: 0 when it was refused in the end and has never read what came later.
    static int copy_on(const Party& owner, const Steps& steps, std::uint64_t there) {
        Party peer;
        const nhi::PeerId id = peer.meet(owner.device->card());
        if (!peer.until([&] { return !peer.attached.empty(); })) return 1;
        std::vector<unsigned char> data(kMany, kForeign);
        steps.child_goes_on();
        for (const Nanoseconds end = own_time() + kHang; own_time() < end;) {
            const Status status =
                peer.device->network().copy(id, GetParam(), there, data.data(), kMany);
            if (status == Status::unsupported) return 2;
            if (status != Status::ok) return status == Status::lost ? 0 : 3;
            if (GetParam() == Direction::read && !all_are(data.data(), kMany, kOld)) return 4;
        }
        return 5;
    }
};

TEST_P(ShmCloseRace, close__while_a_peer_copies) {
    std::vector<unsigned char> memory(kMany);
    for (unsigned round = 0; round < 20; ++round) {
        std::fill(memory.begin(), memory.end(), kOld);
        Party owner;
        const Steps steps;
        Child peer([&] {
            return copy_on(owner, steps, reinterpret_cast<std::uint64_t>(memory.data()));
        });
        ASSERT_TRUE(owner.until([&] { return !owner.attached.empty(); }));
        ASSERT_TRUE(steps.waits());
        usleep(5'000 + 137 * round);
        owner.device.reset();
        std::fill(memory.begin(), memory.end(), kNew);
        for (const Nanoseconds end = monotonic_now() + 10'000'000; monotonic_now() < end;) {
            ASSERT_TRUE(all_are(memory.data(), kMany, kNew)) << "foreign bytes, round " << round;
        }
        const int result = peer.result();
        if (result == 2) GTEST_SKIP() << "the kernel does not copy between processes here";
        ASSERT_EQ(result, 0) << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Both, ShmCloseRace, testing::Values(Direction::read, Direction::write));

// It came, was answered, transferred and closed, all while this process was on its way to it: on
// that way the goodbye is read first.
TEST(ShmCloseOfVisitor, close__while_one_is_on_the_way_to_it) {
    Party self, visitor;
    const long before = calls.files_sent;
    const nhi::PeerId there = visitor.meet(self.device->card());
    ASSERT_TRUE(self.until([&] {
        if (calls.files_sent < before + 6) visitor.turn();
        return calls.files_sent == before + 6;  // three each: visitor was answered
    }));
    calls.connected = [&] {
        EXPECT_TRUE(visitor.until([&] { return !visitor.attached.empty(); }));
        EXPECT_EQ(visitor.put(there, 64, 4711), Status::ok);
        visitor.device.reset();
    };
    const nhi::PeerId id = self.meet(visitor.device->card());
    EXPECT_FALSE(calls.connected) << "nothing was connected";
    ASSERT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_EQ(self.attached, std::vector{id});
    EXPECT_EQ(self.lost.front().why, Status::not_found) << self.lost.front().reason;
    EXPECT_EQ(self.word(id, 64), 4711u);
}

// In the midst of its way here, for which `self` gave up its own.
TEST(ShmCloseOfVisitor, close__while_it_is_awaited) {
    constexpr Nanoseconds kSoon = 250'000'000;  // half of what nobody relies on for ever
    HandClock clock;
    Party self(party_settings(), {.patience_given = 5'000'000, .clock = &clock});
    auto visitor = std::make_unique<Party>();
    while (!ddi::is_own_way(visitor->device->card().incarnation,
                            self.device->card().incarnation)) {
        visitor = std::make_unique<Party>();
    }
    const long before = calls.files_sent;
    visitor->meet(self.device->card());
    self.meet(visitor->device->card());
    self.turn();
    EXPECT_TRUE(visitor->until([&] { return calls.files_sent == before + 3; }));
    visitor.reset();
    for (; self.lost.empty() && clock.time < kSoon; clock.time += 100'000) self.turn();
    EXPECT_FALSE(self.lost.empty());
    EXPECT_TRUE(self.attached.empty());
}

/// Likewise of one that is killed there: why it was lost. `self` is on the way to it, too.
Status why_lost_of_one_that_is_killed() {
    Party self(party_settings(), {.patience_given = 300'000'000});
    const Steps steps;
    const Child child([&] {
        auto visitor = std::make_unique<Party>();
        while (!ddi::is_own_way(visitor->device->card().incarnation,
                                self.device->card().incarnation)) {
            visitor = std::make_unique<Party>();
        }
        visitor->meet(self.device->card());
        const ddi::Card card = visitor->device->card();
        Steps::give(steps.child_out(), sizeof card, &card);
        if (!steps.child_waits()) return 1;
        const long before = calls.files_sent;
        if (!visitor->until([&] { return calls.files_sent == before + 3; })) return 2;
        kill(getpid(), SIGKILL);
        return 3;
    });
    ddi::Card card;
    EXPECT_TRUE(Steps::take(steps.in(), sizeof card, &card));
    self.meet(card);
    self.turn();
    steps.go_on();
    child.await_end();
    EXPECT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_TRUE(self.attached.empty());
    return self.lost.at(0).why;
}

TEST(ShmCloseOfVisitor, kill__while_it_is_awaited) {
    EXPECT_EQ(why_lost_of_one_that_is_killed(), Status::lost);
}

/// A peer that says for ever that it copies the memory of the process that `card` names.
int pretend_to_copy(const ddi::Card& card, const Steps& steps) {
    Party peer;
    peer.meet(card);
    if (!peer.until([&] { return !peer.attached.empty(); })) return 1;
    auto* const header = peer.device->communication_memory().data() - kSharedHeaderBytes;
    flag::store_release(reinterpret_cast<SharedHeader*>(header)->copying, card.incarnation);
    steps.child_goes_on();
    for (;;) pause();
}

/// How long it takes to close, by the own clock, while such a peer lives or has been killed.
Nanoseconds closing_lasts(const Steps& steps, bool lives) {
    HandClock clock;
    Party owner(party_settings(), {.clock = &clock});
    Child child([&] { return pretend_to_copy(owner.device->card(), steps); });
    EXPECT_TRUE(owner.until([&] { return !owner.attached.empty(); }));
    EXPECT_TRUE(steps.waits());
    if (!lives) {
        child.signal(SIGKILL);
        EXPECT_TRUE(owner.until([&] { return !owner.lost.empty(); }));
        child.await_end();  // its sockets close before the kernel calls it dead
    }
    const Nanoseconds before = clock.time;
    owner.device.reset();
    return clock.time - before;
}

TEST_F(ShmClose, close__does_not_wait_for_ever_for_a_copy) {
    EXPECT_EQ(closing_lasts(steps, true), 1'000'000'000);
}

TEST_F(ShmClose, close__does_not_wait_for_a_copy_of_the_dead) {
    EXPECT_EQ(closing_lasts(steps, false), 0);
}

// It ends its copies of the objects; the parent's memory can be reached all the same.
TEST_F(ShmClose, close__in_a_child_of_fork) {
    Child peer([&] {
        Party owner;
        if (!own_memory(owner, self.device->card(), steps)) return 1;
        Child child([&] {
            owner.device.reset();
            return 0;
        });
        if (child.result() != 0) return 2;
        steps.child_goes_on();
        return steps.child_waits() ? 0 : 3;
    });
    if (!reach()) GTEST_SKIP() << "the kernel does not copy between processes here";
    steps.go_on();
    ASSERT_TRUE(steps.waits());
    EXPECT_EQ(copy(Direction::write), Status::ok);
    steps.go_on();
    EXPECT_EQ(peer.result(), 0);
}

TEST(ShmGuard, raise__elsewhere_each_time_and_not_for_children) {
    std::string error;
    Region one, other;
    ASSERT_EQ(raise_guard(4711, &one, &error), Status::ok) << error;
    ASSERT_EQ(raise_guard(4712, &other, &error), Status::ok) << error;
    const std::byte* const place = one.data();
    EXPECT_GE(std::abs(place - other.data()), 1 << 24) << "not at random";
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    EXPECT_EQ(write(pipes[1], place, 8), 8);
    Child child([&] { return write(pipes[1], place, 8) < 0 && errno == EFAULT ? 0 : 1; });
    EXPECT_EQ(child.result(), 0);
    one = Region();
    EXPECT_EQ(write(pipes[1], place, 8), -1);
    close(pipes[0]);
    close(pipes[1]);
}

}  // namespace
}  // namespace fci::shm
