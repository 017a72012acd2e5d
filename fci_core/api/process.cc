// SPDX-License-Identifier: BSD-3-Clause
// The turn of a process, and what it does when nothing happens (§2.6.10, §2.7.4, §2.7.5).
#include "fci_core/api/process.h"

#include <malloc.h>

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/api/version.h"
#include "fci_core/base/assert.h"
#include "fci_core/gcs/line.h"
#include "fci_core/progress/slice.h"

namespace fci::api {

namespace {

constexpr unsigned kLookForSleepersEvery = 16;
constexpr unsigned kRowBegins = 8;  // empty turns
constexpr Nanoseconds kReportEvery = 50'000'000;  // while nothing happens
constexpr unsigned kReportsBeforeMeeting = 20;
constexpr nhi::PeerId kMeetMost = 128;  // each takes memory and three descriptors of this process

std::size_t page_round(std::size_t bytes) noexcept {
    return (bytes + ReportPage::size() - 1) / ReportPage::size() * ReportPage::size();
}

/// Data wait for what the last turn has looked at.
bool has_early_data(nhi::NetworkInterface& network) noexcept {
    const nhi::DataWay* const data = network.data();
    return data != nullptr && data->waits();
}

/// What of a process lies before its report page.
constexpr std::size_t private_part(std::size_t bytes) noexcept { return bytes - sizeof(Counters); }

}  // namespace

// Whole pages of its own, and the report page behind them; an object in these that ends with its
// counters where the report does.
void* Process::operator new(std::size_t bytes) {
    static_assert(sizeof(Counters) % alignof(Process) == 0);
    const std::size_t before = page_round(private_part(bytes));
    const std::align_val_t alignment{ReportPage::size()};
    auto* const memory =
        static_cast<std::byte*>(::operator new(before + ReportPage::size(), alignment));
    return memory + (before - private_part(bytes));
}

void Process::operator delete(void* process) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(process);
    ::operator delete(static_cast<std::byte*>(process) - address % ReportPage::size(),
                      std::align_val_t{ReportPage::size()});
}

std::unique_ptr<Process> Process::make(std::unique_ptr<ddi::Device> device, const char* driver,
                                       const mp::Protocol& protocol, const mp::Limits& limits,
                                       const progress::WaitPolicy& policy, progress::Host& host) {
    return std::unique_ptr<Process>(
        new Process(std::move(device), driver, protocol, limits, policy, host));
}

Process::Process(std::unique_ptr<ddi::Device> device, const char* driver,
                 const mp::Protocol& protocol, const mp::Limits& limits,
                 const progress::WaitPolicy& policy, progress::Host& host)
    : report_(reinterpret_cast<std::byte*>(this) + private_part(sizeof *this)),
      driver_(driver),
      device_(std::move(device)),
      policy_(policy),
      until_poll_(device_->network().idle_poll_every()),
      host_(host),
      messages_(*device_, protocol, limits) {
    FCI_ASSERT(&messages_.engine().counters == &report_.report().counters);
    messages_.engine().credit_mark = &alert_;
    device_->count_in(messages_.engine().counters);
    nhi::NetworkInterface& network = device_->network();
    // Failing here would only mean that a sleeper is not woken at once; sleeps are bounded.
    (void)network.configure_event(gcs::kWakeEvent, {false, true});
    (void)network.mask_event_interrupt(gcs::kWakeEvent, true);
    groups_.emplace(messages_);
    fork_watch_.emplace(
        [](void* process) noexcept { static_cast<Process*>(process)->enter_fork_child(); }, this);
}

Process::~Process() {
    fork_watch_.reset();
    if (oversubscribed_) host_.set_slice(0);
    if (!final_report_.asked()) return;
    final_report_.tell(messages_.engine().counters,
                       {driver_, messages_.engine().protocol.name, policy_.describe()});
}

/// Between two turns that both had work: credit went back, or the clock is asked every few turns.
[[gnu::noinline]] void Process::look_up() noexcept try {
    alert_ &= kAlways;
    if (busy_polls_.is_due(device_->now())) (void)poll_network();
} catch (const std::bad_alloc&) {  // it comes back
}

