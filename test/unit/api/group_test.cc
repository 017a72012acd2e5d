// SPDX-License-Identifier: BSD-3-Clause
// Collectives by flag tables, through the C face: contexts of one process, stepped one by one.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fci_core/api/icl.h"
#include "fci_core/base/prng.h"
#include "test/unit/api/group_job.h"
#include "test/unit/limit.h"
#include "test/unit/seed.h"

namespace fci {
namespace {

/// x -> times * x + plus: to do one after the other is associative, and no two commute.
struct Affine {
    std::uint64_t times, plus;
    bool operator==(const Affine&) const = default;
};

Affine then(const Affine& first, const Affine& second) {
    return {first.times * second.times, first.plus * second.times + second.plus};
}

constexpr std::size_t kLongest = group::Entry::kLong;

/// Random collectives, the members stepped in random order: each gets what it should, and nobody
/// is through before all have come, where that is promised.
class Program {
public:
    Program(Job& job, std::uint64_t seed, unsigned calls)
        : job_(job), prng_(seed), calls_(calls), at_(job.members.size()) {
        for (Call& call : calls_) {
            call.kind = static_cast<Kind>(prng_.below(4));
            const bool to_all = call.kind >= Kind::gather && prng_.below(2) == 0;
            call.root = to_all ? FCI_ICL_GROUP_ALL : static_cast<unsigned>(prng_.below(size()));
            const std::size_t most = prng_.below(2) == 0 ? group::Entry::kShort : kLongest;
            call.bytes = prng_.below(most + 1);
            if (call.kind == Kind::reduce) call.bytes -= call.bytes % sizeof(Affine);
        }
    }
    void run() {
        const auto behind = [&](unsigned at) { return at != calls_.size(); };
        for (Limit limit("the end of all collectives"); limit.holds();) {
            if (std::none_of(at_.begin(), at_.end(), behind)) return;
            const auto rank = static_cast<unsigned>(prng_.below(at_.size()));
            // One that is ahead or behind is so for a while.
            for (std::uint64_t steps = prng_.below(20); steps > 0 && behind(at_[rank]); --steps) {
                step(rank);
            }
        }
    }

private:
    enum class Kind : std::uint8_t { barrier, broadcast, gather, reduce };
    struct Call {
        Kind kind;
        unsigned root;
        std::size_t bytes;
    };
    using Data = std::array<unsigned char, kLongest>;

    unsigned size() const { return static_cast<unsigned>(at_.size()); }
    static unsigned char byte(unsigned call, unsigned rank, std::size_t i) {
        return static_cast<unsigned char>(call * 31 + rank * 7 + i);
    }
    static void fill(unsigned call, unsigned rank, Data& data) {
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = byte(call, rank, i);
    }
    static std::vector<Affine> share(unsigned call, unsigned rank, std::size_t bytes) {
        Data data;
        fill(call, rank, data);
        std::vector<Affine> all(bytes / sizeof(Affine));
        if (bytes != 0) std::memcpy(all.data(), data.data(), bytes);
        return all;
    }
    static void compose(void* user, const void* in, void* inout) {
        const auto* const first = static_cast<const Affine*>(in);
        auto* const second = static_cast<Affine*>(inout);
        for (std::size_t i = 0; i < *static_cast<std::size_t*>(user); ++i) {
            second[i] = then(first[i], second[i]);
        }
    }
    int begin(unsigned rank, const Call& call, std::size_t* bytes) {
        Job::Member& one = job_.members[rank];
        fci_icl_context* const context = one.context.get();
        std::size_t items = call.bytes / sizeof(Affine);
        const fci_icl_reduction reduction{compose, &items};
        switch (call.kind) {
            case Kind::barrier: return job_.barrier(rank);
            case Kind::broadcast:
                if (call.root != rank) own_.fill(0);
                return group_broadcast(context, one.group, call.root, own_.data(), bytes);
            case Kind::gather:
                return group_gather(context, one.group, call.root, own_.data(),
                                    all_.data(), bytes);
            case Kind::reduce: break;
        }
        // In place, every other time.
        void* const to = call.bytes % 32 == 0 ? own_.data() : all_.data();
        return group_reduce(context, one.group, call.root, own_.data(), to, bytes,
                            &reduction);
    }
    void step(unsigned rank) {
        const unsigned number = at_[rank];
        const Call& call = calls_[number];
        std::size_t bytes = call.bytes;
        fill(number, rank, own_);
        all_.resize(size() * kLongest);
        const int answer = begin(rank, call, &bytes);
        if (answer == FCI_ICL_EAGAIN) fci_icl_progress(job_.members[rank].context.get());
        if (is_waiting(answer)) return;
        ASSERT_EQ(answer, FCI_ICL_DONE);
        ASSERT_EQ(bytes, call.bytes);
        const bool is_told = call.root == rank || call.root == FCI_ICL_GROUP_ALL;
        if (call.kind == Kind::barrier || (call.kind >= Kind::gather && is_told)) {
            const auto least = *std::min_element(at_.begin(), at_.end());
            ASSERT_GE(least + 1, number) << "not all have come";
        }
        if (call.kind == Kind::broadcast) {
            for (std::size_t i = 0; i < bytes; ++i) {
                ASSERT_EQ(own_[i], byte(number, call.root, i));
            }
        }
        if (call.kind == Kind::gather && is_told) check_gathered(number, bytes);
        if (call.kind == Kind::reduce && is_told) check_reduced(number, bytes);
        ++at_[rank];
    }
    void check_gathered(unsigned number, std::size_t bytes) {
        for (unsigned rank = 0; rank < size(); ++rank) {
            for (std::size_t i = 0; i < bytes; ++i) {
                ASSERT_EQ(all_[rank * bytes + i], byte(number, rank, i));
            }
        }
    }
    void check_reduced(unsigned number, std::size_t bytes) {
        std::vector<Affine> sum = share(number, 0, bytes), came(sum.size());
        for (unsigned rank = 1; rank < size(); ++rank) {
            const std::vector<Affine> one = share(number, rank, bytes);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = then(sum[i], one[i]);
        }
        if (bytes == 0) return;
        std::memcpy(came.data(), bytes % 32 == 0 ? own_.data() : all_.data(), bytes);
        ASSERT_TRUE(came == sum);
    }

