// SPDX-License-Identifier: BSD-3-Clause
// A kernel that lets a process copy in one direction only (a container's seccomp profile), from the
// start or from some moment on.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <numeric>
#include <tuple>

#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

using Direction = nhi::NetworkInterface::Direction;

constexpr int kNoFilters = 77, kNoCopies = 78;  // what a child ends with

/// This process, from now on. False: not with this kernel.
bool refuse(Direction direction) {
    const unsigned call =
        direction == Direction::read ? SYS_process_vm_readv : SYS_process_vm_writev;
    sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog program{std::size(code), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Which direction is refused, and whether from the start.
struct ShmRefused : testing::TestWithParam<std::tuple<Direction, bool>> {
    static constexpr std::size_t kWords = 1000;

    /// In a child. `there`: as many words of the process that `card` names, each its index.
    static int copy_both_ways(const ddi::Card& card, std::uint64_t there) {
        const auto [refused, at_once] = GetParam();
        const Direction other = refused == Direction::read ? Direction::write : Direction::read;
        if (at_once && !refuse(refused)) return kNoFilters;
        Party self;
        const nhi::PeerId id = self.meet(card);
        if (!self.until([&] { return !self.attached.empty(); })) return 1;
        std::vector<std::uint64_t> words(kWords);
        std::iota(words.begin(), words.end(), 0);
        const auto copy = [&](Direction direction, std::uint64_t from, std::size_t bytes) {
            return self.device->network().copy(id, direction, from, words.data(), bytes);
        };
        const std::size_t all = kWords * sizeof words[0];
        if (!at_once) {
            if (copy(refused, there, 0) != Status::ok) return kNoCopies;
            if (copy(refused, there, all) != Status::ok) return 2;
            if (!refuse(refused)) return kNoFilters;
            if (copy(refused, there, all) != Status::unsupported) return 3;
        }
        if (copy(refused, there, 0) != Status::unsupported) return 4;
        if (copy(refused, there, all) != Status::unsupported) return 5;
        const Status first = copy(other, there, 0);
        if (first != Status::ok) return at_once ? kNoCopies : 6;
        if (copy(other, there, all) != Status::ok) return 7;
        if (copy(other, 64, all) != Status::invalid) return 8;
        for (std::size_t i = 0; i < kWords; ++i) {
            if (words[i] != i) return 9;
        }
        return 0;
    }
};
INSTANTIATE_TEST_SUITE_P(ways, ShmRefused,
                         testing::Combine(testing::Values(Direction::read, Direction::write),
                                          testing::Bool()));

TEST_P(ShmRefused, copy__in_the_other_direction_goes_on) {
    std::vector<std::uint64_t> words(kWords);
    std::iota(words.begin(), words.end(), 0);
    Party owner;
    Child child([&] {
        return copy_both_ways(owner.device->card(), reinterpret_cast<std::uint64_t>(words.data()));
    });
    ASSERT_TRUE(owner.until([&] { return !owner.lost.empty(); }));
    const int result = child.result();
    if (result == kNoFilters || result == kNoCopies) {
        GTEST_SKIP() << (result == kNoFilters ? "no filters" : "no copies between processes");
    }
    EXPECT_EQ(result, 0);
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(words[i], i);
}

}  // namespace
}  // namespace fci::shm
