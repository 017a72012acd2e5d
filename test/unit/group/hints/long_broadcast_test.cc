// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/long_broadcast.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "test/unit/group/hints/bulk.h"

namespace fci::group {
namespace {

using test::Bytes;
using test::kGroupKey;
using test::kOne;
using test::kPiece;

constexpr int kAgain = FCI_ICL_EAGAIN, kDone = FCI_ICL_DONE, kPeer = FCI_ICL_EPEER,
              kTrunc = FCI_ICL_ETRUNC;
constexpr unsigned kNobody = FCI_ICL_NO_RANK;
constexpr Nanoseconds kMilli = 1'000'000;
constexpr std::size_t kBytes = 20 * kPiece + 3;
const std::vector<std::uint32_t> kHosts{0, 0, 1, 1, 2};  // by rank; 0, 2 and 4 speak

struct Job : test::Ends {
    explicit Job(const std::vector<std::uint32_t>& hosts = kHosts)
        : Ends(static_cast<unsigned>(hosts.size())), parts(hosts), rooms(hosts.size()) {
        for (unsigned rank = 0; rank < hosts.size(); ++rank) {
            const nhi::HintMember member{
                {test::kName, {}}, static_cast<std::uint16_t>(parts.of[rank]), hosts};
            all.push_back(
                std::make_unique<LongBroadcast>(messages(rank), hints(rank), member, kGroupKey,
                                                parts, Members{peers(rank), rank, kGroupKey, 0}));
            report(rank, *all[rank]);
        }
    }
    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(all.size()); }
    LongBroadcast& at(unsigned rank) { return *all[rank]; }
    [[nodiscard]] unsigned leader_of(unsigned rank) const {
        return parts.ranks[parts.of[rank]].front();
    }

    void next(unsigned its_root, std::size_t bytes = kBytes) {
        ++number;
        root = its_root;
        data = test::pattern(bytes, static_cast<unsigned>(number));
        for (Bytes& room : rooms) room.assign(bytes, std::byte{0});
        rooms[root] = data;
        answers.assign(size(), 0);
    }
    void begin(unsigned rank, bool expects = true) {
        if (expects) at(rank).expect(root, number, rooms[rank], 1);
        announce(rank, {data.size(), 1, static_cast<std::uint32_t>(hints(leader_of(root)).room)});
        EXPECT_EQ(at(rank).begin(root, number, rooms[rank], kDone, kNobody), kDone);
        answers[rank] = kAgain;
    }
    /// The short broadcast has brought it.
    void announce(unsigned rank, const LongBroadcast::Announcement& what) {
        std::memcpy(at(rank).announcing(root).data, &what, sizeof what);
    }
    void refuse(unsigned rank) {
        at(rank).refuse(root, number, kTrunc, kNobody);
        answers[rank] = kAgain;
    }
    int look(unsigned rank) {
        if (answers[rank] == kAgain && at(rank).advance()) answers[rank] = at(rank).code();
        return answers[rank];
    }
    /// Of those that have begun, as long as that takes, or so many looks.
    void run(unsigned most = 2000) {
        for (unsigned i = 0; i < most; ++i) {
            bool is_over = true;
            for (unsigned rank = 0; rank < size(); ++rank) {
                is_over = look(rank) != kAgain && is_over;
                if (!hints(rank).hinted.empty()) spoke.insert(rank);
                if (carries) carry(rank);
            }
            if (is_over) break;
            turn();
            wait(kMilli / 20);
        }
        settle();
    }
    /// Each member has ended with its code, and says whom it has lost.
    void ended(const std::vector<int>& codes, const std::vector<unsigned>& lost) {
        for (unsigned rank = 0; rank < size(); ++rank) {
            EXPECT_EQ(answers[rank], codes[rank]) << "rank " << rank;
            if (codes[rank] == 0) continue;  // it has gone
            EXPECT_EQ(at(rank).lost(), lost[rank]) << "rank " << rank;
            EXPECT_FALSE(at(rank).goes_on());
            EXPECT_FALSE(at(rank).is_busy());
            EXPECT_EQ(at(rank).waiting(), nullptr);
            EXPECT_TRUE(messages(rank).engine().arrived.empty()) << "rank " << rank;
            EXPECT_TRUE(codes[rank] != kDone || rooms[rank] == data) << "rank " << rank;
        }
    }
    void ended() { ended(std::vector<int>(size(), kDone), std::vector<unsigned>(size(), kNobody)); }
    /// Another one, of all.
    void broadcast(unsigned its_root, std::size_t bytes = kBytes) {
        next(its_root, bytes);
        for (unsigned rank = 0; rank < size(); ++rank) begin(rank);
        run();
        ended();
    }
    [[nodiscard]] std::uint64_t lacked() {
        std::uint64_t sum = 0;
        for (unsigned rank = 0; rank < size(); ++rank) sum += counters(rank).hints_lacked;
        return sum;
    }
    bool bring(unsigned rank) {
        return hints(rank).bring(
            {test::kName, number, 0, static_cast<std::uint32_t>(data.size()), 0},
            std::span(data).first(kPiece));
    }

