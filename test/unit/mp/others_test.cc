// Others: whoever has sent something is seen, however many there are, in every way to look.
#include "fci_core/mp/others.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace fci::mp {
namespace {

template <unsigned... kWays>
bool look(const Others& others, std::integer_sequence<unsigned, kWays...>) {
    using Way = bool (*)(const Others&);
    constexpr std::array<Way, sizeof...(kWays)> ways{
        [](const Others& all) { return all.are_quiet<kWays>(); }...};
    return ways[others.way()](others);
}

bool are_quiet(const Others& others) {
    const bool quiet = look(others, std::make_integer_sequence<unsigned, Others::kWays>());
    EXPECT_EQ(others.are_quiet(), quiet);
    return quiet;
}

constexpr std::uint64_t control(std::uint64_t number, std::uint64_t low) {
    return number << 32 | low;
}

TEST(Others, are_quiet__until_any_of_them_sends) {
    for (std::uint64_t count = 0; count < 4 * Others::kTogether; ++count) {
        std::vector<std::uint64_t> words(count);
        Others others;
        others.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            words[i] = control(i * 977, i % 3);
            others.add(words[i], words[i]);
        }
        EXPECT_EQ(others.count(), count);
        EXPECT_TRUE(are_quiet(others)) << count;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t before = std::exchange(words[i], control(i * 977 + 128, 0));
            EXPECT_FALSE(are_quiet(others)) << i << " of " << count;
            words[i] = before;
        }
        EXPECT_TRUE(are_quiet(others)) << count;
    }
}

// The numbers of requests begin again after 2^32; and a request may be shorter than the one before.
TEST(Others, are_quiet__sees_numbers_that_wrap_and_words_whose_lower_half_shrinks) {
    std::array<std::uint64_t, 3> words{control(0xffffff80, 0xffffffff), control(5, 0),
                                       control(0xffffffff, 0xffffffff)};
    Others others;
    others.reserve(words.size());
    for (const std::uint64_t& word : words) others.add(word, word);
    EXPECT_TRUE(are_quiet(others));
    words[0] = control(0, 0);
    EXPECT_FALSE(are_quiet(others));
    words[2] = control(0x7f, 0);
    words[1] = control(5 + 128, 7);
    EXPECT_FALSE(are_quiet(others));
}

TEST(Others, clear__forgets_them) {
    std::uint64_t word = 1;
    Others others;
    others.reserve(1);
    others.add(word, word);
    word = 2;
    EXPECT_FALSE(are_quiet(others));
    others.clear();
    EXPECT_EQ(others.count(), 0u);
    EXPECT_TRUE(are_quiet(others));
}

}  // namespace
}  // namespace fci::mp
