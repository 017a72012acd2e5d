// SPDX-License-Identifier: BSD-3-Clause
// CopyPath: chooses the path of one peer's long messages, by the measured cost of earlier ones. No
// path is the fastest on every machine, nor on one machine all the time; so each is tried now and
// then, and the cheapest for that length is used. No clock here: the caller measures.
//
// The cost of a message is the time since the one before it ended, or since it began if that was
// later: if many are under way at once, each waits for the others, and its own duration says
// nothing. Nor does a message that shared its time with one on another path, nor one that waited
// for memory which the next ones find there; and the first on a path finds its memory in no cache.
// So a path is tried until a few messages were alone, of which the cheapest counts, or several came
// one after the other with no other path under way; or until so many bytes have gone that way
// without an answer that a stream would spend itself on trials.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/mp/move/path.h"

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
            if (is_before(turn, c.trial_until)) return c.candidate;
            end_trial(c);  // many begin before one ends
        }
        const Path best = cheapest(c, may_share);
        Path next = best;
        for (const Path path : kPaths) {
            if (path == Path::shared && !may_share) continue;
            const Record& record = c.of[index(path)];
            if (record.is_tried && (path == best || turn < record.retry_at)) continue;
            if (next == best || !record.is_tried) next = path;
        }
        if (next != best || !c.of[index(best)].is_tried) {
            c.on_trial = true;
            c.candidate = next;
            c.trial_from = turn;
            c.learned = 0;
            c.trial_number = begun_ + 1;
            c.trial_until = turn + kTrialMost;
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

    /// A message that has arrived.
    struct Ended {
        Path path;
        std::uint64_t chosen_for;  // the length that the path was chosen for, a receive's
        std::uint64_t bytes;
        std::uint32_t number;  // of begin()
        Nanoseconds started, now;
        bool is_typical;  // it paid for nothing that the next ones find there
    };
    void end(const Ended& message) noexcept {
        const auto [path, chosen_for, bytes, number, started, now, is_typical] = message;
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
        bound_trial(c, message);
        if (!is_typical) {
            c.of[index(path)].run = {};
            return;
        }
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
        learn(c, path, run.cost / run.bytes, alone ? 1 : kAloneOfTrial);
        run = {};
    }

private:
    static constexpr unsigned kClasses = 12;  // 16 KiB, 32 KiB, ... 32 MiB and more
    static constexpr std::uint32_t kRetryEvery = 64;  // times the length of a trial
    static constexpr std::uint32_t kAloneOfTrial = 4;  // messages
    static constexpr std::uint32_t kTrialMost = 128;  // messages
    static constexpr std::uint32_t kTrialLeast = 16;
    static constexpr std::uint64_t kTrialBytes = 64 << 20;  // once one of its messages has ended
    static constexpr std::uint32_t kRun = 8;          // messages one after the other
    static constexpr std::uint32_t kMixedMost = 128;  // then the cost of mixed messages must do
    static constexpr std::array<Path, 3> kPaths = {Path::ring, Path::shared, Path::pull};

    struct Run {
        float cost = 0, bytes = 0;
        std::uint32_t messages = 0;
    };
    struct Record {
        float cost = std::numeric_limits<float>::infinity();  // ns per byte
        std::uint32_t retry_at = 0;                           // message of the class
        bool is_tried = false;
        Run run;                                              // not long enough yet
    };
    struct Class {
        Record of[3];
        std::uint32_t messages = 0, mixed = 0;
        std::uint32_t trial_from = 0, trial_until = 0;  // messages of the class
        std::uint32_t trial_number = 0;                 // of begin(), of the first
        std::uint32_t learned = 0;                      // of it, alone
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

    /// Messages that are under way when the first one of a trial ends cannot be called back, and
    /// take the path on trial; this bounds how many more follow.
    static void bound_trial(Class& c, const Ended& message) noexcept {
        if (!c.on_trial || message.path != c.candidate ||
            is_before(message.number, c.trial_number)) {
            return;
        }
        const std::uint64_t most = kTrialBytes / std::max<std::uint64_t>(message.bytes, 1);
        const auto more = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(most, kTrialLeast, kTrialMost));
        if (is_before(c.messages + more, c.trial_until)) c.trial_until = c.messages + more;
    }

    void learn(Class& c, Path path, float per_byte, std::uint32_t messages) noexcept {
        FCI_ASSERT(per_byte >= 0);
        Record& record = c.of[index(path)];
        // Follows downwards at once and upwards slowly: a transfer is dear because the other side
        // was busy far more often than because the path became slow.
        if (per_byte < record.cost) {
            record.cost = per_byte;
        } else {
            record.cost += std::min(per_byte - record.cost, 3 * record.cost) / 8;
        }
        if (!c.on_trial || path != c.candidate) return;
        c.learned += messages;
        if (c.learned >= kAloneOfTrial) end_trial(c);
    }

    /// The next one comes the later, the longer this one took and the worse that path was.
    void end_trial(Class& c) noexcept {
        FCI_ASSERT(c.on_trial && c.messages - c.trial_from != 0);
        c.on_trial = false;
        Record& record = c.of[index(c.candidate)];
        record.is_tried = true;
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
    std::uint32_t settled_ = 0;  // when a later message began, no other path was in use any more
    std::uint32_t last_to_end_ = 0;
    Nanoseconds ended_ = 0;                // when the last one did
    std::array<Class, kClasses> classes_{};
};

}  // namespace fci::mp
