// SPDX-License-Identifier: BSD-3-Clause
// Notes of others, which may say anything.
#include "fci_core/group/groups.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "fci_core/group/hosts/notes.h"
#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr int kNone = FCI_ICL_EUNREACHABLE;


const TableHead& head_of(const Group& group) {
    return group.table->table().head();
}

/// Three that have met, of whom rank 0 has the table and the third has not come.
class Hostile : public testing::Test {
protected:
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form(0), kWaits);
        all.settle();
        ASSERT_EQ(group.form(1), kWaits);
    }
    [[nodiscard]] Table table() {
        const auto at = static_cast<std::uint64_t>(gcs::Layout::kBoard);
        return {head_of(group[0]).name, at};
    }
    template <NoteRecord R>
    void send(unsigned from, unsigned to, const R& note) {
        send_note(*all[from].messages, all[from].peers[to], note);
        all.settle();
    }

    Processes all{3};
    Formed group{all};
};

TEST_F(Hostile, cannot_join__by_that_member_and_of_that_table_only) {
    const CannotJoin right{table().name, 2};
    send(2, 0, CannotJoin{right.name + 1, 2});
    send(2, 0, CannotJoin{right.name, 1});
    send(2, 0, CannotJoin{right.name, 3});
    send(2, 0, CannotJoin{right.name, ~0ull});
    EXPECT_EQ(head_of(group[0]).outcome, FlagTable::open);
    EXPECT_EQ(group.form(0), kWaits);
    send(2, 0, right);
    EXPECT_EQ(head_of(group[0]).outcome, FlagTable::refused);
    EXPECT_EQ(group.form(0), kNone);
    EXPECT_EQ(group.form(1), kNone);
    const TableHead* const place = &head_of(group[0]);
    group.leave(0);
    group.leave(1);
    Formed next(all, 3);
    EXPECT_EQ(next.form(0), kWaits);
    EXPECT_EQ(&head_of(next[0]), place) << "all have answered and nobody is inside";
    group.leave(2);
}

TEST_F(Hostile, cannot_join__wakes_who_sleeps_over_it) {
    progress::Waits waits;
    EXPECT_TRUE(waits.add(group[1].table->wait()));
    const unsigned before = all.raised(1);
    send(2, 0, CannotJoin{table().name, 2});
    EXPECT_EQ(all.raised(1), before + 1);
    progress::Waits::remove(group[1].table->wait());
}

TEST_F(Hostile, note__of_another_length_is_none) {
    const auto note = pack(CannotJoin{table().name, 2});
    const auto bytes = note.bytes();
    EXPECT_GE(
        all[2].messages->send(mp::active_message(all[2].peers[0], mp::ActiveMessages::kOfGroups, 0,
                                                 bytes.first(bytes.size() - 8), {}),
                              {}, nullptr),
        0);
    all.settle();
    EXPECT_EQ(head_of(group[0]).outcome, FlagTable::open);
}

TEST_F(Hostile, note__of_hints_where_there_are_no_levels) {
    send(2, 0, HintUnheard{0, 5, Hears::never, {}});
    send(2, 0, HintLacking{0, 5});
    send(2, 0, HintFollows{0, 5});
    send(2, 0, LongProgress{0, 1, 2, 3, 4});
    send(2, 0, LongLossy{0});
    EXPECT_EQ(group.form(0), kWaits);
    EXPECT_EQ(group.form(2), kDone);
}

/// Three leaders of a group that has hints, of whom the third sends notes to the first.
class Noted : public testing::Test {
protected:
    static constexpr std::uint64_t kKey = 5;
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(3, kDone));
        ASSERT_TRUE(group[0].run->hinting().works());
        all[2].messages->active_messages().set_handler(
            mp::ActiveMessages::kOfGroups,
            [](void* user, nhi::PeerId source, const void* header, std::size_t bytes, const void*,
               std::uint64_t, mp::ReceiveTarget*) {
                auto& own = *static_cast<Noted*>(user);
                EXPECT_EQ(source, own.all[2].peers[0]);
                own.answers.push_back(kind_of({static_cast<const std::byte*>(header), bytes}));
            },
            this);
    }
    void TearDown() override {
        group.leave();
        all.settle();
    }
    /// So often hints were turned off since.
    template <NoteRecord R>
    std::uint64_t send(const R& note) {
        const std::uint64_t before = all[0].counters().hints_off;
        send_note(*all[2].messages, all[2].peers[0], note);
        all.settle();
        return all[0].counters().hints_off - before;
    }

    Processes all{3, {.per_host = 1, .mapped = true, .hints = {.work = true}}};
    Formed group{all, kKey};
    std::vector<NoteKind> answers;  // that the third one got
};

