// The turn of a process, and what it does when nothing happens (§2.6.10, §2.7.4, §2.7.5).
#include "fci_core/api/process.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "fci_core/api/version.h"
#include "fci_core/base/assert.h"

namespace fci::api {

namespace {

constexpr unsigned kLookForSleepersEvery = 16;
constexpr Nanoseconds kReportEvery = 50'000'000;  // while nothing happens
constexpr unsigned kReportsBeforeMeeting = 20;
constexpr nhi::Rank kMeetMost = 128;  // each takes memory and three descriptors of this process

std::size_t page_round(std::size_t bytes) noexcept {
    return (bytes + ReportPage::size() - 1) / ReportPage::size() * ReportPage::size();
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
                                       const progress::WaitPolicy& policy) {
    return std::unique_ptr<Process>(
        new Process(std::move(device), driver, protocol, limits, policy));
}

Process::Process(std::unique_ptr<ddi::Device> device, const char* driver,
                 const mp::Protocol& protocol, const mp::Limits& limits,
                 const progress::WaitPolicy& policy)
    : report_(reinterpret_cast<std::byte*>(this) + private_part(sizeof *this)),
      driver_(driver),
      device_(std::move(device)),
      policy_(policy),
      idle_poll_every_(device_->network().capabilities().idle_poll_every),
      until_poll_(idle_poll_every_),
      messages_(*device_, protocol, limits) {
    FCI_ASSERT(&messages_.counters() == &report_.report().counters);
    nhi::NetworkInterface& network = device_->network();
    // Failing here would only mean that a sleeper is not woken at once; sleeps are bounded.
    (void)network.configure_event(gcs::kWakeEvent, {false, true});
    (void)network.mask_event_interrupt(gcs::kWakeEvent, true);
}

Process::~Process() {
    if (!final_report_.asked()) return;
    final_report_.tell(messages_.counters(),
                       {driver_, messages_.protocol().name, policy_.describe()});
}

unsigned Process::progress() {
    if (armed_) [[unlikely]] disarm();
    const unsigned work = messages_.turn();
    if (work != 0) [[likely]] {
        empty_turns_ = 0;
        return work;
    }
    ++empty_turns_;
    if (--until_poll_ != 0 && empty_turns_ <= policy_.spins()) [[likely]] return 0;
    return idle();
}

/// The network's own work: arrivals, departures. Not in every turn where that costs a system call.
unsigned Process::poll_network() {
    until_poll_ = idle_poll_every_;
    const Nanoseconds now = device_->now();
    const unsigned work = device_->network().poll(now);
    if (work != 0 || now >= report_due_) {
        if (now >= report_due_) look_for_strangers();
        report_due_ = now + kReportEvery;
        update_report();
    }
    if (policy_.wants_watch(now)) {
        rusage usage{};
        getrusage(RUSAGE_THREAD, &usage);
        policy_.watch(usage.ru_nivcsw, now);
    }
    // Every peer of this build's drivers is on this host.
    const Counters& known = messages_.counters();
    const auto met = static_cast<unsigned>(known.peers_attached - known.peers_lost) + 1;
    policy_.set_local_ranks(met);
    return work;
}

/// Who has waited for anybody for a second meets all of its job, and so hears when one of them
/// dies. Not others: whoever was spawned, say, may just be leaving in good order.
void Process::look_for_strangers() {
    reports_waiting_ = messages_.waits_for_anybody() ? reports_waiting_ + 1 : 0;
    if (reports_waiting_ >= kReportsBeforeMeeting && job_size_ <= kMeetMost) {
        messages_.meet(job_size_);
    }
}

/// An empty turn: now and then the network's own work, and the wait policy's advice.
unsigned Process::idle() {
    if (until_poll_ == 0) {
        if (const unsigned work = poll_network()) {
            empty_turns_ = 0;
            return work;
        }
    }
    if (empty_turns_ <= policy_.spins()) return 0;
    if (empty_turns_ % kLookForSleepersEvery == 0) policy_.set_asleep(messages_.sleeping_peers());
    follow(policy_.turn(empty_turns_, device_->now()), -1);
    policy_.resumed(device_->now());
    return 0;
}

/// Does what the policy says. `most`: of a sleep; < 0: as the policy says.
void Process::follow(const progress::WaitStep& step, Nanoseconds most) {
    switch (step.action) {
        case progress::WaitAction::spin:
            flag::pause();
            break;
        case progress::WaitAction::yield:
            ++messages_.counters().yields;
            progress::give_core_away();
            break;
        case progress::WaitAction::sleep:
            sleep(most >= 0 ? std::min(most, step.sleep_ns) : step.sleep_ns);
            break;
    }
}

void Process::sleep(Nanoseconds timeout) {
    if (!arm()) return;
    ++messages_.counters().sleeps;
    device_->sleep(timeout);
    disarm();
    until_poll_ = 1;  // it may have been an arrival or a departure that woke us
}

bool Process::arm() {
    armed_ = true;
    (void)device_->network().mask_event_interrupt(gcs::kWakeEvent, false);
    if (!messages_.ready()) return true;
    disarm();
    return false;
}

void Process::disarm() noexcept {
    armed_ = false;
    (void)device_->network().mask_event_interrupt(gcs::kWakeEvent, true);
}

unsigned Process::wait(Nanoseconds timeout) {
    const Nanoseconds begin = device_->now();
    for (unsigned empty = 1;; ++empty) {
        unsigned work = messages_.turn();
        if (work == 0 && --until_poll_ == 0) work = poll_network();
        if (work != 0) {
            empty_turns_ = 0;
            return work;
        }
        const Nanoseconds waited = device_->now() - begin;
        if (timeout >= 0 && waited >= timeout) return 0;
        follow(policy_.wait(empty, waited), timeout < 0 ? -1 : timeout - waited);
    }
}

bool Process::drain(Nanoseconds timeout) {
    const Nanoseconds begin = device_->now();
    while (!messages_.drained() || !messages_.sends_taken()) {
        const Nanoseconds left = timeout - (device_->now() - begin);
        if (left <= 0) return false;
        wait(left < 1'000'000 ? left : 1'000'000);
    }
    return true;
}

void Process::show(std::uint64_t job) {
    update_report();
    report_.open(driver_, messages_.protocol().name, wait_policy(), summary(), job);
}

void Process::update_report() noexcept {
    ReportFigures figures{device_->peers() - 1, messages_.connected_peers(), device_->memory()};
    figures.memory += messages_.memory();
    figures.memory.fixed += sizeof *this;
    report_.update(figures);
}

Status Process::add_peer(const ddi::Card& card, nhi::Rank* rank) {
    const Status status = device_->add_peer(card, rank);
    update_report();
    return status;
}

void Process::set_handler(std::uint32_t id, fci_icl_am_fn handler, void* user) {
    handlers_[id] = {handler, user};
    if (handler == nullptr) return messages_.set_handler(id, nullptr, nullptr);
    // The C face and mp name the landing differently; this is the one place that translates.
    messages_.set_handler(
        id,
        [](void* self, nhi::Rank source, const void* header, std::size_t header_bytes,
           const void* data, std::uint64_t bytes, mp::Landing* landing) {
            const auto& known = *static_cast<const Handler*>(self);
            fci_icl_am_landing there{};
            known.call(known.user, source, header, header_bytes, data, bytes, &there);
            landing->to = {there.iov, there.iov_count};
            static_assert(sizeof landing->completion == sizeof there.completion);
            std::memcpy(&landing->completion, &there.completion, sizeof there.completion);
        },
        &handlers_[id]);
}

std::uint64_t Process::counter(unsigned i) {
    return counter_value(messages_.counters(), i);
}

std::string Process::wait_policy() const { return policy_.describe(); }

std::string Process::summary() const {
    return std::string(FCI_VERSION_TEXT) + ", driver " + driver_ + ", protocol " +
           messages_.protocol().name + ", wait " + wait_policy();
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
