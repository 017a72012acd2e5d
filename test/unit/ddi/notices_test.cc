// SPDX-License-Identifier: BSD-3-Clause
// What a listener is told, when, and what it may do meanwhile.
#include <gtest/gtest.h>

#include <vector>

#include "fci_core/ddi/crossing.h"
#include "fci_core/ddi/notices.h"
#include "fci_core/ddi/patience.h"
#include "test/unit/seed.h"

namespace fci::ddi {
namespace {

struct Listener final : PeerListener {
    explicit Listener(Notices& to) : notices(to) {}
    void peer_attached(nhi::PeerId id) override {
        heard.push_back(id);
        notices.add(closed(id, "pid 7"));  // as if it had closed at once
    }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        heard.push_back(id);
        last = {id, why, reason};
    }

    Notices& notices;
    std::vector<nhi::PeerId> heard;
    Notice last{};
};

TEST(notices, tell__in_order_each_settled_before_and_what_comes_of_it_next_time) {
    Notices notices;
    Listener listener(notices);
    notices.add({3, Status::ok, {}});
    notices.add(died(4, "pid 8"));
    std::vector<nhi::PeerId> settled;
    const auto settle = [&](const Notice& notice) {
        EXPECT_EQ(settled.size(), listener.heard.size());
        settled.push_back(notice.id);
        return true;
    };
    EXPECT_EQ(notices.tell(&listener, settle), 2u);
    EXPECT_EQ(listener.heard, (std::vector<nhi::PeerId>{3, 4}));
    EXPECT_EQ(listener.last.why, Status::lost);
    EXPECT_FALSE(notices.empty());
    EXPECT_EQ(notices.tell(&listener, settle), 1u);
    EXPECT_EQ(listener.last.why, Status::not_found);
    EXPECT_EQ(listener.last.reason, "pid 7 has closed its connection");
    EXPECT_EQ(notices.tell(&listener, settle), 0u);
}

TEST(notices, tell__what_is_stale_is_not_told) {
    Notices notices;
    Listener listener(notices);
    notices.add(died(4, "pid 8"));
    EXPECT_EQ(notices.tell(&listener, [](const Notice&) { return false; }), 1u);
    EXPECT_TRUE(listener.heard.empty());
}

TEST(notices, tell__without_a_listener) {
    Notices notices;
    notices.add({1, Status::ok, {}});
    unsigned settled = 0;
    EXPECT_EQ(notices.tell(nullptr, [&](const Notice&) { return ++settled != 0; }), 1u);
    EXPECT_EQ(settled, 1u);
}

TEST(patience, again_later__pauses_double_up_to_a_bound) {
    Prng prng(seeded(5));
    Patience patience;
    patience.begin(1000, 50'000, 100, 1000);
    EXPECT_EQ(patience.due(), 0);
    EXPECT_FALSE(patience.is_due(1'000'000));
    Nanoseconds now = 1000, pause = 100;
    for (unsigned i = 0; i < 20; ++i) {
        patience.again_later(now, prng);
        EXPECT_GE(patience.due(), now + pause / 2);
        EXPECT_LE(patience.due(), now + pause * 3 / 2);
        EXPECT_FALSE(patience.is_due(patience.due() - 1));
        EXPECT_TRUE(patience.is_due(patience.due()));
        now = patience.due();
        pause = std::min<Nanoseconds>(2 * pause, 1000);
    }
    patience.tried();
    EXPECT_FALSE(patience.is_due(now));
    EXPECT_FALSE(patience.is_over(50'999));
    EXPECT_TRUE(patience.is_over(51'000));
}

TEST(crossing, is_own_way__exactly_one_of_two) {
    for (std::uint64_t own = 1; own < 60; ++own) {
        for (std::uint64_t peer = 1; peer < own; ++peer) {
            EXPECT_NE(is_own_way(own, peer), is_own_way(peer, own));
        }
    }
}

}  // namespace
}  // namespace fci::ddi
