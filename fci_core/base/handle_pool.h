// HandlePool: objects that others name by a number. A number carries a generation, so one that is
// stale, forged or damaged on the way finds nothing instead of the wrong object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fci {

/// T has a member `std::uint32_t handle`. It keeps the object's present number; 0 while free.
template <class T>
class HandlePool {
public:
    static constexpr unsigned kIndexBits = 20;
    static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr std::size_t kChunk = 64;
    static constexpr std::size_t kMost = kIndexMask;

    /// nullptr when kMost objects are in use. Grows by chunks; chunks stay.
    T* take() {
        if (first_free_ == kNone && !grow()) [[unlikely]] return nullptr;
        const std::uint32_t index = first_free_;
        Slot& slot = at(index);
        first_free_ = slot.next_free;
        slot.generation = (slot.generation + 1) & kGenerationMask;
        slot.generation += slot.generation == 0;
        slot.object.handle = (slot.generation << kIndexBits) | index;
        ++used_;
        return &slot.object;
    }

    void give_back(T& object) noexcept {
        const std::uint32_t index = object.handle & kIndexMask;
        object.handle = 0;
        at(index).next_free = first_free_;
        first_free_ = index;
        --used_;
    }

    [[nodiscard]] T* find(std::uint32_t handle) noexcept {
        const std::uint32_t index = handle & kIndexMask;
        if (handle == 0 || index >= chunks_.size() * kChunk) return nullptr;
        T& object = at(index).object;
        return object.handle == handle ? &object : nullptr;
    }

    [[nodiscard]] std::size_t used() const noexcept { return used_; }
    [[nodiscard]] std::size_t memory() const noexcept {  // bytes
        return chunks_.size() * kChunk * sizeof(Slot);
    }

    /// `visit` may give objects back and take new ones.
    template <class F>
    void for_each(F visit) {
        for (std::size_t c = 0; c < chunks_.size(); ++c) {
            for (std::size_t i = 0; i < kChunk; ++i) {
                T& object = chunks_[c][i].object;
                if (object.handle != 0) visit(object);
            }
        }
    }

private:
    static constexpr std::uint32_t kNone = ~0u;
    static constexpr std::uint32_t kGenerationMask = ~0u >> kIndexBits;

    struct Slot {
        T object{};
        std::uint32_t generation = 0;
        std::uint32_t next_free = kNone;
    };

    Slot& at(std::uint32_t index) noexcept { return chunks_[index / kChunk][index % kChunk]; }

    bool grow() {
        const std::size_t first = chunks_.size() * kChunk;
        if (first + kChunk > kMost) return false;
        chunks_.push_back(std::make_unique<Slot[]>(kChunk));
        for (std::size_t i = kChunk; i-- > 0;) {
            const auto index = static_cast<std::uint32_t>(first + i);
            at(index).next_free = first_free_;
            first_free_ = index;
        }
        return true;
    }

    std::vector<std::unique_ptr<Slot[]>> chunks_;
    std::uint32_t first_free_ = kNone;
    std::size_t used_ = 0;
};

}  // namespace fci
