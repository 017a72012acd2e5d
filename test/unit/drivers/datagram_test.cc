// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of hints, sealed and not, and the place where a job sends them.
#include "drivers/multicast/datagram.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "drivers/multicast/place.h"
#include "drivers/multicast/seal.h"
#include "fci_core/base/prng.h"
#include "fci_core/nhi/index_table.h"
#include "test/unit/drivers/datagrams.h"
#include "test/unit/seed.h"

namespace fci::multicast {
namespace {

using nhi::Hint;
using nhi::Hints;

constexpr std::uint64_t kName = 0x0123'4567'89ab'cdef;
constexpr std::uint32_t kCookie = 0x1357'9bdf;
constexpr std::uint32_t kHosts[] = {11, 12, 13, 14};

nhi::HintMember member_of(std::uint16_t rank, unsigned key = 1) {
    nhi::HintMember member{{kName, {}}, rank, kHosts};
    member.group.key[0] = static_cast<std::byte>(key);
    return member;
}

/// That of a group's member with this rank.
class datagram : public testing::Test {
protected:
    Seal one_{libcrypto(), member_of(1)}, two_{libcrypto(), member_of(2)};
};

Hint random_hint(Prng& prng, std::size_t bytes) {
    Hint hint{kName, prng.next(), 0, 0, 1};
    hint.offset = static_cast<std::uint32_t>(prng.below(1u << 31));
    hint.total = hint.offset + static_cast<std::uint32_t>(bytes + prng.below(3));
    if (prng.chance(50)) {
        hint.offset = 0;
        hint.total = static_cast<std::uint32_t>(bytes);
    }
    return hint;
}

TEST_F(datagram, read__what_was_written) {
    Prng prng(seeded(1));
    for (unsigned i = 0; i < 2000; ++i) {
        const auto data = random_bytes(prng, prng.below(Hints::kPieceMost + 1));
        const Hint hint = random_hint(prng, data.size());
        auto bytes = datagram_of(one_, kCookie, hint, data);
        EXPECT_FALSE(read_datagram(kCookie + 1, bytes));
        const auto read = read_datagram(kCookie, bytes);
        ASSERT_TRUE(read);
        const Hint is = read->heading.hint();
        EXPECT_EQ(is.name, hint.name);
        EXPECT_EQ(is.number, hint.number);
        EXPECT_EQ(is.offset, hint.offset);
        EXPECT_EQ(is.total, hint.total);
        EXPECT_EQ(is.rank, hint.rank);
        ASSERT_EQ(read->data.size(), data.size());
        if (data.size() > 8) {
            EXPECT_NE(std::memcmp(read->data.data(), data.data(), data.size()), 0) << "in clear";
        }
        ASSERT_TRUE(two_.open(*read, kHosts[1]));
        if (!data.empty()) {
            EXPECT_EQ(std::memcmp(read->data.data(), data.data(), data.size()), 0);
        }
    }
    EXPECT_NE(two_.latest(), 0u);
}

/// Whether a member would take it; what it would take lies there in clear then.
bool opens(Seal& seal, std::vector<std::byte> bytes, std::uint32_t source = kHosts[1]) {
    const auto read = read_datagram(kCookie, bytes);
    return read && seal.open(*read, source);
}

/// Each bit of heading, tag and data, of a short one and of a piece.
TEST_F(datagram, open__no_bit_may_change) {
    Prng prng(seeded(2));
    for (const std::size_t length : {0u, 40u, static_cast<unsigned>(Hints::kPieceMost)}) {
        const auto data = random_bytes(prng, length);
        const Hint hint{kName, 17, 0, static_cast<std::uint32_t>(length) * 2, 1};
        const auto good = datagram_of(one_, kCookie, hint, data);
        for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
            auto bad = good;
            bad[bit / 8] ^= std::byte{1} << bit % 8;
            EXPECT_FALSE(opens(two_, bad)) << "bit " << bit;
        }
        for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
            EXPECT_FALSE(opens(two_, {good.begin(), good.begin() + bytes})) << bytes << " bytes";
        }
        auto long_one = good;
        long_one.resize(good.size() + 1);
        EXPECT_FALSE(opens(two_, long_one));
        EXPECT_TRUE(opens(two_, good));
    }
}

