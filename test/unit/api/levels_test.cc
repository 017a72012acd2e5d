// SPDX-License-Identifier: BSD-3-Clause
// Collectives over hosts, through the C face: contexts of one process that see each other on
// several hosts, stepped one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
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

/// A process for each of these hosts, by rank.
std::vector<Context> open_on_all(const std::vector<unsigned>& hosts) {
    std::vector<Context> contexts;
    for (const unsigned host : hosts) contexts.push_back(open_on(host));
    return contexts;
}

void add(void* user, const void* in, void* inout) {
    const auto* const from = static_cast<const std::uint64_t*>(in);
    auto* const to = static_cast<std::uint64_t*>(inout);
    for (std::size_t i = 0; i < *static_cast<std::size_t*>(user); ++i) to[i] += from[i];
}

/// One collective of all: what each has brought, is given, and answers.
class Call {
public:
    enum class Kind : std::uint8_t { barrier, broadcast, reduce, gather };
    Kind kind = Kind::barrier;
    unsigned root = FCI_ICL_GROUP_ALL;
    std::size_t words = 0;

    int step(Job& job, unsigned rank, Words& data, std::size_t* bytes,
             unsigned* lost = nullptr) const {
        static constexpr int kKinds[] = {FCI_ICL_BARRIER, FCI_ICL_BROADCAST, FCI_ICL_REDUCE,
                                         FCI_ICL_GATHER};
        Job::Member& one = job.members[rank];
        std::size_t count = words;
        fci_icl_collective it{};
        it.kind = kKinds[static_cast<unsigned>(kind)];
        it.root = root;
        it.data = data.data();
        it.own = data.data() + (kind == Kind::gather ? rank * words : 0);
        it.reduction = {add, &count};
        return group_call(one.context.get(), one.group, it, bytes, lost);
    }
};

std::uint64_t word(unsigned call, unsigned rank, std::size_t i) {
    return (call + 1) * 1'000'003u + rank * 1009u + i;
}

/// Random ones, the members stepped in random order.
class Program {
public:
    Program(Job& job, std::uint64_t seed, unsigned calls)
        : job_(job), prng_(seed), calls_(calls), members_(job.members.size()) {
        struct fci_icl_group_limits limits{};
        fci_icl_group_limits(job.members[0].group, &limits);
        for (Call& call : calls_) {
            call.kind = static_cast<Call::Kind>(prng_.below(4));
            const bool to_all = call.kind >= Call::Kind::reduce && prng_.below(2) == 0;
            if (call.kind != Call::Kind::barrier && !to_all) {
                call.root = static_cast<unsigned>(prng_.below(members_.size()));
            }
            const bool is_gather = call.kind == Call::Kind::gather;
            const std::size_t most = is_gather ? limits.gather / sizeof(std::uint64_t) : kWordsMost;
            const std::size_t few = std::min<std::size_t>(most, 8);
            call.words = prng_.below((prng_.below(4) == 0 ? most : few) + 1);
        }
    }
    void run() {
        const auto is_behind = [&](const Member& one) { return one.at != calls_.size(); };
        for (Limit limit("the end of all collectives"); limit.holds();) {
            if (std::none_of(members_.begin(), members_.end(), is_behind)) return;
            const auto rank = static_cast<unsigned>(prng_.below(members_.size()));
            for (std::uint64_t n = prng_.below(20); n > 0 && is_behind(members_[rank]); --n) {
                step(rank);
            }
        }
    }

private:
    struct Member {
        unsigned at = 0;
        bool begun = false;
        Words data;
        std::size_t bytes = 0;
    };

