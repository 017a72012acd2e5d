// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/flag_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace fci::group {
namespace {

using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t bytes) {
    Bytes data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
    return data;
}

/// An entry with room for long data, and a line behind it that nobody may write.
struct Room {
    Entry lines[1 + Entry::kLong / sizeof(Entry) + 1]{};
    Entry& entry() { return lines[0]; }
    [[nodiscard]] bool is_behind_untouched() const {
        const auto& last = lines[1 + Entry::kLong / sizeof(Entry)];
        return std::ranges::all_of(last.line, [](std::byte one) { return one == std::byte{}; }) &&
               last.word == 0;
    }
};

TEST(Entry, word__is_a_number_above_a_length) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 53) - 1}) {
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, Entry::kLong, Entry::kNobody, Entry::kNoLength}) {
            const std::uint64_t word = Entry::word_of(number, bytes);
            EXPECT_EQ(Entry::number_of(word), number);
            EXPECT_EQ(Entry::length_of(word), bytes);
        }
    }
    EXPECT_GT(Entry::kNobody, Entry::kLong) << "no length of data means that there are none";
    EXPECT_GT(Entry::kNoLength, Entry::kNobody);
}

TEST(Entry, data__lie_in_the_line_as_long_as_they_fit) {
    Room room;
    Entry& entry = room.entry();
    const Entry& same = entry;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, Entry::kShort}) {
        EXPECT_EQ(entry.data(bytes), entry.line);
        EXPECT_EQ(same.data(bytes), entry.line);
    }
    for (const std::size_t bytes : {Entry::kShort + 1, Entry::kLong}) {
        EXPECT_EQ(entry.data(bytes), room.lines[1].line);
        EXPECT_EQ(same.data(bytes), room.lines[1].line);
    }
}

TEST(Entry, say__all_bytes_and_not_one_more) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, Entry::kShort - 1,
                                    Entry::kShort, Entry::kShort + 1, Entry::kLong}) {
        Room room;
        const Bytes data = pattern(bytes);
        room.entry().say(5, data.data(), bytes);
        EXPECT_EQ(room.entry().number(), 5u);
        EXPECT_EQ(room.entry().length(), bytes);
        const std::byte* const said = room.entry().data(bytes);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), said)) << bytes;
        EXPECT_TRUE(room.is_behind_untouched());
        if (bytes == Entry::kShort + 1) {
            EXPECT_EQ(said[bytes], std::byte{}) << "the next byte";
        }
    }
}

TEST(Entry, say__nothing_leaves_what_was_there) {
    Room room;
    const Bytes data = pattern(Entry::kShort);
    room.entry().say(1, data.data(), data.size());
    room.entry().say(2, nullptr, 0);
    EXPECT_EQ(room.entry().number(), 2u);
    EXPECT_EQ(room.entry().length(), 0u);
    room.entry().say(3, nullptr, Entry::kNoLength);
    EXPECT_EQ(room.entry().number(), 3u);
    EXPECT_EQ(room.entry().length(), Entry::kNoLength);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), room.entry().line));
}

TEST(Entry, say__who_is_gone_lies_where_data_would) {
    Room room;
    const unsigned rank = 0x01020304;
    room.entry().say(9, &rank, Entry::kNobody);
    EXPECT_EQ(room.entry().length(), Entry::kNobody);
    EXPECT_EQ(room.entry().who_is_gone(), rank);
    EXPECT_EQ(room.entry().line[sizeof rank], std::byte{}) << "a rank and no more";
}

/// The table of so many, in memory of just its size.
struct Made {
    Made(unsigned members, std::size_t its_longest)
        : bytes(FlagTable::bytes(members, its_longest)),
          memory(new Entry[bytes / sizeof(Entry) + 1]),
          table(reinterpret_cast<std::byte*>(memory.get()), members, its_longest) {
        std::memset(static_cast<void*>(memory.get()), 0xff, bytes + sizeof(Entry));
    }
    [[nodiscard]] std::size_t offset(const void* at) const {
        return static_cast<std::size_t>(static_cast<const std::byte*>(at) - table.memory());
    }
    std::size_t bytes;
    std::unique_ptr<Entry[]> memory;
    FlagTable table;
};

