// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/duties.h"

#include <malloc.h>

#include "fci_core/base/assert.h"

namespace fci::api {

namespace {

constexpr Nanoseconds kReportEvery = 50'000'000;  // while nothing happens
constexpr unsigned kReportsBeforeMeeting = 20;
constexpr nhi::PeerId kMeetMost = 128;  // each takes memory and three descriptors of this process
static_assert(kReportsBeforeMeeting * kReportEvery == 1'000'000'000, "after a second");

}  // namespace

progress::Signs Duties::signs() const noexcept {
    const mp::Engine& engine = messages_.engine();
    return {engine.begun(), engine.peers.expected(), messages_.is_in_use(),
            groups_.outstanding().any()};
}

unsigned Duties::sleeping() const noexcept { return messages_.engine().peers.sleeping(); }

unsigned Duties::polled(Nanoseconds now, unsigned work) {
    const mp::Peers& peers = messages_.engine().peers;
    const bool is_due = now >= report_due_;
    if (is_due) {
        look_for_strangers();
        groups_.clear_away();
        // Memory that a flood of messages took, here and in a plug, goes back to the system.
        if (messages_.engine().orders.trim()) (void)malloc_trim(0);
    }
    if (is_due || shown_.connected() != peers.connected()) {
        report_due_ = now + kReportEvery;
        shown_.update(device_, messages_);
    }
    const unsigned met = peers.on_this_host();
    FCI_ASSERT(met != 0);
    // Not before: a process that sleeps until the others have started is woken on the launcher's
    // core.
    if (work != 0 && met > 1 && !is_placed_) {
        is_placed_ = true;
        host_.take_place(place_.local_rank, place_.local_ranks, cores_);
    }
    return met;
}

/// After a wildcard receive has waited one second, connects to every rank of this job, or the death
/// of one that was never met would not be noticed. Spawned processes are left out: they may just be
/// exiting.
void Duties::look_for_strangers() {
    reports_waiting_ = messages_.awaited().is_from_anybody() ? reports_waiting_ + 1 : 0;
    if (reports_waiting_ >= kReportsBeforeMeeting && place_.ranks <= kMeetMost) {
        messages_.meetings().meet(place_.ranks);
    }
}

}  // namespace fci::api
