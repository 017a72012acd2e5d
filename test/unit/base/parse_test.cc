// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/parse.h"
#include "fci_core/base/port_range.h"

#include <gtest/gtest.h>

#include <string>

namespace fci {
namespace {

TEST(parse_number, takes_digits_only) {
    EXPECT_EQ(parse_number("0"), 0u);
    EXPECT_EQ(parse_number("18446744073709551615"), ~0ull);
    for (const char* bad : {"", " 1", "1 ", "-1", "+1", "1.5", "0x10", "18446744073709551616"}) {
        EXPECT_FALSE(parse_number(bad).has_value()) << bad;
    }
}

TEST(PortRange, parse__takes_a_port_or_two_in_order) {
    EXPECT_TRUE(PortRange::parse("")->is_any());
    EXPECT_EQ(PortRange::parse("40000")->size(), 1u);
    const PortRange range = PortRange::parse("40000-40999").value();
    EXPECT_EQ(range.size(), 1000u);
    EXPECT_EQ(range.text(), "40000-40999");
    EXPECT_EQ(PortRange::parse("1-65535")->size(), 65535u);
    for (const char* bad : {"0", "0-5", "5-4", "65536", "1-65536", "a", "4-", "-4", "4-5-6",
                            "4 - 5", "4,5"}) {
        EXPECT_FALSE(PortRange::parse(bad).has_value()) << bad;
    }
}

TEST(parse_bytes, takes_units_of_1024) {
    EXPECT_EQ(parse_bytes("4096"), 4096u);
    EXPECT_EQ(parse_bytes("64K"), 65536u);
    EXPECT_EQ(parse_bytes("64kib"), 65536u);
    EXPECT_EQ(parse_bytes("2MB"), 2u << 20);
    EXPECT_EQ(parse_bytes("1g"), 1u << 30);
    EXPECT_EQ(parse_bytes("3T"), 3ull << 40);
    EXPECT_EQ(parse_bytes("7B"), 7u);
}

TEST(parse_bytes, refuses_the_rest) {
    for (const char* bad : {"", "K", "1X", "1KK", "1 K", "-1K", "1.5M", "1Ki", "16777216T"}) {
        EXPECT_FALSE(parse_bytes(bad).has_value()) << bad;
    }
    EXPECT_EQ(parse_bytes("16777215T"), 16777215ull << 40);  // the last that fits
}

TEST(edit_distance, counts_slips) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("sleep", "SLEEP"), 0u);
    EXPECT_EQ(edit_distance("slep", "sleep"), 1u);
    EXPECT_EQ(edit_distance("wiat", "wait"), 1u);
    EXPECT_EQ(edit_distance("ab", "ba"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
}

TEST(nearest_word, finds_what_was_meant) {
    EXPECT_EQ(nearest_word("slep", "auto|spin|yield|sleep"), "sleep");
    EXPECT_EQ(nearest_word("Spinn", "auto|spin|yield|sleep"), "spin");
    EXPECT_EQ(nearest_word("two-side", "enhanced-mixed|two-sided"), "two-sided");
}

TEST(nearest_word, says_nothing_when_nothing_is_near) {
    EXPECT_EQ(nearest_word("forever", "auto|spin|yield|sleep"), "");
    EXPECT_EQ(nearest_word("x", ""), "");
}

}  // namespace
}  // namespace fci
