#include "fci_core/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fci_core/base/prng.h"

namespace fci {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

/// RFC 3720, appendix B.4, and the check value of every catalogue.
TEST(crc32c, known__sums) {
    for (auto* const sum : {&crc32c, &crc32c_by_table}) {
        EXPECT_EQ(sum(bytes_of("123456789"), 0), 0xe306'9283u);
        EXPECT_EQ(sum(bytes_of(std::string(32, '\0')), 0), 0x8a91'36aau);
        EXPECT_EQ(sum(bytes_of(std::string(32, '\xff')), 0), 0x62a8'ab43u);
        EXPECT_EQ(sum({}, 0), 0u);
    }
}

TEST(crc32c, before__goes_on_and_both_agree) {
    Prng prng(1);
    for (unsigned i = 0; i < 500; ++i) {
        std::vector<std::byte> bytes(prng.below(300));
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
        const std::span<const std::byte> all(bytes);
        const std::size_t cut = prng.below(all.size() + 1);
        const std::uint32_t whole = crc32c_by_table(all);
        EXPECT_EQ(crc32c(all), whole);
        EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole);
    }
}

}  // namespace
}  // namespace fci