/// The network's own work: arrivals, departures. Not in every turn where that costs a system call.
unsigned Process::poll_network() {
    const Nanoseconds now = device_->now();
    nhi::NetworkInterface& network = device_->network();
    const unsigned work = network.poll(now);
    until_poll_ = network.idle_poll_every();
    busy_polls_.polled(now, network.busy_poll_every());
    if (busy_polls_.by_time()) alert_ |= kAlways;
    if (now >= report_due_) {
        look_for_strangers();
        groups_->clear_away();
        // What a flood of messages took, here and in a plug, goes back to the system.
        if (messages_.engine().orders.trim()) (void)malloc_trim(0);
    }
    const std::uint64_t shown = report_.report().head.figures.connected_peers;
    if (now >= report_due_ || shown != messages_.engine().peers.connected()) {
        report_due_ = now + kReportEvery;
        update_report();
    }
    if (policy_.wants_watch(now)) policy_.watch(host_.losses(), now);
    if (work == 0) return 0;
    const unsigned met = messages_.engine().peers.on_this_host();
    policy_.set_local_ranks(met);
    // Not before: whoever sleeps until the others have started is woken on the launcher's core.
    if (met > 1 && !placed_) {
        placed_ = true;
        host_.take_place(place_.local_rank, place_.local_ranks, policy_.cores());
    }
    return work;
}

/// After a wildcard receive has waited one second, connects to every rank of this job, or the death
/// of one that was never met would not be noticed. Spawned processes are left out: they may just be
/// exiting.
void Process::look_for_strangers() {
    reports_waiting_ = messages_.waits_for_anybody() ? reports_waiting_ + 1 : 0;
    if (reports_waiting_ >= kReportsBeforeMeeting && place_.ranks <= kMeetMost) {
        messages_.meetings().meet(place_.ranks);
    }
}

/// As many empty turns as nobody need be asked for.
void Process::plan_idle() noexcept {
    const unsigned spins = policy_.spins();
    const bool crowded = spins != ~0u && (oversubscribed_ || messages_.is_in_use());
    if (crowded != oversubscribed_) {
        empty_turns_ = 0;
        // All ranks of the job do so: who had a longer slice than the others would come last.
        host_.set_slice(crowded ? progress::kShortSlice : 0);
    }
    oversubscribed_ = crowded;
    const bool is_alert = wake_ != Wake::off || oversubscribed_ || busy_polls_.by_time();
    alert_ = is_alert || groups_->outstanding().any() ? kAlways : 0;
    row_ = oversubscribed_ && idle_ != FCI_ICL_KEEPS_CORE ? spins + 1 : ~0u;
    const unsigned left = row_ == ~0u ? ~0u : row_ > empty_turns_ ? row_ - empty_turns_ : 1;
    const bool at_once = wake_ == Wake::armed || groups_->outstanding().any();
    until_idle_ = planned_ = at_once ? 1 : std::min(until_poll_, left);
    FCI_ASSERT(planned_ != 0);  // it is counted down to 0
}

/// The row of empty turns is broken.
void Process::worked() noexcept {
    if (wake_ != Wake::off) [[unlikely]] {
        end_sleep();
        plan_idle();
    }
    FCI_ASSERT(until_idle_ != 0 && until_idle_ <= planned_);
    const unsigned passed = planned_ - until_idle_;
    until_poll_ = passed < until_poll_ ? until_poll_ - passed : 1;
    empty_turns_ = 0;
    until_idle_ = planned_ = std::min(until_poll_, row_);
    if (groups_->outstanding().any()) [[unlikely]] look_at_each_turn();
    if (busy_polls_.count_turn()) alert_ |= kLookUp;
}

int Process::take_alerted(mp::Peer& peer, const gcs::Line& line) noexcept {
    worked();
    const int work = messages_.take_arrivals(peer, line);
    if ((alert_ & kLookUp) != 0) look_up();
    return groups_->outstanding().any() ? groups_->outstanding().advance(work) : work;
}

/// A turn that found nothing of the peer that sent last, and something else to do.
[[gnu::noinline]] int Process::take_due() noexcept {
    const int work = messages_.take_more();
    if (work == 0) return count_idle();
    if (alert_ != 0) worked();
    if ((alert_ & kLookUp) != 0) look_up();
    return groups_->outstanding().any() ? groups_->outstanding().advance(work) : work;
}