    void step(unsigned rank) {
        Member& one = members_[rank];
        const Call& call = calls_[one.at];
        if (!one.begun) begin(rank);
        const int answer = call.step(job_, rank, one.data, &one.bytes);
        if (answer == FCI_ICL_EAGAIN) fci_icl_progress(job_.members[rank].context.get());
        if (is_waiting(answer)) return;
        ASSERT_EQ(answer, FCI_ICL_DONE);
        check(rank);
        ++one.at;
        one.begun = false;
    }
    void begin(unsigned rank) {
        Member& one = members_[rank];
        const Call& call = calls_[one.at];
        one.begun = true;
        one.bytes = call.words * sizeof(std::uint64_t);
        const bool is_gather = call.kind == Call::Kind::gather;
        one.data.assign(call.words * (is_gather ? members_.size() : 1), ~0ull);
        if (call.kind == Call::Kind::broadcast && call.root != rank) return;
        const std::size_t place = is_gather ? rank * call.words : 0;
        for (std::size_t i = 0; i < call.words; ++i) one.data[place + i] = word(one.at, rank, i);
    }
    void check(unsigned rank) {
        const Member& one = members_[rank];
        const Call& call = calls_[one.at];
        const bool is_told = call.root == rank || call.root == FCI_ICL_GROUP_ALL;
        if (call.kind != Call::Kind::broadcast && is_told) {
            for (const Member& other : members_) {
                ASSERT_TRUE(other.at > one.at || (other.at == one.at && other.begun))
                    << "not all have come";
            }
        }
        if (call.kind == Call::Kind::barrier) return;
        ASSERT_EQ(one.bytes, call.words * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < one.data.size() && call.kind == Call::Kind::gather; ++i) {
            if (!is_told) break;
            const auto of = static_cast<unsigned>(i / call.words);
            ASSERT_EQ(one.data[i], word(one.at, of, i % call.words)) << "at rank " << rank;
        }
        if (call.kind == Call::Kind::gather) return;
        for (std::size_t i = 0; i < call.words; ++i) {
            std::uint64_t expected = 0;
            if (call.kind == Call::Kind::broadcast) {
                expected = word(one.at, call.root, i);
            } else if (is_told) {
                for (unsigned of = 0; of < members_.size(); ++of) expected += word(one.at, of, i);
            } else {
                continue;
            }
            ASSERT_EQ(one.data[i], expected) << "collective " << one.at << ", rank " << rank;
        }
    }

    Job& job_;
    Prng prng_;
    std::vector<Call> calls_;
    std::vector<Member> members_;
};

TEST(Levels, all__random_collectives_of_hosts_with_one_member_or_several) {
    const std::vector<std::vector<unsigned>> layouts{
        {0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 0, 0, 0, 1, 2}};
    std::uint64_t seed = seeded(1);
    for (const auto& hosts : layouts) {
        Job job(open_on_all(hosts));
        job.join();
        struct fci_icl_group_limits limits{};
        fci_icl_group_limits(job.members[0].group, &limits);
        EXPECT_EQ(limits.longest, std::size_t{group::Entry::kLong});
        const std::set<unsigned> all(hosts.begin(), hosts.end());
        const bool is_each_alone = all.size() == hosts.size();
        EXPECT_EQ(limits.gather, is_each_alone ? 0 : group::Entry::kLong / hosts.size());
        EXPECT_EQ(limits.keeps_order, 0);
        Program(job, seed++, 300).run();
        job.leave();
    }
}

/// What each answers in the end; `bytes`: what each has brought, by rank. *lost: whom it names.
std::vector<int> answers_of(Job& job, const Call& call, std::vector<std::size_t>& bytes,
                            std::vector<unsigned>* lost = nullptr) {
    std::vector<int> answers(job.members.size(), FCI_ICL_OK);
    std::vector<Words> data(answers.size(), Words(kWordsMost));
    std::vector<unsigned> named(answers.size(), FCI_ICL_NO_RANK);
    for (Limit limit("an answer of each"); limit.holds();) {
        for (unsigned rank = 0; rank < answers.size(); ++rank) {
            fci_icl_context* const context = job.members[rank].context.get();
            if (context == nullptr || !is_waiting(answers[rank])) continue;
            const std::size_t brought = bytes[rank];
            answers[rank] = call.step(job, rank, data[rank], &bytes[rank], &named[rank]);
            if (is_waiting(answers[rank])) bytes[rank] = brought;
            fci_icl_progress(context);
        }
        const bool over = std::none_of(answers.begin(), answers.end(), is_waiting);
        const auto waiting = static_cast<std::size_t>(
            std::count_if(answers.begin(), answers.end(), is_waiting));
        const auto gone = static_cast<std::size_t>(std::count_if(
            job.members.begin(), job.members.end(), [](const auto& one) { return !one.context; }));
        if (over || waiting == gone) break;
    }
    if (lost != nullptr) *lost = named;
    return answers;
}

