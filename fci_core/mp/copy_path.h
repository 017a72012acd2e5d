// CopyPath: which way long messages of one peer travel, learned from what they really cost.
// No path is the fastest on every machine, nor on one machine all the time; so each is tried now
// and then, and the cheapest for that length is used. No clock here: the caller measures.
//
// What a message costs is the time since the one before it ended, or since it began if that was
// later: where many are under way at once, each waits for the others, and how long says nothing.
// Nor does a message that shared its time with one that went another way. So a path is tried until
// one message was alone, or several came one after the other with no other path under way.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/mp/records.h"

namespace fci::mp {

class CopyPath {
public:
    enum class Policy : std::uint8_t { measure, ring, pull, shared };

    void set_policy(Policy policy) noexcept { policy_ = policy; }

    /// For the next message. `may_share`: it is long enough for two.
    [[nodiscard]] Path choose(std::uint64_t bytes, bool may_share) noexcept {
        if (policy_ == Policy::ring) return Path::ring;
        if (policy_ == Policy::pull) return Path::pull;
        if (policy_ == Policy::shared) return may_share ? Path::shared : Path::pull;
        Class& c = classes_[class_of(bytes)];
        const std::uint32_t turn = c.messages++;
        if (c.on_trial) {
            if (turn - c.trial_from < kTrialMost) return c.candidate;
            end_trial(c);  // many begin before one ends
        }
        const Path best = cheapest(c, may_share);
        Path next = best;
        for (const Path path : kPaths) {
            if (path == Path::shared && !may_share) continue;
            const Record& record = c.of[index(path)];
            if (record.trials >= kFirstTrials && (path == best || turn < record.retry_at)) continue;
            if (next == best || record.trials < c.of[index(next)].trials) next = path;
        }
        if (next != best || c.of[index(best)].trials < kFirstTrials) {
            c.on_trial = true;
            c.candidate = next;
            c.trial_from = turn;
        }
        return next;
    }

    /// A message begins to travel on a chosen path. The caller keeps what is returned.
    [[nodiscard]] std::uint32_t begin(Path path) noexcept {
        FCI_ASSERT(index(path) < kPaths.size());
        ++begun_;
        if (path != under_way_) {
            under_way_ = path;
            first_of_its_kind_ = begun_;
        }
        return begun_;
    }

    /// It has arrived: `bytes`, by a path that was chosen for `chosen_for`, a receive's length.
    void end(Path path, std::uint64_t chosen_for, std::uint64_t bytes, std::uint32_t number,
             Nanoseconds started, Nanoseconds now) noexcept {
        FCI_ASSERT(index(path) < kPaths.size() && !is_before(begun_, number));
        FCI_ASSERT(now >= started && now >= ended_);
        const bool alone =
            started >= ended_ && number == begun_ && last_to_end_ == number - 1;
        const Nanoseconds cost = now - std::max(started, ended_);
        ended_ = now;
        last_to_end_ = number;
        const bool of_former_kind = is_before(number, first_of_its_kind_);
        if (of_former_kind) settled_ = begun_;
        Class& c = classes_[class_of(chosen_for)];
        if (alone || (!of_former_kind && is_before(settled_, number))) {
            c.mixed = 0;
        } else if (c.mixed < kMixedMost) {
            ++c.mixed;
            for (Record& record : c.of) record.run = {};
            return;
        }
        Run& run = c.of[index(path)].run;
        if (alone) run = {};
        run.cost += static_cast<float>(cost);
        run.bytes += static_cast<float>(bytes) + 1;
        if (!alone && ++run.messages < kRun) return;
        learn(c, path, run.cost / run.bytes);
        run = {};
    }

private:
    static constexpr unsigned kClasses = 12;  // 16 KiB, 32 KiB, ... 32 MiB and more
    static constexpr std::uint8_t kFirstTrials = 4;
    static constexpr std::uint32_t kRetryEvery = 64;  // times the length of a trial
    static constexpr std::uint32_t kTrialMost = 128;  // messages
    static constexpr std::uint32_t kRun = 8;          // messages one after the other
    static constexpr std::uint32_t kMixedMost = 128;  // then what mixed messages cost must do
    static constexpr std::array<Path, 3> kPaths = {Path::ring, Path::shared, Path::pull};

    struct Run {
        float cost = 0, bytes = 0;
        std::uint32_t messages = 0;
    };
    struct Record {
        float cost = std::numeric_limits<float>::infinity();  // ns per byte
        std::uint32_t retry_at = 0;                           // message of the class
        std::uint8_t trials = 0;                              // of the first ones
        Run run;                                              // not long enough yet
    };
    struct Class {
        Record of[3];
        std::uint32_t messages = 0, trial_from = 0, mixed = 0;
        bool on_trial = false;
        Path candidate = Path::ring;
    };

    static unsigned index(Path path) noexcept { return static_cast<unsigned>(path); }
    static bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
        return static_cast<std::int32_t>(a - b) < 0;
    }
    static Path cheapest(const Class& c, bool may_share) noexcept {
        Path best = Path::ring;
        for (const Path path : kPaths) {
            if (path == Path::shared && !may_share) continue;
            if (c.of[index(path)].cost < c.of[index(best)].cost) best = path;
        }
        return best;
    }

    void learn(Class& c, Path path, float per_byte) noexcept {
        FCI_ASSERT(per_byte >= 0);
        Record& record = c.of[index(path)];
        // Follows downwards at once and upwards slowly: a transfer is dear because the other side
        // was busy far more often than because the path became slow.
        if (per_byte < record.cost) {
            record.cost = per_byte;
        } else {
            record.cost += std::min(per_byte - record.cost, 3 * record.cost) / 8;
        }
        if (c.on_trial && path == c.candidate) end_trial(c);
    }

    /// The next one comes the later, the longer this one took and the worse that path was.
    void end_trial(Class& c) noexcept {
        FCI_ASSERT(c.on_trial && c.messages - c.trial_from != 0);
        c.on_trial = false;
        Record& record = c.of[index(c.candidate)];
        if (record.trials < kFirstTrials) ++record.trials;
        const bool much_worse = record.cost > 2 * c.of[index(cheapest(c, true))].cost;
        record.retry_at = c.messages + (c.messages - c.trial_from) *
                                           (much_worse ? 4 * kRetryEvery : kRetryEvery);
    }

    static unsigned class_of(std::uint64_t bytes) noexcept {
        const unsigned log = static_cast<unsigned>(std::bit_width(bytes));
        if (log <= 15) return 0;
        return log - 15 < kClasses ? log - 15 : kClasses - 1;
    }

    Policy policy_ = Policy::measure;
    Path under_way_ = Path::ring;          // of the last that began
    std::uint32_t begun_ = 0;              // number of the last that began
    std::uint32_t first_of_its_kind_ = 0;  // from there on, all that began took one path
    std::uint32_t settled_ = 0;  // what began later did so when nothing took another path any more
    std::uint32_t last_to_end_ = 0;
    Nanoseconds ended_ = 0;                // when the last one did
    std::array<Class, kClasses> classes_{};
};

}  // namespace fci::mp
