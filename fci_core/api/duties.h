// SPDX-License-Identifier: BSD-3-Clause
// Duties: what a process does in the turns that its waiting loop takes: messages, collectives that
// go on, and, after the network was polled, what is due now and then.
#pragma once

#include "fci_core/api/job_place.h"
#include "fci_core/api/shown.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"
#include "fci_core/group/groups.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/progress/host.h"
#include "fci_core/progress/worker.h"

namespace fci::api {

class Duties final : public progress::Worker {
public:
    /// All outlive it. `cores`: that the processes of the job on this host share.
    Duties(ddi::Device& device, mp::MessagePassing& messages, group::Groups& groups, Shown& shown,
           progress::Host& host, const JobPlace& place, unsigned cores) noexcept
        : device_(device),
          messages_(messages),
          groups_(groups),
          shown_(shown),
          host_(host),
          place_(place),
          cores_(cores) {}

    [[nodiscard]] int turn() override { return messages_.turn(); }
    [[nodiscard]] int advance(int work) noexcept override {
        return groups_.outstanding().any() ? groups_.outstanding().advance(work) : work;
    }
    [[nodiscard]] progress::Signs signs() const noexcept override;
    [[nodiscard]] unsigned sleeping() const noexcept override;
    [[nodiscard]] unsigned polled(Nanoseconds now, unsigned work) override;

private:
    void look_for_strangers();

    ddi::Device& device_;
    mp::MessagePassing& messages_;
    group::Groups& groups_;
    Shown& shown_;
    progress::Host& host_;
    const JobPlace& place_;
    const unsigned cores_;
    bool is_placed_ = false;
    Nanoseconds report_due_ = 0;
    unsigned reports_waiting_ = 0;  // in a row, with a receive from any source posted
};

}  // namespace fci::api
