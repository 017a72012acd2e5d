// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/jobs/cores.h"

#include <algorithm>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::jobs {

struct Cores::Task {
    unsigned number;
    std::unique_ptr<Fiber> fiber;
    std::function<bool()> has_work;
    std::unique_ptr<TaskHost> host;
    State state = State::ready;
    Nanoseconds until = 0;       // running: when what it does is over. Asleep: its timeout
    Nanoseconds left = 0;        // ready: of what it was doing
    Nanoseconds slice = 0;       // 0: as all have it
    Nanoseconds on_since = 0;    // running: since when
    Nanoseconds charged = 0;     // running: until when it was counted as used
    Nanoseconds ready_since = 0;
    bool detached = false;
    unsigned core = 0;  // running: on this one
    Account account{};
};

class Cores::TaskHost final : public progress::Host {
public:
    TaskHost(Cores& cores, Task& task) : cores_(cores), task_(task) {}
    void give_core_away() noexcept override { cores_.give_core_away(task_); }
    unsigned core() noexcept override { return task_.core; }
    Nanoseconds used_time() noexcept override {
        cores_.spend(task_, cores_.jittered(cores_.options_.call));
        cores_.charge(task_);
        return task_.account.used;
    }
    progress::Losses losses() noexcept override {
        return {task_.account.lost, task_.account.preemptions + task_.account.yields};
    }
    void set_slice(Nanoseconds slice) noexcept override {
        task_.slice = slice;
        task_.account.slices.push_back(slice);
    }
    void take_place(int, unsigned, unsigned) noexcept override { ++task_.account.placements; }

private:
    Cores& cores_;
    Task& task_;
};

Cores::Cores(sim::World& world, const CoreOptions& options)
    : world_(world), options_(options), prng_(options.seed) {
    FCI_ASSERT(options.cores != 0 && options.change > 0);
    world_.set_scheduler(this);
}

Cores::~Cores() {
    world_.set_scheduler(nullptr);
}

void Cores::add(std::function<void()> program, std::function<bool()> has_work) {
    tasks_.push_back(std::make_unique<Task>());
    Task& task = *tasks_.back();
    task.number = static_cast<unsigned>(tasks_.size() - 1);
    task.fiber = std::make_unique<Fiber>(std::move(program));
    task.has_work = std::move(has_work);
    task.host = std::make_unique<TaskHost>(*this, task);
    make_ready(task);
}

progress::Host& Cores::host(unsigned process) {
    return *tasks_.at(process)->host;
}

const Account& Cores::account(unsigned process) const {
    return tasks_.at(process)->account;
}

Nanoseconds Cores::used(unsigned process) const {
    const Task& task = *tasks_.at(process);
    return task.account.used +
           (task.state == State::running ? std::max(world_.now() - task.charged, Nanoseconds{0})
                                         : 0);
}

// --- what a process does ---

void Cores::pass(unsigned process, sim::Call call) noexcept {
    if (current_ == nullptr || current_->number != process) return;
    // What the kernel does takes longer than what the processor does.
    const bool by_kernel = call == sim::Call::copy || call == sim::Call::mask;
    spend(*current_, jittered(by_kernel ? 4 * options_.call : options_.call));
}

void Cores::compute(Nanoseconds span) {
    FCI_ASSERT(current_ != nullptr);
    spend(*current_, span);
}

void Cores::rest(Nanoseconds span) {
    FCI_ASSERT(current_ != nullptr && span >= 0);
    current_->until = world_.now() + span;
    leave_core(*current_, State::resting);
}

void Cores::spend(Task& task, Nanoseconds cost) {
    if (current_ != &task || task.detached) return;
    FCI_ASSERT(task.state == State::running && cost >= 0);
    const Nanoseconds until = task.until = world_.now() + cost;
    bool is_next = until < world_.next_time() && (ready_.empty() || until < slice_end(task));
    for (const auto& other : tasks_) {
        if (!is_next) break;
        if (other.get() == &task) continue;
        const Nanoseconds apart = other->state == State::running ? options_.apart : 0;
        is_next = due(*other) > until - apart;
    }
    if (is_next) return world_.run_until(until);
    task.fiber->pause();
}