// All hear of it, on whichever host they are, and nobody waits for who has given up.
TEST(Levels, all__a_member_that_is_gone_is_heard_of_by_all) {
    const std::vector<unsigned> hosts{0, 1, 2, 3, 0, 1, 2, 3, 4};
    for (unsigned victim = 0; victim < hosts.size(); ++victim) {
        for (const auto kind : {Call::Kind::barrier, Call::Kind::reduce}) {
            Job job(open_on_all(hosts));
            job.join();
            Program(job, victim, 5).run();
            fci_icl_group_leave(job.members[victim].context.get(), job.members[victim].group);
            job.members[victim].context.reset();
            std::vector<std::size_t> bytes(hosts.size(), 16);
            const Call call{kind, FCI_ICL_GROUP_ALL, 2};
            std::vector<unsigned> lost;
            const std::vector<int> answers = answers_of(job, call, bytes, &lost);
            for (unsigned rank = 0; rank < hosts.size(); ++rank) {
                if (rank == victim) continue;
                EXPECT_EQ(answers[rank], FCI_ICL_EPEER) << rank << " without " << victim;
                EXPECT_EQ(lost[rank], victim) << "as rank " << rank << " has it";
            }
            for (unsigned rank = 0; rank < hosts.size(); ++rank) {
                if (rank == victim) continue;
                fci_icl_group_leave(job.members[rank].context.get(), job.members[rank].group);
            }
        }
    }
}

TEST(Levels, reduce__lengths_that_differ_between_hosts_or_within_one) {
    for (const std::size_t other : {4, 1}) {
        Job job(open_on_all({0, 0, 1, 1, 2}));
        job.join();
        std::vector<std::size_t> bytes(5, 16);
        bytes[other] = 8;
        const Call call{Call::Kind::reduce, FCI_ICL_GROUP_ALL, 1};
        for (const int answer : answers_of(job, call, bytes)) EXPECT_EQ(answer, FCI_ICL_ETRUNC);
        Program(job, 1, 20).run();  // and all goes on
        job.leave();
    }
}

// Whoever leaves while others still wait for it takes back what is under way in its memory.
TEST(Levels, leave__in_the_middle_of_a_collective) {
    Job job(open_on_all({0, 1, 2}));
    job.join();
    for (int turn = 0; turn < 10; ++turn) {
        EXPECT_TRUE(is_waiting(job.barrier(0)));
        job.turn();
    }
    job.leave();
    for (int turn = 0; turn < 1000; ++turn) job.turn();
    job.join();
    Program(job, 1, 20).run();
    job.leave();
}

// A collective that is the first of a job finds out who is not there: all say so, then and later.
TEST(Levels, form__a_member_that_is_gone_is_named) {
    const std::vector<unsigned> hosts{0, 1, 2, 0, 1, 3};
    for (const unsigned victim : {1u, 2u, 5u}) {
        Job job(open_on_all(hosts));
        job.members[victim].context.reset();
        std::vector<int> formed(hosts.size(), FCI_ICL_EAGAIN);
        formed[victim] = FCI_ICL_EPEER;
        for (Limit limit("a group without one"); limit.holds();) {
            for (unsigned rank = 0; rank < hosts.size(); ++rank) {
                if (!is_waiting(formed[rank])) continue;
                formed[rank] = job.form(rank, 1);
                fci_icl_progress(job.members[rank].context.get());
            }
            if (std::none_of(formed.begin(), formed.end(), is_waiting)) break;
        }
        const Call call{Call::Kind::barrier};
        std::vector<std::size_t> bytes(hosts.size(), 0);
        std::vector<unsigned> lost;
        const std::vector<int> answers = answers_of(job, call, bytes, &lost);
        for (unsigned rank = 0; rank < hosts.size(); ++rank) {
            if (rank == victim) continue;
            EXPECT_EQ(formed[rank], FCI_ICL_EPEER) << rank << " without " << victim;
            EXPECT_EQ(answers[rank], FCI_ICL_EPEER) << rank << " without " << victim;
            EXPECT_EQ(lost[rank], victim) << "as rank " << rank << " has it";
            fci_icl_group_leave(job.members[rank].context.get(), job.members[rank].group);
        }
    }
}

TEST(Levels, form__more_of_a_host_than_a_table_has_room_for) {
    Context own = open_on(0);
    std::vector<fci_icl_peer> peers{0};
    while (peers.size() <= group::kMembersMost) {
        unsigned char card[FCI_ICL_CARD_BYTES];
        fci_icl_card(own.get(), card);
        card[3] = static_cast<unsigned char>(peers.size());  // of its port
        card[2] = 1;
        fci_icl_peer peer = 0;
        ASSERT_EQ(fci_icl_add_peer(own.get(), card, &peer), FCI_ICL_OK);
        peers.push_back(peer);
    }
    fci_icl_group* group = nullptr;
    EXPECT_EQ(fci_icl_group_form(own.get(), peers.data(), static_cast<std::uint32_t>(peers.size()),
                                 0, 1, group::Entry::kLong, &group),
              FCI_ICL_EUNREACHABLE);
    fci_icl_group_leave(own.get(), group);
}

}  // namespace
}  // namespace fci