/// An empty turn: now and then the network's own work, and the wait policy's advice.
int Process::idle() noexcept try {
    if (in_fork_child_) [[unlikely]] {
        until_idle_ = 1;
        return kOfParent;
    }
    if (wake_ == Wake::armed) end_sleep();
    empty_turns_ += planned_;
    until_poll_ -= std::min(planned_, until_poll_);
    const bool polls = until_poll_ == 0;
    unsigned work = polls ? poll_network() : 0;
    if (groups_->outstanding().any()) {
        work += static_cast<unsigned>(groups_->outstanding().advance(0));
    }
    if (work != 0) {
        empty_turns_ = 0;
    } else if (oversubscribed_ && went_on()) {
        policy_.went_on(empty_turns_);
        empty_turns_ = 0;
    } else if (oversubscribed_ && empty_turns_ >= row_) {
        if (empty_turns_ % kLookForSleepersEvery == 0) {
            policy_.set_asleep(messages_.engine().peers.sleeping());
        }
        policy_.set_expected(messages_.engine().peers.expected());
        if (policy_.wants_used_time()) policy_.used_time(host_.used_time());
        progress::WaitStep step = policy_.turn(empty_turns_, device_->now(), polls);
        if (step.action == progress::WaitAction::sleep) {
            // Whoever waits for what is not known here, a lock in shared memory say, is not woken.
            // Asked only now: the answer counts what was probed for since it was asked before.
            const bool is_woken = shared_ || !waits_.empty() || groups_->outstanding().any() ||
                                  (idle_ == FCI_ICL_MAY_SLEEP && messages_.is_waited_for());
            if (idle_ != FCI_ICL_MAY_SLEEP || !is_woken) {
                step.action = progress::WaitAction::yield;
            }
        }
        follow(step, shared_ ? progress::kShortSleep : -1);
        policy_.resumed(device_->now());
    }
    plan_idle();
    if (work == 0) return 0;
    int taken = messages_.turn();  // what came by the network waits for no other call
    if (taken >= 0 && has_early_data(device_->network())) {
        (void)poll_network();
        taken = messages_.turn();
    }
    return taken < 0 ? taken : static_cast<int>(work) + taken;
} catch (const std::bad_alloc&) {
    plan_idle();
    return mp::kNoMemory;
}

/// The caller has sent something in a row of empty turns; not at its begin: that is waited for.
bool Process::went_on() noexcept {
    const std::uint64_t before = std::exchange(sends_, messages_.engine().sends());
    return sends_ != before && empty_turns_ > kRowBegins;
}

/// Does what the policy says. `most`: of a sleep; < 0: as the policy says.
void Process::follow(const progress::WaitStep& step, Nanoseconds most) {
    switch (step.action) {
        case progress::WaitAction::spin:
            flag::pause();
            break;
        case progress::WaitAction::sleep:
            if (sleep(most >= 0 ? std::min(most, step.sleep_ns) : step.sleep_ns)) break;
            [[fallthrough]];  // what waits for room, say: whoever makes some may need this core
        case progress::WaitAction::yield:
            ++messages_.engine().counters.yields;
            host_.give_core_away();
            break;
    }
}

/// False: there is something to do.
bool Process::sleep(Nanoseconds timeout, progress::Wait* over) {
    if (!begin_sleep(over)) return false;
    if (!groups_->outstanding().may_be_woken()) {
        timeout = std::min(timeout, policy_.kStrangerSleepMost);
    }
    ++messages_.engine().counters.sleeps;
    device_->sleep(timeout);
    wake_ = Wake::left_on;
    until_poll_ = 1;  // it may have been an arrival or a departure that woke us
    return true;
}

/// Who may end `over`, or what goes on in progress, wakes this process. A sleep that others
/// prepared has made nobody pass a barrier since such a wait has said so.
bool Process::begin_sleep(progress::Wait* over) {
    if (in_fork_child_) return false;
    FCI_ASSERT(until_idle_ <= planned_);
    const bool is_armed = wake_ != Wake::off || others_sleep_;
    bool is_told = true;
    const auto add = [&](progress::Wait& wait) { is_told = !waits_.add(wait) && is_told; };
    if (over != nullptr) add(*over);
    groups_->outstanding().for_each_wait(add);
    if (is_armed && !is_told) {
        (void)device_->network().configure_event(gcs::kWakeEvent, {false, true});
    }
    wake_ = Wake::armed;
    (void)device_->network().mask_event_interrupt(gcs::kWakeEvent, false);
    if (messages_.ready() || waits_.any_over() || groups_->outstanding().is_due()) {
        end_sleep();
        return false;
    }
    look_at_each_turn();  // the next one, with or without work, ends it
    return true;
}

