// SPDX-License-Identifier: BSD-3-Clause
// The contract of the network interface and the device (App. C, §3.2.2-3.2.3), once for all
// drivers. Events and endings: event_test.cc; links and what goes beside the network: link_test.cc.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "fci_core/base/flag.h"
#include "fci_core/base/prng.h"
#include "test/conformance/nhi.h"
#include "test/unit/seed.h"

namespace fci::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Drivers, Nhi, testing::ValuesIn(makers().begin(), makers().end()),
                         [](const auto& info) { return std::string(info.param.name); });

// --- meeting ---

TEST_P(Nhi, connect__attaches_both_sides) {
    open(2);
    const nhi::PeerId b = id_of(0, 1);
    EXPECT_EQ(device(0).peers(), 2u);
    EXPECT_EQ(device(1).peers(), 1u);
    EXPECT_TRUE(device(0).block(b).empty());
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_TRUE(world_->until(
        [&] { return ear(0).attached.size() == 1 && ear(1).attached.size() == 1; }));
    EXPECT_EQ(ear(0).attached[0], b);
    const nhi::PeerId a = ear(1).attached[0];
    EXPECT_EQ(device(1).card_of(a)->incarnation, device(0).card().incarnation);
    EXPECT_EQ(id_of(1, 0), a);
    EXPECT_EQ(device(0).block(b).size(), kBlockBytes);
    EXPECT_EQ(device(1).block(a).size(), kBlockBytes);
    EXPECT_NE(device(0).describe(b), "");
    EXPECT_EQ(device(0).card_of(99), nullptr);
}

