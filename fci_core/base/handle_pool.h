// HandlePool: objects that others name by a number. A number carries a generation, so one that is
// stale, forged or damaged on the way finds nothing instead of the wrong object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "fci_core/base/assert.h"

namespace fci {

/// T has a member `std::uint32_t handle`: index, generation, and on top of these a bit that is set
/// while the object is in use, so a number that is given out is never 0. And `next_free`, which can
/// point to a T or a base of it: the pool's, placed by T where it lies beside what is used most.
template <class T>
class HandlePool {
public:
    static constexpr unsigned kIndexBits = 20;
    static constexpr std::uint32_t kInUse = 1u << kIndexBits;  // the generation follows above it
    static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr std::size_t kChunk = 64;
    static constexpr std::size_t kMost = kIndexMask;
    static_assert(kIndexBits < 31, "a generation follows above the bit that says it is in use");
    static_assert(kMost <= kIndexMask && kMost >= kChunk);

    /// nullptr when kMost objects are in use. Grows by chunks; chunks stay.
    T* take() { return first_free_ != nullptr || grow() ? take_free() : nullptr; }

    /// nullptr where take() would have to grow.
    T* take_free() noexcept {
        if (first_free_ == nullptr) [[unlikely]] return nullptr;
        T* const taken = first_free_;
        first_free_ = static_cast<T*>(taken->next_free);
        taken->handle += kInUse;
        return taken;
    }

    void give_back(T& object) noexcept {
        object.handle += kInUse;  // carries: the next generation
        object.next_free = first_free_;
        first_free_ = &object;
    }

    [[nodiscard]] T* find(std::uint32_t handle) noexcept {
        const std::uint32_t index = handle & kIndexMask;
        if ((handle & kInUse) == 0 || index >= chunks_.size() * kChunk) return nullptr;
        T& object = chunks_[index / kChunk][index % kChunk];
        return object.handle == handle ? &object : nullptr;
    }

    /// Looks at all of them.
    [[nodiscard]] std::size_t used() const noexcept {
        std::size_t used = 0;
        for (const auto& chunk : chunks_) {
            for (std::size_t i = 0; i < kChunk; ++i) used += (chunk[i].handle & kInUse) != 0;
        }
        return used;
    }
    [[nodiscard]] std::size_t memory() const noexcept {  // bytes
        return chunks_.size() * kChunk * sizeof(T);
    }

    /// `visit` may give objects back and take new ones.
    template <class F>
    void for_each(F visit) {
        for (std::size_t c = 0; c < chunks_.size(); ++c) {
            for (std::size_t i = 0; i < kChunk; ++i) {
                T& object = chunks_[c][i];
                if ((object.handle & kInUse) != 0) visit(object);
            }
        }
    }

private:
    bool grow() {
        static_assert(std::is_same_v<decltype(T::handle), std::uint32_t>);
        static_assert(std::is_convertible_v<T*, decltype(T::next_free)>);
        FCI_ASSERT(first_free_ == nullptr);  // what is free would be lost
        const std::size_t first = chunks_.size() * kChunk;
        if (first + kChunk > kMost) return false;
        chunks_.push_back(std::make_unique<T[]>(kChunk));
        for (std::size_t i = kChunk; i-- > 0;) {
            T& object = chunks_.back()[i];
            object.handle = static_cast<std::uint32_t>(first + i);
            object.next_free = first_free_;
            first_free_ = &object;
        }
        return true;
    }

    std::vector<std::unique_ptr<T[]>> chunks_;
    T* first_free_ = nullptr;
};

}  // namespace fci
