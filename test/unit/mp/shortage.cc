// SPDX-License-Identifier: BSD-3-Clause
// operator new of this test program, which heeds the Shortage.
#include "test/unit/mp/shortage.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {
void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (fci::mp::test::Shortage::refuses()) return nullptr;
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment;
    return std::aligned_alloc(alignment, size * alignment);
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
    void* const memory = allocate(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
constexpr std::size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
}  // namespace

// The arrays' forms call these.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, kAlignment); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes, kAlignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