    Job& job_;
    Prng prng_;
    std::vector<Call> calls_;
    std::vector<unsigned> at_;  // the call that each is in
    alignas(64) Data own_{};
    std::vector<unsigned char> all_;
};

void expect_random_programs(std::span<const unsigned> sizes, std::uint32_t local_ranks) {
    for (const unsigned size : sizes) {
        const unsigned calls = size < 8 ? 300 : 60;
        Job job(size, local_ranks);
        for (const std::uint64_t seed : seeds(3)) {
            job.join();
            Program(job, size * 100 + seed, calls).run();
            ASSERT_FALSE(testing::Test::HasFailure()) << size << " members, seed " << seed;
            job.leave();
        }
    }
}

TEST(group, collectives__of_random_programs_by_groups_of_all_sizes) {
    expect_random_programs(std::array{1u, 2u, 3u, 7u, 16u}, 1);
}

// Of more than cores: they give cores away, and from 17 on the last one reduces for all.
TEST(group, collectives__of_random_programs_by_crowds) {
    expect_random_programs(std::array{2u, 5u, 17u}, 4096);
}

/// Whatever the host has, each member is told that it has a core.
class GroupOfMany : public testing::Test {
protected:
    void SetUp() override { setenv("FCI_WAIT", "spin", 1); }
    void TearDown() override { unsetenv("FCI_WAIT"); }
};

// From 17 on they meet eight by eight, and then one of each eight.
TEST_F(GroupOfMany, collectives__of_random_programs) {
    expect_random_programs(std::array{18u}, 1);
    Job job(18);
    job.join();
    EXPECT_NE(job.any_of(0).run, nullptr);
    Job small(16);
    small.join();
    EXPECT_EQ(small.any_of(0).run, nullptr);
}

// All hear of it, and nobody waits for who has given up.
TEST_F(GroupOfMany, barrier__fails_at_all_where_one_has_gone) {
    constexpr unsigned kMembers = 18;
    for (const unsigned victim : {0u, 5u, 8u, 17u}) {
        Job job(kMembers);
        job.join();
        fci_icl_group_leave(job.members[victim].context.get(), job.members[victim].group);
        job.members[victim].context.reset();
        std::vector<int> answers(kMembers, FCI_ICL_OK);
        answers[victim] = FCI_ICL_EPEER;
        for (Limit limit("an error at all"); limit.holds();) {
            if (std::none_of(answers.begin(), answers.end(), is_waiting)) break;
            for (unsigned rank = 0; rank < kMembers; ++rank) {
                if (is_waiting(answers[rank])) answers[rank] = job.barrier(rank);
            }
            job.turn();
        }
        for (const int answer : answers) EXPECT_EQ(answer, FCI_ICL_EPEER) << victim;
    }
}

TEST(group, barrier__nobody_is_through_before_the_last_one_has_come) {
    Job job(3);
    job.join();
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(is_waiting(job.barrier(0)));
        ASSERT_TRUE(is_waiting(job.barrier(1)));
    }
    EXPECT_EQ(job.barrier(2), FCI_ICL_DONE);
    EXPECT_EQ(job.barrier(0), FCI_ICL_DONE);
    EXPECT_EQ(job.barrier(1), FCI_ICL_DONE);
}

// Where cores are few it falls asleep; then one of the others may come to another collective.
TEST(group, barrier__wakes_who_sleeps_over_it) {
    Job job(3, 4096);
    job.join();
    fci_icl_context* const self = job.members[1].context.get();
    fci_icl_set_idle(self, FCI_ICL_MAY_SLEEP);
    const std::uint64_t before = sleeps(self);
    for (Limit limit("three sleeps"); sleeps(self) < before + 3 && limit.holds();) {
        const int answer = job.barrier(1);
        ASSERT_TRUE(is_waiting(answer));
        if (answer == FCI_ICL_EAGAIN) fci_icl_progress(self);
    }
    pollfd bell{fci_icl_wait_fd(self), POLLIN, 0};
    ASSERT_TRUE(is_waiting(job.barrier(0)));
    EXPECT_EQ(poll(&bell, 1, 0), 0) << "one is still missing";
    EXPECT_EQ(job.barrier(2), FCI_ICL_DONE);
    EXPECT_EQ(poll(&bell, 1, 0), 1);
    EXPECT_EQ(job.barrier(1), FCI_ICL_DONE);
}

// It ended in a call, not in a step: nothing that is stored later is told to who slept over it.
TEST(group, barrier__is_no_longer_slept_over_when_it_has_ended) {
    Job job(3, 4096);
    job.join();
    fci_icl_context* const self = job.members[1].context.get();
    fci_icl_set_idle(self, FCI_ICL_MAY_SLEEP);
    const group::TableHead& head = job.group_of(0).table().head();
    for (Limit limit("a sleep"); head.asleep == 0 && limit.holds();) {
        ASSERT_TRUE(is_waiting(job.barrier(1)));
    }
    ASSERT_TRUE(is_waiting(job.barrier(0)));
    EXPECT_EQ(job.barrier(2), FCI_ICL_DONE);
    EXPECT_EQ(job.barrier(1), FCI_ICL_DONE);
    EXPECT_EQ(head.asleep, 0u);
}

// The member that has gone had come to the first one, and not to the second.
TEST(group, barrier__fails_where_somebody_who_is_missing_has_gone) {
    Job job(3);
    job.join();
    ASSERT_TRUE(is_waiting(job.barrier(0)));
    ASSERT_TRUE(is_waiting(job.barrier(1)));
    EXPECT_EQ(job.barrier(2), FCI_ICL_DONE);
    job.members[2].context.reset();
    for (int i = 0; i < 1000; ++i) job.turn();
    EXPECT_EQ(job.barrier(0), FCI_ICL_DONE);
    EXPECT_EQ(job.barrier(1), FCI_ICL_DONE);
    int answer = FCI_ICL_OK;
    for (Limit limit("an error"); is_waiting(answer = job.barrier(0)) && limit.holds();) job.turn();
    EXPECT_EQ(answer, FCI_ICL_EPEER);
}

TEST(group, broadcast__tells_how_long_it_is_where_there_is_less_room) {
    Job job(2);
    job.join();
    std::array<char, 8> said{'l', 'o', 'n', 'g'}, heard{'?'};
    std::size_t bytes = said.size();
    EXPECT_EQ(group_broadcast(job.members[1].context.get(), job.members[1].group, 1,
                              said.data(), &bytes),
              FCI_ICL_DONE);
    bytes = 4;
    EXPECT_EQ(group_broadcast(job.members[0].context.get(), job.members[0].group, 1,
                              heard.data(), &bytes),
              FCI_ICL_DONE);
    EXPECT_EQ(bytes, said.size());
    EXPECT_EQ(heard[0], '?');
}

// All have as many bytes, or each that hears of it says so, and the next collective is like any.
TEST(group, collectives__of_lengths_that_differ) {
    for (const std::uint32_t local_ranks : {1u, 4096u}) {
        const unsigned size = local_ranks == 1 ? 3 : 18;
        Job job(size, local_ranks);
        job.join();
        std::vector<std::size_t> bytes(size);
        std::vector<std::array<double, 4>> data(size);
        const fci_icl_reduction reduction{[](void*, const void*, void*) {}, nullptr};
        for (unsigned round = 0; round < 2; ++round) {
            for (unsigned rank = 0; rank < size; ++rank) bytes[rank] = rank == 1 ? 16 : 8;
            std::vector<bool> through(size);
            for (Limit limit("all answers"); limit.holds();) {
                if (std::find(through.begin(), through.end(), false) == through.end()) break;
                for (unsigned rank = 0; rank < size; ++rank) {
                    if (through[rank]) continue;
                    Job::Member& one = job.members[rank];
                    const int answer = group_reduce(
                        one.context.get(), one.group, FCI_ICL_GROUP_ALL, data[rank].data(),
                        data[rank].data(), &bytes[rank], &reduction);
                    if (is_waiting(answer)) continue;
                    EXPECT_EQ(answer, FCI_ICL_ETRUNC);
                    EXPECT_EQ(bytes[rank], rank == 1 ? 8u : 16u);
                    through[rank] = true;
                }
            }
        }
    }
}

// Words that a member has scribbled over.
TEST(group, broadcast__of_a_length_that_cannot_be) {
    Job job(2);
    job.join();
    std::array<char, kLongest> data{};
    std::size_t bytes = 1;
    ASSERT_EQ(group_broadcast(job.members[0].context.get(), job.members[0].group, 0,
                              data.data(), &bytes),
              FCI_ICL_DONE);
    job.group_of(1).table().said(1).word |= group::Entry::kNoLength;
    bytes = data.size();
    EXPECT_EQ(group_broadcast(job.members[1].context.get(), job.members[1].group, 0,
                              data.data(), &bytes),
              FCI_ICL_DONE);
    EXPECT_EQ(bytes, group::Entry::kNoLength) << "and nothing is copied";
}

}  // namespace
}  // namespace fci
