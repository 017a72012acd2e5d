// SPDX-License-Identifier: BSD-3-Clause
// Pages: zeroed memory on a page boundary, of which a page is there once it is touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace fci::tcp {

class Pages {
public:
    Pages() noexcept = default;
    explicit Pages(std::size_t bytes) : bytes_(bytes) {
        if (bytes == 0) return;
        void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        memory_ = static_cast<std::byte*>(at);
    }
    Pages(Pages&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Pages& operator=(Pages&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Pages() {
        if (memory_ != nullptr) munmap(memory_, bytes_);
    }

    [[nodiscard]] std::span<std::byte> span() const noexcept { return {memory_, bytes_}; }

private:
    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace fci::tcp
