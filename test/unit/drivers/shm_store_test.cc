#include "drivers/shm/store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

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

}  // namespace
}  // namespace fci::shm