TEST_F(datagram, open__only_of_a_member_at_its_place) {
    const std::vector<std::byte> data(40, std::byte{7});
    const Hint hint{kName, 17, 0, 40, 1};
    const auto good = datagram_of(one_, kCookie, hint, data);
    EXPECT_TRUE(opens(two_, good, kHosts[1]));
    for (const std::uint32_t source : {0u, kHosts[0], kHosts[2], ~0u}) {
        EXPECT_FALSE(opens(two_, good, source)) << source;
    }
    Seal other(libcrypto(), member_of(2, 3));
    EXPECT_FALSE(opens(other, good)) << "another key";
    Seal beyond(libcrypto(), member_of(4));
    Hint from_beyond = hint;
    from_beyond.rank = 4;
    EXPECT_FALSE(opens(two_, datagram_of(beyond, kCookie, from_beyond, data), 0));
}

/// A datagram whose heading says what the test wants, sealed as a member would.
std::vector<std::byte> sealed_with(Heading heading, std::span<const std::byte> data) {
    host::Aead closer(libcrypto(), member_of(1).group.key, host::Aead::Direction::seals);
    std::vector<std::byte> bytes(sizeof heading + data.size());
    EXPECT_TRUE(closer.seal(Seal::nonce_of(heading.rank, heading.serial), heading.words(), data,
                            bytes.data() + sizeof heading, &heading.tag));
    std::memcpy(bytes.data(), &heading, sizeof heading);
    return bytes;
}

/// That is told from the words themselves, whatever the seal says.
TEST_F(datagram, read__what_a_member_would_not_say_though_it_is_sealed) {
    const std::vector<std::byte> data(40, std::byte{7});
    const auto opens_with = [&](auto change) {
        Heading heading = heading_of(kCookie, {kName, 17, 60, 100, 1}, 5, 60);
        change(heading);
        return opens(two_, sealed_with(heading, data));
    };
    EXPECT_TRUE(opens_with([](Heading&) {}));
    for (unsigned bit = 0; bit < 8; ++bit) {
        EXPECT_FALSE(opens_with([&](Heading& h) {
            h.version = static_cast<std::uint8_t>(h.version ^ 1u << bit);
        }));
        EXPECT_FALSE(opens_with([&](Heading& h) {
            h.magic = static_cast<std::uint8_t>(h.magic ^ 1u << bit);
        }));
    }
    EXPECT_FALSE(opens_with([](Heading& h) { h.cookie ^= 1; }));
    EXPECT_TRUE(opens_with([](Heading& h) { h.offset = 0; }));
    EXPECT_FALSE(opens_with([](Heading& h) { h.offset = 61; })) << "more bytes than are in all";
    EXPECT_FALSE(opens_with([](Heading& h) { h.offset = 101; }));
    EXPECT_FALSE(opens_with([](Heading& h) { h.offset = ~0u; }));
    EXPECT_FALSE(opens_with([](Heading& h) { h.total = 99; }));
    EXPECT_TRUE(opens_with([](Heading& h) { h.total = ~0u; }));
    EXPECT_FALSE(opens_with([](Heading& h) { h.rank = 4; })) << "there is no such member";
    EXPECT_FALSE(opens_with([](Heading& h) { h.rank = 2; })) << "it is somewhere else";
}

