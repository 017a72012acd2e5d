// SPDX-License-Identifier: BSD-3-Clause
// Meetings: what begins with a peer, and what ends with it and with no other.
#include "fci_core/mp/meetings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

/// A process that has met two others.
struct Met : Forger {
    Met() {
        third->set_listener(&nobody);
        EXPECT_EQ(device->add_peer(third->card(), &other), Status::ok);
        EXPECT_EQ(device->connect(other), Status::ok);
        turns();
        EXPECT_TRUE(peer(there).attached && peer(other).attached);
    }
    Peer& peer(nhi::PeerId id) { return mp.engine().peers[id]; }
    int send(nhi::PeerId to, std::size_t bytes, int number) {
        const iovec range{data.data(), bytes};
        return mp.send({to, 0, 0, 7, 0, {&range, 1}}, recorder.on(number), nullptr);
    }
    int receive(nhi::PeerId from, std::uint64_t match, int number) {
        const iovec range{to.data(), 100};
        return mp.receive({from, 0, match, 0}, {&range, 1}, recorder.on(number), nullptr, nullptr);
    }
    void lose(Status why, const std::string& reason = "it left") {
        mp.meetings().peer_lost(there, why, reason);
        turns();
    }
    std::unique_ptr<ddi::Device> third = world.open(settings_for(own));
    nhi::PeerId other = 0;
};