TEST(FlagTable, parts__each_has_room_of_its_own_and_the_table_ends_with_the_last) {
    for (const unsigned members : {1u, 2u, 3u, kMembersMost}) {
        for (const std::size_t longest : {Entry::kShort, Entry::kLong}) {
            const Made made(members, longest);
            const std::size_t entry = longest == Entry::kShort ? 64 : 64 + Entry::kLong;
            std::vector<std::pair<std::size_t, std::size_t>> parts{{0, sizeof(TableHead)}};
            EXPECT_EQ(made.offset(&made.table.head()), 0u);
            for (unsigned rank = 0; rank < members; ++rank) {
                parts.emplace_back(made.offset(&made.table.entry(rank, 0)), entry);
                parts.emplace_back(made.offset(&made.table.entry(rank, 1)), entry);
                parts.emplace_back(made.offset(&made.table.past(rank)) - Entry::kShort, 64);
            }
            for (unsigned slot = 0; slot < kSlots; ++slot) {
                parts.emplace_back(made.offset(&made.table.said(slot)), entry);
            }
            parts.emplace_back(made.offset(&made.table.result()), entry);
            std::sort(parts.begin(), parts.end());
            std::size_t end = 0;
            for (const auto& [at, bytes] : parts) {
                EXPECT_EQ(at, end) << "of " << members << " members";
                end = at + bytes;
            }
            EXPECT_EQ(end, made.bytes);
        }
    }
}

TEST(FlagTable, entry__the_two_of_a_member_go_round) {
    const Made made(3, Entry::kShort);
    EXPECT_NE(&made.table.entry(1, 6), &made.table.entry(1, 7));
    EXPECT_EQ(&made.table.entry(1, 6), &made.table.entry(1, 8));
    EXPECT_EQ(&made.table.entry(1, 5), &made.table.entry(1, 7));
    EXPECT_NE(&made.table.entry(1, 5), &made.table.entry(2, 5));
}

TEST(FlagTable, longest__is_one_of_two) {
    EXPECT_EQ(Made(2, 0).table.longest(), Entry::kShort);
    EXPECT_EQ(Made(2, Entry::kShort).table.longest(), Entry::kShort);
    EXPECT_EQ(Made(2, Entry::kShort + 1).table.longest(), Entry::kLong);
    EXPECT_EQ(Made(2, Entry::kLong).table.longest(), Entry::kLong);
    EXPECT_EQ(FlagTable::bytes(2, Entry::kShort + 1), FlagTable::bytes(2, Entry::kLong));
}

TEST(FlagTable, is_there__where_it_has_memory) {
    EXPECT_FALSE(FlagTable().is_there());
    EXPECT_EQ(FlagTable().memory(), nullptr);
    const Made made(2, Entry::kShort);
    EXPECT_TRUE(made.table.is_there());
    EXPECT_EQ(made.table.memory(), reinterpret_cast<std::byte*>(made.memory.get()));
}

TEST(FlagTable, clear__nothing_was_said_in_it_and_nothing_behind_it_is_touched) {
    for (const std::size_t longest : {Entry::kShort, Entry::kLong}) {
        const Made made(3, longest);
        made.table.clear();
        const TableHead none{};
        EXPECT_EQ(std::memcmp(&made.table.head(), &none, sizeof none), 0);
        for (unsigned rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(made.table.entry(rank, 0).word, 0u);
            EXPECT_EQ(made.table.entry(rank, 1).word, 0u);
            EXPECT_EQ(made.table.past(rank), 0u);
        }
        for (unsigned slot = 0; slot < kSlots; ++slot) EXPECT_EQ(made.table.said(slot).word, 0u);
        EXPECT_EQ(made.table.result().word, 0u);
        EXPECT_EQ(made.memory[made.bytes / sizeof(Entry)].word, ~0ull);
    }
}

TEST(FlagTable, decide__the_first_one_does_for_all) {
    for (const auto first : {FlagTable::formed, FlagTable::refused, FlagTable::lost}) {
        const Made made(2, Entry::kShort);
        made.table.clear();
        EXPECT_EQ(made.table.outcome(), FlagTable::open);
        EXPECT_FALSE(made.table.is_refused());
        EXPECT_EQ(made.table.decide(first), first);
        for (const auto later : {FlagTable::formed, FlagTable::refused, FlagTable::lost}) {
            EXPECT_EQ(made.table.decide(later), first);
        }
        EXPECT_EQ(made.table.outcome(), first);
        EXPECT_EQ(made.table.is_refused(), first != FlagTable::formed);
    }
}

}  // namespace
}  // namespace fci::group
