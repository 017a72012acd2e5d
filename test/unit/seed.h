// SPDX-License-Identifier: BSD-3-Clause
// The seed of random tests: FCI_TEST_SEED in the environment, which .ci/run takes from the commit.
// Without it they do the same each time. What fails is said together with the seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fci_core/base/prng.h"

namespace fci {

/// 0: none was given.
inline std::uint64_t run_seed() {
    const char* const given = std::getenv("FCI_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 0) : 0;
}

/// One of the run's, for a generator; `number` tells those of one test apart.
inline std::uint64_t seeded(std::uint64_t number) {
    return run_seed() == 0 ? number : Prng(run_seed() ^ number << 32).next();
}

/// Of a run: `count` that follow each other.
inline std::vector<std::uint64_t> seeds(std::size_t count) {
    const std::uint64_t before = run_seed() == 0 ? 0 : Prng(run_seed()).next() >> 16;
    std::vector<std::uint64_t> all;
    while (all.size() < count) all.push_back(before + all.size() + 1);
    return all;
}

class SaysSeed final : public testing::EmptyTestEventListener {
    void OnTestEnd(const testing::TestInfo& test) override {
        if (!test.result()->Failed()) return;
        std::printf("the same again: FCI_TEST_SEED=%llu, with --gtest_filter=%s.%s\n",
                    static_cast<unsigned long long>(run_seed()), test.test_suite_name(),
                    test.name());
    }
};
inline const bool kSaysSeed = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new SaysSeed);
    return true;
}();

}  // namespace fci
