// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/parse.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace fci {

namespace {

char lower(char c) noexcept {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool same_word(std::string_view one, std::string_view other) noexcept {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

/// The power of two that a unit stands for, or nothing.
std::optional<unsigned> unit_shift(std::string_view unit) noexcept {
    if (unit.empty() || same_word(unit, "B")) return 0;
    constexpr std::string_view kLetters = "kmgt";
    const std::size_t at = kLetters.find(lower(unit.front()));
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = unit.substr(1);
    if (!rest.empty() && !same_word(rest, "B") && !same_word(rest, "iB")) return std::nullopt;
    return static_cast<unsigned>(10 * (at + 1));
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    const auto value = parse_number(text.substr(0, digits));
    const auto shift = unit_shift(text.substr(digits));
    if (!value || !shift) return std::nullopt;
    if (*value > std::numeric_limits<std::uint64_t>::max() >> *shift) return std::nullopt;
    return *value << *shift;
}

unsigned edit_distance(std::string_view one, std::string_view other) {
    // Rows of the usual table: now[j] is the distance of one[0..i) and other[0..j).
    std::vector<unsigned> now(other.size() + 1), last, before;
    std::iota(now.begin(), now.end(), 0u);
    for (std::size_t i = 1; i <= one.size(); ++i) {
        before = std::move(last);
        last = now;
        now[0] = static_cast<unsigned>(i);
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const char a = lower(one[i - 1]), b = lower(other[j - 1]);
            now[j] = std::min({last[j - 1] + (a != b), last[j] + 1, now[j - 1] + 1});
            const bool swapped = i > 1 && j > 1 && a == lower(other[j - 2]) &&
                                 b == lower(one[i - 2]);
            if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
        }
    }
    return now.back();
}

std::string_view nearest_word(std::string_view given, std::string_view words) {
    std::string_view best;
    unsigned best_distance = std::numeric_limits<unsigned>::max();
    while (!words.empty()) {
        const std::size_t end = words.find('|');
        const std::string_view word = words.substr(0, end);
        words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
        const unsigned distance = edit_distance(given, word);
        if (distance < best_distance) {
            best = word;
            best_distance = distance;
        }
    }
    return best_distance <= std::max<std::size_t>(1, best.size() / 3) ? best : std::string_view{};
}

}  // namespace fci
