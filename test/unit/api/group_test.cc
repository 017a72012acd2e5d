// Collectives by flag tables, through the C face: contexts of one process, stepped one by one.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "fci_core/api/icl.h"
#include "fci_core/base/prng.h"
#include "fci_core/group/flag_table.h"
#include "test/unit/api/context.h"
#include "test/unit/limit.h"

namespace fci {
namespace {

constexpr std::uint64_t kJob = 0x4719;

std::uint64_t sleeps(const fci_icl_context* context) {
    for (unsigned i = 0;; ++i) {
        if (std::string_view(fci_icl_counter_name(i, nullptr)) == "sleeps") {
            return fci_icl_counter(context, i);
        }
    }
}

/// Processes that have all met; rank 0 offers the tables.
class Job {
public:
    struct Member {
        Context context;
        std::vector<fci_icl_peer> peers;  // by rank
        fci_icl_group* group = nullptr;
    };

    explicit Job(unsigned size, std::uint32_t local_ranks = 0) {
        for (unsigned rank = 0; rank < size; ++rank) {
            members.push_back({open_context(kJob, local_ranks), {}, nullptr});
        }
        for (Member& one : members) {
            for (Member& other : members) one.peers.push_back(peer_of(one, other));
        }
        for (Member& one : members) {
            for (const fci_icl_peer peer : one.peers) {
                if (peer == 0) continue;
                EXPECT_GE(fci_icl_send_bytes(one.context.get(), peer, 0, 0, 1, 0, nullptr, 0,
                                             nullptr, nullptr),
                          0);
            }
        }
        for (Member& one : members) {
            for (unsigned i = 1; i < size; ++i) take(one);
        }
    }

    void turn() {
        for (Member& one : members) {
            if (one.context) fci_icl_progress(one.context.get());
        }
    }
    fci_icl_table join() {
        fci_icl_table table{};
        const auto size = static_cast<std::uint32_t>(members.size());
        fci_icl_group_offer(members[0].context.get(), size, &table);
        if (table.name == 0) return table;
        for (std::uint32_t rank = 0; rank < size; ++rank) {
            Member& one = members[rank];
            EXPECT_EQ(fci_icl_group_join(one.context.get(), one.peers.data(), size, rank, 0, &table,
                                         &one.group),
                      FCI_ICL_OK);
        }
        return table;
    }
    void leave() {
        for (Member& one : members) {
            if (one.context) fci_icl_group_leave(one.context.get(), one.group);
        }
    }
    int barrier(unsigned rank) {
        return fci_icl_group_barrier(members[rank].context.get(), members[rank].group);
    }