    const Parts parts;
    std::vector<std::unique_ptr<LongBroadcast>> all;
    std::uint64_t number = 0;
    unsigned root = 0;
    Bytes data;
    std::vector<Bytes> rooms;
    std::vector<int> answers;  // 0: it has not begun
    std::set<unsigned> spoke;  // by hints
    bool carries = true;
};

TEST(LongBroadcast, data__from_each_root_to_all) {
    Job it;
    for (unsigned root = 0; root < it.size(); ++root) {
        it.spoke.clear();
        it.broadcast(root);
        EXPECT_EQ(it.spoke, std::set<unsigned>{it.leader_of(root)});
    }
    EXPECT_EQ(it.lacked(), 0u);
}

TEST(LongBroadcast, data__by_messages_where_no_hint_comes) {
    Job it;
    it.carries = false;
    for (unsigned root = 0; root < it.size(); ++root) it.broadcast(root);
    EXPECT_NE(it.lacked(), 0u);
}

TEST(LongBroadcast, window__its_root_hears_in_time_what_has_come) {
    Job it({0, 1, 2});
    for (unsigned rank = 0; rank < it.size(); ++rank) it.hints(rank).room = kOne;
    const Nanoseconds begun = it.world.now();
    it.broadcast(0, 4 * kOne);
    EXPECT_LT(it.world.now() - begun, 20 * kMilli);
    EXPECT_EQ(it.lacked(), 0u);
}

TEST(LongBroadcast, root__that_does_not_speak_is_through_first) {
    Job it({0, 0, 1});
    it.next(1);
    for (unsigned rank = 0; rank < it.size(); ++rank) it.begin(rank);
    EXPECT_TRUE(it.at(1).goes_on());
    EXPECT_EQ(it.at(2).waiting(), nullptr);
    for (unsigned rank = 0; rank < it.size(); ++rank) EXPECT_EQ(it.look(rank), kAgain);
    EXPECT_EQ(it.at(0).waiting(), nullptr) << "for a message";
    EXPECT_EQ(it.at(1).waiting(), nullptr);
    EXPECT_EQ(it.at(1).waits()[0], nullptr);
    EXPECT_EQ(it.at(2).waiting(), it.at(2).waits()[1]);
    EXPECT_TRUE(it.at(0).is_busy());
    EXPECT_TRUE(it.at(1).is_busy());
    it.settle();
    EXPECT_TRUE(it.hints(0).hinted.empty());
    EXPECT_EQ(it.look(1), kDone);
    EXPECT_EQ(it.look(0), kAgain);
    EXPECT_FALSE(it.hints(0).hinted.empty());
    ASSERT_NE(it.at(0).waiting(), nullptr);
    EXPECT_EQ(it.at(0).waiting(), it.at(0).waits()[0]);
    it.run();
    it.ended();
}

TEST(LongBroadcast, expected__before_it_is_announced) {
    Job it({0, 0, 1, 1});
    it.next(1);
    for (unsigned rank = 0; rank < it.size(); ++rank) {
        it.at(rank).expect(1, it.number, it.rooms[rank], 1);
        EXPECT_EQ(it.bring(rank), rank == 2) << "one that speaks for another host";
        it.at(rank).withdraw();
        EXPECT_FALSE(it.bring(rank));
    }
    it.at(2).expect(1, it.number, it.rooms[2], 1);
    EXPECT_TRUE(it.bring(2));
    it.wait(10 * kMilli);
    for (unsigned rank = 0; rank < it.size(); ++rank) it.begin(rank, false);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(it.look(2), kAgain);
    EXPECT_EQ(it.lacked(), 0u) << "from now on it is waited for";
    it.run();
    it.ended();
    EXPECT_EQ(it.lacked(), 0u);
}

TEST(LongBroadcast, expected__elsewhere_in_memory) {
    Job it({0, 1});
    it.next(0);
    Bytes other(it.data.size());
    it.at(1).expect(0, it.number, other, 1);
    for (const unsigned rank : {0u, 1u}) it.begin(rank, false);
    EXPECT_EQ(it.look(1), kAgain);
    it.run();
    it.ended();
    EXPECT_EQ(other, Bytes(other.size()));
}

/// One rank refuses it: before the others come, or when they have waited for long, and all goes on.
void refused(unsigned root, unsigned by, const std::vector<int>& codes,
             const std::vector<unsigned>& lost) {
    for (const bool is_late : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "root " << root << ", by " << by << is_late);
        Job it;
        it.broadcast(root);
        it.next(root);
        if (!is_late) {
            it.refuse(by);
            it.run(10);
        }
        for (unsigned rank = 0; rank < it.size(); ++rank) {
            if (rank != by) it.begin(rank);
        }
        if (is_late) {
            it.run(400);
            it.refuse(by);
        }
        it.run();
        it.ended(codes, lost);
        if (::testing::Test::HasFailure()) return;
        it.broadcast(root);
        it.broadcast(4 - root);
    }
}

