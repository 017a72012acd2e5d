// SPDX-License-Identifier: BSD-3-Clause
// ArrivedPool: memory for messages that wait for their receive. Short ones are kept for reuse;
// how much there can be is bounded by the senders' credit (Limits::unexpected_bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/base/intrusive_list.h"
#include "fci_core/mp/order.h"

namespace fci::mp {

class ArrivedPool {
public:
    ArrivedPool() = default;
    ArrivedPool(const ArrivedPool&) = delete;
    ArrivedPool& operator=(const ArrivedPool&) = delete;
    ~ArrivedPool() {
        for (auto& kept : free_) {
            while (Arrived* message = kept.pop_front()) destroy(message);
        }
    }

    /// nullptr when there is no memory.
    Arrived* take(std::uint32_t bytes) noexcept {
        if (bytes <= kShort) {
            const bool longer = bytes > kShortest;
            bytes = longer ? kShort : kShortest;
            if (Arrived* kept = free_[longer].pop_front()) {
                FCI_ASSERT(kept_ != 0 && kept->capacity == bytes);
                --kept_;
                kept->~Arrived();
                Arrived* fresh = new (kept) Arrived();
                fresh->capacity = bytes;
                return fresh;
            }
        }
        void* memory = ::operator new(sizeof(Arrived) + bytes, std::nothrow);
        if (memory == nullptr) return nullptr;
        memory_ += sizeof(Arrived) + bytes;
        Arrived* fresh = new (memory) Arrived();
        fresh->capacity = bytes;
        return fresh;
    }

    void give_back(Arrived& message) noexcept {
        if (message.capacity <= kShort && kept_ < kKeep) {
            free_[message.capacity == kShort].push_back(message);
            ++kept_;
        } else {
            FCI_ASSERT(memory_ >= sizeof(Arrived) + message.capacity);
            memory_ -= sizeof(Arrived) + message.capacity;
            destroy(&message);
        }
    }

    /// Bytes, of those that were taken and of those that are kept.
    [[nodiscard]] std::size_t memory() const noexcept { return memory_; }

private:
    static constexpr std::uint32_t kShortest = 56, kShort = 192;  // the capacities that are kept
    static constexpr std::uint32_t kKeep = 1024;

    static void destroy(Arrived* message) noexcept {
        message->~Arrived();
        ::operator delete(static_cast<void*>(message));
    }

    IntrusiveList<Arrived> free_[2];  // of either capacity
    std::uint32_t kept_ = 0;
    std::size_t memory_ = 0;
};

}  // namespace fci::mp
