// SPDX-License-Identifier: BSD-3-Clause
// What can be done with a peer beside transfers (nhi/link.h), once for all drivers.
#include <cstring>

#include "fci_core/base/flag.h"
#include "test/conformance/nhi.h"

namespace fci::conformance {
namespace {

/// Both ends know the same of each other.
TEST_P(Nhi, link__is_of_the_pair_and_there_once_it_attached) {
    open(3);
    const nhi::PeerId early = id_of(0, 1);
    EXPECT_EQ(network(0).link(early).block_bytes, 0u);
    EXPECT_EQ(network(0).link(99).block_bytes, 0u);
    ASSERT_EQ(device(0).connect(early), Status::ok);
    ASSERT_EQ(device(0).connect(id_of(0, 2)), Status::ok);
    ASSERT_EQ(device(1).connect(id_of(1, 2)), Status::ok);
    ASSERT_TRUE(world_->until([&] {
        return is_attached(0, id_of(0, 1)) && is_attached(0, id_of(0, 2)) &&
               is_attached(1, id_of(1, 2)) && is_attached(1, id_of(1, 0)) &&
               is_attached(2, id_of(2, 0)) && is_attached(2, id_of(2, 1));
    }));
    for (unsigned a = 0; a < 3; ++a) {
        for (unsigned b = 0; b < 3; ++b) {
            const nhi::Link here = network(a).link(id_of(a, b));
            const nhi::Link there = network(b).link(id_of(b, a));
            EXPECT_EQ(here.block_bytes, kBlockBytes);
            EXPECT_EQ(here.block != nullptr, there.block != nullptr);
            EXPECT_EQ(here.block != nullptr, here.wanted_events != nullptr);
            EXPECT_EQ(here.mapped, there.mapped);
            EXPECT_EQ(here.same_host, there.same_host);
        }
    }
}

/// Who closes then takes nothing back that it sent.
TEST_P(Nhi, is_idle__once_all_has_arrived) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    for (std::uint64_t word = 1; word <= 20; ++word) {
        ASSERT_EQ(initiate(0, Transfer(b).put(LcsAddress{0}, &word, 8)), Status::ok);
        ASSERT_TRUE(world_->until([&] { return network(0).is_idle(); }));
        // Without this process.
        for (unsigned i = 0; i < 1000; ++i) network(1).poll(device(1).now());
        EXPECT_EQ(flag::load_acquire(*words(1, a)), word);
    }
}

/// Stores into a block are seen as transfers are: bytes that lie behind a line before it, the last
/// word of the line at last.
TEST_P(Nhi, link__stores_keep_their_order) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    constexpr std::uint64_t kRounds = 300, kData = 4096 / 8;
    ASSERT_EQ(network(1).configure_event(3, {.flag = true}), Status::ok);
    if (network(0).link(b).block == nullptr) GTEST_SKIP() << "transfers only";
    std::uint64_t* const there = reinterpret_cast<std::uint64_t*>(network(0).link(b).block);
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        for (std::uint64_t i = 0; i < 64; ++i) flag::store_release(there[kData + i], round);
        for (std::uint64_t i = 0; i < 7; ++i) flag::store_release(there[i], round);
        flag::store_release(there[7], round);
        flag::full_fence();
        if ((flag::load_acquire(*network(0).link(b).wanted_events) & 8) != 0) {
            ASSERT_EQ(network(0).initiate_transfer(Transfer(b).raise(3)), Status::ok);
        }
        const std::uint64_t* const here = words(1, a);
        const auto arrived = [&] {
            const std::uint64_t seen = flag::load_acquire(here[7]);
            for (std::uint64_t i = 0; i < 7; ++i) EXPECT_GE(flag::load_acquire(here[i]), seen);
            for (std::uint64_t i = 0; i < 64; ++i)
                EXPECT_GE(flag::load_acquire(here[kData + i]), seen);
            return seen == round;
        };
        if (round % 8 != 0) continue;
        ASSERT_TRUE(world_->until([&] { return arrived() && !HasFailure(); }));
    }
    EXPECT_TRUE(world_->until([&] { return network(1).event_count(3) >= kRounds; }));
}

TEST_P(Nhi, map__is_the_destination_memory) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    auto* const there = network(0).map(b, LcsAddress{256}, 64);
    if (!network(0).link(b).mapped) {
        EXPECT_EQ(there, nullptr);
        GTEST_SKIP() << "the driver has no such thing";
    }
    ASSERT_NE(there, nullptr);
    flag::store_release(*reinterpret_cast<std::uint64_t*>(there), std::uint64_t{21});
    EXPECT_EQ(flag::load_acquire(words(1, a)[32]), 21u);
    EXPECT_EQ(network(0).map(b, LcsAddress{kBlockBytes - 8}, 16), nullptr);
    EXPECT_EQ(network(0).map(b, LcsAddress{nhi::kPairLimit}, 8), nullptr);
    EXPECT_EQ(network(0).map(99, LcsAddress{0}, 8), nullptr);
}

TEST_P(Nhi, copy__both_directions) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1);
    using Direction = nhi::NetworkInterface::Direction;
    const Status allowed = network(0).copy(b, Direction::read, 0, nullptr, 0);
    if (allowed == Status::unsupported) GTEST_SKIP() << "not here";
    ASSERT_EQ(allowed, Status::ok);
    std::vector<std::byte> here(3'000'001), there(3'000'001);  // all worlds are in one process
    for (std::size_t i = 0; i < here.size(); ++i) {
        here[i] = static_cast<std::byte>(i * 7 + i / 4096);
    }
    const auto address = reinterpret_cast<std::uint64_t>(there.data());
    ASSERT_EQ(network(0).copy(b, Direction::write, address, here.data(), here.size()), Status::ok);
    EXPECT_EQ(here, there);
    std::vector<std::byte> back(here.size());
    ASSERT_EQ(network(0).copy(b, Direction::read, address, back.data(), back.size()), Status::ok);
    EXPECT_EQ(here, back);
    EXPECT_EQ(network(0).copy(99, Direction::read, address, back.data(), 1), Status::invalid);
}

}  // namespace
}  // namespace fci::conformance