void Cores::sleep(unsigned process, Nanoseconds timeout) noexcept {
    if (current_ == nullptr || current_->number != process || current_->detached) return;
    Task& task = *current_;
    const Nanoseconds now = world_.now();
    task.account.sleeps.push_back({now, timeout, now, true});
    if (world_.is_woken(process)) return spend(task, jittered(options_.call));
    // Timers ring late, up to 50 us.
    const auto late = static_cast<Nanoseconds>(prng_.below(50'000));
    task.until = timeout < 0 ? kNever : now + timeout + late;
    leave_core(task, State::asleep);
}

void Cores::give_core_away(Task& task) {
    ++task.account.yields;
    spend(task, jittered(options_.yield));
    if (current_ != &task || task.detached || ready_.empty()) return;
    leave_core(task, State::ready);
}

void Cores::detach() {
    FCI_ASSERT(current_ != nullptr);
    current_->detached = true;
}

void Cores::fail(const std::string& what) {
    if (failed()) return;
    failure_ = what + ", at " + std::to_string(world_.now()) + " ns";
}

void Cores::leave_core(Task& task, State state) {
    charge(task);
    --running_;
    task.left = 0;
    task.state = state;
    mark(state == State::asleep ? 's' : 'y', task);
    if (state == State::ready) make_ready(task);
    task.fiber->pause();
}

// --- what the host does ---

void Cores::mark(char what, const Task& task) noexcept {
    const auto event = static_cast<unsigned>(what);
    const std::uint64_t who_and_what = std::uint64_t{task.number} << 8 | event;
    for (const std::uint64_t word : {static_cast<std::uint64_t>(world_.now()), who_and_what}) {
        digest_ = (digest_ ^ word) * 0x9e3779b97f4a7c15ull;
        digest_ ^= digest_ >> 29;
    }
}

Nanoseconds Cores::jittered(Nanoseconds cost) {
    return cost + static_cast<Nanoseconds>(prng_.below(static_cast<std::uint64_t>(cost) + 1));
}

Nanoseconds Cores::slice_end(const Task& task) const noexcept {
    const Nanoseconds slice = task.slice != 0 ? task.slice : options_.slice;
    return std::max(world_.now(), task.on_since + slice);
}

Nanoseconds Cores::due(const Task& task) const noexcept {
    return task.state == State::ready || task.state == State::over ? kNever : task.until;
}

void Cores::charge(Task& task) noexcept {
    if (task.state != State::running) return;
    task.account.used += world_.now() - task.charged;
    task.charged = world_.now();
}

void Cores::make_ready(Task& task) {
    task.state = State::ready;
    task.ready_since = world_.now();
    ready_.push_back(&task);
}

void Cores::end_sleep(Task& task, bool woken) {
    Account::Sleep& sleep = task.account.sleeps.back();
    sleep.ended = world_.now();
    sleep.woken = woken;
    mark(woken ? 'w' : 't', task);
    make_ready(task);
}

void Cores::wake(unsigned process) {
    Task& task = *tasks_.at(process);
    if (task.state == State::asleep) end_sleep(task, true);
}

/// Mostly whoever has been ready for the longest.
unsigned Cores::free_core() const noexcept {
    for (unsigned core = 0;; ++core) {
        FCI_ASSERT(core < options_.cores);
        const bool taken = std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& task) {
            return task->state == State::running && task->core == core;
        });
        if (!taken) return core;
    }
}

void Cores::fill_cores() {
    while (running_ < options_.cores && !ready_.empty()) {
        const std::size_t drawn = prng_.chance(70) ? 0 : prng_.below(ready_.size());
        Task& task = *ready_[drawn];
        ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(drawn));
        ++running_;
        task.core = free_core();
        task.state = State::running;
        task.account.lost += world_.now() - task.ready_since;
        task.on_since = task.charged = world_.now();
        task.until = world_.now() + jittered(options_.change) + task.left;
        mark('r', task);
    }
}

void Cores::slept_out(Task& task) {
    end_sleep(task, false);
    if (task.detached || world_.is_woken(task.number) || world_.will_be_woken(task.number)) return;
    if (task.has_work()) {
        fail("process " + std::to_string(task.number) +
             " slept to the end of its timeout though there was something to do: a lost wake-up");
    }
}

/// What it did is over.
void Cores::go_on(Task& task) {
    charge(task);
    if (!ready_.empty() && slice_end(task) <= world_.now()) {
        --running_;
        ++task.account.preemptions;
        task.left = 0;
        mark('p', task);
        return make_ready(task);
    }
    current_ = &task;
    task.fiber->resume();
    current_ = nullptr;
    if (!task.fiber->is_over()) return;
    charge(task);
    --running_;
    task.state = State::over;
    mark('o', task);
}

/// On to whatever is next. False: nothing is, or it is too late.
bool Cores::advance(Nanoseconds most) {
    Task* next = nullptr;
    for (const auto& task : tasks_) {
        if (due(*task) != kNever && (next == nullptr || due(*task) < due(*next))) next = task.get();
    }
    Task* loser = nullptr;  // of its core
    for (const auto& task : tasks_) {
        if (ready_.empty() || task->state != State::running) continue;
        if (loser == nullptr || slice_end(*task) < slice_end(*loser)) loser = task.get();
    }
    const Nanoseconds at = next != nullptr ? due(*next) : kNever;
    const Nanoseconds when = std::min(at, world_.next_time());
    if (when == kNever) {
        fail("all sleep and nothing is due: " + who_sleeps());
        return false;
    }
    if (loser != nullptr && slice_end(*loser) < when) {
        world_.run_until(slice_end(*loser));
        charge(*loser);
        --running_;
        ++loser->account.preemptions;
        loser->left = std::max(loser->until - world_.now(), Nanoseconds{0});
        mark('p', *loser);
        make_ready(*loser);
    } else if (world_.next_time() <= at) {
        world_.run_until(when);
        for (const auto& task : tasks_) {
            if (task->state == State::asleep && world_.is_woken(task->number)) {
                end_sleep(*task, true);
            }
        }
    } else {
        world_.run_until(when);
        if (next->state == State::asleep) {
            slept_out(*next);
        } else if (next->state == State::resting) {
            make_ready(*next);
        } else {
            go_on(*next);
        }
    }
    if (world_.now() > most) fail("the job hangs: " + who_sleeps());
    return !failed();
}

std::string Cores::run(Nanoseconds most) {
    const auto over = [](const auto& task) { return task->state == State::over; };
    while (!failed() && !std::all_of(tasks_.begin(), tasks_.end(), over)) {
        fill_cores();
        if (!advance(most)) break;
    }
    return failure_;
}

std::string Cores::who_sleeps() const {
    std::string text;
    for (const auto& task : tasks_) {
        const char* const states[] = {"is ready", "runs", "sleeps", "rests", "is over"};
        text += (text.empty() ? "process " : ", ") + std::to_string(task->number) + " " +
                states[static_cast<unsigned>(task->state)];
    }
    return text;
}

}  // namespace fci::jobs
