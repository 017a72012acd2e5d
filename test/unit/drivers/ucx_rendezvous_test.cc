// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous of the ucx driver: bytes that are lent, and loads that are fetched or dropped.
#include "drivers/ucx/rendezvous.h"

#include <utility>

#include "test/unit/drivers/ucx_roads.h"

namespace fci::ucx::test {
namespace {

constexpr std::size_t kEager = 8 * 1024;  // up to here data are sent at once
constexpr nhi::PeerId kPeer = 5;

struct DataEar final : Rendezvous::Listener {
    bool data_came(std::span<const std::byte> head, const Load& load) noexcept override {
        heads.emplace_back(reinterpret_cast<const char*>(head.data()), head.size());
        if (keeps) loads.push_back(load);
        return keeps;
    }
    void fetched(nhi::PeerId from, bool is_whole) noexcept override {
        EXPECT_EQ(from, kPeer);
        ends.push_back(is_whole);
    }
    void gave_back() noexcept override { ++backs; }
    unsigned backs = 0;
    Texts heads;
    std::vector<Load> loads;
    std::vector<bool> ends;
    bool keeps = true;
};

struct ucx_rendezvous : ucx_way {
    ucx_rendezvous() {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
        std::string error;
        EXPECT_EQ(sender.open(&error), Status::ok) << error;
        EXPECT_EQ(receiver.open(&error), Status::ok) << error;
    }
    /// All that was sent is over before its listener has gone.
    ~ucx_rendezvous() override {
        for (const auto& each : ucx.endpoints) each->close_answer = UCS_OK;
        if (way != nullptr) close();
        for (const auto& each : ucx.endpoints) ucx.finish(*each);
        (void)near.road->progress();
        for (const Load& each : near_ear.loads) sender.drop(each);
        if (far.road == nullptr) return;
        ucx.end_fetches(*far.worker);
        (void)far.road->progress();
        for (const Load& each : std::exchange(ear.loads, {})) receiver.drop(each);
    }
    bool send(std::size_t count, std::string_view head = "head", Road::Way* by = nullptr) {
        return sender.send(by != nullptr ? by : way, std::as_bytes(std::span(head)), bytes.data(),
                           count);
    }
    /// The one load that is here once the receiver has had its turn.
    Load load(std::size_t count) {
        EXPECT_TRUE(send(count));
        return next();
    }
    Load next() {
        (void)far.road->progress();
        EXPECT_EQ(ear.loads.size(), 1u);
        const Load one = ear.loads.empty() ? Load{} : ear.loads.back();
        ear.loads.clear();
        return one;
    }
    void fetch(const Load& load) { receiver.fetch(load, kPeer, there.data()); }
    bool is_there(std::size_t count) const {
        return std::memcmp(there.data(), bytes.data(), count) == 0;
    }
    unsigned loans() { return Rendezvous::loans(way); }

