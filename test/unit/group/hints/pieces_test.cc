// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/pieces.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace fci::group {
namespace {

using Range = std::pair<std::size_t, std::size_t>;  // first byte and length

constexpr std::size_t kPiece = Pieces::kBytes;

Range range(const Pieces::Range& range) {
    return {range.at, range.bytes};
}

std::optional<Range> gap(Pieces& pieces) {
    const auto found = pieces.next_gap();
    if (!found) return {};
    return range(*found);
}

/// Of so many bytes; none is here.
Pieces of(std::size_t bytes) {
    Pieces pieces;
    pieces.begin(bytes);
    return pieces;
}

TEST(Pieces, count__of_the_last_one_which_may_be_short) {
    EXPECT_EQ(of(1).left(), 1u);
    EXPECT_EQ(of(kPiece).left(), 1u);
    EXPECT_EQ(of(kPiece + 1).left(), 2u);
    EXPECT_EQ(of(3 * kPiece).left(), 3u);
}

TEST(Pieces, hint__is_a_whole_piece_or_none) {
    Pieces pieces = of(2 * kPiece + 5);
    EXPECT_FALSE(pieces.hear(1, kPiece));
    EXPECT_FALSE(pieces.hear(kPiece / 2, kPiece));
    EXPECT_FALSE(pieces.hear(0, kPiece - 1));
    EXPECT_FALSE(pieces.hear(0, kPiece + 1));
    EXPECT_FALSE(pieces.hear(2 * kPiece, kPiece));
    EXPECT_FALSE(pieces.hear(2 * kPiece, 4));
    EXPECT_FALSE(pieces.hear(3 * kPiece, kPiece));
    EXPECT_FALSE(pieces.hear(3 * kPiece, 0));
    EXPECT_FALSE(of(2 * kPiece).hear(2 * kPiece, 0)) << "there is nothing behind the last byte";
    EXPECT_EQ(pieces.left(), 3u);
    EXPECT_EQ(pieces.heard_bytes(), 0u);
    EXPECT_FALSE(pieces.has_heard());
    EXPECT_TRUE(pieces.hear(2 * kPiece, 5));
    EXPECT_TRUE(pieces.has_heard());
    EXPECT_EQ(pieces.heard_bytes(), 5u);
    EXPECT_TRUE(pieces.hear(0, kPiece));
    EXPECT_EQ(pieces.left(), 1u);
    EXPECT_TRUE(pieces.hear(0, kPiece)) << "it came twice";
    EXPECT_EQ(pieces.left(), 1u);
    EXPECT_TRUE(pieces.hear(kPiece, kPiece));
    EXPECT_EQ(pieces.left(), 0u);
}

TEST(Pieces, first_bytes__without_a_gap) {
    Pieces pieces = of(3 * kPiece + 5);
    EXPECT_EQ(pieces.first_bytes(), 0u);
    pieces.take(kPiece, kPiece);
    EXPECT_EQ(pieces.first_bytes(), 0u);
    pieces.take(0, kPiece);
    EXPECT_EQ(pieces.first_bytes(), 2 * kPiece);
    pieces.take(2 * kPiece, kPiece + 5);
    EXPECT_EQ(pieces.first_bytes(), 3 * kPiece + 5);
}

TEST(Pieces, message__of_parts_counts_for_its_whole_pieces) {
    Pieces pieces = of(4 * kPiece + 5);
    pieces.take(kPiece, 2 * kPiece + 7);
    EXPECT_EQ(pieces.left(), 3u);
    pieces.take(3 * kPiece, kPiece + 4);
    EXPECT_EQ(pieces.left(), 2u);
    pieces.take(0, 0);
    EXPECT_EQ(pieces.left(), 2u);
    pieces.take(0, kPiece - 1);
    EXPECT_EQ(pieces.first_bytes(), 0u);
    pieces.take(4 * kPiece, 5);
    pieces.take(0, 2 * kPiece);
    EXPECT_EQ(pieces.left(), 0u);
    EXPECT_FALSE(pieces.has_heard()) << "no hint brought any";
    EXPECT_EQ(pieces.heard_bytes(), 0u);
}

TEST(Pieces, gap__is_one_that_was_overtaken_before_the_last_turn) {
    Pieces pieces = of(9 * kPiece);
    EXPECT_TRUE(pieces.begin_turn(1));
    pieces.hear(0, kPiece);
    pieces.hear(2 * kPiece, kPiece);
    EXPECT_EQ(gap(pieces), std::nullopt) << "it may be on its way";
    pieces.end_turn();
    EXPECT_FALSE(pieces.begin_turn(1)) << "nobody has looked";
    EXPECT_TRUE(pieces.begin_turn(2));
    pieces.hear(6 * kPiece, kPiece);
    EXPECT_EQ(gap(pieces), Range(kPiece, kPiece));
    EXPECT_EQ(gap(pieces), std::nullopt) << "each is told of once";
    pieces.end_turn();
    EXPECT_TRUE(pieces.begin_turn(3));
    EXPECT_EQ(gap(pieces), Range(3 * kPiece, 3 * kPiece)) << "what lies together";
    EXPECT_EQ(gap(pieces), std::nullopt);
    pieces.end_turn();
    EXPECT_EQ(gap(pieces), std::nullopt) << "behind the last that came there is none";
}

TEST(Pieces, gap__ends_before_what_is_here) {
    Pieces pieces = of(9 * kPiece);
    for (const std::size_t piece : {2, 3, 8}) pieces.hear(piece * kPiece, kPiece);
    pieces.end_turn();
    EXPECT_EQ(gap(pieces), Range(0, 2 * kPiece));
    EXPECT_EQ(gap(pieces), Range(4 * kPiece, 4 * kPiece));
    EXPECT_EQ(gap(pieces), std::nullopt);
}

TEST(Pieces, gap__that_a_message_has_filled_is_none) {
    Pieces pieces = of(9 * kPiece);
    pieces.hear(3 * kPiece, kPiece);
    pieces.end_turn();
    pieces.take(0, 3 * kPiece);
    EXPECT_EQ(gap(pieces), std::nullopt);
}

TEST(Pieces, rest__is_the_first_that_is_lacking) {
    Pieces pieces = of(5 * kPiece + 3);
    EXPECT_EQ(range(pieces.rest(2)), Range(0, 2 * kPiece));
    EXPECT_EQ(range(pieces.rest(2)), Range(0, 2 * kPiece)) << "while it does not come";
    pieces.take(0, kPiece);
    pieces.take(3 * kPiece, kPiece);
    EXPECT_EQ(range(pieces.rest(8)), Range(kPiece, 2 * kPiece));
    pieces.take(kPiece, 2 * kPiece);
    EXPECT_EQ(range(pieces.rest(1)), Range(4 * kPiece, kPiece));
    EXPECT_EQ(range(pieces.rest(8)), Range(4 * kPiece, kPiece + 3));
}

TEST(Pieces, rest__that_a_hint_brings_all_the_same_is_no_gap) {
    Pieces pieces = of(6 * kPiece);
    (void)pieces.rest(4);
    pieces.hear(2 * kPiece, kPiece);
    pieces.hear(5 * kPiece, kPiece);
    pieces.end_turn();
    EXPECT_EQ(gap(pieces), Range(4 * kPiece, kPiece)) << "the first four were asked for";
    (void)pieces.rest(1);
    EXPECT_EQ(gap(pieces), std::nullopt) << "nor was that told of again";
}

TEST(Pieces, begin__anew) {
    Pieces pieces = of(4 * kPiece);
    pieces.hear(3 * kPiece, kPiece);
    pieces.hear(0, kPiece);
    EXPECT_EQ(pieces.first_bytes(), kPiece);
    pieces.end_turn();
    EXPECT_TRUE(gap(pieces).has_value());
    pieces.begin(4 * kPiece);
    EXPECT_EQ(pieces.left(), 4u);
    EXPECT_EQ(pieces.first_bytes(), 0u);
    EXPECT_FALSE(pieces.has_heard());
    EXPECT_EQ(pieces.heard_bytes(), 0u);
    EXPECT_EQ(gap(pieces), std::nullopt);
    pieces.hear(2 * kPiece, kPiece);
    pieces.end_turn();
    EXPECT_EQ(gap(pieces), Range(0, 2 * kPiece)) << "nothing of it was told of";
}

}  // namespace
}  // namespace fci::group