TEST_P(Nhi, connect__crossing_gives_one_peer) {
    open(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_EQ(device(1).connect(a), Status::ok);
    ASSERT_TRUE(world_->until([&] { return is_attached(0, b) && is_attached(1, a); }));
    world_->settle();
    EXPECT_EQ(ear(0).attached.size(), 1u);
    EXPECT_EQ(ear(1).attached.size(), 1u);
    EXPECT_EQ(device(0).peers(), 2u);
    EXPECT_EQ(device(1).peers(), 2u);
    EXPECT_TRUE(ear(0).lost.empty());
    EXPECT_TRUE(ear(1).lost.empty());
    // Both directions use the same pair of blocks.
    const std::uint64_t one = 1, two = 2;
    ASSERT_EQ(put(0, b, 0, &one, sizeof one), Status::ok);
    ASSERT_EQ(put(1, a, 0, &two, sizeof two), Status::ok);
    EXPECT_TRUE(world_->until([&] { return flag::load_acquire(*words(1, a)) == 1; }));
    EXPECT_TRUE(world_->until([&] { return flag::load_acquire(*words(0, b)) == 2; }));
}

TEST_P(Nhi, connect__repeated_is_harmless) {
    open(2);
    const nhi::PeerId b = id_of(0, 1);
    EXPECT_EQ(id_of(0, 1), b);
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_TRUE(world_->until([&] { return is_attached(0, b); }));
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_TRUE(world_->until([&] { return !ear(1).attached.empty(); }));
    world_->settle();
    EXPECT_EQ(ear(0).attached.size(), 1u);
    EXPECT_EQ(ear(1).attached.size(), 1u);
    EXPECT_EQ(device(0).connect(1000), Status::invalid);
}

TEST_P(Nhi, connect__typed_card_finds_whoever_is_there) {
    open(2);
    ddi::Card typed = device(1).card();
    typed.incarnation = 0;
    nhi::PeerId b = nhi::kNoPeer;
    ASSERT_EQ(device(0).add_peer(typed, &b), Status::ok);
    EXPECT_NE(b, nhi::kSelf);
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_EQ(device(1).connect(id_of(1, 0)), Status::ok);
    ASSERT_TRUE(world_->until(
        [&] { return ear(0).attached.size() == 1 && ear(1).attached.size() == 1; }));
    world_->settle();
    EXPECT_EQ(ear(0).attached, std::vector<nhi::PeerId>{b});
    EXPECT_EQ(device(0).card_of(b)->incarnation, device(1).card().incarnation);
    EXPECT_EQ(id_of(0, 1), b);
    EXPECT_EQ(device(0).peers(), 2u);
}

TEST_P(Nhi, connect__place_without_a_process_is_lost) {
    open(2);
    const ddi::Card gone = device(1).card();
    world_->close(1);
    nhi::PeerId b = nhi::kNoPeer;
    ASSERT_EQ(device(0).add_peer(gone, &b), Status::ok);
    ASSERT_EQ(device(0).connect(b), Status::ok);
    ASSERT_TRUE(world_->until([&] { return ear(0).lost.size() == 1; }));
    EXPECT_EQ(ear(0).lost[0].id, b);
    EXPECT_EQ(ear(0).lost[0].why, Status::unreachable);
    EXPECT_GT(ear(0).lost[0].reason.size(), 20u);
}

TEST_P(Nhi, connect__different_settings_are_a_mismatch) {
    for (const bool layout : {true, false}) {
        SCOPED_TRACE(layout);
        world_ = GetParam().make();
        open(1);
        ddi::Settings other = usual_settings();
        if (layout) other.layout_digest = 0x5678;
        if (!layout) other.job = 78;
        world_->open(other);
        const nhi::PeerId b = id_of(0, 1);
        ASSERT_EQ(device(0).connect(b), Status::ok);
        ASSERT_TRUE(world_->until([&] { return ear(0).lost.size() == 1; }));
        world_->settle();
        EXPECT_EQ(ear(0).lost[0].id, b);
        EXPECT_EQ(ear(0).lost[0].why, Status::mismatch);
        const std::string& reason = ear(0).lost[0].reason;
        const auto says = [&](const char* text) { return reason.find(text) != reason.npos; };
        EXPECT_TRUE(layout ? says("1234") && says("5678") : says("job")) << reason;
        EXPECT_TRUE(ear(0).attached.empty());
        EXPECT_TRUE(ear(1).attached.empty());
    }
}

TEST_P(Nhi, block__as_large_as_its_owner_says) {
    const std::size_t bytes[2] = {kBlockBytes, 2 * kBlockBytes};
    for (const unsigned at : {0u, 1u}) {
        ddi::Settings settings = usual_settings();
        settings.block_bytes = bytes[at];
        settings.sizes = 7 + at;
        world_->open(settings);
    }
    const nhi::PeerId other[2] = {id_of(0, 1), id_of(1, 0)};
    ASSERT_EQ(device(0).connect(other[0]), Status::ok);
    ASSERT_TRUE(world_->until(
        [&] { return is_attached(0, other[0]) && is_attached(1, other[1]); }));
    const std::uint64_t word = 42;
    for (const unsigned at : {0u, 1u}) {
        const std::size_t there = bytes[1 - at];
        EXPECT_EQ(device(at).sizes(other[at]), 8u - at);
        EXPECT_EQ(device(at).block(other[at]).size(), bytes[at]);
        ASSERT_EQ(network(at).provide(other[at], LcsAddress{kBlockFirstBytes},
                                      there - kBlockFirstBytes), Status::ok);
        EXPECT_EQ(put(at, other[at], there - 8, &word, sizeof word), Status::ok);
        EXPECT_EQ(network(at).map(other[at], LcsAddress{there}, sizeof word), nullptr);
        EXPECT_TRUE(world_->until([&] {
            return flag::load_acquire(words(1 - at, other[1 - at])[there / 8 - 1]) == word;
        }));
    }
}

TEST_P(Nhi, provide__the_rest_of_a_block) {
    open_attached(2);
    const std::uint64_t word = 42;
    const std::size_t at = kBlockBytes / 8 - 1;
    for (const nhi::PeerId to : {id_of(0, 1), nhi::kSelf}) {
        ASSERT_EQ(network(0).provide(to, LcsAddress{kBlockFirstBytes},
                                     kBlockBytes - kBlockFirstBytes), Status::ok);
        ASSERT_EQ(put(0, to, 8 * at, &word, sizeof word), Status::ok);
    }
    EXPECT_TRUE(world_->until([&] {
        return flag::load_acquire(words(1, id_of(1, 0))[at]) == 42 &&
               flag::load_acquire(words(0, nhi::kSelf)[at]) == 42;
    }));
}

TEST_P(Nhi, self__is_attached_from_the_start) {
    open(1);
    EXPECT_EQ(id_of(0, 0), nhi::kSelf);
    EXPECT_EQ(device(0).connect(nhi::kSelf), Status::ok);
    ASSERT_EQ(device(0).block(nhi::kSelf).size(), kBlockBytes);
    const std::uint64_t word = 42;
    ASSERT_EQ(put(0, nhi::kSelf, 8, &word, sizeof word), Status::ok);
    EXPECT_TRUE(world_->until([&] { return flag::load_acquire(words(0, nhi::kSelf)[1]) == 42; }));
    world_->settle();
    EXPECT_TRUE(ear(0).attached.empty());
}

// --- transfers ---

TEST_P(Nhi, transfer__to_a_peer_that_is_not_attached_is_refused) {
    open(2);
    const std::uint64_t word = 1;
    const nhi::PeerId b = id_of(0, 1);
    Transfer transfer(b);
    transfer.put(LcsAddress{0}, &word, sizeof word);
    EXPECT_NE(network(0).initiate_transfer(transfer), Status::ok);
    ASSERT_EQ(device(0).connect(b), Status::ok);
    const Status status = network(0).initiate_transfer(transfer);
    EXPECT_EQ(status, Status::again);
    ASSERT_TRUE(world_->until([&] { return ear(1).attached.size() == 1; }));
    world_->settle();
    EXPECT_EQ(*words(1, ear(1).attached[0]), 0u) << "refused, and yet it left a trace";
    Transfer nowhere(12345);
    nowhere.put(LcsAddress{0}, &word, sizeof word);
    EXPECT_EQ(initiate(0, nowhere), Status::invalid);
}

TEST_P(Nhi, transfer__any_length_and_place) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    std::vector<std::byte> expected(kBlockBytes), source(kBlockBytes);
    Prng prng(seeded(1));
    for (std::byte& byte : source) byte = static_cast<std::byte>(prng.next());
    const auto check = [&](std::size_t at, std::size_t from, std::size_t length) {
        ASSERT_EQ(put(0, b, at, source.data() + from, length), Status::ok);
        std::memcpy(expected.data() + at, source.data() + from, length);
    };
    for (std::size_t length = 0; length <= 80; ++length) {
        for (std::size_t at = 0; at < 9; ++at) check(1024 * at + 16 * length + at, length, length);
    }
    for (unsigned i = 0; i < 500; ++i) {
        const std::size_t length = prng.below(9000), at = prng.below(kBlockBytes - length);
        check(at, prng.below(kBlockBytes - length), length);
    }
    world_->settle();
    EXPECT_EQ(std::memcmp(device(1).block(a).data(), expected.data(), kBlockBytes), 0);
}

