// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/notes.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace fci::group {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kKey = 0xffff'ffff'ffff;  // the greatest one

constexpr auto kAll = std::tuple{
    TableOffer{kKey, {7, 4096}},
    CannotJoin{7, 63},
    HintUnheard{kKey, 9, Hears::lately, {}},
    HintLacking{kKey, 9},
    HintFollows{kKey, 9},
    LongProgress{kKey, 9, 1000, 200, 3000},
    LongLossy{kKey},
};

template <class Call>
void for_all(const Call& call) {
    std::apply([&](const auto&... records) { (call(records), ...); }, kAll);
}

template <NoteRecord R>
Bytes packed(const R& record) {
    const auto note = pack(record);
    return {note.bytes().begin(), note.bytes().end()};
}

template <NoteRecord R>
NoteKind kind_of_record(const R& record) {
    return kind_of(packed(record));
}

TEST(Notes, unpack__what_was_packed) {
    for_all([]<NoteRecord R>(const R& record) {
        const Bytes note = packed(record);
        EXPECT_EQ(note.size(), sizeof(NoteKind) + sizeof record);
        ASSERT_EQ(kind_of(note), R::kKind);
        const R again = unpack<R>(note);
        EXPECT_EQ(std::memcmp(&again, &record, sizeof record), 0);
    });
}

// Its bytes need not lie as those of a record must.
TEST(Notes, unpack__wherever_it_lies) {
    for_all([]<NoteRecord R>(const R& record) {
        Bytes shifted = packed(record);
        shifted.insert(shifted.begin(), std::byte{1});
        const auto note = std::span<const std::byte>(shifted).subspan(1);
        ASSERT_EQ(kind_of(note), R::kKind);
        EXPECT_EQ(packed(unpack<R>(note)), Bytes(note.begin(), note.end()));
    });
}

TEST(Notes, kind__is_first_and_each_has_its_own) {
    std::vector<std::byte> kinds;
    for_all([&](const auto& record) { kinds.push_back(packed(record)[0]); });
    for (unsigned i = 0; i < kinds.size(); ++i) {
        EXPECT_EQ(kinds[i], static_cast<std::byte>(1 + i)) << "as processes have agreed";
    }
}

TEST(Notes, kind__none_of_another_size) {
    for_all([]<NoteRecord R>(const R& record) {
        const Bytes note = packed(record);
        for (std::size_t bytes = 0; bytes < 2 * note.size(); ++bytes) {
            Bytes other = note;
            other.resize(bytes);
            EXPECT_EQ(kind_of(other), bytes == note.size() ? R::kKind : NoteKind::none) << bytes;
        }
    });
}

TEST(Notes, kind__none_that_is_unknown) {
    for_all([](const auto& record) {
        for (unsigned byte = 0; byte < sizeof(NoteKind); ++byte) {
            for (unsigned value = byte == 0 ? 8 : 1; value < 256; ++value) {
                Bytes note = packed(record);
                note[byte] = static_cast<std::byte>(value);
                EXPECT_EQ(kind_of(note), NoteKind::none) << byte << ": " << value;
            }
        }
        Bytes note = packed(record);
        note[0] = std::byte{0};
        EXPECT_EQ(kind_of(note), NoteKind::none);
    });
}

TEST(Notes, key__no_longer_than_a_match_takes) {
    const auto has_key = [](std::uint64_t key) {
        std::vector<bool> sound{kind_of_record(TableOffer{key, {7, 4096}}) != NoteKind::none,
                                kind_of_record(HintUnheard{key, 9, {}, {}}) != NoteKind::none,
                                kind_of_record(HintLacking{key, 9}) != NoteKind::none,
                                kind_of_record(HintFollows{key, 9}) != NoteKind::none,
                                kind_of_record(LongProgress{key, 9, 0, 0, 0}) != NoteKind::none,
                                kind_of_record(LongLossy{key}) != NoteKind::none};
        return sound;
    };
    EXPECT_EQ(has_key(0), std::vector<bool>(6, true));
    EXPECT_EQ(has_key(kKey), std::vector<bool>(6, true));
    EXPECT_EQ(has_key(kKey + 1), std::vector<bool>(6, false));
    EXPECT_EQ(has_key(~0ull), std::vector<bool>(6, false));
}

TEST(Notes, number__counts_from_one) {
    EXPECT_EQ(kind_of_record(HintUnheard{kKey, 0, {}, {}}), NoteKind::none);
    EXPECT_EQ(kind_of_record(HintLacking{kKey, 0}), NoteKind::none);
    EXPECT_EQ(kind_of_record(HintFollows{kKey, 0}), NoteKind::none);
    EXPECT_EQ(kind_of_record(LongProgress{kKey, 0, 0, 0, 0}), NoteKind::none);
    EXPECT_EQ(kind_of_record(HintLacking{kKey, ~0ull}), NoteKind::hint_lacking);
}

TEST(Notes, table_offer__that_there_is_none_says_no_place) {
    EXPECT_EQ(kind_of_record(TableOffer{kKey, {}}), NoteKind::table_offer);
    EXPECT_EQ(kind_of_record(TableOffer{kKey, {0, 64}}), NoteKind::none);
    EXPECT_EQ(kind_of_record(TableOffer{kKey, {1, ~0ull}}), NoteKind::table_offer)
        << "it is compared with what is there when it is joined";
}

TEST(Notes, cannot_join__a_table_that_has_a_name_and_such_a_rank) {
    EXPECT_EQ(kind_of_record(CannotJoin{0, 1}), NoteKind::none);
    EXPECT_EQ(kind_of_record(CannotJoin{1, kMembersMost}), NoteKind::none);
    EXPECT_EQ(kind_of_record(CannotJoin{1, ~0ull}), NoteKind::none);
    EXPECT_EQ(kind_of_record(CannotJoin{~0ull, 0}), NoteKind::cannot_join);
}

TEST(Notes, hint_unheard__one_of_three_and_nothing_behind) {
    const auto hears = [](unsigned value) {
        return kind_of_record(HintUnheard{kKey, 9, static_cast<Hears>(value), {}});
    };
    for (unsigned value = 0; value < 3; ++value) EXPECT_EQ(hears(value), NoteKind::hint_unheard);
    EXPECT_EQ(hears(3), NoteKind::none);
    EXPECT_EQ(hears(0xffff), NoteKind::none);
    for (unsigned i = 0; i < 3; ++i) {
        HintUnheard note{kKey, 9, Hears::never, {}};
        note.reserved[i] = 1;
        EXPECT_EQ(kind_of_record(note), NoteKind::none) << i;
    }
}

TEST(Notes, long_progress__no_more_than_a_long_broadcast_has) {
    EXPECT_EQ(kind_of_record(LongProgress{kKey, 9, UINT32_MAX, 0, ~0ull}),
              NoteKind::long_progress);
    EXPECT_EQ(kind_of_record(LongProgress{kKey, 9, 0, UINT32_MAX, 0}), NoteKind::long_progress);
    EXPECT_EQ(kind_of_record(LongProgress{kKey, 9, UINT32_MAX, 1, 0}), NoteKind::none);
    EXPECT_EQ(kind_of_record(LongProgress{kKey, 9, 1, UINT32_MAX, 0}), NoteKind::none);
    EXPECT_EQ(kind_of_record(LongProgress{kKey, 9, UINT32_MAX, UINT32_MAX, 0}), NoteKind::none);
}

}  // namespace
}  // namespace fci::group
