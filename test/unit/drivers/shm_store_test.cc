// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <vector>

#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

TEST(Store, store__every_length_and_alignment) {
    std::vector<std::byte> source(2048 + 16);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 31 + 1);
    alignas(64) std::byte to[2048 + 64], expected[2048 + 64];
    for (std::size_t at = 0; at < 16; ++at) {
        for (std::size_t from = 0; from < 9; from += 4) {
            for (std::size_t length = 0; length <= 2000; length += length < 300 ? 1 : 61) {
                std::memset(to, 0x5a, sizeof to);
                std::memset(expected, 0x5a, sizeof expected);
                store(to + at, source.data() + from, length);
                std::memcpy(expected + at, source.data() + from, length);
                ASSERT_EQ(std::memcmp(to, expected, sizeof to), 0)
                    << "at " << at << " from " << from << " length " << length;
            }
        }
    }
}

/// Two pages that a child shares, of which the second one cannot be written.
class Fence {
public:
    Fence() {
        void* const data = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(data, MAP_FAILED);
        begin_ = static_cast<std::byte*>(data);
        std::memset(begin_, 0x5a, page_);
        EXPECT_EQ(mprotect(fence(), page_, PROT_NONE), 0);
    }
    ~Fence() { munmap(begin_, 2 * page_); }
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;
    [[nodiscard]] std::byte* fence() const { return begin_ + page_; }

private:
    const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::byte* begin_ = nullptr;
};

/// A child stores `bytes`, of which the last `behind` lie behind the fence, where it dies.
void store_until(const Fence& fence, const std::vector<std::byte>& source, std::size_t bytes,
                 std::size_t behind) {
    Child child([&] {
        const rlimit none{0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)std::signal(SIGSEGV, SIG_DFL);
        store(fence.fence() - (bytes - behind), source.data(), bytes);
        return 0;
    });
    child.await_end();
    EXPECT_EQ(child.result(), -1) << "it was killed";
}

// A reader looks at the last aligned word. The first byte that cannot be stored shows what was
// stored before it.
TEST(Store, store__the_last_aligned_word_comes_behind_all_other_bytes) {
    std::vector<std::byte> source(1024);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 29 + 3);
    for (const std::size_t before : {16u, 19u, 64u, 251u, 264u, 600u}) {
        for (const std::size_t behind : {1u, 4u, 7u}) {
            SCOPED_TRACE(testing::Message() << before << " and " << behind);
            const Fence fence;
            store_until(fence, source, before + behind, behind);
            const std::byte* const to = fence.fence() - before;
            EXPECT_EQ(std::memcmp(to, source.data(), before - 8), 0);
            EXPECT_TRUE(std::all_of(to + before - 8, to + before,
                                    [](std::byte one) { return one == std::byte{0x5a}; }));
        }
    }
}

TEST(Store, store__words_come_in_the_order_of_their_addresses) {
    std::vector<std::byte> source(1024);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 29 + 3);
    for (const std::size_t before : {8u, 13u, 56u, 249u, 512u}) {
        SCOPED_TRACE(before);
        const Fence fence;
        store_until(fence, source, before + 8, 8);
        EXPECT_EQ(std::memcmp(fence.fence() - before, source.data(), before), 0);
    }
}

}  // namespace
}  // namespace fci::shm
