// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/peer_rows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fci_core/base/assert.h"
#include "fci_core/base/memory_file.h"

namespace fci {

namespace {

// Of address space; there is memory for those that are used only.
constexpr std::size_t kFileBytes = PeerRow::kShownMost * sizeof(PeerRow);
constexpr std::size_t kStepBytes = 4096;
constexpr std::size_t kStep = kStepBytes / sizeof(PeerRow);
static_assert(kFileBytes % kStepBytes == 0);

}  // namespace

PeerRows::~PeerRows() {
    if (rows_ != nullptr) munmap(rows_, kFileBytes);
    if (file_ >= 0) close(file_);
}

void PeerRows::show() noexcept {
    FCI_ASSERT(file_ < 0 && rows_ == nullptr);
    is_begun_ = true;
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < kFileBytes) return;
    file_ = open_memory_file(kPeersName);
    if (file_ < 0) return;
    void* memory = MAP_FAILED;
    if (ftruncate(file_, kFileBytes) == 0) {
        memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    }
    if (memory != MAP_FAILED && seal_memory_file(file_)) {
        rows_ = static_cast<PeerRow*>(memory);
        return;
    }
    if (memory != MAP_FAILED) munmap(memory, kFileBytes);
    close(file_);
    file_ = -1;
}

/// There is memory for it, so that no access to it can end in SIGBUS.
bool PeerRows::is_there(std::size_t row) noexcept {
    FCI_ASSERT(row <= there_);
    if (row < there_) return true;
    const auto begin = static_cast<off_t>(there_ * sizeof(PeerRow));
    if (file_ < 0 || there_ == PeerRow::kShownMost ||
        posix_fallocate(file_, begin, kStepBytes) != 0) {
        return false;
    }
    there_ += kStep;
    return true;
}

PeerRow& PeerRows::add() {
    if (!is_begun_) show();
    if (is_there(used_)) return rows_[used_++];
    unseen_.push_back(std::make_unique<PeerRow>());
    return *unseen_.back();
}

std::uint64_t PeerRows::file() const noexcept {
    return file_ < 0 ? ReportFigures::kNoFile : static_cast<std::uint64_t>(file_);
}

void PeerRows::hide() noexcept {
    if (file_ >= 0) close(file_);
    file_ = -1;
    is_begun_ = true;
    used_ = there_;
}

std::size_t PeerRows::memory() const noexcept {
    return there_ * sizeof(PeerRow) + unseen_.size() * (sizeof(PeerRow) + sizeof unseen_[0]);
}

}  // namespace fci