TEST_F(Noted, note__that_something_is_lacking_is_answered_and_the_answer_is_not) {
    EXPECT_EQ(send(HintLacking{kKey + 1, 1}), 0u);
    EXPECT_EQ(answers, std::vector<NoteKind>()) << "of another group";
    EXPECT_EQ(send(HintFollows{kKey, 1}), 0u);
    EXPECT_EQ(answers, std::vector<NoteKind>());
    EXPECT_EQ(send(HintLacking{kKey, 1}), 0u);
    EXPECT_EQ(answers, std::vector<NoteKind>{NoteKind::hint_follows});
}

TEST_F(Noted, note__that_long_ones_are_lossy) {
    EXPECT_EQ(send(LongLossy{kKey + 1}), 0u);
    // In a child, as a process says that once only, and other tests wait for it.
    const auto is_taken = [&] {
        return send(LongLossy{kKey}) == 1 && group[0].run->hinting().window(100'000) == 0;
    };
    EXPECT_EXIT(std::_Exit(is_taken() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(Noted, note__that_hints_are_unheard) {
    for (const std::uint64_t key : {kKey + 1, kKey}) {
        EXPECT_EQ(send(HintUnheard{key, 1, Hears::formerly, {}}), 0u);
        EXPECT_EQ(send(HintUnheard{key, 2, Hears::formerly, {}}), key == kKey ? 1u : 0u);
    }
    EXPECT_EQ(answers, std::vector<NoteKind>());
}

/// The owner's words about its table are checked against what is there.
class Offered : public testing::Test {
protected:
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form(0), kWaits);
        all.settle();
    }
    TableHead& head() { return group[0].table->table().head(); }
    void expect_refused() {
        EXPECT_EQ(group.form(1), kNone);
        EXPECT_FALSE(group[1].table->table().is_there());
        all.settle();
        EXPECT_EQ(group.form(0), kNone) << "and hears of it";
    }

    Processes all{2};
    Formed group{all};
};

TEST_F(Offered, table__of_another_name) {
    ++head().name;
    expect_refused();
}

TEST_F(Offered, table__of_other_members) {
    ++head().members;
    expect_refused();
}

TEST_F(Offered, table__of_any_other_length_is_a_short_one) {
    head().longest = 17;
    EXPECT_EQ(group.form(1), kWaits);
    EXPECT_EQ(group[1].longest(), Entry::kShort);
}

// It is like one, but does not begin with a line.
TEST_F(Offered, table__between_two_lines) {
    constexpr std::size_t kAway = 2 * gcs::Layout::kBoardLeast + 8;
    auto* const memory = reinterpret_cast<std::byte*>(&head());
    std::memcpy(memory + kAway, memory, sizeof(TableHead));
    const auto board = static_cast<std::uint64_t>(gcs::Layout::kBoard);
    send_note(*all[0].messages, all[0].peers[1], TableOffer{0, {head().name, board + kAway}});
    all.settle();
    EXPECT_EQ(group.form(1), kNone);
}

TEST_F(Offered, table__that_is_not_where_one_can_be) {
    const std::uint64_t name = head().name;
    const auto board = static_cast<std::uint64_t>(gcs::Layout::kBoard);
    for (const std::uint64_t at : {board + 8, board + 4 * gcs::Layout::kBoardLeast,
                                   board + 4 * gcs::Layout::kBoardLeast - 64, std::uint64_t{0}}) {
        send_note(*all[0].messages, all[0].peers[1], TableOffer{0, {name, at}});
        all.settle();
        EXPECT_EQ(group.form(1), kNone);
        EXPECT_FALSE(group[1].table->table().is_there());
    }
}

}  // namespace
}  // namespace fci::group::test
