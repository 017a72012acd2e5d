// SPDX-License-Identifier: BSD-3-Clause
// Collectives that go on in progress, several at a time and among others, through the C face:
// contexts of one process, stepped one by one, on one host and on several.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "fci_core/api/icl.h"
#include "fci_core/base/prng.h"
#include "test/unit/api/group_job.h"
#include "test/unit/api/host_context.h"
#include "test/unit/limit.h"
#include "test/unit/seed.h"

namespace fci {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::size_t kWordsMost = group::Entry::kLong / sizeof(std::uint64_t);

void add(void* user, const void* in, void* inout) {
    const auto* const from = static_cast<const std::uint64_t*>(in);
    auto* const to = static_cast<std::uint64_t*>(inout);
    for (std::size_t i = 0; i < *static_cast<std::size_t*>(user); ++i) to[i] += from[i];
}

std::uint64_t word(std::size_t call, unsigned rank, std::size_t i) {
    return (call + 1) * 1'000'003u + rank * 1009u + i;
}

/// One collective, as one member has it under way.
struct Operation {
    fci_icl_collective what{};
    Words data;
    std::size_t words = 0;
    int answer = FCI_ICL_OK;  // so far

    void set(int kind, std::uint32_t root, std::size_t count) {
        words = count;
        data.resize(count);
        what.kind = kind;
        what.root = root;
        what.own = what.data = data.data();
        what.bytes = count * sizeof(std::uint64_t);
        what.reduction = {add, &words};
        what.completion = {[](void* user, void*, const fci_icl_status* status) {
                               auto& own = *static_cast<Operation*>(user);
                               EXPECT_EQ(own.answer, FCI_ICL_OK) << "told twice";
                               const bool is_good = status->error == FCI_ICL_OK;
                               own.answer = is_good ? FCI_ICL_DONE : status->error;
                           },
                           this, nullptr};
    }
};

int start(Job& job, unsigned rank, Operation& operation) {
    Job::Member& one = job.members[rank];
    return operation.answer = fci_icl_group_start(one.context.get(), one.group, &operation.what);
}

/// Random ones, some of them called until they end; the members stepped in random order.
class Program {
public:
    Program(Job& job, std::uint64_t seed, unsigned calls)
        : job_(job), prng_(seed), calls_(calls), members_(job.members.size()) {
        for (Call& call : calls_) {
            static constexpr int kKinds[] = {FCI_ICL_BARRIER, FCI_ICL_BROADCAST, FCI_ICL_REDUCE};
            call.kind = kKinds[prng_.below(3)];
            const bool to_all = call.kind == FCI_ICL_REDUCE && prng_.below(2) == 0;
            if (call.kind != FCI_ICL_BARRIER && !to_all) {
                call.root = static_cast<unsigned>(prng_.below(members_.size()));
            }
            call.words = prng_.below(prng_.below(4) == 0 ? kWordsMost + 1 : 8);
            call.starts = prng_.below(4) != 0;
        }
    }
    void run() {
        const auto is_behind = [&](const Member& one) {
            return one.ended != calls_.size();
        };
        for (Limit limit("the end of all collectives"); limit.holds();) {
            if (std::none_of(members_.begin(), members_.end(), is_behind)) return;
            const auto rank = static_cast<unsigned>(prng_.below(members_.size()));
            for (std::uint64_t n = prng_.below(20); n > 0 && is_behind(members_[rank]); --n) {
                step(rank);
            }
        }
    }

private:
    struct Call {
        int kind = FCI_ICL_BARRIER;
        unsigned root = FCI_ICL_GROUP_ALL;
        std::size_t words = 0;
        bool starts = false;
    };
    struct Member {
        std::deque<Operation> under_way;  // begun and not seen to end; the oldest first
        std::size_t begun = 0, ended = 0;
        bool calls = false;  // the last one that was begun is called until it ends
    };

    void step(unsigned rank) {
        Member& one = members_[rank];
        if (one.calls) {
            call(rank);
        } else if (one.begun < calls_.size() && one.under_way.size() < 6 && prng_.below(2) == 0) {
            begin(rank);
        } else {
            fci_icl_progress(job_.members[rank].context.get());
        }
        while (!one.under_way.empty() && one.under_way.front().answer != FCI_ICL_OK) check(rank);
        for (const Operation& later : one.under_way) {
            ASSERT_EQ(later.answer, FCI_ICL_OK) << "not in order";
        }
    }
    void begin(unsigned rank) {
        Member& one = members_[rank];
        const Call& call = calls_[one.begun];
        Operation& operation = one.under_way.emplace_back();
        operation.set(call.kind, call.root, call.words);
        if (call.kind != FCI_ICL_BROADCAST || call.root == rank) {
            for (std::size_t i = 0; i < call.words; ++i) {
                operation.data[i] = word(one.begun, rank, i);
            }
        }
        ++one.begun;
        one.calls = !call.starts;
        if (call.starts) start(job_, rank, operation);
    }
    void call(unsigned rank) {
        Job::Member& member = job_.members[rank];
        Operation& operation = members_[rank].under_way.back();
        const int answer =
            fci_icl_group_call(member.context.get(), member.group, &operation.what);
        if (answer == FCI_ICL_EAGAIN) fci_icl_progress(member.context.get());
        if (is_waiting(answer)) return;
        operation.answer = answer;
        members_[rank].calls = false;
    }
    void check(unsigned rank) {
        Member& one = members_[rank];
        const std::size_t number = one.ended++;
        const Call& call = calls_[number];
        const Operation operation = std::move(one.under_way.front());
        one.under_way.pop_front();
        ASSERT_EQ(operation.answer, FCI_ICL_DONE);
        const bool is_told = call.root == rank || call.root == FCI_ICL_GROUP_ALL;
        if (call.kind != FCI_ICL_BROADCAST && is_told) {
            for (const Member& other : members_) {
                ASSERT_GT(other.begun, number) << "not all have come";
            }
        }
        if (call.kind == FCI_ICL_BARRIER) return;
        ASSERT_EQ(operation.what.bytes, call.words * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < call.words; ++i) {
            std::uint64_t expected = 0;
            if (call.kind == FCI_ICL_BROADCAST) {
                expected = word(number, call.root, i);
            } else if (is_told) {
                for (unsigned of = 0; of < members_.size(); ++of) expected += word(number, of, i);
            } else {
                continue;
            }
            ASSERT_EQ(operation.data[i], expected) << "collective " << number << ", rank " << rank;
        }
    }

