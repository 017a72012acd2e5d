// SPDX-License-Identifier: BSD-3-Clause
// Frames of the ucx driver: what a transfer becomes, and what is refused of bytes that anybody may
// have sent.
#include "drivers/ucx/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fci_core/base/prng.h"
#include "test/unit/seed.h"

namespace fci::ucx {
namespace {

using nhi::LcsAddress;
using nhi::Transfer;

constexpr FrameHead kHead{.key = 0x1234567890abcdef, .number = 7, .sequence = 9, .events = 0,
                          .parts = 0};

std::vector<std::byte> framed(const Transfer& transfer) {
    std::vector<std::byte> frame(frame_bytes(transfer));
    write_frame(kHead, transfer, frame.data());
    return frame;
}

std::vector<std::pair<std::uint64_t, std::string>> parts_of(const FrameReader& reader) {
    std::vector<std::pair<std::uint64_t, std::string>> parts;
    reader.for_each_part([&](std::uint64_t address, std::span<const std::byte> bytes) {
        parts.emplace_back(address,
                           std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    });
    return parts;
}

TEST(ucx_frame, read__is_the_transfer) {
    const auto frame = framed(Transfer(3)
                                  .put(LcsAddress{64}, "abc", 3)
                                  .put(LcsAddress{nhi::kPairLimit}, "", 0)
                                  .put(LcsAddress{8}, "last one", 8)
                                  .raise(5));
    const FrameReader reader(frame);
    ASSERT_TRUE(reader.is_sound());
    EXPECT_EQ(reader.head().key, kHead.key);
    EXPECT_EQ(reader.head().number, kHead.number);
    EXPECT_EQ(reader.head().sequence, kHead.sequence);
    EXPECT_EQ(reader.head().events, 1u << 5);
    using Parts = std::vector<std::pair<std::uint64_t, std::string>>;
    EXPECT_EQ(parts_of(reader), (Parts{{64, "abc"}, {nhi::kPairLimit, ""}, {8, "last one"}}));
}

TEST(ucx_frame, read__without_parts) {
    const auto frame = framed(Transfer(3));
    EXPECT_EQ(frame.size(), sizeof(FrameHead));
    EXPECT_TRUE(FrameReader(frame).is_sound());
    EXPECT_TRUE(parts_of(FrameReader(frame)).empty());
}

TEST(ucx_frame, read__of_any_other_length_is_not_sound) {
    auto frame = framed(Transfer(3).put(LcsAddress{0}, "abcdefgh", 8).put(LcsAddress{8}, "i", 1));
    for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
        EXPECT_FALSE(FrameReader(std::span(frame).first(bytes)).is_sound()) << bytes;
    }
    frame.push_back(std::byte{0});
    EXPECT_FALSE(FrameReader(frame).is_sound()) << "a byte too many";
}

TEST(ucx_frame, read__with_lengths_that_wrap_is_not_sound) {
    auto frame = framed(Transfer(3).put(LcsAddress{0}, "abcdefgh", 8).put(LcsAddress{8}, "i", 1));
    const std::uint64_t bytes[] = {~std::uint64_t{0}, ~std::uint64_t{0} - 8, 9, 1ull << 63};
    for (const std::uint64_t of_first : bytes) {
        std::memcpy(frame.data() + sizeof(FrameHead) + offsetof(PartHead, bytes), &of_first, 8);
        EXPECT_FALSE(FrameReader(frame).is_sound()) << of_first;
    }
}

TEST(ucx_frame, read__with_more_parts_than_a_transfer_has_is_not_sound) {
    auto frame = framed(Transfer(3));
    frame.resize(1000);
    const std::uint32_t parts = nhi::Transfer::kPartsMax + 1;
    std::memcpy(frame.data() + offsetof(FrameHead, parts), &parts, sizeof parts);
    EXPECT_FALSE(FrameReader(frame).is_sound());
}

TEST(ucx_frame, read__with_one_part_too_many_that_fill_it_is_not_sound) {
    std::vector<std::byte> frame(sizeof(FrameHead) + 5 * sizeof(PartHead));
    const FrameHead head{.key = 1, .number = 1, .sequence = 1, .events = 0, .parts = 5};
    std::memcpy(frame.data(), &head, sizeof head);
    EXPECT_FALSE(FrameReader(frame).is_sound());
}

/// The heads of parts would be read beyond its end, where they would make it sound.
TEST(ucx_frame, read__that_ends_within_the_heads_is_not_sound) {
    auto frame = framed(Transfer(3).put(LcsAddress{0}, "", 0).put(LcsAddress{8}, "", 0));
    const std::size_t bytes = frame.size() - sizeof(PartHead);
    const std::uint64_t wraps = ~std::uint64_t{0} - sizeof(PartHead) + 1;
    std::memcpy(frame.data() + sizeof(FrameHead) + offsetof(PartHead, bytes), &wraps, 8);
    EXPECT_FALSE(FrameReader(std::span(frame).first(bytes)).is_sound());
}

/// Lengths whose sum is right in 64 bits.
TEST(ucx_frame, read__with_a_part_longer_than_the_frame_is_not_sound) {
    auto frame = framed(Transfer(3).put(LcsAddress{0}, "abcdefgh", 8).put(LcsAddress{8}, "i", 1));
    const std::uint64_t first = ~std::uint64_t{0}, second = 10;
    std::byte* const parts = frame.data() + sizeof(FrameHead);
    std::memcpy(parts + offsetof(PartHead, bytes), &first, 8);
    std::memcpy(parts + sizeof(PartHead) + offsetof(PartHead, bytes), &second, 8);
    EXPECT_FALSE(FrameReader(frame).is_sound());
}

/// Bytes of any kind never lead out of the frame: the sanitizer sees it.
TEST(ucx_frame, read__of_any_bytes_stays_in_them) {
    Prng chance(seeded(1));
    unsigned sound = 0;
    for (unsigned i = 0; i < 20'000; ++i) {
        auto frame = framed(Transfer(3).put(LcsAddress{0}, "abcdefgh", chance.below(9)).raise(1));
        for (std::uint64_t changes = chance.below(3); changes != 0; --changes) {
            frame[chance.below(frame.size())] = static_cast<std::byte>(chance.below(256));
        }
        const FrameReader reader(frame);
        if (!reader.is_sound()) continue;
        ++sound;
        std::size_t bytes = 0;
        for (const auto& part : parts_of(reader)) bytes += part.second.size();
        EXPECT_LE(bytes, frame.size());
    }
    EXPECT_GT(sound, 100u);
}

}  // namespace
}  // namespace fci::ucx
