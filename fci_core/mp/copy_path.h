// CopyPath: which way long messages of one peer travel, learned from what they really cost.
// No path is the fastest on every machine, nor on one machine all the time; so each is tried now
// and then, and the cheapest for that length is used. No clock here: the caller measures.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "fci_core/base/status.h"
#include "fci_core/mp/records.h"

namespace fci::mp {

class CopyPath {
public:
    enum class Choice : std::uint8_t { ring, kernel };
    enum class Policy : std::uint8_t { measure, ring, kernel };

    void set_policy(Policy policy) noexcept { policy_ = policy; }

    [[nodiscard]] Choice choose(std::uint64_t bytes) noexcept {
        if (policy_ == Policy::ring) return Choice::ring;
        if (policy_ == Policy::kernel) return Choice::kernel;
        Class& c = classes_[class_of(bytes)];
        const std::uint32_t turn = c.transfers++;
        // First both in turn; later the loser once in a while, rarer the worse it was.
        if (turn < 2 * kFirstTrials) return turn & 1 ? Choice::kernel : Choice::ring;
        const Choice best = c.cost[0] <= c.cost[1] ? Choice::ring : Choice::kernel;
        const float worse = c.cost[static_cast<unsigned>(other(best))];
        const float better = c.cost[static_cast<unsigned>(best)];
        const std::uint32_t every = worse > 2 * better ? 4 * kRetryEvery : kRetryEvery;
        return turn % every == 0 ? other(best) : best;
    }

    void learn(Choice choice, std::uint64_t bytes, Nanoseconds cost) noexcept {
        Class& c = classes_[class_of(bytes)];
        const float per_byte = static_cast<float>(cost) / static_cast<float>(bytes + 1);
        float& known = c.cost[static_cast<unsigned>(choice)];
        // Follows downwards at once and upwards slowly: a transfer is dear because the other side
        // was busy far more often than because the path became slow.
        if (known == 0 || per_byte < known) {
            known = per_byte;
        } else {
            known += std::min(per_byte - known, 3 * known) / 8;
        }
    }

private:
    static constexpr unsigned kClasses = 12;  // 16 KiB, 32 KiB, ... 32 MiB and more
    static constexpr std::uint32_t kFirstTrials = 4;
    static constexpr std::uint32_t kRetryEvery = 64;

    struct Class {
        float cost[2] = {0, 0};  // ns per byte by Choice; 0: never measured
        std::uint32_t transfers = 0;
    };

    static Choice other(Choice c) noexcept {
        return c == Choice::ring ? Choice::kernel : Choice::ring;
    }
    static unsigned class_of(std::uint64_t bytes) noexcept {
        const unsigned log = static_cast<unsigned>(std::bit_width(bytes));
        if (log <= 15) return 0;
        return log - 15 < kClasses ? log - 15 : kClasses - 1;
    }

    Policy policy_ = Policy::measure;
    std::array<Class, kClasses> classes_{};
};

}  // namespace fci::mp
