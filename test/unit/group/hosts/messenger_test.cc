// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/messenger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "test/unit/group/hosts/exchanges.h"

namespace fci::group::test {
namespace {

constexpr std::uint64_t kKey = Exchanges::kKey;
constexpr unsigned kRank = Exchanges::kRank;

/// Three hosts that have met.
class MessengerOfHosts : public testing::Test {
protected:
    void SetUp() override { hosts.all.meet_all(); }
    [[nodiscard]] nhi::PeerId peer(unsigned of, unsigned other) {
        return hosts.all[of].peers[other];
    }
    void send(unsigned from, unsigned to) { hosts.messenger(from).send(peer(from, to)); }
    /// The length of what has come; a lack: the share at `to` says which one.
    std::size_t receive(unsigned from, unsigned to) {
        hosts.messenger(to).receive(peer(to, from));
        hosts.all.settle();
        EXPECT_FALSE(hosts.messenger(to).is_busy());
        std::size_t bytes = 0;
        const bool has_come = hosts.messenger(to).accept(kRank + from, &bytes);
        EXPECT_EQ(has_come, hosts[to].is_good());
        return bytes;
    }

    Exchanges hosts{3};
};

// --- data ---

TEST_F(MessengerOfHosts, receive__beside_the_share) {
    hosts.bring_share(0, 1, 8, kDone);
    hosts.bring(0, std::uint64_t{77});
    hosts.bring_share(1, 1, 8, kDone);
    hosts.bring(1, std::uint64_t{55});
    send(0, 1);
    EXPECT_EQ(receive(0, 1), 8u);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 55u);
    EXPECT_EQ(hosts[1].length(), 8u);
    hosts[1].take(8);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 77u);
}

TEST_F(MessengerOfHosts, receive__only_of_this_peer_and_this_collective) {
    for (const unsigned from : {0u, 2u}) {
        hosts.bring_share(from, 2, 8, kDone);
        hosts.bring(from, std::uint64_t{10 + from});
        send(from, 1);
    }
    hosts.all.settle();
    Messenger& own = hosts.messenger(1);
    hosts.bring_share(1, 1, 8, kDone);
    EXPECT_FALSE(own.is_here(peer(1, 0)));
    EXPECT_FALSE(own.has_news(peer(1, 0)));
    hosts.bring_share(1, 2, 8, kDone);
    EXPECT_TRUE(own.is_here(peer(1, 0)));
    EXPECT_TRUE(own.has_news(peer(1, 0)));
    EXPECT_EQ(receive(2, 1), 8u);
    hosts[1].take(8);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 12u);
    EXPECT_FALSE(own.is_here(peer(1, 2)));
    EXPECT_TRUE(own.is_here(peer(1, 0)));
}

// It is read at most to the end of the buffer.
TEST_F(MessengerOfHosts, receive__longer_than_any_can_be_is_a_loss) {
    std::vector<std::byte> data(Share::kMost + 1, std::byte{1});
    hosts.forge(0, 1, 1, data);
    hosts.bring_share(1, 1, 0, kDone);
    (void)receive(0, 1);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[1].lost(), kRank);
}

// --- what is lacking ---

TEST_F(MessengerOfHosts, accept__what_the_sender_lacks) {
    struct Lack {
        int code;
        std::size_t why;
    };
    std::uint64_t number = 0;
    for (const Lack lack : {Lack{FCI_ICL_ETRUNC, 40}, Lack{FCI_ICL_EUNREACHABLE, 0},
                            Lack{FCI_ICL_EPEER, 13}, Lack{FCI_ICL_EPEER, FCI_ICL_NO_RANK}}) {
        hosts.bring_share(0, ++number, lack.why, lack.code);
        send(0, 1);
        EXPECT_FALSE(hosts.messenger(0).is_busy()) << "nobody waits for that";
        hosts.bring_share(1, number, 8, kDone);
        (void)receive(0, 1);
        EXPECT_EQ(hosts[1].code(), lack.code);
        EXPECT_EQ(hosts[1].why(), lack.why);
    }
}

// No process of this kind sends one.
TEST_F(MessengerOfHosts, accept__a_word_that_means_nothing_is_a_loss) {
    std::uint64_t number = 0;
    for (const int code : {0, 1, int{FCI_ICL_EAGAIN}, int{FCI_ICL_ENOMEM}, -99}) {
        hosts.forge_word(0, 1, ++number, static_cast<std::uint64_t>(-code) << 32 | 5);
        hosts.bring_share(1, number, 0, kDone);
        (void)receive(0, 1);
        EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
        EXPECT_EQ(hosts[1].lost(), 5u);
    }
}

TEST_F(MessengerOfHosts, accept__of_one_that_lacks_something_itself) {
    hosts.bring_share(0, 1, 8, kDone);
    send(0, 1);
    hosts.bring_share(1, 1, 7, FCI_ICL_EPEER);
    EXPECT_EQ(receive(0, 1), 8u);
    EXPECT_EQ(hosts[1].lost(), 7u);
    EXPECT_TRUE(hosts.holds_nothing(1));
}

// --- deaths ---