TEST(LongBroadcast, refused__by_one_that_only_hears) {
    refused(0, 3, {kDone, kDone, kDone, kTrunc, kDone},
            {kNobody, kNobody, kNobody, kNobody, kNobody});
    refused(0, 1, {kDone, kTrunc, kDone, kDone, kDone},
            {kNobody, kNobody, kNobody, kNobody, kNobody});
}

TEST(LongBroadcast, refused__by_one_that_speaks_for_another_host) {
    refused(0, 2, {kDone, kDone, kTrunc, kPeer, kDone}, {kNobody, kNobody, kNobody, 2, kNobody});
}

TEST(LongBroadcast, refused__by_one_that_speaks_for_the_root) {
    refused(1, 0, {kTrunc, kDone, kPeer, kPeer, kPeer}, {kNobody, kNobody, 0, 2, 0});
}

TEST(LongBroadcast, refused__by_the_root) {
    refused(1, 1, {kPeer, kTrunc, kPeer, kPeer, kPeer}, {1, kNobody, 0, 2, 0});
    refused(0, 0, {kTrunc, kPeer, kPeer, kPeer, kPeer}, {kNobody, 0, 0, 2, 0});
}

TEST(LongBroadcast, refused__one_who_asks_for_it_late_hears_that_there_is_nothing) {
    Job it;
    it.broadcast(0);
    it.next(0);
    it.refuse(0);
    it.run(10);
    for (const std::uint64_t asked : {it.number - 1, it.number, it.number + 1}) {
        const std::uint64_t match = match_of(kGroupKey, asked, true);
        it.at(0).on_progress(it.peers(0)[2], {kGroupKey, asked, 0, 0, 0});
        EXPECT_FALSE(it.take(2, 0, match).has_value()) << "nothing is wanted";
        it.at(1).on_progress(it.peers(1)[2], {kGroupKey, asked, 0, kPiece, 0});
        EXPECT_FALSE(it.take(2, 1, match).has_value()) << "it does not speak";
        it.at(0).on_progress(it.peers(0)[2], {kGroupKey, asked, 0, kPiece, 0});
        const auto message = it.take(2, 0, match);
        EXPECT_EQ(message.has_value(), asked <= it.number) << asked - it.number;
        EXPECT_TRUE(!message || message->is_nothing);
    }
}

