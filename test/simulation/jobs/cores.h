// SPDX-License-Identifier: BSD-3-Clause
// Cores: a host of a few cores on which the processes of a simulated world run, in virtual time.
//
// Each process is a fiber; of all of them one runs at a time. It goes on until a call of its device
// or of its host has cost it time: then whoever is due next runs, which may be itself. A process
// that yields or sleeps gives its core to one that is ready; one that runs for longer than its
// slice while others are ready loses it. Chance comes from the seed, so a run repeats bit by bit.
//
// A process that has slept to the end of its timeout, though there was something for it to do and
// nothing on its way would have woken it, was not woken: that is a failure, and so is a job in
// which all sleep and nothing is due.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/base/prng.h"
#include "fci_core/progress/host.h"
#include "test/simulation/jobs/fiber.h"

namespace fci::jobs {

struct CoreOptions {
    std::uint64_t seed = 1;
    unsigned cores = 1;
    Nanoseconds call = 50;           // of the device; with chance, up to twice as much
    Nanoseconds yield = 400;         // where nobody else is ready; likewise
    Nanoseconds change = 1'500;      // from one process to another
    Nanoseconds slice = 3'000'000;   // where set_slice() has not asked for another
    Nanoseconds apart = 0;           // so much may the clocks of two cores differ
};

/// What the host knows of one process.
struct Account {
    struct Sleep {
        Nanoseconds began, timeout, ended;
        bool woken;
    };
    Nanoseconds used = 0, lost = 0;
    std::uint64_t yields = 0, preemptions = 0;
    std::vector<Sleep> sleeps;
    std::vector<Nanoseconds> slices;  // as it asked for them
    unsigned placements = 0;
};

class Cores final : private sim::Scheduler {
public:
    Cores(sim::World& world, const CoreOptions& options);
    ~Cores() override;

    /// The next process of the world, in the order of World::open. `has_work`: it would find
    /// something to do, asked when it has slept to the end of a timeout.
    void add(std::function<void()> program, std::function<bool()> has_work);
    [[nodiscard]] progress::Host& host(unsigned process);

    /// Until all programs are over; what went wrong, or nothing. `most`: of virtual time.
    std::string run(Nanoseconds most);

    // Called by programs:
    /// The process that calls this computes for so long.
    void compute(Nanoseconds span);
    /// It needs no core for so long, and nothing ends that.
    void rest(Nanoseconds span);
    /// It is one of its own from now on, on another host: its calls take no time.
    void detach();
    /// The run ends here.
    void fail(const std::string& what);
    [[nodiscard]] bool failed() const noexcept { return !failure_.empty(); }

    /// As a signal does.
    void wake(unsigned process);
    [[nodiscard]] const Account& account(unsigned process) const;
    [[nodiscard]] Nanoseconds used(unsigned process) const;
    /// Of who ran when and slept for how long: equal for equal runs.
    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

private:
    enum class State : std::uint8_t { ready, running, asleep, resting, over };
    struct Task;
    class TaskHost;
    static constexpr Nanoseconds kNever = sim::World::kNever;

    void pass(unsigned process, sim::Call call) noexcept override;
    void sleep(unsigned process, Nanoseconds timeout) noexcept override;
    void give_core_away(Task& task);

    void spend(Task& task, Nanoseconds cost);
    void leave_core(Task& task, State state);
    void make_ready(Task& task);
    void end_sleep(Task& task, bool woken);
    void charge(Task& task) noexcept;
    [[nodiscard]] unsigned free_core() const noexcept;
    void fill_cores();
    bool advance(Nanoseconds most);
    void go_on(Task& task);
    void slept_out(Task& task);
    [[nodiscard]] Nanoseconds slice_end(const Task& task) const noexcept;
    [[nodiscard]] Nanoseconds due(const Task& task) const noexcept;
    [[nodiscard]] Nanoseconds jittered(Nanoseconds cost);
    void mark(char what, const Task& task) noexcept;
    [[nodiscard]] std::string who_sleeps() const;

    sim::World& world_;
    const CoreOptions options_;
    Prng prng_;
    std::vector<std::unique_ptr<Task>> tasks_;  // by process
    std::vector<Task*> ready_;                  // in the order in which they became so
    unsigned running_ = 0;
    Task* current_ = nullptr;  // whose fiber runs; nullptr: none
    std::uint64_t digest_ = 0;
    std::string failure_;
};

}  // namespace fci::jobs
