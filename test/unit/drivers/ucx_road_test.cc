// SPDX-License-Identifier: BSD-3-Clause
// The road of the ucx driver: how it is opened, its ways, and its turns.
#include <gtest/gtest.h>

#include <cstdlib>

#include "test/unit/drivers/ucx_roads.h"

namespace fci::ucx::test {
namespace {

TEST_F(ucx_road, open__tells_its_address_and_descriptor) {
    const End end(ucx);
    ASSERT_EQ(ucx.contexts.size(), 1u);
    EXPECT_EQ(ucx.contexts[0]->major, Library::kMajor);
    EXPECT_EQ(ucx.contexts[0]->minor, Library::kMinor);
    EXPECT_EQ(ucx.contexts[0]->features, std::uint64_t{UCP_FEATURE_AM | UCP_FEATURE_WAKEUP});
    EXPECT_EQ(end.road->address().data(), end.worker->address.data());
    EXPECT_EQ(end.road->address().size(), 40u);
    EXPECT_EQ(end.road->fd(), end.worker->event.get());
    EXPECT_EQ(end.road->name(), "UCX 1.99.7");
    EXPECT_EQ(end.road->ways(), 0u);
    EXPECT_FALSE(end.road->has_broken());
    EXPECT_FALSE(end.road->is_closing());
}

TEST_F(ucx_road, open__keeps_frames_on_one_lane_unless_the_user_wants_more) {
    { const End end(ucx); }
    EXPECT_EQ(ucx.configs[0]->changed.at("MAX_EAGER_RAILS"), "1");
    setenv("UCX_MAX_EAGER_RAILS", "2", 1);
    { const End end(ucx); }
    unsetenv("UCX_MAX_EAGER_RAILS");
    EXPECT_FALSE(ucx.configs[1]->changed.contains("MAX_EAGER_RAILS"));
}

/// A flush of all ways may need turns of each peer.
TEST_F(ucx_road, open__lets_a_flush_of_the_worker_flush_no_way) {
    const End end(ucx);
    EXPECT_EQ(ucx.configs[0]->changed.at("FLUSH_WORKER_EPS"), "n");
}

TEST_F(ucx_road, open__says_what_ucx_does_not_do) {
    const auto refused = [&](ucs_status_t& answer, ucs_status_t as, Status status) {
        answer = as;
        const std::string text = refusal(status);
        answer = UCS_OK;
        return text;
    };
    EXPECT_EQ(refused(ucx.config_answer, UCS_ERR_NO_MEMORY, Status::invalid),
              "UCX 1.99.7 cannot read its UCX_ variables: Out of memory");
    EXPECT_EQ(refused(ucx.init_answer, UCS_ERR_NO_DEVICE, Status::unsupported),
              "UCX 1.99.7 finds no network it can use: No such device (UCX_TLS and "
              "UCX_NET_DEVICES choose; ucx_info -d lists them)");
    EXPECT_EQ(refused(ucx.worker_answer, UCS_ERR_NO_MEMORY, Status::unsupported),
              "UCX 1.99.7 cannot make a worker: Out of memory");
    EXPECT_EQ(refused(ucx.handler_answer, UCS_ERR_NO_MEMORY, Status::unsupported),
              "UCX 1.99.7 cannot receive messages: Out of memory");
    EXPECT_EQ(refused(ucx.address_answer, UCS_ERR_NO_DEVICE, Status::unsupported),
              "UCX 1.99.7 cannot tell its address: No such device");
    EXPECT_EQ(refused(ucx.event_answer, UCS_ERR_NO_DEVICE, Status::unsupported),
              "UCX 1.99.7 cannot wake a sleeper: No such device");
}

TEST_F(ucx_road, abandon__leaves_all_to_the_parent) {
    {
        const End one(ucx), other(ucx);
        (void)one.open_way(other);
        one.road->abandon();
        EXPECT_EQ(one.road->fd(), -1);
    }
    EXPECT_TRUE(ucx.workers[0]->is_there);
    EXPECT_TRUE(ucx.workers[0]->has_address);
    EXPECT_TRUE(ucx.contexts[0]->is_there);
    EXPECT_FALSE(ucx.endpoints[0]->is_closed);
    EXPECT_FALSE(ucx.workers[1]->is_there);
    ucx.forgive();
}

// --- frames ---

TEST_F(ucx_way, open_way__to_no_worker_says_why) {
    std::string error;
    const Bytes nowhere(40);
    EXPECT_EQ(near.road->open_way(nowhere.data(), &error), nullptr);
    EXPECT_EQ(error, "Invalid address");
    EXPECT_EQ(near.road->ways(), 1u);
    EXPECT_EQ(endpoint.mode, UCP_ERR_HANDLING_MODE_PEER);
}

TEST_F(ucx_way, send__arrives_in_order_with_its_own_bytes) {
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_TRUE(near.send(way, "and the other"));
    EXPECT_EQ(endpoint.sends, 2u);
    EXPECT_TRUE(far.ear.frames.empty()) << "before the receiver's turn";
    EXPECT_EQ(far.road->progress(), 2u);
    EXPECT_EQ(far.ear.frames, (Texts{"one", "and the other"}));
    EXPECT_EQ(far.road->progress(), 0u);
    EXPECT_TRUE(near.ear.frames.empty());
}

TEST_F(ucx_way, receive__leaves_out_messages_that_are_not_here_at_once) {
    const Bytes bytes(8);
    ucx.bring(*far.worker, bytes, UCP_AM_RECV_ATTR_FLAG_RNDV);
    EXPECT_TRUE(heard().empty());
    ucx.bring(*far.worker, bytes, UCP_AM_RECV_ATTR_FLAG_DATA);
    EXPECT_EQ(heard().size(), 1u);
}

/// Frames that UCX has not taken keep their bytes beside later ones.
TEST_F(ucx_way, send__keeps_the_bytes_that_ucx_has_not_taken) {
    endpoint.takes = false;
    Texts sent;
    for (unsigned i = 0; i < 5; ++i) {
        sent.push_back(std::string(100 + i, static_cast<char>('a' + i)));
        EXPECT_TRUE(near.send(way, sent.back()));
    }
    ucx.take(endpoint, 2);
    (void)near.road->progress();
    EXPECT_EQ(ucx.requests_left(), 3u);
    sent.push_back("a later one");
    EXPECT_TRUE(near.send(way, sent.back()));
    EXPECT_EQ(heard(), Texts(sent.begin(), sent.begin() + 2));
    ucx.take(endpoint);
    (void)near.road->progress();
    EXPECT_EQ(heard(), sent);
    EXPECT_EQ(ucx.requests_left(), 0u);
}

TEST_F(ucx_way, begin__has_no_room_while_so_many_frames_wait) {
    Road::Way* const another = near.open_way(far);
    endpoint.takes = false;
    for (unsigned i = 0; i < 64; ++i) ASSERT_TRUE(near.send(way, "frame")) << i;
    EXPECT_FALSE(near.send(way, "frame"));
    EXPECT_EQ(endpoint.sends, 64u);
    EXPECT_TRUE(near.send(another, "another way has room"));
    ucx.take(endpoint, 1);
    EXPECT_FALSE(near.send(way, "frame")) << "before the turn that says so";
    (void)near.road->progress();
    EXPECT_TRUE(near.send(way, "frame"));
    EXPECT_FALSE(near.send(way, "frame"));
    ucx.take(endpoint);
    (void)near.road->progress();
    near.road->close(another);
}

TEST_F(ucx_way, begin__takes_the_same_memory_again) {
    std::byte* const first = near.road->begin(way, 10);
    std::memset(first, 'x', 10);
    near.road->send(way, 10);
    std::byte* const second = near.road->begin(way, 8 * 1024);
    EXPECT_EQ(second, first);
    std::memset(second, 'y', 8 * 1024);
    near.road->send(way, 8 * 1024);
    std::byte* const large = near.road->begin(way, 8 * 1024 + 1);
    EXPECT_NE(large, first) << "it is not that large";
    std::memset(large, 'z', 8 * 1024 + 1);
    near.road->send(way, 8 * 1024 + 1);
    endpoint.takes = false;
    EXPECT_TRUE(near.send(way, "waits"));
    EXPECT_NE(near.road->begin(way, 1), first) << "which is in use";
    near.road->send(way, 0);
    ucx.take(endpoint);
    (void)near.road->progress();
    EXPECT_EQ(heard(), (Texts{std::string(10, 'x'), std::string(8192, 'y'),
                              std::string(8193, 'z'), "waits", ""}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end it for that
TEST_F(ucx_way, begin__without_memory) {
    EXPECT_EQ(near.road->begin(way, std::size_t{1} << 62), nullptr);
    EXPECT_TRUE(near.send(way, "shorter"));
    EXPECT_EQ(heard(), Texts{"shorter"});
}
#endif

/// Of so many, some are kept for later use.
TEST_F(ucx_way, send__frames_of_many_ways_at_once) {
    std::vector<Road::Way*> ways;
    for (unsigned i = 0; i < 5; ++i) {
        ways.push_back(near.open_way(far));
        ucx.last_endpoint().takes = false;
        for (unsigned k = 0; k < 64; ++k) ASSERT_TRUE(near.send(ways.back(), "frame"));
    }
    for (const auto& each : ucx.endpoints) ucx.take(*each);
    (void)near.road->progress();
    EXPECT_EQ(heard().size(), 320u);
    ASSERT_EQ(ucx.requests.size(), 320u);
    EXPECT_EQ(near.road->begin(way, 1), ucx.requests[255]->bytes.data()) << "256 are kept";
    near.road->send(way, 1);
    EXPECT_TRUE(near.road->is_idle());
    for (Road::Way* const each : ways) near.road->close(each);
}

// --- ways that break ---

TEST_F(ucx_way, send__that_fails_breaks_the_way) {
    EXPECT_TRUE(near.send(way, "x"));
    std::byte* const memory = near.road->begin(way, 1);
    endpoint.send_answer = UCS_ERR_CONNECTION_RESET;
    EXPECT_EQ(Road::broken(way), nullptr);
    near.road->send(way, 1);
    EXPECT_STREQ(Road::broken(way), "Connection reset by remote peer");
    EXPECT_TRUE(near.road->has_broken());
    EXPECT_EQ(near.road->begin(way, 1), memory) << "nothing waits";
    near.road->send(way, 1);
    EXPECT_EQ(heard(), Texts{"x"});
}

TEST_F(ucx_way, failure__is_the_word_for_it_until_the_way_is_closed) {
    UcxInMemory::fail(endpoint, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(near.road->has_broken()) << "before a turn";
    (void)near.road->progress();
    EXPECT_STREQ(Road::broken(way), "Endpoint timeout");
    near.road->mark_broken(way, "something else");
    EXPECT_STREQ(Road::broken(way), "Endpoint timeout") << "the first sign counts";
    EXPECT_TRUE(near.road->has_broken());
    close();
    EXPECT_FALSE(near.road->has_broken());
}

TEST_F(ucx_way, has_broken__while_one_of_two_is) {
    Road::Way* const another = near.open_way(far);
    near.road->mark_broken(way, "bad");
    near.road->mark_broken(another, "bad");
    near.road->close(another);
    EXPECT_TRUE(near.road->has_broken());
    near.road->mark_broken(another, "closed already");
    close();
    EXPECT_FALSE(near.road->has_broken());
}

TEST_F(ucx_way, failure__ends_frames_that_wait) {
    endpoint.takes = false;
    for (unsigned i = 0; i < 64; ++i) ASSERT_TRUE(near.send(way, "frame"));
    UcxInMemory::fail(endpoint, UCS_ERR_ENDPOINT_TIMEOUT);
    (void)near.road->progress();
    EXPECT_EQ(ucx.requests_left(), 0u);
    EXPECT_NE(near.road->begin(way, 1), nullptr);
    near.road->send(way, 1);
    EXPECT_TRUE(heard().empty());
}

}  // namespace
}  // namespace fci::ucx::test
