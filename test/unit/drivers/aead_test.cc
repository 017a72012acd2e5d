// SPDX-License-Identifier: BSD-3-Clause
// The cipher, and the library from which it comes.
#include "drivers/host/aead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "test/unit/drivers/datagrams.h"

namespace fci::host {
namespace {

using multicast::libcrypto;

TEST(Libcrypto, open__says_why_not) {
    std::string why;
    const char* const nowhere[] = {"libcrypto.so.of-nowhere"};
    EXPECT_EQ(Libcrypto::open(&why, nowhere), nullptr);
    EXPECT_NE(why.find("libcrypto.so.of-nowhere"), std::string::npos) << why;
    const char* const other[] = {"libc.so.6"};
    EXPECT_EQ(Libcrypto::open(&why, other), nullptr);
    EXPECT_NE(why.find("AES-128-GCM"), std::string::npos) << why;
    const char* const second[] = {"libcrypto.so.of-nowhere", "libcrypto.so.3", "libcrypto.so.1.1"};
    EXPECT_NE(Libcrypto::open(&why, second), nullptr) << why;
}

/// Test case 4 of the specification of GCM (McGrew and Viega): that it is the cipher it says it is.
TEST(Aead, seal__known_text) {
    const auto bytes_of = [](const char* hex) {
        std::vector<std::byte> bytes;
        for (; *hex != '\0'; hex += 2) {
            const char two[] = {hex[0], hex[1], '\0'};
            bytes.push_back(static_cast<std::byte>(std::strtoul(two, nullptr, 16)));
        }
        return bytes;
    };
    const auto key_bytes = bytes_of("feffe9928665731c6d6a8f9467308308");
    const auto nonce_bytes = bytes_of("cafebabefacedbaddecaf888");
    const auto plain = bytes_of(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
    const auto associated = bytes_of("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    const auto sealed = bytes_of(
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
        "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091");
    const auto tag_bytes = bytes_of("5bc94fbc3221a5db94fae95ae7121a47");
    Aead::Key key;
    Aead::Nonce nonce;
    Aead::Tag tag, wanted;
    std::ranges::copy(key_bytes, key.begin());
    std::ranges::copy(nonce_bytes, nonce.begin());
    std::ranges::copy(tag_bytes, wanted.begin());
    Aead seals(libcrypto(), key, Aead::Direction::seals);
    std::vector<std::byte> out(plain.size());
    ASSERT_TRUE(seals.seal(nonce, associated, plain, out.data(), &tag));
    EXPECT_EQ(out, sealed);
    EXPECT_EQ(tag, wanted);
    Aead opens(libcrypto(), key, Aead::Direction::opens);
    ASSERT_TRUE(opens.open(nonce, associated, out, out.data(), tag));
    EXPECT_EQ(out, plain);
}

}  // namespace
}  // namespace fci::host
