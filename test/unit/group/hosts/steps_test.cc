// SPDX-License-Identifier: BSD-3-Clause
// Who speaks to whom among hosts: whether all data get where they should, of any number of hosts.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fci_core/group/hosts/steps.h"

namespace fci::group {
namespace {

/// Which hosts' data each of them has.
using Shares = std::vector<std::map<unsigned, unsigned>>;

/// All hosts go through their steps; messages of a pair come in order. Nobody is left waiting.
Shares run(const std::vector<Steps>& all) {
    const auto hosts = static_cast<unsigned>(all.size());
    Shares shares(hosts);
    for (unsigned host = 0; host < hosts; ++host) shares[host][host] = 1;
    std::map<std::pair<unsigned, unsigned>, std::deque<std::map<unsigned, unsigned>>> under_way;
    std::vector<unsigned> at(hosts);
    std::vector<bool> said(hosts);
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (unsigned host = 0; host < hosts; ++host) {
            while (at[host] < all[host].count()) {
                const Step& step = all[host][at[host]];
                EXPECT_NE(step.host, host);
                if (step.sends && !said[host]) under_way[{host, step.host}].push_back(shares[host]);
                said[host] = true;
                if (step.receives) {
                    auto& messages = under_way[{step.host, host}];
                    if (messages.empty()) break;
                    if (step.takes) shares[host].clear();
                    for (const auto& [of, times] : messages.front()) shares[host][of] += times;
                    messages.pop_front();
                }
                ++at[host];
                said[host] = false;
                goes_on = true;
            }
        }
    }
    for (unsigned host = 0; host < hosts; ++host) {
        EXPECT_EQ(at[host], all[host].count()) << host << " of " << hosts << " waits in vain";
    }
    for (const auto& [pair, messages] : under_way) EXPECT_TRUE(messages.empty());
    return shares;
}

bool has_each_once(const std::map<unsigned, unsigned>& shares, unsigned hosts) {
    for (const auto& [of, times] : shares) {
        if (times != 1) return false;
    }
    return shares.size() == hosts;
}

template <class Make>
Shares run_of(unsigned hosts, const Make& make) {
    std::vector<Steps> all;
    for (unsigned host = 0; host < hosts; ++host) all.push_back(make(host));
    return run(all);
}

TEST(Steps, all__each_has_the_data_of_each_once) {
    for (unsigned hosts = 1; hosts <= 70; ++hosts) {
        const Shares shares = run_of(hosts, [&](unsigned host) { return Steps::all(hosts, host); });
        for (const auto& one : shares) ASSERT_TRUE(has_each_once(one, hosts)) << hosts;
    }
}

TEST(Steps, up__the_root_has_the_data_of_each_once) {
    for (unsigned hosts = 1; hosts <= 40; ++hosts) {
        for (unsigned root = 0; root < hosts; ++root) {
            const Shares shares =
                run_of(hosts, [&](unsigned host) { return Steps::up(hosts, host, root); });
            ASSERT_TRUE(has_each_once(shares[root], hosts)) << hosts << ", root " << root;
        }
    }
}

TEST(Steps, down__all_have_the_data_of_the_root) {
    const std::map<unsigned, unsigned>::mapped_type once = 1;
    for (unsigned hosts = 1; hosts <= 40; ++hosts) {
        for (unsigned root = 0; root < hosts; ++root) {
            const Shares shares =
                run_of(hosts, [&](unsigned host) { return Steps::down(hosts, host, root); });
            for (const auto& one : shares) {
                ASSERT_EQ(one.size(), 1u) << hosts << ", root " << root;
                ASSERT_EQ(one.begin()->first, root);
                ASSERT_EQ(one.begin()->second, once);
            }
        }
    }
}

TEST(Steps, chain__all_have_the_data_of_the_root_and_nobody_sends_twice) {
    for (unsigned hosts = 2; hosts <= 40; ++hosts) {
        for (unsigned root = 0; root < hosts; ++root) {
            const Shares shares =
                run_of(hosts, [&](unsigned host) { return Steps::chain(hosts, host, root); });
            for (unsigned host = 0; host < hosts; ++host) {
                ASSERT_EQ(shares[host].size(), 1u) << hosts << ", root " << root;
                ASSERT_EQ(shares[host].begin()->first, root);
                ASSERT_LE(Steps::chain(hosts, host, root).count(), 2u);
            }
        }
    }
}

TEST(Steps, chain__neighbours_speak_to_each_other_in_collectives_of_all_too) {
    for (unsigned hosts = 4; hosts <= kHostsMost; hosts *= 2) {
        for (unsigned host = 0; host < hosts; ++host) {
            const Steps all = Steps::all(hosts, host);
            bool speaks = false;
            for (unsigned i = 0; i < all.count(); ++i) {
                speaks = speaks || all[i].host == Steps::next(hosts, host);
            }
            ASSERT_TRUE(speaks) << host << " of " << hosts;
            ASSERT_EQ(Steps::before(hosts, Steps::next(hosts, host)), host);
        }
    }
}

/// Who lacks a group says so to all that may wait for it, whichever way they go.
TEST(Steps, tree_and_chain__each_of_both_once) {
    for (unsigned hosts = 2; hosts <= 40; ++hosts) {
        for (unsigned host = 0; host < hosts; ++host) {
            const Steps both = Steps::tree_and_chain(hosts, host, hosts / 2);
            for (const Steps& one :
                 {Steps::down(hosts, host, hosts / 2), Steps::chain(hosts, host, hosts / 2)}) {
                for (unsigned i = 0; i < one.count(); ++i) {
                    unsigned times = 0;
                    for (unsigned j = 0; j < both.count(); ++j) {
                        times += both[j].host == one[i].host && both[j].sends == one[i].sends;
                    }
                    ASSERT_EQ(times, 1u) << host << " of " << hosts;
                }
            }
        }
    }
}

TEST(Steps, all__as_many_as_hosts_have_binary_digits) {
    EXPECT_EQ(Steps::all(kHostsMost, 0).count(), 12u);
    EXPECT_EQ(Steps::all(8, 5).count(), 3u);
    EXPECT_EQ(Steps::down(kHostsMost, 0, 0).count(), 12u);
    EXPECT_EQ(Steps::all(kHostsMost - 1, 0).count(), 13u);
}

/// "3>" is told, "<3" is heard, "<3>" both; "=3": what it says counts from there on.
std::string text(const Steps& steps) {
    std::string all;
    for (unsigned i = 0; i < steps.count(); ++i) {
        const Step& step = steps[i];
        if (i != 0) all += ' ';
        if (step.receives) all += step.takes ? '=' : '<';
        all += std::to_string(step.host);
        if (step.sends) all += '>';
    }
    return all;
}

TEST(Steps, down__the_one_with_most_below_it_is_told_first) {
    EXPECT_EQ(text(Steps::down(1, 0, 0)), "");
    EXPECT_EQ(text(Steps::down(8, 0, 0)), "4> 2> 1>");
    EXPECT_EQ(text(Steps::down(8, 4, 0)), "=0 6> 5>");
    EXPECT_EQ(text(Steps::down(8, 6, 0)), "=4 7>");
    EXPECT_EQ(text(Steps::down(8, 7, 0)), "=6");
    EXPECT_EQ(text(Steps::down(6, 4, 0)), "=0 5>") << "the others there are not";
    EXPECT_EQ(text(Steps::down(6, 3, 3)), "1> 5> 4>");
    EXPECT_EQ(text(Steps::down(6, 1, 3)), "=3 2>");
}

TEST(Steps, up__the_one_with_least_below_it_is_heard_first) {
    EXPECT_EQ(text(Steps::up(1, 0, 0)), "");
    EXPECT_EQ(text(Steps::up(8, 0, 0)), "<1 <2 <4");
    EXPECT_EQ(text(Steps::up(8, 4, 0)), "<5 <6 0>");
    EXPECT_EQ(text(Steps::up(8, 7, 0)), "6>");
    EXPECT_EQ(text(Steps::up(6, 4, 0)), "<5 0>");
    EXPECT_EQ(text(Steps::up(6, 3, 3)), "<4 <5 <1");
}

TEST(Steps, all__those_beyond_a_power_of_two_speak_before_and_hear_behind) {
    EXPECT_EQ(text(Steps::all(1, 0)), "");
    EXPECT_EQ(text(Steps::all(4, 2)), "<3> <0>");
    EXPECT_EQ(text(Steps::all(3, 0)), "<1 <2> 1>");
    EXPECT_EQ(text(Steps::all(3, 1)), "0> =0");
    EXPECT_EQ(text(Steps::all(3, 2)), "<0>");
    EXPECT_EQ(text(Steps::all(7, 4)), "<5 <6> <0> 5>");
    EXPECT_EQ(text(Steps::all(7, 6)), "<4> <2>");
}

TEST(Steps, chain__round_in_a_ring_from_the_root) {
    EXPECT_EQ(text(Steps::chain(1, 0, 0)), "");
    EXPECT_EQ(text(Steps::chain(3, 0, 0)), "1>");
    EXPECT_EQ(text(Steps::chain(3, 1, 0)), "=0 2>");
    EXPECT_EQ(text(Steps::chain(3, 2, 0)), "=1");
    EXPECT_EQ(text(Steps::chain(3, 0, 2)), "=2 1>");
    EXPECT_EQ(text(Steps::chain(4, 3, 0)), "=1 2>");
    EXPECT_EQ(text(Steps::chain(4, 2, 0)), "=3");
    for (unsigned hosts = 1; hosts < 20; ++hosts) {
        unsigned at = 0;
        for (unsigned i = 0; i < hosts; ++i) {
            EXPECT_EQ(Steps::before(hosts, Steps::next(hosts, at)), at);
            at = Steps::next(hosts, at);
            EXPECT_EQ(at == 0, i + 1 == hosts) << "all of " << hosts << " are in it";
        }
    }
}

TEST(Steps, tree_and_chain__first_the_tree) {
    EXPECT_EQ(text(Steps::tree_and_chain(4, 2, 0)), "=0 3> =3");
    EXPECT_EQ(text(Steps::tree_and_chain(4, 0, 0)), "2> 1>");
    EXPECT_EQ(text(Steps::tree_and_chain(3, 1, 0)), "=0 2>");
}

}  // namespace
}  // namespace fci::group
