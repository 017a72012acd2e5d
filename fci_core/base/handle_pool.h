// SPDX-License-Identifier: BSD-3-Clause
// HandlePool: objects that others name by a number. A number carries a generation, so one that is
// stale, forged or damaged on the way finds nothing instead of the wrong object.
#pragma once

#include <algorithm>
#include <array>
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
    static constexpr unsigned kIndexBits = 22;
    static constexpr std::uint32_t kInUse = 1u << kIndexBits;  // the generation follows above it
    static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr std::size_t kChunk = 64;
    static constexpr std::size_t kMost = kIndexMask;
    static constexpr std::size_t kChunksKept = 64;
    static_assert(kIndexBits < 31, "a generation follows above the bit that says it is in use");
    static_assert(kMost <= kIndexMask && kMost >= kChunk);

    /// nullptr when kMost objects are in use. Grows by chunks; these stay until trim().
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

    /// Frees chunks, from the last one on, in which nothing is in use; the first kChunksKept stay.
    /// Cheap where it finds none: false.
    bool trim() noexcept {
        std::size_t stay = chunks_.size();
        while (stay > kChunksKept && !any_used(stay - 1)) --stay;
        if (stay == chunks_.size()) return false;
        for (std::size_t c = stay; c < chunks_.size(); ++c) {
            for (std::size_t i = 0; i < kChunk; ++i) {
                first_handle_ = std::max(first_handle_, (*chunks_[c])[i].handle & ~kIndexMask);
            }
        }
        chunks_.resize(stay);
        first_free_ = nullptr;
        for (std::size_t c = stay; c-- > 0;) add_free(*chunks_[c]);
        return true;
    }

    [[nodiscard]] T* find(std::uint32_t handle) noexcept {
        const std::uint32_t index = handle & kIndexMask;
        if ((handle & kInUse) == 0 || index >= chunks_.size() * kChunk) return nullptr;
        T& object = (*chunks_[index / kChunk])[index % kChunk];
        return object.handle == handle ? &object : nullptr;
    }

    /// Looks at all of them.
    [[nodiscard]] std::size_t used() const noexcept {
        std::size_t used = 0;
        for (const auto& chunk : chunks_) {
            for (const T& object : *chunk) used += (object.handle & kInUse) != 0;
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
                T& object = (*chunks_[c])[i];
                if ((object.handle & kInUse) != 0) visit(object);
            }
        }
    }

private:
    using Chunk = std::array<T, kChunk>;

    bool grow() {
        static_assert(std::is_same_v<decltype(T::handle), std::uint32_t>);
        static_assert(std::is_convertible_v<T*, decltype(T::next_free)>);
        FCI_ASSERT(first_free_ == nullptr);  // free objects would be lost
        const std::size_t first = chunks_.size() * kChunk;
        if (first + kChunk > kMost) return false;
        chunks_.push_back(std::make_unique<Chunk>());
        Chunk& chunk = *chunks_.back();
        for (std::size_t i = 0; i < kChunk; ++i) {
            chunk[i].handle = first_handle_ + static_cast<std::uint32_t>(first + i);
        }
        add_free(chunk);
        return true;
    }
    /// Those that are not in use become the first ones that will be.
    void add_free(Chunk& chunk) noexcept {
        for (std::size_t i = kChunk; i-- > 0;) {
            if ((chunk[i].handle & kInUse) != 0) continue;
            chunk[i].next_free = first_free_;
            first_free_ = &chunk[i];
        }
    }
    [[nodiscard]] bool any_used(std::size_t c) const noexcept {
        return std::any_of(chunks_[c]->begin(), chunks_[c]->end(),
                           [](const T& object) { return (object.handle & kInUse) != 0; });
    }

    std::vector<std::unique_ptr<Chunk>> chunks_;
    T* first_free_ = nullptr;
    std::uint32_t first_handle_ = 0;  // of a new object, but for its index: no older one had it
};

}  // namespace fci
