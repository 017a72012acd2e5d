// SPDX-License-Identifier: BSD-3-Clause
// The decoder of frames: a stream is cut anywhere, and may hold anything.
#include "fci_core/base/flag.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/seed.h"

namespace fci::tcp::test {
namespace {

TEST(frame_decoder, take__any_cut_gives_the_same_memory) {
    for (const std::uint64_t seed : seeds(300)) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        std::vector<std::byte> expected(kBytes);
        Stream stream;
        std::uint32_t events = 0;
        constexpr unsigned kTransfers = 60;
        for (unsigned i = 0; i < kTransfers; ++i) {
            const auto parts = static_cast<std::uint8_t>(prng.below(nhi::Transfer::kPartsMax + 1));
            const std::uint32_t raised = prng.chance(30) ? 1u << prng.below(32) : 0;
            head(&stream, FrameKind::transfer, parts, raised);
            events |= raised;
            std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
            for (unsigned p = 0; p < parts; ++p) {
                const std::uint64_t bytes = prng.below(prng.chance(20) ? 30'000 : 300);
                // Some lie nowhere, in part or whole.
                const std::uint64_t address =
                    prng.below(prng.chance(95) ? kBytes - bytes : 2 * kBytes);
                part(&stream, address, bytes);
                places.emplace_back(address, bytes);
            }
            for (const auto& [address, bytes] : places) {
                std::vector<std::byte> data(bytes);
                for (std::byte& byte : data) byte = static_cast<std::byte>(prng.next());
                append(&stream, data.data(), bytes);
                if (address <= kBytes && bytes <= kBytes - address && bytes != 0) {
                    std::memcpy(expected.data() + address, data.data(), bytes);
                }
            }
        }
        const std::size_t most = 1 + prng.below(prng.chance(50) ? 40 : 100'000);
        ASSERT_TRUE(feed(decoder, stream, most, &prng, [] {}));
        EXPECT_EQ(memory.transfers, kTransfers);
        EXPECT_EQ(memory.events, events);
        EXPECT_EQ(std::memcmp(memory.words.data(), expected.data(), kBytes), 0);
        EXPECT_FALSE(decoder.said_goodbye());
    }
}

TEST(frame_decoder, take__words_are_whole_and_the_last_one_comes_last) {
    for (const std::uint64_t words : {1, 2, 8, 31, 32, 33, 64, 1000, 4000}) {
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        Prng prng(seeded(words));
        std::uint64_t round = 0;
        for (unsigned i = 0; i < 20; ++i) {
            Stream stream;
            const std::uint64_t next = round + 0x0101'0101'0101'0101;
            const std::vector<std::uint64_t> line(words, next);
            head(&stream, FrameKind::transfer, 1);
            part(&stream, 64, 8 * words);
            append(&stream, line.data(), 8 * words);
            ASSERT_TRUE(feed(decoder, stream, 100, &prng, [&] {
                const std::uint64_t last = memory.words[8 + words - 1];
                ASSERT_TRUE(last == round || last == next);
                for (std::uint64_t w = 0; w + 1 < words && last == next; ++w) {
                    ASSERT_EQ(memory.words[8 + w], next);
                }
            }));
            ASSERT_EQ(memory.words[8 + words - 1], next);
            round = next;
        }
    }
}

TEST(frame_decoder, take__what_no_peer_sends_is_refused) {
    const auto refused = [](auto write) {
        Stream stream;
        write(&stream);
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        const bool well = feed(decoder, stream);
        EXPECT_EQ(memory.transfers, 0u);
        return !well;
    };
    const auto transfer = FrameKind::transfer, goodbye = FrameKind::goodbye;
    EXPECT_TRUE(refused([&](Stream* s) { head(s, FrameKind{0}, 0); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, FrameKind{6}, 0); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, transfer, nhi::Transfer::kPartsMax + 1); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, transfer, 0, 0, 1); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, goodbye, 1); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, goodbye, 0, 1); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, goodbye, 0), head(s, goodbye, 0); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, FrameKind::loss, 1); }));
    EXPECT_TRUE(refused([&](Stream* s) { head(s, FrameKind::loss, 0, 1, 1); }));
}

