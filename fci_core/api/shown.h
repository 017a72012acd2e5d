// SPDX-License-Identifier: BSD-3-Clause
// Shown: what a process shows of itself to fci_info --job, in a page of its own: its counters, its
// peers and what it takes of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "fci_core/base/counters.h"
#include "fci_core/base/report_page.h"
#include "fci_core/ddi/device.h"
#include "fci_core/mp/message_passing.h"

namespace fci::api {

class Shown {
public:
    Shown() : memory_(::operator new(ReportPage::size(), alignment())), page_(memory_.get()) {}

    /// The process counts here, so counting costs what it costs elsewhere.
    [[nodiscard]] Counters& counters() const noexcept { return page_.report().counters; }
    /// From now on others find it. `job`: the cookie.
    void open(const std::string& driver, const std::string& protocol,
              const std::string& wait_policy, const std::string& summary,
              std::uint64_t job) noexcept {
        page_.open(driver, protocol, wait_policy, summary, job);
    }
    void update(const ddi::Device& device, const mp::MessagePassing& messages) noexcept;
    /// Peers that were connected at the last update().
    [[nodiscard]] std::uint64_t connected() const noexcept {
        return page_.report().head.figures.connected_peers;
    }

private:
    static std::align_val_t alignment() noexcept { return std::align_val_t{ReportPage::size()}; }
    struct Free {
        void operator()(void* memory) const noexcept { ::operator delete(memory, alignment()); }
    };

    std::unique_ptr<void, Free> memory_;
    ReportPage page_;
};

}  // namespace fci::api
