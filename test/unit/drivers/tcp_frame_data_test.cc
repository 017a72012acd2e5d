// SPDX-License-Identifier: BSD-3-Clause
// The decoder of frames: data that go straight into their buffer.
#include "test/unit/drivers/frames.h"
#include "test/unit/seed.h"

namespace fci::tcp::test {
namespace {

/// Data between transfers. `on_end` sees the decoder and all of it.
template <class OnEnd>
void data_between_transfers(std::uint64_t seed, bool is_expecting, OnEnd on_end) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    Memory memory;
    Buffer buffer;
    buffer.is_expecting = is_expecting;
    memory.buffer = &buffer;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    std::vector<std::byte> sent;
    unsigned transfers = 0;
    for (unsigned i = 0; i < 30; ++i) {
        if (prng.chance(50)) {
            const auto parts = static_cast<std::uint8_t>(prng.below(3));
            const std::uint64_t bytes = prng.below(prng.chance(20) ? 30'000 : 100);
            head(&stream, FrameKind::transfer, parts);
            for (unsigned p = 0; p < parts; ++p) part(&stream, 8 * p, bytes);
            stream.resize(stream.size() + parts * bytes, std::byte{1});
            ++transfers;
            continue;
        }
        const auto some = random_bytes(prng, 1 + prng.below(prng.chance(30) ? 90'000 : 50));
        data(&stream, {7, sent.size(), some.size()}, 0);
        append(&stream, some.data(), some.size());
        sent.insert(sent.end(), some.begin(), some.end());
    }
    const std::size_t most = 1 + prng.below(prng.chance(50) ? 40 : 300'000);
    ASSERT_TRUE(feed(decoder, stream, most, &prng, [] {}));
    EXPECT_EQ(memory.transfers, transfers);
    ASSERT_EQ(buffer.filled, sent.size());
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), buffer.bytes.begin()));
    on_end(decoder.data_bytes(), sent.size());
}

TEST(frame_decoder, take__data_that_are_expected_go_straight_into_their_buffer) {
    for (const std::uint64_t seed : seeds(200)) {
        data_between_transfers(seed, true, [](const FrameDecoder::DataBytes& bytes,
                                              std::size_t sent) {
            EXPECT_EQ(bytes.direct, sent);
            EXPECT_EQ(bytes.copied, 0u);
        });
    }
}

TEST(frame_decoder, take__data_that_nobody_expects_get_there_too) {
    std::uint64_t copied = 0;
    for (const std::uint64_t seed : seeds(100)) {
        data_between_transfers(seed, false, [&](const FrameDecoder::DataBytes& bytes,
                                                std::size_t sent) {
            EXPECT_EQ(bytes.direct + bytes.copied, sent);
            copied += bytes.copied;
        });
    }
    EXPECT_NE(copied, 0u);
}

TEST(frame_decoder, take__data_without_a_buffer_are_refused) {
    const auto refused = [](const nhi::Data& told, std::uint64_t follow) {
        Memory memory;
        Buffer buffer;
        memory.buffer = &buffer;
        FrameDecoder decoder(memory, kWriter);
        Stream stream;
        data(&stream, told, follow);
        const bool well = feed(decoder, stream);
        EXPECT_EQ(std::ranges::count(buffer.bytes, std::byte{9}), well ? follow : 0);
        return !well;
    };
    EXPECT_FALSE(refused({7, 0, 100}, 100));
    EXPECT_TRUE(refused({7, 0, 0}, 0));
    EXPECT_TRUE(refused({6, 0, 100}, 100));
    EXPECT_TRUE(refused({7, 1, 100}, 100));
    EXPECT_TRUE(refused({7, 0, 3'000'001}, 100));
    EXPECT_TRUE(refused({7, 0, ~0ull}, 100));
}

TEST(frame_decoder, take__data_whose_buffer_goes_away_are_refused_and_write_no_more) {
    Memory memory;
    Buffer buffer;
    memory.buffer = &buffer;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    data(&stream, {7, 0, 1000}, 300);
    ASSERT_TRUE(feed(decoder, stream));
    buffer.filled = buffer.bytes.size();  // whatever else it is used for
    EXPECT_FALSE(feed(decoder, Stream(100, std::byte{8})));
    EXPECT_EQ(std::ranges::count(buffer.bytes, std::byte{8}), 0);
}

TEST(frame_decoder, take__data_raise_their_events_when_all_are_there) {
    Memory memory;
    Buffer buffer;
    memory.buffer = &buffer;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    data(&stream, {7, 0, 100}, 99, 5);
    ASSERT_TRUE(feed(decoder, stream));
    EXPECT_EQ(memory.events, 0u);
    ASSERT_TRUE(feed(decoder, Stream(1)));
    EXPECT_EQ(memory.events, 5u);
    EXPECT_EQ(buffer.filled, 100u);
}

/// What comes with them of the next bytes waits as well, and nothing more is read.
TEST(frame_decoder, room__is_none_while_data_are_early) {
    for (const std::size_t with : {0, 1, 50}) {
        Memory memory;
        Buffer buffer;
        buffer.is_expecting = false;
        buffer.is_unknown = true;
        memory.buffer = &buffer;
        FrameDecoder decoder(memory, kWriter);
        Stream stream;
        data(&stream, {7, 0, 1000}, with);
        ASSERT_TRUE(feed(decoder, stream));
        iovec ranges[2];
        EXPECT_TRUE(decoder.is_early());
        EXPECT_EQ(decoder.room(ranges), 0u);
        ASSERT_TRUE(decoder.go_on());
        EXPECT_EQ(decoder.room(ranges), 0u);
        EXPECT_EQ(std::ranges::count(buffer.bytes, std::byte{9}), 0);
        buffer.is_unknown = false;
        ASSERT_TRUE(decoder.go_on());
        EXPECT_FALSE(decoder.is_early());
        ASSERT_TRUE(feed(decoder, Stream(1000 - with, std::byte{9})));
        EXPECT_EQ(buffer.filled, 1000u);
        EXPECT_EQ(std::ranges::count(buffer.bytes, std::byte{9}), 1000);
        EXPECT_EQ(decoder.data_bytes().copied, with);
    }
}

TEST(frame_decoder, go_on__with_early_data_that_belong_nowhere_after_all) {
    Memory memory;
    Buffer buffer;
    buffer.is_expecting = false;
    buffer.is_unknown = true;
    memory.buffer = &buffer;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    data(&stream, {6, 0, 1000}, 10);
    ASSERT_TRUE(feed(decoder, stream));
    buffer.is_unknown = false;
    EXPECT_FALSE(decoder.go_on());
}

/// A line and the heads behind it, so that a push is read in two calls and copied by nobody.
TEST(frame_decoder, room__reaches_from_a_line_to_its_data_and_no_farther) {
    Memory memory;
    Buffer buffer;
    buffer.is_expecting = false;
    memory.buffer = &buffer;
    FrameDecoder decoder(memory, kWriter);
    for (unsigned i = 0; i < 3; ++i) {
        Stream stream;
        head(&stream, FrameKind::transfer, 1);
        part(&stream, 0, 64);
        stream.resize(stream.size() + 64, std::byte{1});
        data(&stream, {7, 50'000 * i, 50'000}, 50'000);
        ASSERT_TRUE(feed(decoder, stream));
    }
    EXPECT_EQ(decoder.data_bytes().direct, 150'000u);
    EXPECT_EQ(decoder.data_bytes().copied, 0u);
}

TEST(frame_decoder, room__grows_while_more_comes_at_a_time) {
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    for (unsigned i = 0; i < 1000; ++i) {
        head(&stream, FrameKind::transfer, 1);
        part(&stream, 0, 64);
        stream.resize(stream.size() + 64, std::byte{1});
    }
    unsigned reads = 0;
    ASSERT_TRUE(feed(decoder, stream, stream.size(), nullptr, [&] { ++reads; }));
    EXPECT_EQ(memory.transfers, 1000u);
    EXPECT_LT(reads, 40u);
}

TEST(frame_decoder, take__data_of_nobody_are_dropped) {
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    data(&stream, {7, 0, 100'000}, 100'000);
    head(&stream, FrameKind::transfer, 0, 1);
    ASSERT_TRUE(feed(decoder, stream));
    EXPECT_EQ(memory.transfers, 1u);
}

}  // namespace
}  // namespace fci::tcp::test