TEST_P(Nhi, transfer__parts_and_bounds) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    const std::uint64_t words4[4] = {1, 2, 3, 4};
    Transfer transfer(b);
    for (unsigned i = 0; i < 4; ++i) transfer.put(LcsAddress{64 * i}, &words4[i], 8);
    ASSERT_EQ(initiate(0, transfer), Status::ok);
    ASSERT_EQ(put(0, b, kBlockBytes - 8, &words4[3], 8), Status::ok);
    world_->settle();
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(words(1, a)[8 * i], i + 1);
    EXPECT_EQ(words(1, a)[kBlockBytes / 8 - 1], 4u);

    EXPECT_EQ(put(0, b, kBlockBytes - 7, words4, 8), Status::invalid);
    EXPECT_EQ(put(0, b, kBlockBytes, words4, 8), Status::invalid);
    EXPECT_EQ(put(0, b, nhi::kPairLimit - 8, words4, 8), Status::invalid);
    EXPECT_EQ(put(0, b, 8, words4, ~std::size_t{0} - 4), Status::invalid);
    Transfer half(b);  // all or nothing
    half.put(LcsAddress{512}, words4, 8).put(LcsAddress{kBlockBytes}, words4, 8);
    EXPECT_EQ(initiate(0, half), Status::invalid);
    world_->settle();
    EXPECT_EQ(words(1, a)[64], 0u);
}