    Job& job_;
    Prng prng_;
    std::vector<Call> calls_;
    std::vector<Member> members_;
};

/// A process for each of these hosts, by rank.
std::vector<Context> open_on_all(const std::vector<unsigned>& hosts) {
    std::vector<Context> contexts;
    for (const unsigned host : hosts) contexts.push_back(open_on(host));
    return contexts;
}

TEST(outstanding, random_programs__of_members_of_one_host) {
    for (const unsigned size : {2u, 3u, 7u, 18u}) {
        Job job(size, size > 16 ? 4096 : 0);
        job.join();
        for (const std::uint64_t seed : seeds(8)) Program(job, seed, 40).run();
        job.leave();
    }
}

TEST(outstanding, random_programs__over_hosts) {
    for (const std::vector<unsigned>& hosts :
         {std::vector<unsigned>{0, 1}, {0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2, 3}}) {
        Job job(open_on_all(hosts));
        job.join();
        for (const std::uint64_t seed : seeds(8)) Program(job, seed, 40).run();
        job.leave();
    }
}

// Who only makes progress hears of the others' part, and those who hear of no message, too.
TEST(outstanding, barrier__wakes_who_sleeps_on_the_descriptor) {
    Job job(2);
    job.join();
    Operation first, second;
    first.set(FCI_ICL_BARRIER, FCI_ICL_GROUP_ALL, 0);
    second.set(FCI_ICL_BARRIER, FCI_ICL_GROUP_ALL, 0);
    ASSERT_EQ(start(job, 0, first), FCI_ICL_OK);
    fci_icl_context* const sleeper = job.members[0].context.get();
    for (Limit limit("nothing to do"); fci_icl_arm(sleeper) != FCI_ICL_OK && limit.holds();) {
        fci_icl_progress(sleeper);
    }
    pollfd wait{fci_icl_wait_fd(sleeper), POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 0), 0);
    ASSERT_EQ(start(job, 1, second), FCI_ICL_DONE);
    EXPECT_EQ(poll(&wait, 1, 10'000), 1) << "nobody wakes it";
    for (Limit limit("the end"); first.answer == FCI_ICL_OK && limit.holds();) {
        fci_icl_progress(sleeper);
    }
    EXPECT_EQ(first.answer, FCI_ICL_DONE);
}

// All that go on hear of it, the second as the first.
TEST(outstanding, barriers__of_a_member_that_dies) {
    Job job(3);
    job.join();
    Operation operations[2];
    for (Operation& one : operations) {
        one.set(FCI_ICL_BARRIER, FCI_ICL_GROUP_ALL, 0);
        ASSERT_EQ(start(job, 0, one), FCI_ICL_OK);
    }
    job.members[2].context.reset();
    for (Limit limit("errors"); operations[1].answer == FCI_ICL_OK && limit.holds();) job.turn();
    for (const Operation& one : operations) {
        EXPECT_EQ(one.answer, FCI_ICL_EPEER);
        EXPECT_EQ(one.what.lost, 2u);
    }
}

TEST(outstanding, leaving__while_one_goes_on) {
    Job job(2);
    job.join();
    Operation operation;
    operation.set(FCI_ICL_BARRIER, FCI_ICL_GROUP_ALL, 0);
    ASSERT_EQ(start(job, 0, operation), FCI_ICL_OK);
    job.leave();
    for (int i = 0; i < 100; ++i) job.turn();
    EXPECT_EQ(operation.answer, FCI_ICL_OK) << "nobody asks any more";
    job.join();
    EXPECT_EQ(start(job, 0, operation), FCI_ICL_OK);
}

TEST(outstanding, bad_arguments) {
    Job job(2);
    job.join();
    Operation operation;
    operation.set(7, 0, 0);
    EXPECT_EQ(start(job, 0, operation), FCI_ICL_EINVAL);
    operation.set(FCI_ICL_BROADCAST, 2, 1);
    EXPECT_EQ(start(job, 0, operation), FCI_ICL_EINVAL);
    operation.set(FCI_ICL_REDUCE, 0, kWordsMost + 1);
    EXPECT_EQ(start(job, 0, operation), FCI_ICL_EINVAL);
}

}  // namespace
}  // namespace fci
