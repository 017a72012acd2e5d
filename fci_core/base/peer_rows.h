// SPDX-License-Identifier: BSD-3-Clause
// PeerRows: what an open context shows of its peers (report.h), as long as it lives. The rows are
// where it counts, not copies, and lie in a memory file that only it can write.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "fci_core/base/report.h"

namespace fci {

class PeerRows {
public:
    PeerRows() = default;
    ~PeerRows();
    PeerRows(const PeerRows&) = delete;
    PeerRows& operator=(const PeerRows&) = delete;

    /// One of zeros, which stays where it is. Where no more can be shown, nobody sees it: no error.
    /// May throw bad_alloc.
    PeerRow& add();
    /// ReportFigures::peers_file
    [[nodiscard]] std::uint64_t file() const noexcept;
    /// In a child of fork(): it shows nothing, and writes no row any more.
    void hide() noexcept;
    [[nodiscard]] std::size_t memory() const noexcept;

private:
    void show() noexcept;
    [[nodiscard]] bool is_there(std::size_t row) noexcept;

    bool is_begun_ = false;
    int file_ = -1;
    PeerRow* rows_ = nullptr;  // of the file
    std::size_t there_ = 0;    // for which it has memory
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<PeerRow>> unseen_;
};

}  // namespace fci
