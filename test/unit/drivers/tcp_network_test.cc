// SPDX-License-Identifier: BSD-3-Clause
// Transfers over a tcp device: which of them are taken, where they go, and what a peer's may name.
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

constexpr std::uint64_t kTheirBlock = 8192;

struct TcpNetwork : testing::Test {
    [[nodiscard]] Status put(nhi::PeerId id, std::uint64_t address, std::size_t bytes) {
        nhi::Transfer transfer(id);
        transfer.put(nhi::LcsAddress{address}, memory.data(), bytes);
        return party.network().initiate_transfer(transfer);
    }
    /// A peer whose block for this process has so many bytes.
    nhi::PeerId peer(std::uint64_t incarnation = 9, std::uint64_t block = kTheirBlock) {
        Hello hello = party.hello_of(card_of(incarnation));
        hello.block_bytes = block;
        party.knock(hello);
        party.turns();
        EXPECT_FALSE(party.listener.attached.empty());
        party.one(party.system->last).sent.clear();
        return party.listener.attached.back();
    }
    HandStreams::One& stream() { return party.one(party.system->last); }
    /// A peer would send this: a transfer of one part.
    void bring(std::uint64_t address, std::uint64_t bytes, std::byte value) {
        party.system->bring(party.system->last, FrameHead{FrameKind::transfer, 1, 0, 0});
        party.system->bring(party.system->last, PartHead{address, bytes});
        stream().here.resize(stream().here.size() + bytes, value);
        party.turns();
    }

    HandParty party;
    std::vector<std::byte> memory = std::vector<std::byte>(512 * 1024, std::byte{7});
};

TEST_F(TcpNetwork, initiate_transfer__in_each_state_of_a_peer) {
    EXPECT_EQ(put(1, 0, 8), Status::invalid) << "nobody";
    nhi::PeerId id = 0;
    ASSERT_EQ(party.device->add_peer(card_of(8), &id), Status::ok);
    EXPECT_EQ(put(id, 0, 8), Status::unreachable) << "known";
    party.system->room_of_calls = 0;
    ASSERT_EQ(party.device->connect(id), Status::ok);
    EXPECT_EQ(put(id, 0, 8), Status::again) << "connecting";
    EXPECT_EQ(put(id, nhi::kPairLimit - 8, 8), Status::again);
    EXPECT_EQ(put(id, nhi::kPairLimit - 8, 9), Status::invalid);
    EXPECT_EQ(party.network().link(id).block_bytes, 0u);
    EXPECT_FALSE(party.network().link(id).direct);
    const nhi::PeerId attached = peer(8);
    ASSERT_EQ(attached, id);
    EXPECT_EQ(put(id, 0, 8), Status::ok);
    EXPECT_EQ(party.network().link(id).block_bytes, kTheirBlock);
    EXPECT_TRUE(party.network().link(id).direct);
    stream().at_its_end = 0;
    party.turns();
    EXPECT_EQ(put(id, 0, 8), Status::lost);
    EXPECT_EQ(party.network().link(id).block_bytes, 0u);
    EXPECT_EQ(party.network().link(99).block_bytes, 0u);
}

TEST_F(TcpNetwork, initiate_transfer__into_the_block_that_the_peer_keeps) {
    const nhi::PeerId id = peer();
    EXPECT_EQ(put(id, kTheirBlock - 8, 8), Status::ok);
    EXPECT_EQ(put(id, 0, kTheirBlock), Status::ok);
    EXPECT_EQ(put(id, kTheirBlock, 0), Status::ok);
    EXPECT_EQ(put(id, kTheirBlock - 8, 9), Status::invalid);
    EXPECT_EQ(put(id, 0, kTheirBlock + 1), Status::invalid);
    EXPECT_EQ(put(id, kTheirBlock + 1, 0), Status::invalid);
    EXPECT_EQ(put(id, nhi::kPairLimit - 1, 8), Status::invalid);
    EXPECT_EQ(put(id, nhi::kPairLimit, 8), Status::ok) << "a window, which is the peer's affair";
    nhi::Transfer two(id);
    two.put(nhi::LcsAddress{0}, memory.data(), 8);
    two.put(nhi::LcsAddress{kTheirBlock}, memory.data(), 8);
    const std::size_t before = stream().sent.size();
    EXPECT_EQ(party.network().initiate_transfer(two), Status::invalid) << "each part";
    EXPECT_EQ(stream().sent.size(), before);
}