TEST(frame_decoder, loss__the_first_one_between_any_frames) {
    Stream stream;
    const std::uint64_t word = 7;
    const auto transfer = [&] {
        head(&stream, FrameKind::transfer, 1);
        part(&stream, 8, sizeof word);
        append(&stream, &word, sizeof word);
    };
    transfer();
    for (const std::uint32_t rank : {3u, 4u, ~0u}) head(&stream, FrameKind::loss, 0, rank);
    transfer();
    for (const std::size_t most : {std::size_t{1}, std::size_t{5}, stream.size()}) {
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        Prng prng(seeded(most));
        EXPECT_FALSE(decoder.loss().has_value());
        ASSERT_TRUE(feed(decoder, stream, most, &prng, [] {}));
        EXPECT_EQ(decoder.loss(), 3);
        EXPECT_EQ(memory.transfers, 2u);
    }
}

TEST(frame_decoder, take__what_names_no_place_is_refused_before_it_swallows_the_stream) {
    for (const std::uint64_t address : {0ull, 64ull, ~0ull - 100, ~0ull}) {
        for (const std::uint64_t bytes : {kBytes + 1, 1ul << 40, (1ul << 63) - 1}) {
            for (const std::uint8_t parts : {1, 2}) {
                Memory memory;
                FrameDecoder decoder(memory, kWriter);
                Stream stream;
                head(&stream, FrameKind::transfer, parts, 1);
                if (parts == 2) part(&stream, 0, 8);
                part(&stream, address, bytes);
                stream.resize(stream.size() + 50'000, std::byte{0});
                EXPECT_FALSE(feed(decoder, stream));
                EXPECT_EQ(memory.transfers, 0u);
                EXPECT_EQ(std::ranges::count(memory.words, 0u), kBytes / 8);
            }
        }
    }
}

TEST(frame_decoder, take__several_streams_at_once) {
    Memory memory;
    constexpr unsigned kStreams = 5;
    std::vector<FrameDecoder> decoders(kStreams, FrameDecoder(memory, kWriter));
    std::vector<Stream> streams(kStreams);
    constexpr std::uint64_t kPart = kBytes / kStreams / 8 * 8;
    for (unsigned i = 0; i < kStreams; ++i) {
        head(&streams[i], FrameKind::transfer, 1);
        part(&streams[i], i * kPart, kPart);
        streams[i].resize(streams[i].size() + kPart, static_cast<std::byte>(i + 1));
    }
    Prng prng(seeded(3));
    std::vector<std::size_t> at(kStreams);
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (unsigned i = 0; i < kStreams; ++i) {
            const std::size_t some =
                std::min<std::size_t>(streams[i].size() - at[i], prng.between(1, 300));
            const auto from = streams[i].begin() + static_cast<std::ptrdiff_t>(at[i]);
            const Stream piece(from, from + static_cast<std::ptrdiff_t>(some));
            ASSERT_TRUE(feed(decoders[i], piece));
            at[i] += some;
            goes_on = goes_on || at[i] != streams[i].size();
        }
    }
    EXPECT_EQ(memory.transfers, kStreams);
    for (unsigned i = 0; i < kStreams; ++i) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(memory.words.data());
        EXPECT_EQ(std::count(bytes + i * kPart, bytes + (i + 1) * kPart,
                             static_cast<std::byte>(i + 1)),
                  static_cast<std::ptrdiff_t>(kPart));
    }
}

TEST(frame_decoder, take__random_bytes) {
    for (const std::uint64_t seed : seeds(3000)) {
        Prng prng(seed);
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        Stream stream(prng.below(4000));
        for (std::byte& byte : stream) {
            byte = static_cast<std::byte>(prng.chance(60) ? prng.below(5) : prng.next());
        }
        (void)feed(decoder, stream, 200, &prng, [] {});
    }
}

TEST(frame_decoder, said_goodbye__after_all_that_came_before) {
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    const std::uint64_t word = 7;
    Stream stream;
    head(&stream, FrameKind::transfer, 1, 4);
    part(&stream, 8, 8);
    append(&stream, &word, 8);
    head(&stream, FrameKind::goodbye, 0);
    EXPECT_TRUE(feed(decoder, stream));
    EXPECT_TRUE(decoder.said_goodbye());
    EXPECT_EQ(memory.words[1], 7u);
    EXPECT_EQ(memory.events, 4u);
}

}  // namespace
}  // namespace fci::tcp::test
