// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/copy.h"
#include "fci_core/mp/records.h"

#include <gtest/gtest.h>

#include <array>

#include "fci_core/mp/match/matching.h"

namespace fci::mp {
namespace {

TEST(records, copy_short__every_length_and_nothing_else) {
    std::array<std::byte, 64> from;
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
    for (std::size_t bytes = 0; bytes <= 48; ++bytes) {
        std::array<std::byte, 80> to{};
        copy_short(to.data() + 8, from.data(), bytes);
        for (std::size_t i = 0; i < to.size(); ++i) {
            const bool copied = i >= 8 && i < 8 + bytes;
            ASSERT_EQ(to[i], copied ? from[i - 8] : std::byte{}) << bytes << " bytes, at " << i;
        }
    }
}

TEST(records, control__comes_back_as_it_was) {
    for (const std::uint8_t kind : {0, 1, 7, 12}) {
        for (const std::uint8_t flags : {0, 1, 2, 16, 64, 128, 255}) {
            for (const std::uint16_t bytes : {0, 1, 255, 256, 65535}) {
                gcs::Line line{};
                line.control = Control{static_cast<Kind>(kind), flags, bytes}.word();
                line.control |= 0xabcdull << 32;  // the sequence number
                const Control back = Control::of(line);
                EXPECT_EQ(static_cast<std::uint8_t>(back.kind), kind);
                EXPECT_EQ(back.flags, flags);
                EXPECT_EQ(back.bytes, bytes);
                EXPECT_EQ(back.space(), flags / 64u);
            }
        }
    }
}

TEST(records, control_flags__of_every_send) {
    for (std::uint32_t space = 0; space < 4; ++space) {
        for (std::uint32_t flags = 0; flags < 8; ++flags) {
            const std::uint8_t said = control_flags(space, flags);
            EXPECT_EQ(said >> kSpaceShift, static_cast<int>(space));
            EXPECT_EQ((said & kImmediate) != 0, (flags & kSendImmediate) != 0);
            EXPECT_EQ((said & kWantsTaken) != 0, (flags & kSendSynchronous) != 0);
            EXPECT_EQ(said & (kInRing | kFailed | kAll), 0);
        }
    }
}

// The fast path writes and knows by a single word what the general one spells out.
TEST(records, line_control__says_the_same_as_a_control) {
    for (std::uint32_t space = 0; space < 4; ++space) {
        for (const std::uint32_t flags : {0u, kSendImmediate}) {
            for (const std::uint64_t bytes : {0, 1, 48, 32768, 65535}) {
                const Control control{Kind::send, control_flags(space, flags),
                                      static_cast<std::uint16_t>(bytes)};
                const std::uint32_t word = line_control(space, flags * 8, bytes);
                EXPECT_EQ(word, control.word());
                EXPECT_EQ(plain_space(word, flags), space);
            }
        }
    }
}

TEST(records, plain_space__of_exactly_these_sends) {
    for (unsigned kind = 0; kind <= 255; ++kind) {
        for (unsigned flags = 0; flags <= 255; ++flags) {
            const std::uint32_t word =
                Control{static_cast<Kind>(kind), static_cast<std::uint8_t>(flags), 40}.word();
            const bool is_send = kind == static_cast<unsigned>(Kind::send);
            for (const std::uint32_t wanted : {0u, 1u, 2u, 3u}) {
                const std::uint32_t space = plain_space(word, wanted);
                if (is_send && (flags & 63) == wanted) {
                    ASSERT_EQ(space, flags >> kSpaceShift) << kind << ' ' << flags;
                } else {
                    ASSERT_GT(space, 3u) << kind << ' ' << flags;
                    ASSERT_NE(space, kNoSpace) << kind << ' ' << flags;
                }
            }
        }
    }
}

TEST(records, pack__the_rest_of_the_line_is_nought) {
    const HandleRecord record{0x1122334455667788};
    const gcs::Line line = pack(Control{Kind::taken, kFailed, 3}, record);
    EXPECT_EQ(unpack<HandleRecord>(line).handle, record.handle);
    for (std::size_t i = 1; i < std::size(line.word); ++i) EXPECT_EQ(line.word[i], 0u);
    EXPECT_EQ(Control::of(line).kind, Kind::taken);
}

}  // namespace
}  // namespace fci::mp
