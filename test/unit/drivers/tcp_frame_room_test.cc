// SPDX-License-Identifier: BSD-3-Clause
// The decoder of frames: how far it reads, what goes straight to its place, and when all else is
// stored.
#include "test/unit/drivers/frames.h"

namespace fci::tcp::test {
namespace {

constexpr std::size_t kReachLeast = 120;  // a line and the heads of data behind it
constexpr std::size_t kStaged = 3072;
constexpr std::uint64_t kShort = 256;

struct FrameRoom : testing::Test {
    FrameRoom() { memory.buffer = &buffer; }

    void give(const Stream& stream) { ASSERT_TRUE(feed(decoder, stream)); }
    void give_head(FrameKind kind, std::uint8_t parts = 0) {
        Stream stream;
        head(&stream, kind, parts);
        give(stream);
    }
    void give_part(std::uint64_t address, std::uint64_t bytes) {
        Stream stream;
        part(&stream, address, bytes);
        give(stream);
    }
    void give_bytes(std::size_t count) { give(Stream(count, std::byte{1})); }
    /// Of what is read to be looked at.
    std::size_t staged() {
        iovec ranges[2];
        const unsigned count = decoder.room(ranges);
        EXPECT_GE(count, 1u);
        return count == 0 ? 0 : ranges[count - 1].iov_len;
    }
    /// Of what is read straight to its place.
    std::size_t direct() {
        iovec ranges[2];
        return decoder.room(ranges) == 2 ? ranges[0].iov_len : 0;
    }
    [[nodiscard]] std::byte* at(std::uint64_t address) {
        return reinterpret_cast<std::byte*>(memory.words.data()) + address;
    }