TEST_F(TcpNetwork, initiate_transfer__no_more_than_may_wait) {
    const nhi::PeerId id = peer(9, 512 * 1024);
    stream().room = 0;
    EXPECT_EQ(put(id, 0, 256 * 1024), Status::ok) << "one alone";
    EXPECT_EQ(put(id, 0, 8), Status::again);
    EXPECT_FALSE(party.network().is_idle());
    stream().room = SIZE_MAX;
    party.turn();
    EXPECT_TRUE(party.network().is_idle());
    EXPECT_EQ(put(id, 0, 8), Status::ok);
}

// --- to itself ---

TEST_F(TcpNetwork, self__is_written_at_once) {
    const std::span<std::byte> block = party.device->block(nhi::kSelf);
    ASSERT_EQ(block.size(), kBlockBytes);
    EXPECT_EQ(put(nhi::kSelf, kBlockBytes - 8, 8), Status::ok);
    EXPECT_EQ(std::ranges::count(block, std::byte{7}), 8);
    EXPECT_EQ(block[kBlockBytes - 8], std::byte{7});
    EXPECT_EQ(put(nhi::kSelf, kBlockBytes - 8, 9), Status::invalid);
    EXPECT_FALSE(party.network().link(nhi::kSelf).direct);
    EXPECT_EQ(party.network().link(nhi::kSelf).block_bytes, kBlockBytes);
    EXPECT_EQ(party.device->sizes(nhi::kSelf), 0xabcdu);
    EXPECT_EQ(party.device->about(nhi::kSelf).pid, static_cast<std::uint32_t>(getpid()));
}

TEST_F(TcpNetwork, self__windows_where_they_are_and_events) {
    const std::uint64_t base = nhi::kPairLimit + 4096;
    const std::span<std::byte> window = party.device->communication_memory().first(64);
    EXPECT_EQ(put(nhi::kSelf, base, 8), Status::ok) << "it has no effect";
    ASSERT_EQ(party.network().open_window(0, nhi::LcsAddress{base}, window), Status::ok);
    ASSERT_EQ(party.network().configure_event(3, {true, false}), Status::ok);
    nhi::Transfer transfer(nhi::kSelf);
    transfer.put(nhi::LcsAddress{base + 56}, memory.data(), 8).raise(3);
    transfer.put(nhi::LcsAddress{~0ull - 3}, memory.data(), 8);  // wraps
    ASSERT_EQ(party.network().initiate_transfer(transfer), Status::ok);
    EXPECT_EQ(std::ranges::count(window, std::byte{7}), 8);
    EXPECT_EQ(party.network().event_count(3), 1u);
}

// --- what a peer may name ---

TEST_F(TcpNetwork, receive__into_its_block_and_no_farther) {
    const nhi::PeerId id = peer();
    bring(kBlockBytes - 8, 8, std::byte{5});
    const std::span<std::byte> block = party.device->block(id);
    EXPECT_EQ(std::ranges::count(block, std::byte{5}), 8);
    EXPECT_EQ(block.back(), std::byte{5});
    bring(0, kBlockBytes, std::byte{6});
    EXPECT_EQ(std::ranges::count(block, std::byte{6}), std::ptrdiff_t{kBlockBytes});
    EXPECT_TRUE(party.listener.lost.empty());
    bring(kBlockBytes - 8, 9, std::byte{5});
    ASSERT_EQ(party.listener.lost.size(), 1u);
    EXPECT_EQ(std::ranges::count(block, std::byte{5}), 0);
}

TEST_F(TcpNetwork, receive__into_a_window_that_is_open_or_not) {
    (void)peer();
    const std::uint64_t base = nhi::kPairLimit;
    const std::size_t all = party.device->communication_memory().size();
    bring(base, all, std::byte{5});
    EXPECT_TRUE(party.listener.lost.empty()) << "it was closed, perhaps just now";
    const std::span<std::byte> window = party.device->communication_memory();
    EXPECT_EQ(std::ranges::count(window, std::byte{5}), 0);
    ASSERT_EQ(party.network().open_window(0, nhi::LcsAddress{base}, window), Status::ok);
    bring(base, all, std::byte{5});
    EXPECT_EQ(std::ranges::count(window, std::byte{5}), static_cast<std::ptrdiff_t>(all));
    bring(base, all + 1, std::byte{6});
    ASSERT_EQ(party.listener.lost.size(), 1u) << "no window can be so long";
    EXPECT_EQ(std::ranges::count(window, std::byte{6}), 0);
}

TEST_F(TcpNetwork, poll__another_peers_block_is_another_one) {
    const nhi::PeerId first = peer(9);
    bring(0, 8, std::byte{5});
    party.knock(party.hello_of(card_of(11, 4999)));
    party.turns();
    const nhi::PeerId second = party.listener.attached.at(1);
    bring(64, 8, std::byte{6});
    EXPECT_EQ(std::ranges::count(party.device->block(first), std::byte{5}), 8);
    EXPECT_EQ(std::ranges::count(party.device->block(first), std::byte{6}), 0);
    EXPECT_EQ(std::ranges::count(party.device->block(second), std::byte{6}), 8);
}

