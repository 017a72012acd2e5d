// Datagrams of hints, and the place where a job sends them.
#include "drivers/multicast/datagram.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "drivers/multicast/place.h"
#include "fci_core/base/prng.h"
#include "fci_core/nhi/index_table.h"
#include "test/unit/drivers/datagrams.h"

namespace fci::multicast {
namespace {

using nhi::Hint;
using nhi::Hints;

constexpr std::uint64_t kName = 0x0123'4567'89ab'cdef;
constexpr std::uint32_t kCookie = 0x1357'9bdf;

Hint random_hint(Prng& prng, std::size_t bytes) {
    Hint hint{prng.next(), prng.next(), 0, 0, static_cast<std::uint16_t>(prng.next())};
    hint.offset = static_cast<std::uint32_t>(prng.below(1u << 31));
    hint.total = hint.offset + static_cast<std::uint32_t>(bytes + prng.below(3));
    if (prng.chance(50)) {
        hint.offset = 0;
        hint.total = static_cast<std::uint32_t>(bytes);
    }
    return hint;
}

TEST(datagram, read__what_was_written) {
    Prng prng(1);
    for (unsigned i = 0; i < 2000; ++i) {
        const auto data = random_bytes(prng, prng.below(Hints::kPieceMost + 1));
        const Hint hint = random_hint(prng, data.size());
        const auto bytes = datagram_of(kCookie, hint, data);
        const auto read = read_datagram(kCookie, bytes);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->hint.name, hint.name);
        EXPECT_EQ(read->hint.number, hint.number & 0xffff'ffff);
        EXPECT_EQ(read->hint.offset, hint.offset);
        EXPECT_EQ(read->hint.total, hint.total);
        EXPECT_EQ(read->hint.rank, hint.rank);
        ASSERT_EQ(read->data.size(), data.size());
        if (!data.empty()) {
            EXPECT_EQ(std::memcmp(read->data.data(), data.data(), data.size()), 0);
        }
        EXPECT_FALSE(read_datagram(kCookie + 1, bytes));
    }
}

/// Each bit of the heading, and of data that are short as a whole.
TEST(datagram, read__no_bit_may_change) {
    Prng prng(2);
    const auto data = random_bytes(prng, 40);
    const Hint hint{kName, 17, 0, 40, 3};
    const auto good = datagram_of(kCookie, hint, data);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        auto bad = good;
        bad[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_FALSE(read_datagram(kCookie, bad)) << "bit " << bit;
    }
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        EXPECT_FALSE(read_datagram(kCookie, std::span(good).first(bytes))) << bytes << " bytes";
    }
    auto long_one = good;
    long_one.resize(good.size() + 1);
    EXPECT_FALSE(read_datagram(kCookie, long_one));
}

/// A million of random, stale, foreign and changed ones: none goes anywhere.
TEST(datagram, read__a_million_bad_ones) {
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
    Prng prng(3);
    unsigned delivered = 0, well_formed = 0;
    for (unsigned i = 0; i < 1'000'000; ++i) {
        auto data = random_bytes(prng, prng.below(64));
        Hint hint{kName, kFirst + prng.below(Hints::kIndices), 0,
                  static_cast<std::uint32_t>(data.size()), 1};
        std::uint32_t cookie = kCookie;
        std::vector<std::byte> bytes;
        switch (prng.below(6)) {
            case 0: bytes = random_bytes(prng, 1 + prng.below(100)); break;
            case 1: hint.number += Hints::kIndices * (1 + prng.below(1000)); break;  // another use
            case 2: hint.number -= Hints::kIndices * (1 + prng.below(60)); break;    // of the index
            case 3: cookie ^= static_cast<std::uint32_t>(1 + prng.below(~0u)); break;
            case 4: hint.name ^= 1 + prng.below(~0ull); break;
            default: hint.total = static_cast<std::uint32_t>(memory.size() + 1 + prng.below(99));
        }
        const bool is_random = !bytes.empty();
        if (!is_random) bytes = datagram_of(cookie, hint, data);
        if (!is_random && prng.chance(20)) {
            bytes[prng.below(bytes.size())] ^= static_cast<std::byte>(1 + prng.below(255));
        }
        const auto read = read_datagram(kCookie, bytes);
        well_formed += read.has_value();
        delivered += read && table.find(read->hint, read->data.size()).listener != nullptr;
    }
    EXPECT_EQ(delivered, 0u);
    EXPECT_GT(well_formed, 100'000u);
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