TEST_P(Nhi, transfer__last_word_comes_last) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    for (const std::size_t length : {8u, 64u, 128u, 256u, 1024u, 8192u}) {
        const std::size_t count = length / 8;
        std::vector<std::uint64_t> line(count);
        const std::uint64_t* const there = words(1, a) + 1024;
        const std::uint64_t first = flag::load_acquire(there[count - 1]) + 1;
        const std::uint64_t last = first + 300;
        bool whole = true;
        const auto read = [&] {
            const std::uint64_t round = flag::load_acquire(there[count - 1]);
            whole = whole && line_is_whole(there, count, round);
            return round;
        };
        const auto write = [&](std::uint64_t round) {
            std::ranges::fill(line, round);
            Transfer transfer(b);
            transfer.put(LcsAddress{8192}, line.data(), length);
            return network(0).initiate_transfer(transfer);
        };
        Limit limit("the last word");
        if (GetParam().threads && length <= 256) {  // longer ones are copied in no fixed order
            std::jthread writer([&] {
                for (std::uint64_t r = first; r <= first + 100'000; ++r) {
                    while (write(r) == Status::again && limit.holds()) std::this_thread::yield();
                }
            });
            while (read() != first + 100'000 && limit.holds()) std::this_thread::yield();
        } else {
            for (std::uint64_t round = first; round <= last && limit.holds();) {
                if (write(round) == Status::ok) ++round;
                world_->turn();
                read();
            }
            EXPECT_TRUE(world_->until([&] { return read() == last; }));
        }
        EXPECT_TRUE(whole) << length;
    }
}

TEST_P(Nhi, transfer__order_of_issue) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    // Words are written from the first to the last, round by round; whoever reads them from the
    // last to the first must never find a later one that is ahead.
    constexpr std::size_t kWords = 16;
    constexpr std::uint64_t kRounds = 2000;
    bool in_order = true;
    const auto read = [&] {
        std::uint64_t ahead = 0;
        for (std::size_t i = kWords; i-- > 0;) {
            const std::uint64_t now = flag::load_acquire(words(1, a)[i * 512]);
            in_order = in_order && now >= ahead;
            ahead = now;
        }
        return flag::load_acquire(words(1, a)[(kWords - 1) * 512]);
    };
    const auto write = [&](std::uint64_t round, std::size_t i) {
        Transfer transfer(b);
        transfer.put(LcsAddress{i * 4096}, &round, sizeof round);
        return network(0).initiate_transfer(transfer);
    };
    Limit limit("the last word");
    if (GetParam().threads) {
        std::jthread writer([&] {
            for (std::uint64_t i = 0; i < kRounds * 10 * kWords && limit.holds();) {
                const bool written = write(1 + i / kWords, i % kWords) == Status::ok;
                written ? static_cast<void>(++i) : std::this_thread::yield();
            }
        });
        while (read() != kRounds * 10 && limit.holds()) continue;
    } else {
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            for (std::size_t i = 0; i < kWords && limit.holds();) {
                if (write(round, i) == Status::ok) ++i;
                world_->turn();
                read();
            }
        }
        EXPECT_TRUE(world_->until([&] { return read() == kRounds; }));
    }
    EXPECT_TRUE(in_order);
}

TEST_P(Nhi, transfer__words_appear_whole) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1), a = id_of(1, 0);
    const auto* const halves = reinterpret_cast<const std::uint32_t*>(words(1, a));
    bool whole = true;
    std::atomic<bool> done = false;
    const auto read = [&] {
        const std::uint64_t word = flag::load_acquire(words(1, a)[8]);
        whole = whole && static_cast<std::uint32_t>(word) == word >> 32;
        const std::uint32_t half = flag::load_acquire(halves[33]);
        whole = whole && (half & 0xffff) == half >> 16;
    };
    const auto write = [&](std::uint32_t i) {
        const std::uint64_t word = std::uint64_t{i} << 32 | i;
        const std::uint32_t half = (i & 0xffff) << 16 | (i & 0xffff);
        Transfer transfer(b);
        transfer.put(LcsAddress{64}, &word, 8).put(LcsAddress{132}, &half, 4);
        return network(0).initiate_transfer(transfer);
    };
    if (GetParam().threads) {
        std::jthread writer([&] {
            for (std::uint32_t i = 1; i <= 300'000; ++i) {
                EXPECT_EQ(write(i * 0x9e3779b9u), Status::ok);
            }
            done = true;
        });
        while (!done) read();
    } else {
        for (std::uint32_t i = 1; i <= 2000; ++i) {
            ASSERT_TRUE(world_->until([&] { return write(i * 0x9e3779b9u) == Status::ok; }));
            world_->turn();
            read();
        }
    }
    EXPECT_TRUE(whole);
}