// --- data ---

TEST_F(TcpNetwork, data__in_each_state_of_a_peer) {
    nhi::DataWay& way = *party.network().data();
    const nhi::Data some{7, 0, 8};
    EXPECT_EQ(way.send(nhi::kSelf, some, memory.data(), 0), Status::invalid);
    EXPECT_EQ(way.send(1, some, memory.data(), 0), Status::invalid);
    nhi::PeerId id = 0;
    ASSERT_EQ(party.device->add_peer(card_of(8), &id), Status::ok);
    EXPECT_EQ(way.send(id, some, memory.data(), 0), Status::unreachable);
    EXPECT_FALSE(way.has_taken(id));
    EXPECT_FALSE(way.has_taken(nhi::kSelf));
    EXPECT_FALSE(way.has_taken(99));
    ASSERT_EQ(peer(8), id);
    EXPECT_TRUE(way.has_taken(id));
    EXPECT_EQ(way.send(id, {7, 0, 0}, memory.data(), 0), Status::invalid);
    EXPECT_EQ(way.send(id, some, memory.data(), 5), Status::ok);
    EXPECT_TRUE(way.has_taken(id));
    EXPECT_EQ(read_as<FrameHead>(stream().sent).events, 5u);
    stream().room = 0;
    EXPECT_EQ(way.send(id, some, memory.data(), 0), Status::ok);
    EXPECT_FALSE(way.has_taken(id));
    EXPECT_EQ(way.send(id, some, memory.data(), 0), Status::again);
    EXPECT_FALSE(party.network().is_idle());
    stream().at_its_end = 0;
    party.turn();
    EXPECT_EQ(way.send(id, some, memory.data(), 0), Status::lost);
    EXPECT_FALSE(way.has_taken(id));
    way.give_back(id);
    way.give_back(99);
}

/// Also where nothing is borrowed: what is refused now is refused for them, too.
TEST_F(TcpNetwork, data__not_behind_what_was_refused) {
    const nhi::PeerId id = peer();
    nhi::DataWay& way = *party.network().data();
    stream().room = 0;
    ASSERT_EQ(put(id, 0, 8), Status::ok);
    EXPECT_EQ(way.send(id, {7, 0, 8}, memory.data(), 0), Status::again);
    EXPECT_TRUE(way.has_taken(id)) << "none was borrowed";
    stream().room = SIZE_MAX;
    party.turn();
    EXPECT_EQ(way.send(id, {7, 0, 8}, memory.data(), 0), Status::ok);
}

TEST_F(TcpNetwork, data__are_let_go_of_where_their_target_goes) {
    const nhi::PeerId id = peer();
    nhi::DataWay& way = *party.network().data();
    struct Nobody final : nhi::DataTarget {
        bool expects(nhi::PeerId) const noexcept override { return false; }
        bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return false; }
        std::byte* locate(nhi::PeerId, const nhi::Data&) noexcept override { return nullptr; }
        bool arrived(nhi::PeerId, const nhi::Data&) noexcept override { return false; }
    } nobody;
    stream().room = 0;
    ASSERT_EQ(way.send(id, {7, 0, 8}, memory.data(), 0), Status::ok);
    way.set_target(&nobody);
    EXPECT_FALSE(way.has_taken(id));
    way.set_target(nullptr);
    EXPECT_TRUE(way.has_taken(id));
    EXPECT_FALSE(party.network().is_idle());
}

// --- the device ---

TEST_F(TcpNetwork, add_peer__a_place_without_a_port_is_none) {
    nhi::PeerId id = nhi::kNoPeer;
    EXPECT_EQ(party.device->add_peer(card_of(9, 0), &id), Status::invalid);
    EXPECT_EQ(id, nhi::kNoPeer);
    ddi::Card here = card_of(9);
    here.host = 0;
    here.family = 77;
    ASSERT_EQ(party.device->add_peer(here, &id), Status::ok);
    EXPECT_EQ(party.device->card_of(id)->host, htonl(INADDR_LOOPBACK)) << "as its own";
    EXPECT_EQ(party.device->card_of(id)->family, AF_INET);
    EXPECT_EQ(party.device->card_of(id + 1), nullptr);
    EXPECT_EQ(party.device->peers(), 2u);
    ASSERT_EQ(party.device->add_peer(party.device->card(), &id), Status::ok);
    EXPECT_EQ(id, nhi::kSelf);
}

