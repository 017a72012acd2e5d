// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/api/asked.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

std::optional<std::size_t> fci::asked_bytes() noexcept { return {}; }

#else

namespace fci {
namespace {

std::atomic<std::size_t> asked{0};

/// In front of each block, as far as its alignment wants; the size stands right before it.
std::size_t head_of(std::size_t alignment) noexcept {
    return alignment > sizeof(std::max_align_t) ? alignment : sizeof(std::max_align_t);
}

void* get(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t head = head_of(alignment);
    const std::size_t all = (head + bytes + head - 1) / head * head;
    auto* const start = static_cast<std::byte*>(std::aligned_alloc(head, all));
    if (start == nullptr) return nullptr;
    reinterpret_cast<std::size_t*>(start + head)[-1] = bytes;
    asked += bytes;
    return start + head;
}

void* get_or_throw(std::size_t bytes, std::size_t alignment) {
    void* const block = get(bytes, alignment);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

void give_back(void* block, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    asked -= static_cast<std::size_t*>(block)[-1];
    std::free(static_cast<std::byte*>(block) - head_of(alignment));
}

}  // namespace

std::optional<std::size_t> asked_bytes() noexcept { return asked; }

}  // namespace fci

void* operator new(std::size_t bytes) { return fci::get_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return fci::get_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return fci::get(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return fci::get(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { fci::give_back(block, 1); }
void operator delete(void* block, std::size_t) noexcept { fci::give_back(block, 1); }
void operator delete(void* block, std::align_val_t alignment) noexcept {
    fci::give_back(block, static_cast<std::size_t>(alignment));
}
void operator delete(void* block, std::size_t, std::align_val_t alignment) noexcept {
    fci::give_back(block, static_cast<std::size_t>(alignment));
}

#endif
