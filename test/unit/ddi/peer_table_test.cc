// SPDX-License-Identifier: BSD-3-Clause
// Who is known: cards that are exact, typed, used again, and many.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <map>

#include "fci_core/base/prng.h"
#include "fci_core/ddi/peer_table.h"
#include "test/unit/seed.h"

namespace fci::ddi {
namespace {

struct Peer {
    PeerState state = PeerState::known;
};

Card card(std::uint16_t port, std::uint64_t incarnation, std::uint32_t host = 0x7f000001) {
    return {2, htons(port), htonl(host), incarnation};
}

void set_state(PeerTable<Peer>& table, nhi::PeerId id, PeerState state) {
    table[id].peer = std::make_unique<Peer>(Peer{state});
}

TEST(peer_table, find__by_place_and_incarnation) {
    PeerTable<Peer> table;
    EXPECT_EQ(table.find(card(1, 5)), nhi::kNoPeer);
    const nhi::PeerId first = table.add(card(1, 5));
    const nhi::PeerId other = table.add(card(1, 5, 0x0a000001));
    EXPECT_EQ(table.find(card(1, 5)), first);
    EXPECT_EQ(table.find(card(1, 5, 0x0a000001)), other);
    EXPECT_EQ(table.find(card(1, 6)), nhi::kNoPeer);
    EXPECT_EQ(table.find(card(2, 5)), nhi::kNoPeer);
    EXPECT_EQ(table[first].state(), PeerState::known);
}

TEST(peer_table, find__a_typed_card_names_who_is_there_and_is_completed) {
    PeerTable<Peer> table;
    const nhi::PeerId typed = table.add(card(1, 0));
    EXPECT_EQ(table.find_exactly(card(1, 7)), nhi::kNoPeer);
    EXPECT_EQ(table.find(card(1, 7)), typed);
    EXPECT_EQ(table[typed].card.incarnation, 7u);
    EXPECT_EQ(table.find(card(1, 8)), nhi::kNoPeer);
    EXPECT_EQ(table.find(card(1, 0)), typed);
}

TEST(peer_table, find__what_was_lost_is_named_by_its_incarnation_only) {
    PeerTable<Peer> table;
    const nhi::PeerId before = table.add(card(1, 5));
    set_state(table, before, PeerState::lost);
    EXPECT_EQ(table.find(card(1, 5)), before);
    EXPECT_EQ(table.find(card(1, 0)), nhi::kNoPeer);
    EXPECT_EQ(table.replaced_by(card(1, 6)), nhi::kNoPeer);
    const nhi::PeerId now = table.find_or_add(card(1, 6));
    EXPECT_NE(now, before);
    EXPECT_EQ(table.find(card(1, 0)), now);
    EXPECT_EQ(table.replaced_by(card(1, 7)), now);
    EXPECT_EQ(table.replaced_by(card(1, 6)), nhi::kNoPeer);
}

TEST(peer_table, add__many_in_any_order) {
    PeerTable<Peer> table;
    std::map<std::pair<std::uint32_t, std::uint16_t>, nhi::PeerId> known;
    Prng prng(seeded(1));
    for (unsigned i = 0; i < 5000; ++i) {
        const auto host = static_cast<std::uint32_t>(0x0a000000 + prng.below(70));
        const auto port = static_cast<std::uint16_t>(1 + prng.below(300));
        const nhi::PeerId id = table.find_or_add(card(port, 1, host));
        const auto [at, is_new] = known.emplace(std::pair(host, port), id);
        ASSERT_EQ(at->second, id);
        ASSERT_EQ(table.size(), known.size());
    }
    for (const auto& [place, id] : known) {
        ASSERT_EQ(table.find(card(place.second, 1, place.first)), id);
    }
}

TEST(peer_table, memory__of_an_unmet_peer) {
    PeerTable<Peer> table;
    constexpr unsigned kPeers = 3 << 14;  // the index is as full as it may be
    for (unsigned i = 0; i < kPeers; ++i) {
        table.add(card(static_cast<std::uint16_t>(i), 1, 0x0a000000 + (i >> 10)));
    }
    EXPECT_LE(table.memory(), kPeers * 40);  // 32 of it once nothing grows any more
}

}  // namespace
}  // namespace fci::ddi