TEST_F(TcpNetwork, about__who_is_not_met) {
    nhi::PeerId id = 0;
    ASSERT_EQ(party.device->add_peer(card_of(9), &id), Status::ok);
    for (const nhi::PeerId one : {id, id + 1}) {
        EXPECT_STREQ(party.device->about(one).way, "tcp");
        EXPECT_EQ(party.device->about(one).rank, -1);
        EXPECT_EQ(party.device->about(one).pid, 0u);
        EXPECT_EQ(party.device->sizes(one), 0u);
        EXPECT_TRUE(party.device->block(one).empty());
    }
    EXPECT_EQ(party.device->describe(id), "the process at 10.77.0.3:4711");
    EXPECT_EQ(party.device->describe(id + 1), "no known process");
}

/// The bytes that the peer wrote before it died can still be read.
TEST_F(TcpNetwork, about__who_is_lost) {
    const nhi::PeerId id = peer();
    party.system->bring(party.system->last, loss_of(5));
    bring(0, 8, std::byte{5});
    stream().at_its_end = 0;
    party.turns();
    ASSERT_EQ(party.listener.lost.size(), 1u);
    EXPECT_EQ(party.device->about(id).loss, 5);
    EXPECT_EQ(party.device->about(id).rank, 7);
    EXPECT_EQ(party.device->block(id)[7], std::byte{5});
    EXPECT_EQ(party.device->sizes(id), 0x5678u);
}

TEST_F(TcpNetwork, memory__grows_with_each_connection) {
    const MemoryUse before = party.device->memory();
    EXPECT_GE(before.fixed, 4096u);
    EXPECT_EQ(before.connected, 0u);
    (void)peer();
    const MemoryUse after = party.device->memory();
    EXPECT_GE(after.connected, kBlockBytes);
    EXPECT_EQ(after.fixed, before.fixed);
}

TEST(tcp_device_blocks, open__with_blocks_that_can_be) {
    const auto opened = [](std::uint64_t block) {
        ddi::Settings wanted = hand_settings();
        wanted.block_bytes = block;
        Status status = Status::ok;
        std::string error;
        const auto device = open_over(std::make_unique<HandStreams>(), wanted, &status, &error);
        EXPECT_EQ(device != nullptr, status == Status::ok);
        if (status != Status::ok) {
            EXPECT_EQ(error, "request blocks of " + std::to_string(block) + " bytes");
        }
        return status;
    };
    EXPECT_EQ(opened(0), Status::invalid);
    EXPECT_EQ(opened(nhi::kPairLimit + 1), Status::invalid);
    EXPECT_EQ(opened(nhi::kPairLimit), Status::ok);
    EXPECT_EQ(opened(4096), Status::ok);
}

TEST(tcp_device_by_hand, open__says_why_it_cannot_listen) {
    auto system = std::make_unique<HandStreams>();
    system->listen_errors = {EADDRNOTAVAIL};
    Status status = Status::ok;
    std::string error;
    EXPECT_EQ(open_over(std::move(system), hand_settings(), &status, &error), nullptr);
    EXPECT_EQ(status, Status::invalid);
    EXPECT_NE(error.find("no interface of this host has that address"), std::string::npos);
}

TEST(tcp_device_by_hand, open__memory_of_the_device_above) {
    std::vector<std::byte> above(64);
    ddi::Settings wanted = hand_settings();
    wanted.communication = above;
    HandParty party(wanted);
    EXPECT_EQ(party.device->communication_memory().data(), above.data());
    EXPECT_EQ(party.device->communication_memory().size(), 64u);
    EXPECT_EQ(HandParty().device->communication_memory().size(), 4096u);
}

/// That is in the card which others get.
TEST(tcp_device_by_hand, open__listens_by_ipv4) {
    ddi::Settings wanted = hand_settings();
    wanted.wanted.family = 99;
    const HandParty party(wanted);
    EXPECT_EQ(party.device->card().family, AF_INET);
    EXPECT_EQ(party.device->card().host, htonl(INADDR_LOOPBACK));
    EXPECT_EQ(party.device->card().port, htons(4000));
    EXPECT_EQ(party.device->network().hints(), nullptr) << "the kernel's alone have them";
}

TEST(tcp_device_by_hand, open__draws_an_incarnation_where_none_is_given) {
    ddi::Settings wanted = hand_settings();
    wanted.incarnation = 0;
    const HandParty one(wanted), other(wanted);
    EXPECT_NE(one.device->card().incarnation, 0u);
    EXPECT_NE(one.device->card().incarnation, other.device->card().incarnation);
    EXPECT_EQ(HandParty().device->card().incarnation, 50u);
}

}  // namespace
}  // namespace fci::tcp::test