// --- windows, indices, groups ---

TEST_P(Nhi, window__written_until_closed) {
    open_attached(2);
    const nhi::PeerId b = id_of(0, 1);
    const std::span<std::byte> memory = device(1).communication_memory();
    ASSERT_EQ(memory.size(), kMemoryBytes);
    const std::uint64_t base = nhi::kPairLimit + 0x10000;
    ASSERT_EQ(network(1).open_window(3, LcsAddress{base}, memory.subspan(4096, 8192)), Status::ok);
    world_->settle();
    const auto* const seen = reinterpret_cast<const std::uint64_t*>(memory.data() + 4096);
    std::uint64_t word = 5;
    ASSERT_EQ(put(0, b, base + 16, &word, 8), Status::ok);
    ASSERT_EQ(put(0, b, base + 8184, &word, 8), Status::ok);
    EXPECT_TRUE(world_->until([&] { return flag::load_acquire(seen[1023]) == 5 && seen[2] == 5; }));
    // Past the end, and before the begin: no effect, whether the writer is told or not.
    word = 6;
    (void)put(0, b, base + 8188, &word, 8);
    (void)put(0, b, base - 4, &word, 8);
    (void)put(0, b, base + (std::uint64_t{1} << 62), &word, 8);
    world_->settle();
    EXPECT_EQ(seen[1023], 5u);
    EXPECT_EQ(seen[1024], 0u);
    EXPECT_EQ(seen[0], 0u);
    ASSERT_EQ(network(1).close_window(3), Status::ok);
    EXPECT_EQ(network(1).close_window(3), Status::not_found);
    world_->settle();
    (void)put(0, b, base + 16, &word, 8);
    world_->settle();
    EXPECT_EQ(seen[2], 5u) << "a write after the window was closed";
    ASSERT_EQ(network(1).open_window(3, LcsAddress{base}, memory.subspan(0, 4096)), Status::ok);
    world_->settle();
    ASSERT_EQ(put(0, b, base, &word, 8), Status::ok);
    world_->settle();
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(memory.data()), 6u);
}

TEST_P(Nhi, window__bad_arguments) {
    open(1);
    const std::span<std::byte> memory = device(0).communication_memory();
    const LcsAddress base{nhi::kPairLimit};
    std::array<std::byte, 64> elsewhere{};
    auto& net = network(0);
    EXPECT_EQ(net.open_window(nhi::kWindowsMax, base, memory), Status::invalid);
    EXPECT_EQ(net.open_window(0, LcsAddress{nhi::kPairLimit - 1}, memory), Status::invalid);
    EXPECT_EQ(net.open_window(0, LcsAddress{~0ull - 8}, memory), Status::invalid);
    EXPECT_EQ(net.open_window(0, base, {}), Status::invalid);
    EXPECT_EQ(net.open_window(0, base, elsewhere), Status::invalid);
    EXPECT_EQ(net.open_window(0, base, {memory.data() + 8, memory.size()}), Status::invalid);
    ASSERT_EQ(net.open_window(0, base, memory.subspan(0, 4096)), Status::ok);
    EXPECT_EQ(net.open_window(0, base + 8192, memory.subspan(8192, 8)), Status::invalid);
    EXPECT_EQ(net.open_window(1, base + 4088, memory.subspan(8192, 16)), Status::invalid);
    EXPECT_EQ(net.open_window(1, base + 4096, memory.subspan(8192, 16)), Status::ok);
    EXPECT_EQ(net.close_window(nhi::kWindowsMax), Status::invalid);
    EXPECT_EQ(net.configure_event(nhi::kEventsMax, {}), Status::invalid);
    EXPECT_EQ(net.mask_event_interrupt(nhi::kEventsMax, true), Status::invalid);
}

}  // namespace
}  // namespace fci::conformance
