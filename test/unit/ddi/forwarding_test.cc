// SPDX-License-Identifier: BSD-3-Clause
// Every call reaches the inner device with its arguments, its answer comes back, and the inner
// device's notices reach the outer listener.
#include "fci_core/ddi/forwarding.h"

#include <gtest/gtest.h>

#include "test/unit/nhi/no_network.h"

namespace fci::ddi {
namespace {

/// The test's view of the device that a Forwarding owns, which outlives it.
struct Seen {
    std::string called;  // the last function, with its arguments
    PeerListener* listener = nullptr;
    Counters* counters = nullptr;
    const Card* named = nullptr;
    Card card{.port = 7};
    std::byte memory[64]{};
    test::NoNetwork network;
    bool closed = false, listens_in_the_end = false;
};

class Inner final : public Device {
public:
    explicit Inner(Seen& seen) : seen_(seen) { network_choice_ = {1, "10.0.0.1", "the only one"}; }
    ~Inner() override {
        seen_.closed = true;
        seen_.listens_in_the_end = seen_.listener != nullptr;
    }

    const Card& card() const noexcept override { return said(seen_.card, "card"); }
    nhi::NetworkInterface& network() noexcept override { return said(seen_.network, "network"); }
    Status add_peer(const Card& card, nhi::PeerId* id) override {
        seen_.named = &card;
        *id = 30;
        return answer(Status::unreachable, "add_peer");
    }
    Status connect(nhi::PeerId id) override { return answer(Status::lost, "connect", id); }
    const Card* card_of(nhi::PeerId id) const noexcept override {
        return answer(&seen_.card, "card_of", id);
    }
    nhi::PeerId peers() const noexcept override { return answer(31u, "peers"); }
    std::uint64_t sizes(nhi::PeerId id) const noexcept override {
        return answer(std::uint64_t{32}, "sizes", id);
    }
    std::span<std::byte> block(nhi::PeerId id) noexcept override {
        return answer(std::span(seen_.memory).first(8), "block", id);
    }
    std::span<std::byte> communication_memory() noexcept override {
        return answer(std::span(seen_.memory).last(16), "communication_memory");
    }
    MemoryUse memory() const noexcept override { return answer(MemoryUse{.fixed = 33}, "memory"); }
    void sleep(Nanoseconds timeout) noexcept override { (void)answer(0, "sleep", timeout); }
    int wait_fd() const noexcept override { return answer(34, "wait_fd"); }
    Nanoseconds now() const noexcept override { return answer(Nanoseconds{35}, "now"); }
    void count_in(Counters& counters) noexcept override { seen_.counters = &counters; }
    About about(nhi::PeerId id) const noexcept override {
        return answer(About{.way = "inner"}, "about", id);
    }
    std::string describe(nhi::PeerId id) const override {
        return answer(std::string("pid 36"), "describe", id);
    }
    void set_listener(PeerListener* listener) noexcept override { seen_.listener = listener; }
    void tell_of_loss(int rank) noexcept override { (void)answer(0, "tell_of_loss", rank); }

private:
    template <class Result>
    Result& said(Result& result, const char* function) const {
        seen_.called = function;
        return result;
    }
    template <class Result, class... Arguments>
    Result answer(Result result, const char* function, Arguments... arguments) const {
        seen_.called = function;
        ((seen_.called += " " + std::to_string(arguments)), ...);
        return result;
    }

    Seen& seen_;
};

struct Listener final : PeerListener {
    void peer_attached(nhi::PeerId id) override {
        heard += "attached " + std::to_string(id) + ". ";
    }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        heard += "lost " + std::to_string(id) + (why == Status::not_found ? ": " : "? ") + reason;
    }
    void stranger_came() noexcept override { heard += "stranger. "; }
    std::string heard;
};

struct DdiForwarding : testing::Test {
    Seen seen;
    std::unique_ptr<Device> outer = std::make_unique<Forwarding>(std::make_unique<Inner>(seen));
};

TEST_F(DdiForwarding, peers__are_those_of_the_inner_device) {
    EXPECT_EQ(&outer->card(), &seen.card);
    EXPECT_EQ(seen.called, "card");
    const Card named{};
    nhi::PeerId id = 0;
    EXPECT_EQ(outer->add_peer(named, &id), Status::unreachable);
    EXPECT_EQ(seen.called, "add_peer");
    EXPECT_EQ(seen.named, &named);
    EXPECT_EQ(id, 30u);
    EXPECT_EQ(outer->connect(2), Status::lost);
    EXPECT_EQ(seen.called, "connect 2");
    EXPECT_EQ(outer->card_of(3), &seen.card);
    EXPECT_EQ(seen.called, "card_of 3");
    EXPECT_EQ(outer->peers(), 31u);
    EXPECT_EQ(seen.called, "peers");
    EXPECT_EQ(outer->sizes(4), 32u);
    EXPECT_EQ(seen.called, "sizes 4");
    EXPECT_STREQ(outer->about(5).way, "inner");
    EXPECT_EQ(seen.called, "about 5");
    EXPECT_EQ(outer->describe(6), "pid 36");
    EXPECT_EQ(seen.called, "describe 6");
    outer->tell_of_loss(7);
    EXPECT_EQ(seen.called, "tell_of_loss 7");
}

TEST_F(DdiForwarding, network_and_memory__are_those_of_the_inner_device) {
    EXPECT_EQ(&outer->network(), &seen.network);
    EXPECT_EQ(seen.called, "network");
    EXPECT_EQ(outer->block(8).data(), seen.memory);
    EXPECT_EQ(seen.called, "block 8");
    EXPECT_EQ(outer->communication_memory().data(), seen.memory + 48);
    EXPECT_EQ(seen.called, "communication_memory");
    EXPECT_EQ(outer->memory().fixed, 33u);
    EXPECT_EQ(seen.called, "memory");
    Counters counters{};
    outer->count_in(counters);
    EXPECT_EQ(seen.counters, &counters);
    EXPECT_EQ(outer->network_choice().place, "10.0.0.1");
}

TEST_F(DdiForwarding, time__is_that_of_the_inner_device) {
    outer->sleep(9);
    EXPECT_EQ(seen.called, "sleep 9");
    EXPECT_EQ(outer->wait_fd(), 34);
    EXPECT_EQ(seen.called, "wait_fd");
    EXPECT_EQ(outer->now(), 35);
    EXPECT_EQ(seen.called, "now");
}

TEST_F(DdiForwarding, notices__of_the_inner_device_reach_the_listener) {
    ASSERT_NE(seen.listener, nullptr);
    seen.listener->peer_attached(1);  // there is no listener to be told
    seen.listener->peer_lost(1, Status::lost, "");
    seen.listener->stranger_came();
    Listener listener;
    outer->set_listener(&listener);
    seen.listener->peer_attached(2);
    seen.listener->stranger_came();
    seen.listener->peer_lost(2, Status::not_found, "closed");
    EXPECT_EQ(listener.heard, "attached 2. stranger. lost 2: closed");
}

TEST_F(DdiForwarding, inner_device__closes_with_the_outer_one_and_tells_it_nothing_then) {
    outer.reset();
    EXPECT_TRUE(seen.closed);
    EXPECT_FALSE(seen.listens_in_the_end);
}

}  // namespace
}  // namespace fci::ddi