    std::vector<Member> members;

private:
    static fci_icl_peer peer_of(const Member& from, const Member& to) {
        unsigned char card[FCI_ICL_CARD_BYTES];
        fci_icl_card(to.context.get(), card);
        fci_icl_peer peer = 0;
        EXPECT_EQ(fci_icl_add_peer(from.context.get(), card, &peer), FCI_ICL_OK);
        return peer;
    }
    void take(Member& one) {
        fci_icl_status status{};
        const auto is_here = [&] {
            return fci_icl_probe(one.context.get(), FCI_ICL_ANY_SOURCE, 0, 1, 0, &status,
                                 nullptr) == FCI_ICL_OK;
        };
        for (Limit limit("a message of each to each"); !is_here() && limit.holds();) turn();
        EXPECT_EQ(fci_icl_receive_bytes(one.context.get(), FCI_ICL_ANY_SOURCE, 0, 1, 0, nullptr, 0,
                                        nullptr, nullptr, nullptr),
                  FCI_ICL_DONE);
    }
};

bool is_waiting(int answer) {
    return answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN;
}

/// Random collectives, the members stepped in random order: each gets what it should, and nobody
/// is through before all have come, where that is promised.
class Program {
public:
    Program(Job& job, std::uint64_t seed) : job_(job), prng_(seed), at_(job.members.size()) {
        for (unsigned i = 0; i < kCalls; ++i) {
            calls_[i] = {static_cast<Kind>(prng_.below(3)),
                         static_cast<unsigned>(prng_.below(at_.size())),
                         static_cast<std::size_t>(prng_.below(FCI_ICL_GROUP_BYTES + 1))};
        }
    }
    void run() {
        const auto behind = [](unsigned at) { return at != kCalls; };
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
    enum class Kind : std::uint8_t { barrier, broadcast, gather };
    struct Call {
        Kind kind;
        unsigned root;
        std::size_t bytes;
    };
    static constexpr unsigned kCalls = 300;

    static unsigned char byte(unsigned call, unsigned rank, std::size_t i) {
        return static_cast<unsigned char>(call * 31 + rank * 7 + i);
    }
    void fill(unsigned call, unsigned rank) {
        for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = byte(call, rank, i);
    }
    void step(unsigned rank) {
        Job::Member& one = job_.members[rank];
        fci_icl_context* const context = one.context.get();
        const unsigned number = at_[rank];
        const Call& call = calls_[number];
        int answer = FCI_ICL_EINVAL;
        std::size_t bytes = call.bytes;
        fill(number, rank);
        if (call.kind == Kind::barrier) {
            answer = job_.barrier(rank);
        } else if (call.kind == Kind::gather) {
            answer = fci_icl_group_gather(context, one.group, data_.data(), bytes);
        } else {
            if (call.root != rank) data_.fill(0);
            answer = fci_icl_group_broadcast(context, one.group, call.root, data_.data(), &bytes);
        }
        if (answer == FCI_ICL_EAGAIN) fci_icl_progress(context);
        if (is_waiting(answer)) return;
        ASSERT_EQ(answer, FCI_ICL_DONE);
        if (call.kind == Kind::broadcast) {
            ASSERT_EQ(bytes, call.bytes);
            for (std::size_t i = 0; i < bytes; ++i) {
                ASSERT_EQ(data_[i], byte(number, call.root, i));
            }
        } else {
            const auto least = *std::min_element(at_.begin(), at_.end());
            ASSERT_GE(least + (begun(least) ? 1 : 0), number) << "not all have come";
        }
        if (call.kind == Kind::gather) check_gathered(number, one);
        ++at_[rank];
    }
    /// Somebody may have come to the call without being through.
    bool begun(unsigned least) const { return least < kCalls; }
    void check_gathered(unsigned number, const Job::Member& one) {
        for (unsigned rank = 0; rank < at_.size(); ++rank) {
            std::size_t bytes = 0;
            const auto* const data =
                static_cast<const unsigned char*>(fci_icl_group_gathered(one.group, rank, &bytes));
            ASSERT_EQ(bytes, calls_[number].bytes);
            for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(data[i], byte(number, rank, i));
        }
    }

    Job& job_;
    Prng prng_;
    std::array<Call, kCalls> calls_{};
    std::vector<unsigned> at_;  // the call that each is in
    std::array<unsigned char, FCI_ICL_GROUP_BYTES> data_{};
};

TEST(group, collectives__of_random_programs_by_groups_of_all_sizes) {
    for (const unsigned size : {1u, 2u, 3u, 7u, 16u}) {
        Job job(size);
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            ASSERT_NE(job.join().name, 0u);
            Program(job, size * 100 + seed).run();
            ASSERT_FALSE(testing::Test::HasFailure()) << size << " members, seed " << seed;
            job.leave();
        }
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
    EXPECT_EQ(fci_icl_group_broadcast(job.members[1].context.get(), job.members[1].group, 1,
                                      said.data(), &bytes),
              FCI_ICL_DONE);
    bytes = 4;
    EXPECT_EQ(fci_icl_group_broadcast(job.members[0].context.get(), job.members[0].group, 1,
                                      heard.data(), &bytes),
              FCI_ICL_DONE);
    EXPECT_EQ(bytes, said.size());
    EXPECT_EQ(heard[0], '?');
}

// Five at a time; one is free again when all members have left it, and its numbers go on.
TEST(group, offer__as_many_tables_as_there_are) {
    Job job(2);
    std::vector<std::array<fci_icl_group*, 2>> groups;
    std::uint64_t first = 0;
    for (;;) {
        const fci_icl_table table = job.join();
        if (table.name == 0) break;
        if (groups.empty()) first = table.name;
        EXPECT_EQ(table.number, 0u);
        groups.push_back({job.members[0].group, job.members[1].group});
    }
    EXPECT_EQ(groups.size(), group::kTablesMost);
    fci_icl_group_leave(job.members[0].context.get(), groups[0][0]);
    EXPECT_EQ(job.join().name, 0u) << "one member is still there";
    fci_icl_group_leave(job.members[1].context.get(), groups[0][1]);
    const fci_icl_table again = job.join();
    EXPECT_EQ(again.name, first);
    EXPECT_GT(again.number, 0u);
    EXPECT_TRUE(is_waiting(job.barrier(0)));
    EXPECT_EQ(job.barrier(1), FCI_ICL_DONE);
}

TEST(group, join__of_what_is_no_table) {
    Job job(2);
    Job::Member& one = job.members[1];
    for (const std::uint64_t name : {std::uint64_t{0}, std::uint64_t{6}, ~std::uint64_t{0}}) {
        const fci_icl_table table{name, 0};
        EXPECT_EQ(
            fci_icl_group_join(one.context.get(), one.peers.data(), 2, 1, 0, &table, &one.group),
            FCI_ICL_EUNREACHABLE);
    }
    const fci_icl_table table{1, 0};
    EXPECT_EQ(fci_icl_group_join(one.context.get(), one.peers.data(), 2, 0, 0, &table, &one.group),
              FCI_ICL_EINVAL)
        << "the other one's rank";
}

// Words that a member has scribbled over.
TEST(group, broadcast__of_a_length_that_cannot_be) {
    Job job(2);
    const fci_icl_table table = job.join();
    std::array<char, FCI_ICL_GROUP_BYTES> data{};
    std::size_t bytes = data.size();
    ASSERT_EQ(fci_icl_group_broadcast(job.members[0].context.get(), job.members[0].group, 0,
                                      data.data(), &bytes),
              FCI_ICL_DONE);
    std::size_t shown = 0;
    const auto* const mine =
        static_cast<const group::Entry*>(fci_icl_group_gathered(job.members[0].group, 0, &shown));
    const auto* const brought = reinterpret_cast<const group::Entry(*)[2]>(mine);
    auto& there = const_cast<group::FlagTable&>(*reinterpret_cast<const group::FlagTable*>(
        reinterpret_cast<const std::byte*>(brought) - offsetof(group::FlagTable, brought)));
    there.said[(table.number + 1) % group::kKept].word |= 63;
    there.brought[0][0].word = ~std::uint64_t{0};
    EXPECT_EQ(fci_icl_group_broadcast(job.members[1].context.get(), job.members[1].group, 0,
                                      data.data(), &bytes),
              FCI_ICL_DONE);
    EXPECT_EQ(bytes, 63u) << "and nothing is copied";
    EXPECT_LE((fci_icl_group_gathered(job.members[1].group, 0, &shown), shown),
              FCI_ICL_GROUP_BYTES);
}

TEST(group, step__of_a_wait_for_messages) {
    struct Story {
        fci_icl_context* context;
        int looks = 0, pending = 1;
    };
    const Context context = open_context(kJob);
    Story story{context.get()};
    fci_icl_condition wait{[](void* user) {
                               Story& story = *static_cast<Story*>(user);
                               return static_cast<int>(++story.looks > 1000 || story.pending == 0);
                           },
                           [](void*) { return 1; }, &story, 0};
    int steps = 0, asleep = 0, answer = 0;
    while ((answer = fci_icl_step(context.get(), &wait)) != FCI_ICL_DONE) {
        ASSERT_TRUE(is_waiting(answer));
        asleep += answer == FCI_ICL_EAGAIN;
        ASSERT_LT(++steps, 1000);
    }
    EXPECT_GT(steps - asleep, 10);
    EXPECT_GT(asleep, 10) << "it took too long";
    story.pending = 0;
    EXPECT_EQ(fci_icl_step(context.get(), &wait), FCI_ICL_DONE);
}

}  // namespace
}  // namespace fci
