// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/process.h"

#include <algorithm>

#include "fci_core/api/version.h"
#include "fci_core/base/assert.h"
#include "fci_core/gcs/line.h"

namespace fci::api {

namespace {

static_assert(static_cast<int>(progress::Idle::may_sleep) == FCI_ICL_MAY_SLEEP);
static_assert(static_cast<int>(progress::Idle::may_yield) == FCI_ICL_MAY_YIELD);
static_assert(static_cast<int>(progress::Idle::keeps_core) == FCI_ICL_KEEPS_CORE);
static_assert(progress::Alert::kLookUp == mp::Engine::kCreditReturned);

std::string summary_of(const char* driver, const JobPlace& place, const ddi::Device& device,
                       const char* protocol, const std::string& wait) {
    std::string text = std::string(FCI_VERSION_TEXT) + ", driver " + driver;
    if (!place.why_driver.empty()) text += " (" + place.why_driver + ")";
    if (const ddi::NetworkChoice& network = device.network_choice(); network.host != 0) {
        text += " at " + network.place;
    }
    return text + ", protocol " + protocol + ", wait " + wait;
}

}  // namespace

std::unique_ptr<Process> Process::make(std::unique_ptr<ddi::Device> device, const char* driver,
                                       const mp::Protocol& protocol, const mp::Limits& limits,
                                       const progress::CoreShare& core, progress::Host& host,
                                       JobPlace place) {
    return std::unique_ptr<Process>(new Process(std::move(device), driver, protocol, limits, core,
                                                host, std::move(place)));
}

Process::Process(std::unique_ptr<ddi::Device> device, const char* driver,
                 const mp::Protocol& protocol, const mp::Limits& limits,
                 const progress::CoreShare& core, progress::Host& host, JobPlace place)
    : driver_(driver),
      place_(std::move(place)),
      device_(std::move(device)),
      messages_(*device_, protocol, limits, shown_.counters()),
      groups_(messages_),
      duties_(*device_, messages_, groups_, shown_, host, place_, core.cores()),
      loop_(*device_, host, duties_, core, gcs::kWakeEvent, shown_.counters()),
      kept_{core.describe(),
            summary_of(driver, place_, *device_, protocol.name, core.describe())} {
    FCI_ASSERT(place_.local_ranks <= place_.ranks);
    messages_.engine().credit_mark = loop_.alert().bits();
    device_->count_in(shown_.counters());
    fork_.watch([](void* process) noexcept { static_cast<Process*>(process)->enter_fork_child(); },
                this);
    loop_.sleeper().waits().enlist(groups_.outstanding());
    loop_.sleeper().waits().enlist(messages_.awaited());
}

Process::~Process() {
    fork_.unwatch();
    loop_.sleeper().waits().forget();
    if (!final_report_.asked()) return;
    final_report_.tell(shown_.counters(), {driver_, messages_.engine().protocol.name,
                                           loop_.core().describe()});
}

int Process::take_alerted(mp::Peer& peer, const gcs::Line& line) noexcept {
    FCI_ASSERT(loop_.alert().any());
    loop_.found(groups_.outstanding().any());
    const int work = messages_.take_arrivals(peer, line);
    loop_.look_up_if_due();
    return duties_.advance(work);
}

/// A turn that found nothing of the peer that sent last, and something else to do.
[[gnu::noinline]] int Process::take_due() noexcept {
    const int work = messages_.take_more();
    if (work == 0) return loop_.empty_turn();
    if (loop_.alert().any()) loop_.found(groups_.outstanding().any());
    loop_.look_up_if_due();
    return duties_.advance(work);
}

bool Process::drain(Nanoseconds timeout) {
    constexpr Nanoseconds kWaitMost = 1'000'000;
    if (fork_.is_here()) return false;
    if (timeout < 0) timeout = linger_;
    const Nanoseconds begin = device_->now();
    while (!messages_.drained() || !messages_.engine().orders.sends_taken() ||
           !device_->network().is_idle()) {
        const Nanoseconds left = timeout - (device_->now() - begin);
        if (left <= 0) return false;
        (void)loop_.wait(std::min(left, kWaitMost));
    }
    return true;
}

void Process::enter_fork_child() noexcept {
    fork_.set();
    loop_.stop(kOfParent);
    messages_.meetings().sever();
    fork_.tell();
}

void Process::show(std::uint64_t job) {
    shown_.update(*device_, messages_);
    shown_.open(driver_, messages_.engine().protocol.name, kept_.wait_policy, kept_.summary, job);
}

Status Process::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    const Status status = device_->add_peer(card, id);
    shown_.update(*device_, messages_);
    return status;
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
