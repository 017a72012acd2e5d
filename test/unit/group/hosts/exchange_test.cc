// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "test/unit/group/hosts/exchanges.h"

namespace fci::group::test {
namespace {

constexpr unsigned kRank = Exchanges::kRank;

// --- data ---

TEST(Exchange, all__combined_in_the_order_of_hosts) {
    for (const unsigned count : {2u, 3u, 4u, 5u, 7u}) {
        Exchanges hosts(count);
        for (std::uint64_t number = 1; number < 4; ++number) {
            Affine expected{1, 0};
            for (unsigned host = 0; host < count; ++host) {
                const Affine own{host + number + 1, 3 * host + 1};
                expected = then(expected, own);
                hosts.begin(host, Steps::all(count, host), number, sizeof own);
                hosts.bring(host, own);
            }
            hosts.run(kThen);
            for (unsigned host = 0; host < count; ++host) {
                EXPECT_EQ(hosts[host].code(), kDone);
                EXPECT_EQ(hosts[host].length(), sizeof(Affine));
                EXPECT_TRUE(hosts.brought<Affine>(host) == expected) << host << " of " << count;
            }
        }
    }
}

TEST(Exchange, down__the_roots_data_of_any_length) {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{48}, std::size_t{49}, Entry::kLong}) {
        Exchanges hosts(5);
        hosts.all.meet_all();
        for (unsigned host = 0; host < 5; ++host) {
            hosts.begin(host, Steps::down(5, host, 2), 1, host == 2 ? bytes : 7);
            std::memset(hosts[host].data(), static_cast<int>(host), Entry::kLong);
        }
        hosts.run();
        for (unsigned host = 0; host < 5; ++host) {
            EXPECT_EQ(hosts[host].code(), kDone);
            ASSERT_EQ(hosts[host].length(), bytes);
            const std::byte* const data = hosts[host].data();
            EXPECT_EQ(std::count(data, data + bytes, std::byte{2}), static_cast<long>(bytes));
        }
    }
}

// A message of the next exchange waits for its turn, though its sender is ahead.
TEST(Exchange, down__one_after_the_other_from_a_root_that_is_ahead) {
    Exchanges hosts(2);
    hosts.all.meet_all();
    for (std::uint64_t number = 1; number < 6; ++number) {
        hosts.begin(0, Steps::down(2, 0, 0), number, sizeof number);
        hosts.bring(0, 100 + number);
        ASSERT_EQ(hosts.advance(0), kDone);
        EXPECT_FALSE(hosts.messenger(0).is_busy());
    }
    hosts.all.settle();
    for (const std::uint64_t number : {1, 3, 2, 5, 4}) {  // each is found by its number
        hosts.begin(1, Steps::down(2, 1, 0), number, 0);
        ASSERT_EQ(hosts.advance(1), kDone);
        EXPECT_EQ(hosts.brought<std::uint64_t>(1), 100 + number);
    }
}

TEST(Exchange, all__of_no_bytes_combines_nothing) {
    Exchanges hosts(3);
    for (unsigned host = 0; host < 3; ++host) hosts.begin(host, Steps::all(3, host), 1, 0);
    hosts.run();
    for (unsigned host = 0; host < 3; ++host) EXPECT_EQ(hosts[host].code(), kDone);
}

TEST(Exchange, all__of_lengths_that_differ) {
    Exchanges hosts(2);
    hosts.begin(0, Steps::all(2, 0), 1, 16);
    hosts.begin(1, Steps::all(2, 1), 1, 8);
    hosts.run();
    for (const unsigned host : {0u, 1u}) {
        EXPECT_EQ(hosts[host].code(), FCI_ICL_ETRUNC);
        EXPECT_EQ(hosts[host].length(), host == 0 ? 8u : 16u);
        EXPECT_EQ(hosts[host].lost(), FCI_ICL_NO_RANK);
    }
}

// --- what is lacking ---

