// SPDX-License-Identifier: BSD-3-Clause
// ReportPage: makes the report (report.h) one that others can see. It is laid over memory that its
// owner has already, and that stays ordinary memory where no page can be had: counting there costs
// what it costs elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "fci_core/base/fork_watch.h"
#include "fci_core/base/report.h"

namespace fci {

class ReportPage {
public:
    /// `place`: size() bytes of this process's own memory, aligned to that; zeroed by this. Where
    /// no page can be had the memory stays what it is, and nobody else sees it: no error.
    explicit ReportPage(void* place) noexcept;
    /// `place` is ordinary memory again.
    ~ReportPage();
    ReportPage(const ReportPage&) = delete;
    ReportPage& operator=(const ReportPage&) = delete;

    /// Pages are that large here.
    [[nodiscard]] static std::size_t size() noexcept;

    [[nodiscard]] Report& report() const noexcept { return *report_; }
    /// Others can see it. Not so in a child of fork(), which has a private copy.
    [[nodiscard]] bool shown() const noexcept { return file_ >= 0; }
    /// From now on readers take it for whole.
    void open(const std::string& driver, const std::string& protocol,
              const std::string& wait_policy, const std::string& summary,
              std::uint64_t job) noexcept;
    void update(const ReportFigures& figures) noexcept;

private:
    bool show();
    void hide() noexcept;

    Report* report_;
    int file_ = -1;
    std::optional<ForkWatch> fork_watch_;  // of one that is shown
};

}  // namespace fci