TEST(meetings, peer_lost__ends_what_needs_it_and_nothing_else) {
    for (const Status why : {Status::lost, Status::not_found}) {
        SCOPED_TRACE(to_string(why));
        Met f;
        EXPECT_EQ(f.send(f.there, 50'000, 1), kAccepted);
        EXPECT_EQ(f.send(f.other, 50'000, 2), kAccepted);
        EXPECT_EQ(f.receive(f.there, 1, 3), kAccepted);
        EXPECT_EQ(f.receive(f.other, 1, 4), kAccepted);
        EXPECT_EQ(f.receive(kAnySource, 2, 5), kAccepted);
        f.lose(why);
        const bool died = why == Status::lost;
        for (const int number : {1, 3}) {
            ASSERT_TRUE(f.recorder.has(number)) << number;
            EXPECT_EQ(f.recorder.error(number), kPeerLost);
            EXPECT_EQ(f.recorder.outcomes[number].source, f.there);
        }
        EXPECT_FALSE(f.recorder.has(2) || f.recorder.has(4));
        EXPECT_EQ(f.recorder.has(5), died);
        EXPECT_EQ(f.mp.engine().peers.connected(), 1u);
        EXPECT_EQ(f.mp.engine().posted.size(), died ? 1u : 2u);
        EXPECT_EQ(f.mp.engine().counters.peers_lost, 1u);
        EXPECT_TRUE(f.mp.engine().peers.is_lost(f.there));
        EXPECT_FALSE(f.mp.engine().peers.is_lost(f.other));
        EXPECT_EQ(f.send(f.there, 8, 6), kPeerLost);
        EXPECT_EQ(f.send(f.other, 8, 7), kDone);
    }
}

// Of several that wait for anybody all hear of a death, so nobody else need.
TEST(meetings, death__is_heard_by_all_who_wait_for_anybody_or_by_the_next_one) {
    Met f;
    EXPECT_EQ(f.receive(kAnySource, 1, 1), kAccepted);
    EXPECT_EQ(f.receive(kAnySource, 2, 2), kAccepted);
    f.lose(Status::lost);
    EXPECT_EQ(f.recorder.error(1), kPeerLost);
    EXPECT_EQ(f.recorder.error(2), kPeerLost);
    EXPECT_EQ(f.receive(kAnySource, 3, 3), kAccepted);
    f.turns();
    EXPECT_FALSE(f.recorder.has(3));
    EXPECT_EQ(f.receive(f.other, 3, 4), kAccepted);
    f.turns();
    EXPECT_FALSE(f.recorder.has(4));
}

TEST(meetings, death__untold_is_not_for_those_who_name_their_source) {
    Met f;
    f.lose(Status::lost);
    EXPECT_EQ(f.receive(f.other, 1, 1), kAccepted);
    EXPECT_EQ(f.receive(kAnySource, 1, 2), kAccepted);
    EXPECT_EQ(f.receive(kAnySource, 1, 3), kAccepted);
    f.turns();
    EXPECT_FALSE(f.recorder.has(1));
    ASSERT_TRUE(f.recorder.has(2));
    EXPECT_EQ(f.recorder.error(2), kPeerLost);
    EXPECT_EQ(f.recorder.outcomes[2].source, f.there);
    EXPECT_FALSE(f.recorder.has(3));
}

TEST(meetings, peer_lost__the_code_says_how) {
    struct {
        Status why;
        int code;
    } const all[] = {{Status::lost, kPeerLost},
                     {Status::not_found, kPeerLost},
                     {Status::unreachable, kUnreachable},
                     {Status::mismatch, kMismatch},
                     {Status::exhausted, kPeerLost}};
    for (const auto& [why, code] : all) {
        SCOPED_TRACE(to_string(why));
        Met f;
        EXPECT_EQ(f.send(f.there, 50'000, 1), kAccepted);
        f.lose(why, "because of this");
        f.lose(Status::lost, "and of that");  // the first word is the last one
        EXPECT_EQ(f.recorder.error(1), code);
        EXPECT_EQ(f.send(f.there, 8, 2), code);
        EXPECT_EQ(f.receive(f.there, 1, 3), code);
        EXPECT_STREQ(f.mp.engine().peers.reason(f.there), "because of this");
        EXPECT_STREQ(f.mp.engine().peers.reason(f.other), "");
        EXPECT_EQ(f.mp.engine().counters.peers_lost, 1u);
    }
}

TEST(meetings, on_death__is_called_for_the_dead_alone_and_once) {
    for (const Status why : {Status::lost, Status::not_found, Status::unreachable}) {
        Met f;
        std::vector<nhi::PeerId> dead;
        f.mp.meetings().on_death(
            [](void* all, nhi::PeerId id) {
                static_cast<std::vector<nhi::PeerId>*>(all)->push_back(id);
            },
            &dead);
        f.lose(why);
        f.lose(Status::lost);
        EXPECT_EQ(dead.size(), why == Status::lost ? 1u : 0u);
        EXPECT_TRUE(dead.empty() || dead[0] == f.there);
    }
    Met f;  // who talks nonsense is as dead
    std::vector<nhi::PeerId> dead;
    f.mp.meetings().on_death(
        [](void* all, nhi::PeerId id) {
            static_cast<std::vector<nhi::PeerId>*>(all)->push_back(id);
        },
        &dead);
    f.say(Kind::none, HandleRecord{1});
    EXPECT_EQ(dead, std::vector<nhi::PeerId>{f.there});
}

// The peer's words from before it went count, and nothing that it says afterwards.
TEST(meetings, peer_lost__what_it_wrote_before_is_heard) {
    Met f;
    EXPECT_EQ(f.receive(f.there, 99, 1), kAccepted);
    const gcs::Line line = pack(Control{Kind::send, 0, 8}, HandleRecord{99});
    EXPECT_EQ(f.out.put(f.bad->network(), line), Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
    f.lose(Status::lost);
    ASSERT_TRUE(f.recorder.has(1));
    EXPECT_EQ(f.recorder.error(1), kSuccess);
    EXPECT_EQ(f.mp.engine().counters.peers_lost, 1u);
}

TEST(meetings, peer_lost__of_one_that_was_never_met) {
    Forger f;
    const std::unique_ptr<ddi::Device> third = f.world.open(settings_for(f.own));
    nhi::PeerId other = 0;
    ASSERT_EQ(f.device->add_peer(third->card(), &other), Status::ok);
    const iovec range{f.data.data(), 8};
    EXPECT_EQ(f.mp.send({other, 0, 0, 7, 0, {&range, 1}}, f.recorder.on(1), nullptr), kAccepted);
    EXPECT_EQ(f.mp.engine().peers.expected(), 1u);
    f.mp.meetings().peer_lost(other, Status::unreachable, "nobody listens");
    EXPECT_EQ(f.mp.engine().peers.expected(), 0u);
    f.mp.turn();
    EXPECT_EQ(f.recorder.error(1), kUnreachable);
    EXPECT_EQ(f.mp.engine().peers.connected(), 1u);
    f.mp.meetings().peer_attached(other);  // too late
    f.mp.turn();
    EXPECT_EQ(f.mp.engine().peers.connected(), 1u);
}

TEST(meetings, arrived__of_the_lost_can_be_received_where_they_are_all_here) {
    Met f;
    f.say(Kind::send, HandleRecord{1}, 0, 8);
    f.say(Kind::announce, AnnounceRecord{2, 0, 50, 0, 3, 0, 0});
    f.lose(Status::not_found);
    const iovec range{f.to.data(), 100};
    Outcome outcome{};
    EXPECT_EQ(f.mp.receive({f.there, 0, 1, 0}, {&range, 1}, f.recorder.on(1), nullptr, &outcome),
              kDone);
    EXPECT_EQ(outcome.length, 8u);
    EXPECT_EQ(f.mp.receive({f.there, 0, 2, 0}, {&range, 1}, f.recorder.on(2), nullptr, &outcome),
              kAccepted);
    f.turns();
    ASSERT_TRUE(f.recorder.has(2));
    EXPECT_EQ(f.recorder.error(2), kPeerLost);
    EXPECT_EQ(f.recorder.outcomes[2].received, 0u);
}

TEST(meetings, meet__those_whose_cards_were_given_and_so_many) {
    sim::World world({});
    const Limits limits = small_limits();
    std::vector<std::unique_ptr<ddi::Device>> others;
    const std::unique_ptr<ddi::Device> device = world.open(settings_for(limits));
    MessagePassing mp(*device, kEnhancedMixed, limits);
    Nobody nobody;
    for (unsigned i = 0; i < 4; ++i) {
        others.push_back(world.open(settings_for(limits)));
        others.back()->set_listener(&nobody);
        ddi::Card card = others.back()->card();
        if (i == 1) card.incarnation = 0;  // typed: it may be empty still
        nhi::PeerId id = 0;
        ASSERT_EQ(device->add_peer(card, &id), Status::ok);
        ASSERT_EQ(id, i + 1);
    }
    const auto met = [&] {
        for (unsigned i = 0; i < 100; ++i) {
            device->network().poll(0);
            mp.turn();
        }
        std::vector<nhi::PeerId> all;
        for (nhi::PeerId id = 1; id <= 4; ++id) {
            if (mp.engine().peers.find(id).attached) all.push_back(id);
        }
        return all;
    };
    EXPECT_TRUE(met().empty());
    mp.meetings().meet(1);
    EXPECT_TRUE(met().empty());
    mp.meetings().meet(4);
    EXPECT_EQ(met(), (std::vector<nhi::PeerId>{1, 3}));
    EXPECT_EQ(mp.engine().peers.connected(), 2u);
    EXPECT_EQ(mp.engine().counters.peers_attached, 2u);
    EXPECT_EQ(mp.engine().peers.on_this_host(), 3u) << "with this one";
    mp.meetings().meet(100);
    EXPECT_EQ(met(), (std::vector<nhi::PeerId>{1, 3, 4}));
}

TEST(meetings, sever__everything_with_anybody_fails_and_says_why) {
    Met f;
    f.mp.meetings().sever();
    EXPECT_EQ(f.send(f.there, 8, 1), kUnreachable);
    EXPECT_EQ(f.receive(f.other, 1, 2), kUnreachable);
    for (const int number : {3, 4}) {
        EXPECT_EQ(f.receive(kAnySource, 1, number), kAccepted);
        f.mp.turn();
        ASSERT_TRUE(f.recorder.has(number));
        EXPECT_EQ(f.recorder.error(number), kPeerLost);
    }
    EXPECT_NE(std::string(f.mp.engine().peers.reason(f.there)).find("fork"), std::string::npos);
    EXPECT_EQ(f.mp.engine().peers.connected(), 0u);
    EXPECT_TRUE(f.mp.drained());
}

// A process is its own peer, and lends itself no cells.
TEST(meetings, self__is_no_peer_that_is_counted_or_lent_to) {
    Forger f(kEnhancedMixed, {.mapped = true}, Forger::limits(64));
    const iovec from{f.data.data(), 4096}, into{f.to.data(), 4096};
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(
            f.mp.receive({nhi::kSelf, 0, 7, 0}, {&into, 1}, f.recorder.on(round), nullptr, nullptr),
            kAccepted);
        EXPECT_GE(
            f.mp.send({nhi::kSelf, 0, 0, 7, 0, {&from, 1}}, f.recorder.on(10 + round), nullptr), 0);
        f.turns();
        ASSERT_TRUE(f.recorder.has(round));
    }
    EXPECT_EQ(std::memcmp(f.to.data(), f.data.data(), 4096), 0);
    EXPECT_EQ(f.mp.engine().counters.cells_lent, 0u);
    EXPECT_EQ(f.mp.engine().counters.peers_attached, 1u);
    EXPECT_EQ(f.mp.engine().peers.on_this_host(), 2u);
}

}  // namespace
}  // namespace fci::mp::test