TEST(Exchange, lack__is_said_instead_of_data_and_heard_by_all) {
    struct Lack {
        int code;
        std::size_t why;
    };
    for (const Lack lack : {Lack{FCI_ICL_ETRUNC, 40}, Lack{FCI_ICL_EUNREACHABLE, 0},
                            Lack{FCI_ICL_EPEER, 13}, Lack{FCI_ICL_EPEER, FCI_ICL_NO_RANK}}) {
        for (unsigned lacking = 0; lacking < 3; ++lacking) {
            Exchanges hosts(3);
            for (unsigned host = 0; host < 3; ++host) {
                const bool lacks = host == lacking;
                hosts.begin(host, Steps::all(3, host), 1, lacks ? lack.why : 8,
                            lacks ? lack.code : kDone);
            }
            const Reduction any{[](void*, const void*, void*) {}, nullptr};
            hosts.run(any);
            for (unsigned host = 0; host < 3; ++host) {
                EXPECT_EQ(hosts[host].code(), lack.code) << host << " without " << lacking;
                const bool is_lost = lack.code == FCI_ICL_EPEER;
                EXPECT_EQ(hosts[host].lost(), is_lost ? lack.why : FCI_ICL_NO_RANK);
                EXPECT_EQ(hosts[host].length(), is_lost ? 0 : lack.why);
            }
        }
    }
}

TEST(Exchange, lack__of_one_that_hears_data_stays) {
    Exchanges hosts(2);
    hosts.begin(0, Steps::down(2, 0, 0), 1, 8);
    hosts.begin(1, Steps::down(2, 1, 0), 1, 7, FCI_ICL_EPEER);
    hosts.run();
    EXPECT_EQ(hosts[0].code(), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[1].lost(), 7u);
}

TEST(Exchange, ignores_input__waits_for_nobody_and_takes_what_comes_all_the_same) {
    Exchanges hosts(2);
    hosts.all.meet_all();
    hosts.begin(1, Steps::all(2, 1), 1, 7, FCI_ICL_EPEER, true);
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].lost(), 7u);
    hosts.begin(0, Steps::all(2, 0), 1, 0);
    EXPECT_EQ(hosts.advance(0), kWaits);
    hosts.all.settle();
    EXPECT_EQ(hosts.advance(0), kDone);
    EXPECT_EQ(hosts[0].lost(), 7u);
    EXPECT_TRUE(hosts.holds_nothing(1));
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
}

// Nor does it take what was heard in the collective before for something of this one.
TEST(Exchange, ignores_input__keeps_its_own_lack) {
    Exchanges hosts(2);
    hosts.all.meet_all();
    hosts.forge_word(0, 1, 1, std::uint64_t{-FCI_ICL_EUNREACHABLE} << 32);
    hosts.all.settle();
    hosts.begin(1, Steps::down(2, 1, 0), 1, 0);
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EUNREACHABLE);
    hosts.begin(1, Steps::down(2, 1, 0), 2, 7, FCI_ICL_EPEER, true);
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[1].lost(), 7u);
}

// --- deaths ---

TEST(Exchange, deaths__of_who_is_heard) {
    Exchanges hosts(3);
    hosts.all.meet_all();
    hosts.begin(1, Steps::down(3, 1, 0), 1, 0);
    EXPECT_EQ(hosts.advance(1), kWaits);
    EXPECT_TRUE(hosts.messenger(1).is_busy());
    EXPECT_FALSE(hosts.wait(1).is_over());
    hosts.all.lose(0);
    EXPECT_TRUE(hosts.wait(1).is_over());
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[1].lost(), kRank);
    hosts.begin(2, Steps::down(3, 2, 0), 1, 0);
    EXPECT_EQ(hosts.advance(2), kDone) << "it is known already";
    EXPECT_EQ(hosts[2].lost(), kRank);
}

TEST(Exchange, deaths__of_who_is_told) {
    Exchanges hosts(2);
    hosts.all.meet_all();
    hosts.all.lose(1);
    hosts.begin(0, Steps::down(2, 0, 0), 1, 8);
    EXPECT_EQ(hosts.advance(0), kDone);
    EXPECT_EQ(hosts[0].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[0].lost(), kRank + 1);
}

TEST(Exchange, deaths__of_who_was_to_be_met) {
    Exchanges hosts(2);
    hosts.begin(0, Steps::down(2, 0, 0), 1, 8);
    EXPECT_EQ(hosts.advance(0), kWaits);
    EXPECT_TRUE(hosts.messenger(0).is_busy()) << "it is not connected yet";
    EXPECT_FALSE(hosts.wait(0).is_over());
    hosts.all.lose(1);
    EXPECT_TRUE(hosts.wait(0).is_over());
    EXPECT_EQ(hosts.advance(0), kDone);
    EXPECT_EQ(hosts[0].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[0].lost(), kRank + 1);
}