TEST_F(datagram, read__as_long_as_one_may_be) {
    std::vector<std::byte> bytes(kDatagramMost + 1);
    const Heading heading = heading_of(kCookie, {kName, 17, 0, 5000, 1}, 5, 0);
    std::memcpy(bytes.data(), &heading, sizeof heading);
    const auto read = [&](std::size_t count) {
        return read_datagram(kCookie, std::span(bytes).first(count));
    };
    EXPECT_FALSE(read(kDatagramMost + 1));
    ASSERT_TRUE(read(kDatagramMost));
    EXPECT_EQ(read(kDatagramMost)->data.size(), Hints::kPieceMost);
    EXPECT_EQ(read(kDatagramMost)->data.data(), bytes.data() + sizeof heading);
    ASSERT_TRUE(read(sizeof heading));
    EXPECT_TRUE(read(sizeof heading)->data.empty());
    EXPECT_FALSE(read(sizeof heading - 1));
    EXPECT_FALSE(read(0));
}

TEST_F(datagram, latest__is_the_greatest_that_was_opened) {
    const std::vector<std::byte> data(40);
    EXPECT_EQ(two_.latest(), 0u);
    const auto hear = [&](std::uint64_t number, bool is_good) {
        auto bytes = datagram_of(one_, kCookie, {kName, number, 0, 40, 1}, data);
        if (!is_good) bytes.back() ^= std::byte{1};
        EXPECT_EQ(opens(two_, bytes), is_good);
        return two_.latest();
    };
    EXPECT_EQ(hear(17, true), 17u);
    EXPECT_EQ(hear(5, true), 17u);
    EXPECT_EQ(hear(99, false), 17u);
    EXPECT_EQ(hear(18, true), 18u);
    EXPECT_EQ(one_.rank(), 1u);
}

/// All senders, both lanes, repairs, what is sent twice, and the ends of the ranges by arithmetic.
TEST_F(datagram, nonce__none_comes_twice) {
    std::set<host::Aead::Nonce> seen;
    const std::vector<std::byte> data(40);
    Prng prng(seeded(4));
    std::vector<std::unique_ptr<Seal>> seals;
    for (std::uint16_t rank = 0; rank < 4; ++rank) {
        seals.push_back(std::make_unique<Seal>(libcrypto(), member_of(rank)));
    }
    for (unsigned i = 0; i < 20'000; ++i) {
        const auto rank = static_cast<std::uint16_t>(prng.below(4));
        const auto offset = static_cast<std::uint32_t>(prng.below(3) * Hints::kPieceMost);
        const Hint hint{kName, prng.below(5), offset, offset + 40, rank};
        const auto bytes = datagram_of(*seals[rank], kCookie, hint, data);
        Heading heading;
        std::memcpy(&heading, bytes.data(), sizeof heading);
        ASSERT_EQ(heading.rank, rank);
        EXPECT_TRUE(seen.insert(Seal::nonce_of(heading.rank, heading.serial)).second);
    }
    // The nonce has all bits of both words, so no two pairs have the same one; and a million
    // datagrams a second take 500 000 years to use up the count.
    seen.clear();
    for (unsigned bit = 0; bit < 64; ++bit) seen.insert(Seal::nonce_of(0, 1ull << bit));
    for (unsigned bit = 0; bit < 16; ++bit) {
        seen.insert(Seal::nonce_of(static_cast<std::uint16_t>(1u << bit), 0));
    }
    EXPECT_EQ(seen.size(), 64u + 16u);
    for (const std::uint64_t at : {1ull << 32, (1ull << 32) - 1, (1ull << 32) + 1, ~0ull}) {
        seen.insert(Seal::nonce_of(3, at));
    }
    EXPECT_EQ(seen.size(), 64u + 16u + 4u);
}