    Memory memory;
    Buffer buffer;
    FrameDecoder decoder{memory, kWriter};
};

// --- how far ---

/// So that no byte of the data gets there.
TEST_F(FrameRoom, room__where_data_are_expected_is_the_heads_and_no_more) {
    EXPECT_EQ(staged(), kDataHeads);
    Stream three;
    head(&three, FrameKind::transfer, 2);
    const Stream rest(three.begin() + 3, three.end());
    three.resize(3);
    give(three);
    EXPECT_EQ(staged(), kDataHeads - 3);
    give(rest);
    EXPECT_EQ(staged(), 2 * sizeof(PartHead));
    give_part(0, 100);
    EXPECT_EQ(staged(), sizeof(PartHead));
    give_part(512, 50);
    EXPECT_EQ(staged(), kDataHeads + 150);
    give_bytes(60);
    EXPECT_EQ(staged(), kDataHeads + 90);
    give_bytes(90);
    EXPECT_EQ(memory.transfers, 1u);
    EXPECT_EQ(staged(), kDataHeads);
    give_head(FrameKind::data);
    EXPECT_EQ(staged(), sizeof(nhi::Data));
    const nhi::Data told{7, 0, 1000};
    Stream stream;
    append(&stream, &told, sizeof told);
    give(stream);
    EXPECT_EQ(direct(), 1000u);
    EXPECT_EQ(staged(), kDataHeads);
}

TEST_F(FrameRoom, room__of_few_parts_and_of_many) {
    give_head(FrameKind::transfer, 1);
    EXPECT_EQ(staged(), sizeof(PartHead));
    give_part(0, 0);
    EXPECT_EQ(memory.transfers, 1u);
    give_head(FrameKind::transfer, 4);
    for (std::uint64_t i = 4; i != 0; --i) {
        EXPECT_EQ(staged(), i * sizeof(PartHead));
        give_part(8, 0);
    }
    EXPECT_EQ(memory.transfers, 2u);
}

TEST_F(FrameRoom, room__of_a_request_is_what_differs_and_its_data) {
    Stream stream;
    const RequestHead told{FrameKind::request, 5, RequestHead::kLineMoves, 0, 100};
    append(&stream, &told, sizeof told);
    give(stream);
    EXPECT_EQ(staged(), 3 * sizeof(std::uint64_t));
    give(Stream(24, std::byte{0}));
    EXPECT_EQ(staged(), kDataHeads + 100);
    give_bytes(100);
    EXPECT_EQ(memory.transfers, 1u);
}

TEST_F(FrameRoom, room__of_a_long_part_is_all_that_can_be_kept) {
    give_head(FrameKind::transfer, 2);
    give_part(0, 3000);
    give_part(8192, kStaged);
    EXPECT_EQ(direct(), 0u);
    EXPECT_EQ(staged(), kStaged);
    give_bytes(3000);
    EXPECT_EQ(staged(), kStaged);
    give_bytes(72);
    EXPECT_EQ(staged(), kDataHeads + kStaged - 72);
    buffer.is_expecting = false;
    give_bytes(kStaged - 72);
    EXPECT_EQ(memory.transfers, 1u);
}

/// Where none are expected it reads on, the farther, the more comes at a time.
TEST_F(FrameRoom, room__doubles_while_it_is_filled_and_is_halved_where_not) {
    buffer.is_expecting = false;
    const auto fill = [&](std::size_t bytes) {
        Stream stream;
        while (stream.size() < bytes) head(&stream, FrameKind::transfer, 0);
        ASSERT_EQ(stream.size(), bytes);
        give(stream);
    };
    for (const std::size_t reach : {kReachLeast, std::size_t{240}, std::size_t{480},
                                    std::size_t{960}, std::size_t{1920}, kStaged, kStaged}) {
        ASSERT_EQ(staged(), reach);
        fill(reach);
    }
    fill(kStaged - 8);
    for (const std::size_t reach : {std::size_t{1536}, std::size_t{768}, std::size_t{384},
                                    std::size_t{192}, kReachLeast, kReachLeast}) {
        ASSERT_EQ(staged(), reach);
        fill(8);
    }
}

/// The next one is as long, most likely.
TEST_F(FrameRoom, room__is_as_long_as_the_last_frame) {
    buffer.is_expecting = false;
    give_head(FrameKind::transfer, 1);
    give_part(0, 1000);
    give_bytes(1000);
    const std::size_t usual = kDataHeads + sizeof(FrameHead) + sizeof(PartHead) + 1000;
    EXPECT_EQ(staged(), usual);
    give_head(FrameKind::transfer, 1);
    EXPECT_EQ(staged(), usual) << "it is not halved below that";
    give_part(0, 8);
    give_bytes(8);
    EXPECT_LT(staged(), usual);
    give_head(FrameKind::transfer, 2);
    give_part(0, 2500);
    give_part(4096, 2500);
    give_bytes(5000);
    EXPECT_EQ(staged(), kStaged);
    // Behind data, there are more.
    Stream stream;
    data(&stream, {7, 0, 10}, 10);
    give(stream);
    EXPECT_EQ(staged(), kReachLeast);
}

// --- what goes straight to its place ---

TEST_F(FrameRoom, room__of_a_part_straight_to_its_place_where_that_is_much) {
    const std::pair<std::uint64_t, std::size_t> rows[] = {{4103, 0}, {4104, 4096}, {8200, 8192}};
    for (const auto& [bytes, straight] : rows) {
        give_head(FrameKind::transfer, 1);
        give_part(64, bytes);
        EXPECT_EQ(direct(), straight) << bytes;
        if (straight != 0) {
            iovec ranges[2];
            ASSERT_EQ(decoder.room(ranges), 2u);
            EXPECT_EQ(ranges[0].iov_base, at(64));
            EXPECT_EQ(ranges[1].iov_len, kDataHeads + 8);
        }
        give_bytes(10);
        if (straight > 4096) {
            iovec ranges[2];
            ASSERT_EQ(decoder.room(ranges), 2u);
            EXPECT_EQ(ranges[0].iov_base, at(74));
            EXPECT_EQ(ranges[0].iov_len, straight - 10);
        } else {
            EXPECT_EQ(direct(), 0u) << "less than that is left";
        }
        give_bytes(bytes - 10);
        EXPECT_EQ(std::count(at(64), at(64) + bytes, std::byte{1}),
                  static_cast<std::ptrdiff_t>(bytes));
        std::ranges::fill(memory.words, 0);
    }
    EXPECT_EQ(memory.transfers, 3u);
    EXPECT_EQ(decoder.data_bytes().direct, 0u) << "it is no user's buffer";
}

TEST_F(FrameRoom, room__of_a_part_that_lies_nowhere_is_read_and_dropped) {
    give_head(FrameKind::transfer, 1);
    give_part(kBytes + 8, 10'000);
    EXPECT_EQ(direct(), 0u);
    give_bytes(10'000);
    EXPECT_EQ(memory.transfers, 1u);
    EXPECT_EQ(std::ranges::count(memory.words, 0u), static_cast<std::ptrdiff_t>(kBytes / 8));
}

TEST_F(FrameRoom, coming__and_missing_of_data) {
    EXPECT_EQ(decoder.coming(), 0u);
    Stream stream;
    data(&stream, {7, 0, 1000}, 0);
    give(stream);
    EXPECT_EQ(decoder.coming(), 1000u);
    EXPECT_EQ(decoder.missing(), 1000u);
    give_bytes(400);
    EXPECT_EQ(decoder.coming(), 1000u);
    EXPECT_EQ(decoder.missing(), 600u);
    EXPECT_EQ(decoder.data_bytes().direct, 400u);
    give_bytes(600);
    EXPECT_EQ(decoder.coming(), 0u);
    EXPECT_EQ(decoder.missing(), 0u);
    EXPECT_EQ(buffer.filled, 1000u);
    EXPECT_EQ(memory.transfers, 0u) << "it raises nothing";
}

/// They wait here until it is asked again, or more comes.
TEST_F(FrameRoom, room__behind_data_that_were_early_goes_on_where_those_end) {
    buffer.is_expecting = false;
    buffer.is_unknown = true;
    Stream stream;
    data(&stream, {7, 0, 1000}, 0);
    stream.resize(stream.size() + 50, std::byte{2});
    give(stream);
    buffer.is_unknown = false;
    EXPECT_EQ(direct(), 0u);
    give_bytes(10);
    EXPECT_EQ(direct(), 940u);
    give_bytes(940);
    EXPECT_EQ(buffer.filled, 1000u);
    EXPECT_EQ(std::count(buffer.bytes.begin(), buffer.bytes.begin() + 50, std::byte{2}), 50);
    EXPECT_EQ(std::ranges::count(buffer.bytes, std::byte{1}), 950);
}

TEST_F(FrameRoom, data__that_belong_nowhere_when_they_are_there) {
    struct Late final : nhi::DataTarget {
        bool expects(nhi::PeerId) const noexcept override { return true; }
        bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return false; }
        std::byte* locate(nhi::PeerId, const nhi::Data&) noexcept override { return bytes; }
        bool arrived(nhi::PeerId, const nhi::Data&) noexcept override { return false; }
        std::byte bytes[100];
    } late;
    struct Own final : FrameDecoder::Target {
        bool is_possible(nhi::PeerId, std::uint64_t, std::uint64_t) const noexcept override {
            return true;
        }
        std::byte* locate(nhi::PeerId, std::uint64_t, std::uint64_t) noexcept override {
            return nullptr;
        }
        nhi::DataTarget* data_target() const noexcept override { return target; }
        void raise(std::uint32_t) noexcept override { ADD_FAILURE(); }
        nhi::DataTarget* target = nullptr;
    } own;
    own.target = &late;
    FrameDecoder refuses(own, kWriter);
    Stream stream;
    data(&stream, {7, 0, 100}, 100, 5);
    EXPECT_FALSE(feed(refuses, stream));
}

// --- when ---

/// Of each part the last aligned word, and what is behind it, comes last and together, however the
/// stream is cut; a short one as a whole.
TEST(frame_decoder, take__what_is_stored_of_a_part_while_it_comes) {
    for (std::uint64_t address = 0; address < 8; ++address) {
        for (const std::uint64_t bytes : {8ul, 9ul, 64ul, 255ul, 256ul, 257ul, 258ul, 259ul, 260ul,
                                          261ul, 262ul, 263ul, 264ul, 300ul}) {
            SCOPED_TRACE(std::to_string(bytes) + " at " + std::to_string(address));
            Memory memory;
            FrameDecoder decoder(memory, kWriter);
            Stream stream;
            head(&stream, FrameKind::transfer, 1);
            part(&stream, address, bytes);
            ASSERT_TRUE(feed(decoder, stream));
            const auto* const at = reinterpret_cast<const std::byte*>(memory.words.data());
            const std::uint64_t last = (address + bytes) / 8 * 8 - 8 - address;
            for (std::uint64_t i = 1; i < bytes; ++i) {
                ASSERT_TRUE(feed(decoder, Stream(1, std::byte{1})));
                const auto stored = std::count(at + address, at + address + bytes, std::byte{1});
                ASSERT_EQ(stored,
                          static_cast<std::ptrdiff_t>(bytes <= kShort ? 0 : std::min(i, last)));
            }
            EXPECT_EQ(memory.transfers, 0u);
            ASSERT_TRUE(feed(decoder, Stream(1, std::byte{1})));
            EXPECT_EQ(std::count(at, at + 1024, std::byte{1}), static_cast<std::ptrdiff_t>(bytes));
            EXPECT_EQ(memory.transfers, 1u);
        }
    }
}

/// Those that are here wait for the ones before.
TEST(frame_decoder, take__events_come_when_all_parts_are_there) {
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    head(&stream, FrameKind::transfer, 3, 9);
    part(&stream, 0, 8);
    part(&stream, 8, 0);
    part(&stream, 16, 8);
    stream.resize(stream.size() + 15, std::byte{1});
    ASSERT_TRUE(feed(decoder, stream));
    EXPECT_EQ(memory.events, 0u);
    EXPECT_EQ(memory.words[0], 0x0101'0101'0101'0101u);
    EXPECT_EQ(memory.words[2], 0u);
    ASSERT_TRUE(feed(decoder, Stream(1, std::byte{1})));
    EXPECT_EQ(memory.events, 9u);
    EXPECT_EQ(memory.words[1], 0u);
    EXPECT_EQ(memory.words[2], 0x0101'0101'0101'0101u);
}

TEST(frame_decoder, take__after_a_goodbye_nothing_may_come) {
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    head(&stream, FrameKind::goodbye, 0);
    ASSERT_TRUE(feed(decoder, stream));
    EXPECT_TRUE(decoder.said_goodbye());
    EXPECT_TRUE(decoder.go_on()) << "nothing more has";
    EXPECT_TRUE(decoder.said_goodbye());
    EXPECT_FALSE(feed(decoder, Stream(1)));
    EXPECT_FALSE(decoder.said_goodbye());
    EXPECT_FALSE(decoder.go_on());
}

/// Four parts are the most that there are.
TEST(frame_decoder, take__as_many_parts_as_a_transfer_has) {
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    Stream stream;
    head(&stream, FrameKind::transfer, nhi::Transfer::kPartsMax);
    for (std::uint64_t i = 0; i < nhi::Transfer::kPartsMax; ++i) part(&stream, 8 * i, 8);
    stream.resize(stream.size() + 8 * nhi::Transfer::kPartsMax, std::byte{1});
    ASSERT_TRUE(feed(decoder, stream));
    EXPECT_EQ(memory.transfers, 1u);
    EXPECT_EQ(std::ranges::count(memory.words, 0x0101'0101'0101'0101u),
              static_cast<std::ptrdiff_t>(nhi::Transfer::kPartsMax));
}

}  // namespace
}  // namespace fci::tcp::test
