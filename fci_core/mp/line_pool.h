// LinePool: memory for requests that found no free slot. What must not fail half way asks for it
// before it changes anything: reserve() may throw, take() may not.
#pragma once

#include <cstddef>
#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/base/intrusive_list.h"
#include "fci_core/gcs/request_block.h"

namespace fci::mp {

struct WaitingLine : ListLink {
    gcs::Line line;
};

class LinePool {
public:
    LinePool() = default;
    LinePool(const LinePool&) = delete;
    LinePool& operator=(const LinePool&) = delete;
    ~LinePool() {
        while (WaitingLine* const kept = free_.pop_front()) delete kept;
    }

    /// The next take() will not fail.
    void reserve() {
        if (!try_reserve()) [[unlikely]] throw std::bad_alloc();
    }
    /// The same; false: there is no memory. The only call that allocates.
    [[nodiscard]] bool try_reserve() noexcept { return !free_.empty() || grow(); }
    [[nodiscard]] WaitingLine& take() noexcept {
        FCI_ASSERT(!free_.empty());
        --kept_;
        return *free_.pop_front();
    }
    void give_back(WaitingLine& line) noexcept {
        if (kept_ == kKeep) {
            --lines_;
            delete &line;
            return;
        }
        ++kept_;
        free_.push_back(line);
    }
    [[nodiscard]] std::size_t memory() const noexcept {  // bytes
        return lines_ * sizeof(WaitingLine);
    }

private:
    static constexpr std::size_t kKeep = 16;

    [[gnu::noinline]] bool grow() noexcept {
        auto* const line = new (std::nothrow) WaitingLine;
        if (line == nullptr) return false;
        free_.push_back(*line);
        ++kept_;
        ++lines_;
        return true;
    }

    IntrusiveList<WaitingLine> free_;
    std::size_t kept_ = 0, lines_ = 0;  // free ones; all
};

}  // namespace fci::mp