/// A million of random, stale, foreign, replayed and changed ones: none goes anywhere.
TEST_F(datagram, read__a_million_bad_ones) {
    struct Nobody final : nhi::HintListener {
        void arrived(const Hint&, std::size_t) noexcept override { FAIL(); }
    } nobody;
    nhi::IndexTable table;
    ASSERT_EQ(table.join(kName, nobody), Status::ok);
    std::vector<std::byte> memory(1000);
    constexpr std::uint64_t kFirst = 1000;
    for (std::uint64_t i = 0; i < Hints::kIndices; ++i) {
        ASSERT_EQ(table.expect(kName, kFirst + i, memory), Status::ok);
    }
    Seal stranger(libcrypto(), member_of(1, 9));
    Prng prng(seeded(3));
    unsigned delivered = 0, well_formed = 0, opened = 0;
    for (unsigned i = 0; i < 1'000'000; ++i) {
        auto data = random_bytes(prng, prng.below(64));
        Hint hint{kName, kFirst + prng.below(Hints::kIndices), 0,
                  static_cast<std::uint32_t>(data.size()), 1};
        std::uint32_t cookie = kCookie;
        std::vector<std::byte> bytes;
        Seal* seal = &one_;
        switch (prng.below(7)) {
            case 0: bytes = random_bytes(prng, 1 + prng.below(100)); break;
            case 1: hint.number += Hints::kIndices * (1 + prng.below(1000)); break;  // another use
            case 2: hint.number -= Hints::kIndices * (1 + prng.below(60)); break;    // of the index
            case 3: cookie ^= static_cast<std::uint32_t>(1 + prng.below(~0u)); break;
            case 4: hint.name ^= 1 + prng.below(~0ull); break;
            case 5:
                seal = &stranger;
                break;
            default: hint.total = static_cast<std::uint32_t>(memory.size() + 1 + prng.below(99));
        }
        if (bytes.empty()) bytes = datagram_of(*seal, cookie, hint, data);
        if (prng.chance(20)) {
            bytes[prng.below(bytes.size())] ^= static_cast<std::byte>(1 + prng.below(255));
        }
        const auto read = read_datagram(kCookie, bytes);
        well_formed += read.has_value();
        if (!read || !two_.open(*read, kHosts[1])) continue;
        ++opened;
        delivered += table.find(read->heading.hint(), read->data.size()).listener != nullptr;
    }
    EXPECT_EQ(delivered, 0u);
    EXPECT_GT(well_formed, 100'000u);
    EXPECT_GT(opened, 100'000u);
}

/// What a program with OpenSSL of its own sees there is its own.
TEST_F(datagram, open__leaves_no_error_to_the_program) {
    void* const library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) GTEST_SKIP() << "libcrypto 1.1";
    auto* const peek = reinterpret_cast<unsigned long (*)()>(dlsym(library, "ERR_peek_error"));
    ASSERT_NE(peek, nullptr);
    const std::vector<std::byte> data(40);
    auto bad = datagram_of(one_, kCookie, {kName, 17, 0, 40, 1}, data);
    bad.back() ^= std::byte{1};
    EXPECT_FALSE(opens(two_, bad));
    EXPECT_EQ(peek(), 0u);
    dlclose(library);
}

// --- places ---

TEST(place, of__a_job_is_its_own) {
    std::set<std::uint32_t> cookies, hosts;
    for (std::uint64_t job = 0; job < 1000; ++job) {
        const Place place = Place::of(job, {});
        cookies.insert(place.cookie);
        hosts.insert(place.host);
        EXPECT_EQ(ntohl(place.host) >> 16, 0xefffu) << "239.255.0.0/16";
        EXPECT_GE(place.port, 20'000);
        EXPECT_LE(place.port + kLanes - 1, 31'999);
        EXPECT_EQ(Place::of(job, {}).cookie, place.cookie);
        const Place within = Place::of(job, {40'000, 40'009});
        EXPECT_TRUE(within.port == 40'000 || within.port == 40'004);
        EXPECT_GE(Place::of(job, {40'000, 40'002}).port, 20'000) << "no room for four";
    }
    EXPECT_EQ(cookies.size(), 1000u);
    EXPECT_GT(hosts.size(), 980u);
}

}  // namespace
}  // namespace fci::multicast
