// SPDX-License-Identifier: BSD-3-Clause
// ReceiveRecords: which order belongs to which context, for fi_cancel, where the program's contexts
// are not ours to write into.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "fci_core/api/icl.h"

namespace fci::libfabric {

struct ReceiveRecord {
    void* context = nullptr;
    fci_icl_order order = 0;        // 0: not pending
    ReceiveRecord* next = nullptr;  // while free
};

class ReceiveRecords {
public:
    /// nullptr when memory runs out.
    ReceiveRecord* take(void* context) noexcept {
        if (free_ == nullptr && !grow()) [[unlikely]] return nullptr;
        ReceiveRecord* const record = free_;
        free_ = record->next;
        record->context = context;
        return record;
    }
    void give_back(ReceiveRecord& record) noexcept {
        record.order = 0;
        record.next = free_;
        free_ = &record;
    }
    /// The order of a pending receive with this context, or 0. Looks at all: cancelling is rare.
    [[nodiscard]] fci_icl_order find(const void* context) const noexcept {
        for (const auto& chunk : chunks_) {
            for (std::size_t i = 0; i < kChunk; ++i) {
                if (chunk[i].order != 0 && chunk[i].context == context) return chunk[i].order;
            }
        }
        return 0;
    }

private:
    static constexpr std::size_t kChunk = 128;

    bool grow() noexcept try {
        chunks_.push_back(std::make_unique<ReceiveRecord[]>(kChunk));
        for (std::size_t i = kChunk; i-- > 0;) give_back(chunks_.back()[i]);
        return true;
    } catch (...) {
        return false;
    }

    ReceiveRecord* free_ = nullptr;
    std::vector<std::unique_ptr<ReceiveRecord[]>> chunks_;
};

/// The content of a program's fi_context while its receive is pending.
struct ContextMark {
    fci_icl_order order;
    const void* owner;  // the endpoint while pending; anything else: not pending
};

}  // namespace fci::libfabric
