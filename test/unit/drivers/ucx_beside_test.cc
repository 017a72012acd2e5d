// SPDX-License-Identifier: BSD-3-Clause
// A ucx driver of whose peers some go by TCP.
#include "test/unit/drivers/ucx_stations.h"

namespace fci::ucx::test {
namespace {

/// TCP's way for data, and what it was asked.
struct HandData final : nhi::DataWay {
    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte*,
                std::uint32_t events) noexcept override {
        sent.push_back({id, data.bytes, events});
        return Status::again;
    }
    bool has_taken(nhi::PeerId id) const noexcept override { return id == taken; }
    void give_back(nhi::PeerId id) noexcept override { given_back.push_back(id); }
    bool waits() const noexcept override { return is_waiting; }
    void set_target(nhi::DataTarget* its) noexcept override { target = its; }

    struct Sent {
        nhi::PeerId id;
        std::uint64_t bytes;
        std::uint32_t events;
        bool operator==(const Sent&) const = default;
    };
    std::vector<Sent> sent;
    std::vector<nhi::PeerId> given_back;
    nhi::PeerId taken = nhi::kNoPeer;
    bool is_waiting = false;
    nhi::DataTarget* target = nullptr;
};

struct NoTarget final : nhi::DataTarget {
    bool expects(nhi::PeerId) const noexcept override { return false; }
    bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return false; }
    std::byte* locate(nhi::PeerId, const nhi::Data&) noexcept override { return nullptr; }
    bool arrived(nhi::PeerId, const nhi::Data&) noexcept override { return false; }
};

/// Peer 1 has UCX, peer 2 has not.
struct ucx_beside : ucx_stations {
    static constexpr nhi::PeerId kByUcx = 1, kByTcp = 2;
    static constexpr nhi::EventId kEvent = 3;
    ucx_beside() {
        one.reset();
        other.reset();
        one = std::make_unique<Station>(ucx, 1, true);
        other = std::make_unique<Station>(ucx, 2, true);
        for (Station* const each : {one.get(), other.get()}) {
            each->tcp.at(kByUcx).here->resize(kBlock + kTail);
        }
        HandTcp::link(one->tcp, other->tcp);
        one->tcp.at(kByTcp).tail_bytes = 0;
        one->tcp.at(kByTcp).here->resize(kBlock + kTail);
        one->tcp.at(kByTcp).there->resize(kBlock);
        one->tcp.its_data = &data;
    }
    ~ucx_beside() override {
        let_time_pass();
        one->network.data()->set_target(nullptr);
        EXPECT_EQ(data.target, nullptr);
        one->tcp.its_data = nullptr;
    }
    void meet() {
        attach();
        one->tcp.meet(kByTcp);
        turns();
        ASSERT_EQ(one->state(kByTcp), PeerState::attached);
        ASSERT_EQ(one->told.attached, (std::vector<nhi::PeerId>{kByUcx, kByTcp}));
        transfers = one->tcp.transfers;
    }
    /// Since meet().
    unsigned by_tcp() const { return one->tcp.transfers - transfers; }

    HandData data;
    unsigned transfers = 0;
};

TEST_F(ucx_beside, transfer__by_the_way_of_its_peer) {
    ASSERT_NO_FATAL_FAILURE(meet());
    EXPECT_EQ(put(*one, 8, "to one", kByUcx), Status::ok);
    EXPECT_EQ(by_tcp(), 0u);
    (void)other->poll();
    EXPECT_EQ(other->text(1, 8, 6), "to one");
    EXPECT_EQ(put(*one, 8, "to two", kByTcp), Status::ok);
    EXPECT_EQ(by_tcp(), 1u);
    EXPECT_EQ(std::memcmp(one->tcp.at(kByTcp).there->data() + 8, "to two", 6), 0);
}

TEST_F(ucx_beside, transfer__is_checked_and_has_the_answer_of_tcp) {
    EXPECT_EQ(put(*one, 0, "early", kByTcp), Status::invalid) << "it is not known";
    ASSERT_NO_FATAL_FAILURE(meet());
    EXPECT_EQ(one->network.link(kByTcp).block_bytes, kBlock);
    EXPECT_EQ(one->network.link(kByUcx).block_bytes, kBlock);
    EXPECT_EQ(put(*one, kBlock - 1, "ab", kByTcp), Status::invalid);
    EXPECT_EQ(by_tcp(), 0u);
    one->tcp.transfer_answer = Status::again;
    EXPECT_EQ(put(*one, 0, "a", kByTcp), Status::again);
    EXPECT_EQ(put(*one, 0, "a", kByUcx), Status::ok);
}

