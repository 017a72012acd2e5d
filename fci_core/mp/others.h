// Others: the active peers but the one that sent last, as they are looked at while nothing comes
// (§2.6.10: what a process does while it waits).
//
// Each has been looked at closely, in vain, and what its next request will change is remembered: a
// control word, which only grows. While the sum of these words is what it was, nobody has sent
// anything. A peer that writes what it should not could hide another one's request in that sum, so
// the owner looks closely again now and then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fci_core/base/flag.h"

namespace fci::mp {

class Others {
public:
    static constexpr unsigned kTogether = 8;
    /// are_quiet<kWay>() has a way of its own for each number below kTogether, and for those above
    /// by what is left of them.
    static constexpr unsigned kWays = 2 * kTogether;
    [[nodiscard]] unsigned way() const noexcept {
        const std::size_t n = words_.size();
        return static_cast<unsigned>(n < kTogether ? n : kTogether + n % kTogether);
    }

    /// The only call that allocates.
    void reserve(std::size_t most) { words_.reserve(most); }
    void clear() noexcept {
        words_.clear();
        sum_ = 0;
    }
    /// It was `seen`, and no request.
    void add(const std::uint64_t& control, std::uint64_t seen) noexcept {
        if (words_.size() < kTogether) few_[words_.size()] = &control;
        words_.push_back(&control);
        sum_ += seen;
    }

    [[nodiscard]] std::size_t count() const noexcept { return words_.size(); }
    [[nodiscard]] std::size_t memory() const noexcept {  // bytes
        return words_.capacity() * sizeof words_[0];
    }
    /// Nothing of them is here.
    [[nodiscard]] bool are_quiet() const noexcept {
        std::uint64_t sum = 0;
        for (const std::uint64_t* const word : words_) sum = flag::add_relaxed(sum, *word);
        return sum == sum_;
    }
    /// The same. `kWay`: what way() says. Two instructions for each.
    template <unsigned kWay>
    [[nodiscard]] bool are_quiet() const noexcept {
        if constexpr (kWay == 0) return true;
        constexpr unsigned odd = kWay % kTogether;
        std::uint64_t sum = 0;
        if constexpr (odd != 0) {
            sum = plus(flag::load_relaxed(*few_[0]), &few_[1], std::make_index_sequence<odd - 1>());
        }
        if constexpr (kWay >= kTogether) {
            const std::uint64_t* const* word = words_.data() + odd;
            const std::uint64_t* const* const end = words_.data() + words_.size();
            do {
                sum = plus(sum, word, std::make_index_sequence<kTogether>());
            } while ((word += kTogether) != end);
        }
        return sum == sum_;
    }

private:
    template <std::size_t... kAt>
    [[gnu::always_inline]] static std::uint64_t plus(std::uint64_t sum,
                                                     const std::uint64_t* const* word,
                                                     std::index_sequence<kAt...>) noexcept {
        ((sum = flag::add_relaxed(sum, *word[kAt])), ...);
        return sum;
    }

    std::vector<const std::uint64_t*> words_;
    std::array<const std::uint64_t*, kTogether> few_{};  // the first ones again
    std::uint64_t sum_ = 0;
};

}  // namespace fci::mp
