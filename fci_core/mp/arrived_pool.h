// ArrivedPool: memory for messages that wait for their receive. Short ones are kept for reuse;
// how much there can be is bounded by the senders' credit (Limits::unexpected_bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "fci_core/base/intrusive_list.h"
#include "fci_core/mp/order.h"

namespace fci::mp {

class ArrivedPool {
public:
    ArrivedPool() = default;
    ArrivedPool(const ArrivedPool&) = delete;
    ArrivedPool& operator=(const ArrivedPool&) = delete;
    ~ArrivedPool() {
        while (Arrived* message = free_.pop_front()) destroy(message);
    }

    /// nullptr when there is no memory.
    Arrived* take(std::uint32_t bytes) noexcept {
        if (bytes <= kShort) {
            if (Arrived* kept = free_.pop_front()) {
                --kept_;
                const std::uint32_t room = kept->room;
                kept->~Arrived();
                Arrived* fresh = new (kept) Arrived();
                fresh->room = room;
                return fresh;
            }
            bytes = kShort;
        }
        void* memory = ::operator new(sizeof(Arrived) + bytes, std::nothrow);
        if (memory == nullptr) return nullptr;
        memory_ += sizeof(Arrived) + bytes;
        Arrived* fresh = new (memory) Arrived();
        fresh->room = bytes;
        return fresh;
    }

    void give_back(Arrived& message) noexcept {
        if (message.room == kShort && kept_ < kKeep) {
            free_.push_back(message);
            ++kept_;
        } else {
            memory_ -= sizeof(Arrived) + message.room;
            destroy(&message);
        }
    }

    /// Bytes, of those that were taken and of those that are kept.
    [[nodiscard]] std::size_t memory() const noexcept { return memory_; }

private:
    static constexpr std::uint32_t kShort = 192;
    static constexpr std::uint32_t kKeep = 1024;

    static void destroy(Arrived* message) noexcept {
        message->~Arrived();
        ::operator delete(static_cast<void*>(message));
    }

    IntrusiveList<Arrived> free_;
    std::uint32_t kept_ = 0;
    std::size_t memory_ = 0;
};

}  // namespace fci::mp