TEST_F(ucx_beside, event__of_either_counts_and_wakes) {
    nhi::NetworkInterface& network = one->network;
    ASSERT_EQ(network.configure_event(kEvent, {.flag = true, .interrupt = true}), Status::ok);
    EXPECT_EQ(network.configure_event(nhi::kEventsMax, {}), Status::invalid);
    ASSERT_NO_FATAL_FAILURE(meet());
    EXPECT_TRUE(one->tcp.may_be_woken());
    EXPECT_EQ(network.mask_event_interrupt(kEvent, true), Status::ok);
    EXPECT_FALSE(one->tcp.may_be_woken());
    EXPECT_EQ(other->network.initiate_transfer(nhi::Transfer(1).raise(kEvent)), Status::ok);
    (void)one->poll();
    EXPECT_EQ(network.event_count(kEvent), 1u);
    one->tcp.raise(1u << kEvent);
    EXPECT_EQ(network.event_count(kEvent), 2u);
    EXPECT_EQ(network.mask_event_interrupt(kEvent, false), Status::ok);
    EXPECT_TRUE(one->tcp.may_be_woken());
}

TEST_F(ucx_beside, window__is_open_to_both) {
    nhi::NetworkInterface &network = one->network, &tcp = one->tcp.network();
    const nhi::LcsAddress base{nhi::kPairLimit};
    const std::span window = std::span(one->memory).first(1024);
    ASSERT_EQ(network.open_window(0, base, window), Status::ok);
    EXPECT_NE(tcp.open_window(0, base, window), Status::ok) << "it is open there";
    EXPECT_EQ(network.close_window(0), Status::ok);
    EXPECT_NE(network.close_window(0), Status::ok);
    ASSERT_EQ(tcp.open_window(0, base, window), Status::ok) << "it was closed there";
    EXPECT_NE(network.open_window(0, base, window), Status::ok);
    EXPECT_EQ(tcp.close_window(0), Status::ok);
    EXPECT_EQ(network.open_window(0, base, window), Status::ok) << "and stayed open at neither";
}

TEST_F(ucx_beside, data__by_the_way_of_their_peer) {
    ASSERT_NO_FATAL_FAILURE(meet());
    NoTarget target;
    nhi::DataWay& way = *one->network.data();
    way.set_target(&target);
    EXPECT_EQ(data.target, &target);
    const std::vector<std::byte> bytes(100);
    EXPECT_EQ(way.send(kByUcx, {1, 0, 100}, bytes.data(), 0), Status::ok);
    EXPECT_TRUE(data.sent.empty());
    EXPECT_EQ(way.send(kByTcp, {1, 0, 100}, bytes.data(), 8), Status::again) << "TCP's answer";
    EXPECT_EQ(data.sent, (std::vector<HandData::Sent>{{kByTcp, 100, 8}}));
    EXPECT_FALSE(way.has_taken(kByTcp));
    data.taken = kByTcp;
    EXPECT_TRUE(way.has_taken(kByTcp));
    way.give_back(kByTcp);
    EXPECT_EQ(data.given_back, std::vector<nhi::PeerId>{kByTcp});
    EXPECT_FALSE(way.waits());
    data.is_waiting = true;
    EXPECT_TRUE(way.waits());
}

TEST_F(ucx_beside, idle__if_both_are) {
    ASSERT_NO_FATAL_FAILURE(meet());
    EXPECT_TRUE(one->network.is_idle());
    one->tcp.is_busy = true;
    EXPECT_FALSE(one->network.is_idle());
}

/// All that its peer sends comes by TCP, which is looked at seldom else.
TEST_F(ucx_beside, poll__looks_at_tcp_each_time_while_a_peer_goes_by_it) {
    ASSERT_NO_FATAL_FAILURE(meet());
    unsigned polls = one->tcp.polls;
    (void)one->turn.poll(one->tcp.time);
    EXPECT_EQ(one->tcp.polls, polls + 1);
    one->tcp.lose(kByTcp, Status::not_found, "it has closed");
    turns(2);
    ASSERT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->told.lost[0].id, kByTcp);
    EXPECT_EQ(one->told.lost[0].why, Status::not_found);
    EXPECT_EQ(put(*one, 0, "a", kByTcp), Status::lost);
    polls = one->tcp.polls;
    (void)one->turn.poll(one->tcp.time);
    EXPECT_EQ(one->tcp.polls, polls);
}

/// It met, sent and closed before this process looked.
TEST_F(ucx_beside, peer__that_closes_at_once_was_attached_first) {
    one->tcp.meet(kByTcp);
    one->tcp.lose(kByTcp, Status::not_found, "it has closed");
    (void)one->poll();
    (void)one->poll();
    EXPECT_EQ(one->told.attached, std::vector<nhi::PeerId>{kByTcp});
    ASSERT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->state(kByTcp), PeerState::lost);
}

}  // namespace
}  // namespace fci::ucx::test
