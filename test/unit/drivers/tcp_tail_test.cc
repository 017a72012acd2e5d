// SPDX-License-Identifier: BSD-3-Clause
// The tail of a tcp device's blocks, where a driver above tells how else it is reached.
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

constexpr std::uint32_t kTail = 48;

ddi::Settings with_tail(std::uint32_t bytes) {
    ddi::Settings wanted = hand_settings();
    wanted.network.tail_bytes = bytes;
    return wanted;
}

struct TcpTail : testing::Test {
    /// A peer that has called, and has such a tail; its id.
    static nhi::PeerId meet(HandParty& party, std::uint32_t tail) {
        Hello hello = party.hello_of(card_of(9));
        hello.tail_bytes = tail;
        party.knock(hello);
        party.turns();
        EXPECT_EQ(party.listener.attached.size(), 1u);
        return party.listener.attached.empty() ? nhi::kNoPeer : party.listener.attached[0];
    }
    static Status put(HandParty& party, nhi::PeerId id, std::uint64_t address) {
        const std::uint64_t word = 5;
        return party.network().initiate_transfer(
            nhi::Transfer(id).put(nhi::LcsAddress{address}, &word, sizeof word));
    }
    static std::uint32_t tail_of(HandParty& party, nhi::PeerId id) {
        return party.device->about(id).tail_bytes;
    }
};

TEST_F(TcpTail, tail__lies_behind_the_block_where_both_have_one) {
    HandParty party(with_tail(kTail));
    const nhi::PeerId id = meet(party, 64);
    EXPECT_EQ(read_as<Hello>(party.one(party.system->last).sent).tail_bytes, kTail);
    EXPECT_EQ(read_as<Hello>(party.one(party.system->last).sent).block_bytes, kBlockBytes);
    EXPECT_EQ(tail_of(party, id), 64u);
    EXPECT_EQ(party.network().link(id).block_bytes, kBlockBytes);
    EXPECT_EQ(put(party, id, kBlockBytes + 56), Status::ok);
    EXPECT_EQ(put(party, id, kBlockBytes + 57), Status::invalid);
    ASSERT_EQ(party.device->block(id).size(), kBlockBytes + kTail);
    const std::uint64_t word = 7;
    party.system->bring(party.system->last, FrameHead{FrameKind::transfer, 1, 0, 0});
    party.system->bring(party.system->last, PartHead{kBlockBytes + kTail - 8, sizeof word});
    party.system->bring(party.system->last, word);
    party.turns();
    EXPECT_EQ(party.device->block(id).back(), std::byte{0});
    EXPECT_EQ(party.device->block(id)[kBlockBytes + kTail - 8], std::byte{7});
    const std::size_t connected = party.device->memory().connected;
    EXPECT_GE(connected, kBlockBytes + kTail);
}

TEST_F(TcpTail, tail__of_a_peer_alone_is_none) {
    HandParty party;
    const nhi::PeerId id = meet(party, 64);
    EXPECT_EQ(tail_of(party, id), 0u);
    EXPECT_EQ(put(party, id, kBlockBytes - 8), Status::ok);
    EXPECT_EQ(put(party, id, kBlockBytes - 7), Status::invalid);
}

TEST_F(TcpTail, tail__of_this_process_alone_is_none) {
    HandParty party(with_tail(kTail));
    const nhi::PeerId id = meet(party, 0);
    EXPECT_EQ(tail_of(party, id), 0u);
    EXPECT_EQ(put(party, id, kBlockBytes - 7), Status::invalid);
}

/// Addresses beyond are of windows.
TEST_F(TcpTail, hello__with_more_than_a_pair_can_have_is_refused) {
    Hello hello{};
    EXPECT_FALSE(hello.has_sound_block());
    hello.block_bytes = nhi::kPairLimit;
    EXPECT_TRUE(hello.has_sound_block());
    hello.tail_bytes = 1;
    EXPECT_FALSE(hello.has_sound_block());
    hello.block_bytes = nhi::kPairLimit - 1;
    EXPECT_TRUE(hello.has_sound_block());
    hello.block_bytes = nhi::kPairLimit + 1;
    hello.tail_bytes = 0;
    EXPECT_FALSE(hello.has_sound_block());
    HandParty party;
    Hello caller = party.hello_of(card_of(9));
    caller.block_bytes = nhi::kPairLimit;
    caller.tail_bytes = 1;
    party.knock(caller);
    party.turns();
    EXPECT_TRUE(party.listener.attached.empty());
}

TEST_F(TcpTail, open__wants_a_block_and_a_tail_that_can_be_named) {
    const auto opens = [](std::size_t block, std::uint32_t tail) {
        ddi::Settings wanted = with_tail(tail);
        wanted.block_bytes = block;
        Status status = Status::ok;
        std::string error;
        const bool is_open =
            open_over(std::make_unique<HandStreams>(), wanted, &status, &error) != nullptr;
        EXPECT_EQ(status, is_open ? Status::ok : Status::invalid) << error;
        return is_open;
    };
    EXPECT_FALSE(opens(nhi::kPairLimit, 1));
    EXPECT_FALSE(opens(nhi::kPairLimit - 15, 16));
    EXPECT_TRUE(opens(4096, 16));
}

}  // namespace
}  // namespace fci::tcp::test