    Bytes bytes = Bytes(20'000), there = Bytes(20'000);
    DataEar near_ear, ear;
    Rendezvous sender{*near.road, near_ear}, receiver{*far.road, ear};
};

TEST_F(ucx_road, rendezvous__that_ucx_refuses) {
    const End end(ucx);
    DataEar ear;
    Rendezvous rendezvous(*end.road, ear);
    ucx.handler_answer = UCS_ERR_NO_MEMORY;
    std::string error;
    EXPECT_EQ(rendezvous.open(&error), Status::unsupported);
    EXPECT_EQ(error, "UCX 1.99.7 cannot receive data: Out of memory");
}

// --- sending ---

TEST_F(ucx_rendezvous, send__of_few_bytes_is_over_at_once) {
    EXPECT_TRUE(send(kEager));
    EXPECT_EQ(loans(), 0u);
    const Load one = next();
    EXPECT_TRUE(one.is_here);
    EXPECT_EQ(one.bytes, kEager);
    EXPECT_EQ(ear.heads, Texts{"head"});
    EXPECT_EQ(std::memcmp(one.descriptor, bytes.data(), kEager), 0);
    receiver.drop(one);
}

TEST_F(ucx_rendezvous, send__of_many_bytes_lends_them_until_they_are_fetched) {
    EXPECT_TRUE(send(kEager + 1));
    EXPECT_EQ(loans(), 1u);
    const Load one = next();
    EXPECT_FALSE(one.is_here);
    EXPECT_EQ(one.bytes, kEager + 1);
    (void)near.road->progress();
    EXPECT_EQ(loans(), 1u);
    fetch(one);
    EXPECT_EQ(loans(), 1u) << "before the sender's turn";
    (void)near.road->progress();
    EXPECT_EQ(loans(), 0u);
    EXPECT_TRUE(is_there(kEager + 1));
    EXPECT_EQ(Road::broken(way), nullptr);
    EXPECT_EQ(ucx.requests_left(), 0u);
}

TEST_F(ucx_rendezvous, send__copies_the_head_until_it_is_over) {
    endpoint.takes = false;
    std::string head(Rendezvous::kHeadMost, 'h');
    EXPECT_TRUE(send(100, head));
    EXPECT_TRUE(send(20'000, head));
    std::ranges::fill(head, 'x');
    EXPECT_EQ(loans(), 2u) << "few bytes as well, if UCX has no room";
    ucx.take(endpoint);
    (void)near.road->progress();
    EXPECT_EQ(loans(), 1u);
    (void)far.road->progress();
    EXPECT_EQ(ear.heads, Texts(2, std::string(Rendezvous::kHeadMost, 'h')));
    ASSERT_EQ(ear.loads.size(), 2u);
    receiver.drop(ear.loads[0]);
    fetch(ear.loads[1]);
    ear.loads.clear();
}

TEST_F(ucx_rendezvous, send__keeps_the_order_of_frames_and_data) {
    EXPECT_TRUE(near.send(way, "frame"));
    EXPECT_TRUE(send(20'000, "long"));
    EXPECT_TRUE(send(10, "short"));
    far.worker->at_once = 2;
    (void)far.road->progress();
    EXPECT_EQ(far.ear.frames.size(), 1u);
    EXPECT_EQ(ear.heads, Texts{"long"});
    (void)far.road->progress();
    EXPECT_EQ(ear.heads, (Texts{"long", "short"}));
}

TEST_F(ucx_rendezvous, send__lends_eight_parts_of_a_way_at_most) {
    Road::Way* const another = near.open_way(far);
    for (unsigned i = 0; i < 8; ++i) ASSERT_TRUE(send(20'000)) << i;
    EXPECT_FALSE(send(20'000));
    EXPECT_FALSE(send(1)) << "which would overtake nothing, but may wait as well";
    EXPECT_EQ(endpoint.sends, 8u);
    EXPECT_EQ(loans(), 8u);
    EXPECT_TRUE(send(20'000, "head", another));
    (void)far.road->progress();
    receiver.drop(ear.loads[0]);
    ear.loads.erase(ear.loads.begin());
    EXPECT_FALSE(send(20'000)) << "before the turn in which UCX says so";
    (void)near.road->progress();
    EXPECT_TRUE(send(20'000));
    EXPECT_FALSE(send(20'000));
    near.road->close(another);
}

TEST_F(ucx_rendezvous, send__that_fails_at_once_breaks_the_way) {
    endpoint.send_answer = UCS_ERR_CONNECTION_RESET;
    EXPECT_TRUE(send(20'000));
    EXPECT_EQ(loans(), 0u);
    EXPECT_STREQ(Road::broken(way), "Connection reset by remote peer");
}

TEST_F(ucx_rendezvous, send__that_fails_later_breaks_the_way) {
    EXPECT_TRUE(send(20'000));
    ucx.requests.back()->status = UCS_ERR_ENDPOINT_TIMEOUT;
    (void)near.road->progress();
    EXPECT_EQ(loans(), 0u);
    EXPECT_STREQ(Road::broken(way), "Endpoint timeout");
    EXPECT_EQ(ucx.requests_left(), 0u);
}

TEST_F(ucx_rendezvous, send__is_flushed_as_frames_are) {
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_TRUE(send(1));
    near.worker->flush_answer = UCS_INPROGRESS;
    EXPECT_FALSE(near.road->is_idle());
    ucx.finish_flush(*near.worker);
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 1u);
}

// --- receiving ---

TEST_F(ucx_rendezvous, load__that_is_here_is_copied) {
    fetch(load(100));
    EXPECT_TRUE(is_there(100));
    EXPECT_EQ(ear.ends, std::vector<bool>{true});
    EXPECT_EQ(ucx.kept(*far.worker), 0u);
}

TEST_F(ucx_rendezvous, load__that_is_fetched_later) {
    far.worker->fetch_answer = UCS_INPROGRESS;
    fetch(load(20'000));
    (void)far.road->progress();
    EXPECT_TRUE(ear.ends.empty());
    ucx.end_fetches(*far.worker);
    (void)far.road->progress();
    EXPECT_EQ(ear.ends, std::vector<bool>{true});
    EXPECT_TRUE(is_there(20'000));
}

TEST_F(ucx_rendezvous, load__that_ucx_will_not_fetch) {
    far.worker->fetch_answer = UCS_ERR_NO_MEMORY;
    fetch(load(20'000));
    EXPECT_EQ(ear.ends, std::vector<bool>{false});
    EXPECT_EQ(ucx.kept(*far.worker), 0u) << "it is UCX's again";
}

TEST_F(ucx_rendezvous, load__whose_fetch_fails) {
    far.worker->fetch_end = UCS_ERR_CONNECTION_RESET;
    fetch(load(20'000));
    EXPECT_EQ(ear.ends, std::vector<bool>{false}) << "at once";
    far.worker->fetch_answer = UCS_INPROGRESS;
    fetch(load(20'000));
    EXPECT_EQ(ear.ends.size(), 1u);
    ucx.end_fetches(*far.worker, UCS_ERR_CONNECTION_RESET);
    (void)far.road->progress();
    EXPECT_EQ(ear.ends, std::vector<bool>(2, false)) << "later";
    EXPECT_FALSE(is_there(20'000));
    EXPECT_FALSE(far.road->has_broken()) << "it is for the listener to say so";
}

TEST_F(ucx_rendezvous, load__whose_sender_has_given_it_up) {
    far.worker->fetch_answer = UCS_INPROGRESS;
    fetch(load(20'000));
    close();
    (void)near.road->progress();
    bytes.assign(bytes.size(), std::byte{1});
    ucx.end_fetches(*far.worker);
    (void)far.road->progress();
    EXPECT_EQ(ear.ends, std::vector<bool>{false});
}

TEST_F(ucx_rendezvous, load__that_is_dropped) {
    receiver.drop(load(100));
    receiver.drop(load(20'000));
    (void)near.road->progress();
    EXPECT_EQ(loans(), 0u);
    EXPECT_EQ(Road::broken(way), nullptr);
    EXPECT_TRUE(ear.ends.empty());
}

TEST_F(ucx_rendezvous, load__that_is_not_kept_goes_back) {
    ear.keeps = false;
    EXPECT_TRUE(send(100));
    EXPECT_TRUE(send(20'000));
    (void)far.road->progress();
    (void)near.road->progress();
    EXPECT_EQ(ear.heads.size(), 2u);
    EXPECT_EQ(loans(), 0u);
    EXPECT_EQ(ucx.kept(*far.worker), 0u);
}

/// UCX takes back what is in its own buffer on return.
TEST_F(ucx_rendezvous, load__that_cannot_be_kept) {
    const ucp_am_handler_param_t& handler = far.worker->handlers.at(UcxInMemory::kData);
    ucp_am_recv_param_t param{};
    EXPECT_EQ(handler.cb(handler.arg, "head", 4, bytes.data(), 100, &param), UCS_OK);
    EXPECT_TRUE(ear.heads.empty());
}

// --- ways that end ---

TEST_F(ucx_rendezvous, end__waits_for_the_loans) {
    EXPECT_TRUE(send(20'000));
    endpoint.close_answer = UCS_INPROGRESS;
    EXPECT_FALSE(near.road->end(way));
    EXPECT_TRUE(endpoint.is_closed);
    ucx.requests.back()->status = UCS_OK;  // of the closing alone
    (void)near.road->progress();
    EXPECT_FALSE(near.road->end(way));
    EXPECT_EQ(loans(), 1u);
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_EQ(loans(), 0u);
    EXPECT_EQ(near.road->ways(), 1u) << "until it is known to be over";
    EXPECT_TRUE(near.road->is_closing());
    EXPECT_TRUE(near.road->end(way));
    way = nullptr;
    (void)near.road->progress();
    EXPECT_EQ(near.road->ways(), 0u);
    EXPECT_FALSE(near.road->is_closing());
}

TEST_F(ucx_rendezvous, end__waits_for_the_closing) {
    endpoint.close_answer = UCS_INPROGRESS;
    EXPECT_FALSE(near.road->end(way));
    EXPECT_FALSE(near.road->end(way)) << "which closes once";
    ucx.finish(endpoint);
    EXPECT_TRUE(near.road->end(way));
    way = nullptr;
}

TEST_F(ucx_rendezvous, end__then_close_forgets_the_way) {
    endpoint.close_answer = UCS_INPROGRESS;
    EXPECT_FALSE(near.road->end(way));
    close();
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_EQ(near.road->ways(), 0u);
}

TEST_F(ucx_rendezvous, end__while_ucx_calls_from_inside) {
    EXPECT_TRUE(send(20'000));
    endpoint.takes = false;
    EXPECT_TRUE(near.send(way, "frame"));
    endpoint.calls_in_close = true;
    EXPECT_TRUE(near.road->end(way));
    EXPECT_FALSE(near.road->has_broken()) << "a way that is closed does not break";
    way = nullptr;
}

TEST_F(ucx_rendezvous, road__whose_end_ends_what_is_under_way) {
    far.worker->fetch_answer = UCS_INPROGRESS;
    Road::Way* const back = far.open_way(near);
    EXPECT_TRUE(receiver.send(back, {}, bytes.data(), 20'000));
    EXPECT_EQ(Rendezvous::loans(back), 1u);
    fetch(load(20'000));
    ucx.last_endpoint().close_answer = UCS_INPROGRESS;
    far.road->close(back);
    far.road.reset();
    EXPECT_EQ(ear.ends, std::vector<bool>{false});
}

}  // namespace
}  // namespace fci::ucx::test
