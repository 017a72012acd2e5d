// SPDX-License-Identifier: BSD-3-Clause
// Guarded: memory behind which nothing may be touched, nor itself once it was given back: the last
// byte lies before a page that nobody may touch, and what was given back is taken from everybody
// before its place is used anew. Under the address sanitizer that sees to it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <deque>
#include <new>
#include <span>
#include <vector>

namespace fci::simulation {

template <class T>
struct Guarded {
    using value_type = T;
    static_assert(alignof(T) == 1, "it ends where it ends");

    Guarded() = default;
    template <class Other>
    explicit Guarded(const Guarded<Other>&) noexcept {}
    friend bool operator==(const Guarded&, const Guarded&) noexcept { return true; }

    [[nodiscard]] T* allocate(std::size_t count) {
        const std::size_t room = pages(count);
        void* const at = mmap(nullptr, room + page(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        auto* const begin = static_cast<std::byte*>(at);
        if (mprotect(begin + room, page(), PROT_NONE) != 0) throw std::bad_alloc();
        return reinterpret_cast<T*>(begin + room - count);
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        static std::deque<std::span<std::byte>> gone;
        const std::size_t room = pages(count);
        auto* const begin = reinterpret_cast<std::byte*>(memory) + count - room;
        (void)mprotect(begin, room, PROT_NONE);
        (void)madvise(begin, room, MADV_DONTNEED);
        gone.emplace_back(begin, room + page());
        if (gone.size() <= kGoneMost) return;
        munmap(gone.front().data(), gone.front().size());
        gone.pop_front();
    }

private:
    static constexpr std::size_t kGoneMost = 1000;

    static std::size_t page() noexcept { return static_cast<std::size_t>(getpagesize()); }
    static std::size_t pages(std::size_t bytes) noexcept {
        return (bytes + page() - 1) / page() * page();
    }
};

#ifdef __SANITIZE_ADDRESS__
using Buffer = std::vector<std::byte>;
#else
using Buffer = std::vector<std::byte, Guarded<std::byte>>;
#endif

}  // namespace fci::simulation