TEST_F(MessengerOfHosts, deaths__of_the_sender) {
    hosts.bring_share(1, 1, 0, kDone);
    hosts.messenger(1).receive(peer(1, 0));
    EXPECT_TRUE(hosts.messenger(1).is_busy());
    EXPECT_TRUE(hosts.messenger(1).is_alive(peer(1, 0)));
    EXPECT_FALSE(hosts.messenger(1).has_news(peer(1, 0)));
    hosts.all.lose(0);
    EXPECT_FALSE(hosts.messenger(1).is_busy());
    EXPECT_FALSE(hosts.messenger(1).is_alive(peer(1, 0)));
    EXPECT_TRUE(hosts.messenger(1).has_news(peer(1, 0)));
    std::size_t bytes = 0;
    EXPECT_FALSE(hosts.messenger(1).accept(kRank, &bytes));
    EXPECT_EQ(hosts[1].lost(), kRank);
}

TEST_F(MessengerOfHosts, deaths__of_the_receiver_are_missed_in_one_collective) {
    hosts.all.lose(1);
    hosts.bring_share(0, 1, 8, kDone);
    send(0, 1);
    EXPECT_FALSE(hosts.messenger(0).is_busy());
    EXPECT_TRUE(hosts.messenger(0).has_missed());
    send(0, 2);
    EXPECT_FALSE(hosts.messenger(0).has_missed()) << "of the last message";
    send(0, 1);
    hosts.messenger(0).begin(2);
    EXPECT_FALSE(hosts.messenger(0).has_missed());
    hosts.bring_share(0, 3, 7, FCI_ICL_EPEER);
    send(0, 1);
    EXPECT_FALSE(hosts.messenger(0).has_missed()) << "nobody waits for a lack";
}

// --- discard, give_up ---

TEST_F(MessengerOfHosts, discard__before_the_message_and_behind_it) {
    for (const bool is_before : {false, true}) {
        const std::uint64_t number = is_before ? 1 : 2;
        hosts.bring_share(0, number, 8, kDone);
        hosts.bring_share(1, number, 8, kDone);
        hosts.bring(1, std::uint64_t{55});
        if (is_before) hosts.messenger(1).discard(peer(1, 0));
        EXPECT_FALSE(hosts.messenger(1).is_busy());
        send(0, 1);
        hosts.all.settle();
        EXPECT_EQ(hosts.holds_nothing(1), is_before);
        if (!is_before) hosts.messenger(1).discard(peer(1, 0));
        EXPECT_TRUE(hosts.holds_nothing(1));
        EXPECT_FALSE(hosts.messenger(0).is_busy());
        EXPECT_TRUE(hosts[1].is_good());
        EXPECT_EQ(hosts.brought<std::uint64_t>(1), 55u);
    }
}

TEST(Messenger, give_up__takes_back_what_is_under_way_and_throws_away_what_has_come) {
    Exchanges hosts(3);
    hosts.all.meet(0, 1);
    std::vector<std::byte> data(8);
    hosts.forge(1, 0, 6, data);
    const iovec range{data.data(), data.size()};
    EXPECT_GE(hosts.all[1].messages->send({hosts.all[1].peers[0],
                                           mp::kGroupSpace,
                                           0,
                                           match_of(kKey + 1, 6, false),
                                           0,
                                           {&range, 1}},
                                          {}, nullptr),
              0);
    hosts.all.settle();
    hosts.bring_share(0, 1, 0, kDone);
    hosts.messenger(0).receive(hosts.all[0].peers[1]);
    EXPECT_TRUE(hosts.messenger(0).is_busy());
    hosts.messenger(0).give_up();
    hosts.all.settle();
    EXPECT_FALSE(hosts.messenger(0).is_busy());
    mp::MessagePassing& messages = *hosts.all[0].messages;
    EXPECT_NE(messages.probe({mp::kAnySource, mp::kGroupSpace, match_of(kKey, 6, false), 0},
                             nullptr, nullptr),
              mp::kSuccess);
    EXPECT_EQ(messages.probe({mp::kAnySource, mp::kGroupSpace, match_of(kKey + 1, 6, false), 0},
                             nullptr, nullptr),
              mp::kSuccess)
        << "another group's";
    hosts.bring_share(2, 2, 8, kDone);
    hosts.messenger(2).send(hosts.all[2].peers[0]);  // that was never met
    EXPECT_TRUE(hosts.messenger(2).is_busy());
    hosts.messenger(2).give_up();
    hosts.all.turns();
    EXPECT_FALSE(hosts.messenger(2).is_busy());
    hosts.all.settle();
}

TEST(Messenger, is_alive__a_stranger_is_met) {
    Exchanges hosts(2);
    hosts.bring_share(0, 1, 0, kDone);
    EXPECT_FALSE(hosts.all.is_met(0, 1));
    EXPECT_TRUE(hosts.messenger(0).is_alive(hosts.all[0].peers[1]));
    EXPECT_TRUE(hosts.all.is_met(0, 1));
    hosts.all.lose(1);
    EXPECT_FALSE(hosts.messenger(0).is_alive(hosts.all[0].peers[1]));
}

}  // namespace
}  // namespace fci::group::test