// --- waiting ---

TEST(Exchange, only_receives__one_that_receives_first_until_it_has) {
    Exchanges hosts(4);
    hosts.all.meet_all();
    hosts.begin(0, Steps::down(4, 0, 0), 1, 0);
    EXPECT_FALSE(hosts.exchange(0).only_receives());
    hosts.begin(2, Steps::down(4, 2, 0), 1, 0);
    EXPECT_TRUE(hosts.exchange(2).only_receives());
    hosts.begin(1, Steps::all(4, 1), 1, 0);
    EXPECT_FALSE(hosts.exchange(1).only_receives());
    EXPECT_EQ(hosts.advance(2), kWaits);
    EXPECT_TRUE(hosts.exchange(2).only_receives());
    EXPECT_EQ(hosts.advance(0), kDone);
    hosts.all.settle();
    EXPECT_EQ(hosts.advance(2), kDone);
    EXPECT_FALSE(hosts.exchange(2).only_receives());
}

TEST(Exchange, wait__is_of_the_network_and_begins_with_each_step) {
    Exchanges hosts(4);
    hosts.all.meet_all();
    progress::Wait& wait = hosts.wait(0);
    EXPECT_TRUE(wait.is_for_network());
    EXPECT_TRUE(wait.needs(3));
    EXPECT_TRUE(wait.may_be_woken());
    hosts.begin(0, Steps::all(4, 0), 1, 0);
    hosts.begin(1, Steps::all(4, 1), 1, 0);
    EXPECT_EQ(wait.since(), 0);
    EXPECT_EQ(hosts.advance(0), kWaits);
    const Nanoseconds first = wait.since();
    EXPECT_EQ(first, hosts.all.world.now());
    hosts.all.pass(500);
    EXPECT_EQ(hosts.advance(0), kWaits);
    EXPECT_EQ(wait.since(), first);
    EXPECT_EQ(hosts.advance(1), kWaits);
    hosts.all.settle();
    EXPECT_TRUE(wait.is_over());
    EXPECT_EQ(hosts.advance(0), kWaits) << "the second step";
    EXPECT_FALSE(wait.is_over());
    EXPECT_EQ(wait.since(), hosts.all.world.now());
    EXPECT_GT(wait.since(), first);
    hosts.messenger(0).give_up();
    hosts.messenger(1).give_up();
    hosts.all.settle();
}

// Whichever allocation fails, it goes on from there when it is called again.
TEST(Exchange, advance__goes_on_when_there_is_memory_again) {
    using mp::test::InForce;
    using mp::test::Shortage;
    Shortage::plan(0, 0);
    for (unsigned long which = 0; which <= Shortage::calls; ++which) {  // of the run before
        Exchanges hosts(2);
        for (unsigned host = 0; host < 2; ++host) {
            hosts.begin(host, Steps::all(2, host), 1, sizeof(Affine));
            hosts.bring(host, Affine{host + 2, 1});
        }
        std::vector<nhi::PeerId> peers(kRank, nhi::kNoPeer);
        peers.insert(peers.end(), hosts.all[0].peers.begin(), hosts.all[0].peers.end());
        const std::array<unsigned, 2> leaders{kRank, kRank + 1};
        const auto call = [&] {
            const InForce here;
            try {
                return hosts.exchange(0).advance(leaders.data(), peers.data(), kThen);
            } catch (const std::bad_alloc&) {
                return false;
            }
        };
        Shortage::plan(which, 1);
        bool done = false, other_done = false;
        for (unsigned i = 0; i < 20; ++i) {
            done = done || call();
            other_done = other_done || hosts.advance(1, kThen) == kDone;
            hosts.all.settle();
        }
        EXPECT_TRUE(done && other_done) << "without allocation " << which;
        EXPECT_TRUE(hosts.brought<Affine>(0) == then({2, 1}, {3, 1}));
        EXPECT_TRUE(hosts.brought<Affine>(1) == then({2, 1}, {3, 1}));
    }
}

}  // namespace
}  // namespace fci::group::test