void Process::end_sleep() noexcept {
    FCI_ASSERT(!in_fork_child_);
    wake_ = Wake::off;
    if (!others_sleep_) (void)device_->network().mask_event_interrupt(gcs::kWakeEvent, true);
}

int Process::turn_apart() {
    int work = messages_.turn();
    if (work == 0 && in_fork_child_) [[unlikely]] return kOfParent;
    if (groups_->outstanding().any()) [[unlikely]] work = groups_->outstanding().advance(work);
    if (work == 0 && --until_poll_ == 0) work = static_cast<int>(poll_network());
    if (work != 0) {
        worked();
        if ((alert_ & kLookUp) != 0) look_up();
    }
    return work;
}

int Process::wait(Nanoseconds timeout) {
    const Nanoseconds begin = device_->now();
    for (unsigned empty = 1;; ++empty) {
        if (const int work = turn_apart(); work != 0) return work;
        const Nanoseconds waited = device_->now() - begin;
        if (timeout >= 0 && waited >= timeout) return 0;
        follow(policy_.wait(empty, waited), timeout < 0 ? -1 : timeout - waited);
    }
}

bool Process::drain(Nanoseconds timeout) {
    if (in_fork_child_) return false;
    if (timeout < 0) timeout = linger_;
    const Nanoseconds begin = device_->now();
    while (!messages_.drained() || !messages_.engine().orders.sends_taken() ||
           !device_->network().is_idle()) {
        const Nanoseconds left = timeout - (device_->now() - begin);
        if (left <= 0) return false;
        wait(left < 1'000'000 ? left : 1'000'000);
    }
    return true;
}

void Process::enter_fork_child() noexcept {
    in_fork_child_ = true;
    wake_ = Wake::off;
    others_sleep_ = false;
    until_idle_ = 1;
    waits_.forget();
    messages_.meetings().sever();
    if (in_child_ != nullptr) in_child_(in_child_user_);
}

void Process::show(std::uint64_t job) {
    update_report();
    report_.open(driver_, messages_.engine().protocol.name, policy_.describe(), summary(), job);
}

void Process::update_report() noexcept {
    ReportFigures figures{device_->peers() - 1, messages_.engine().peers.connected(),
                          messages_.engine().peers.rows().file(), device_->memory()};
    figures.memory += messages_.memory();
    figures.memory.fixed += sizeof *this;
    report_.update(figures);
}

Status Process::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    const Status status = device_->add_peer(card, id);
    update_report();
    return status;
}

std::uint64_t Process::counter(unsigned i) {
    return counter_value(messages_.engine().counters, i);
}

std::string Process::summary() const {
    std::string driver = driver_;
    if (!place_.why_driver.empty()) driver += " (" + place_.why_driver + ")";
    if (const ddi::NetworkChoice& network = device_->network_choice(); network.host != 0) {
        driver += " at " + network.place;
    }
    return std::string(FCI_VERSION_TEXT) + ", driver " + driver + ", protocol " +
           messages_.engine().protocol.name + ", wait " + policy_.describe();
}

int code_of(Status status) noexcept {
    switch (status) {
        case Status::ok: return FCI_ICL_OK;
        case Status::again: return FCI_ICL_EAGAIN;
        case Status::not_found: return FCI_ICL_ENOENT;
        case Status::invalid: return FCI_ICL_EINVAL;
        case Status::exhausted: return FCI_ICL_ENOMEM;
        case Status::unreachable: return FCI_ICL_EUNREACHABLE;
        case Status::lost: return FCI_ICL_EPEER;
        case Status::unsupported: return FCI_ICL_EUNSUPPORTED;
        case Status::mismatch: return FCI_ICL_EMISMATCH;
    }
    return FCI_ICL_EINVAL;
}

}  // namespace fci::api