/// One rank dies, before it or while all are in it.
void died(unsigned root, unsigned victim, std::vector<int> codes,
          const std::vector<unsigned>& lost) {
    codes[victim] = 0;
    for (const bool is_before : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "root " << root << ", " << victim << is_before);
        Job it;
        it.next(root);
        if (is_before) it.kill(victim);
        for (unsigned rank = 0; rank < it.size(); ++rank) it.begin(rank);
        if (!is_before) {
            for (unsigned rank = 0; rank < it.size(); ++rank) EXPECT_EQ(it.look(rank), kAgain);
            it.kill(victim);
        }
        it.answers[victim] = 0;
        it.hints(victim).hinted.clear();
        it.run();
        it.ended(codes, lost);
    }
}

TEST(LongBroadcast, died__the_root) {
    died(0, 0, {0, kPeer, kPeer, kPeer, kPeer}, {0, 0, 0, 2, 0});
    died(1, 1, {kPeer, 0, kPeer, kPeer, kPeer}, {1, 0, 0, 2, 0});
}

TEST(LongBroadcast, died__one_that_speaks_for_another_host) {
    died(0, 2, {kPeer, kDone, 0, kPeer, kDone}, {2, kNobody, 0, 2, kNobody});
    died(1, 4, {kPeer, kDone, kDone, kDone, 0}, {4, kNobody, kNobody, kNobody, 0});
}

TEST(LongBroadcast, died__one_that_only_hears) {
    died(0, 3, {kDone, kDone, kDone, 0, kDone}, {kNobody, kNobody, kNobody, 0, kNobody});
    died(0, 1, {kDone, 0, kDone, kDone, kDone}, {kNobody, 0, kNobody, kNobody, kNobody});
}

TEST(LongBroadcast, given_up__what_is_under_way_into_memory_ends) {
    Job it;
    it.next(0);
    for (const unsigned rank : {1u, 2u}) it.begin(rank);
    for (unsigned i = 0; i < 3; ++i) {
        for (const unsigned rank : {1u, 2u}) EXPECT_EQ(it.look(rank), kAgain);
        it.wait(2 * kMilli);
    }
    for (const unsigned rank : {1u, 2u}) {
        EXPECT_TRUE(it.at(rank).is_busy());
        it.at(rank).give_up();
    }
    it.settle();
    for (const unsigned rank : {1u, 2u}) EXPECT_FALSE(it.at(rank).is_busy());
    EXPECT_FALSE(it.bring(2));
}

TEST(LongBroadcast, busy__while_what_was_asked_for_is_read) {
    Job it({0, 1});
    it.next(0);
    it.begin(0);
    EXPECT_EQ(it.look(0), kAgain);
    EXPECT_FALSE(it.at(0).is_busy());
    it.at(0).on_progress(it.peers(0)[1], {kGroupKey, it.number, 0, kBytes, 0});
    EXPECT_EQ(it.look(0), kAgain);
    EXPECT_TRUE(it.at(0).is_busy());
    EXPECT_TRUE(it.take(1, 0, match_of(kGroupKey, it.number, true)).has_value());
    EXPECT_FALSE(it.at(0).is_busy());
}

TEST(LongBroadcast, lossy__is_known_to_the_one_that_speaks_for_the_root) {
    Job it;
    it.carries = false;
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_FALSE(it.at(0).is_lossy());
        it.broadcast(1);
    }
    for (unsigned rank = 0; rank < it.size(); ++rank) EXPECT_EQ(it.at(rank).is_lossy(), rank == 0);
    it.broadcast(2);
    EXPECT_FALSE(it.at(0).is_lossy()) << "this one came from elsewhere";
}

}  // namespace
}  // namespace fci::group
