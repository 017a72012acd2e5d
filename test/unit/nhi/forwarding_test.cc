// SPDX-License-Identifier: BSD-3-Clause
// Every call reaches the other network with its arguments, and its answer comes back.
#include "fci_core/nhi/forwarding.h"

#include <gtest/gtest.h>

#include <sstream>

namespace fci::nhi {
namespace {

/// Answers as no network would that nobody asked.
class Inner final : public NetworkInterface {
public:
    Status open_window(WindowNumber number, LcsAddress base,
                       std::span<std::byte> local) noexcept override {
        return said(Status::exhausted, "open_window", number, base, local.data(), local.size());
    }
    Status close_window(WindowNumber number) noexcept override {
        return said(Status::not_found, "close_window", number);
    }
    Status initiate_transfer(const Transfer& transfer) noexcept override {
        return said(Status::lost, "initiate_transfer", &transfer);
    }
    Status configure_event(EventId event, EventSignal signal) noexcept override {
        return said(Status::invalid, "configure_event", +event, signal.flag, signal.interrupt);
    }
    Status mask_event_interrupt(EventId event, bool masked) noexcept override {
        return said(Status::mismatch, "mask_event_interrupt", +event, masked);
    }
    Link link(PeerId id) noexcept override {
        return said(Link{.block_bytes = 640, .direct = true}, "link", id);
    }
    bool is_idle() const noexcept override { return said(false, "is_idle"); }
    unsigned idle_poll_every() const noexcept override { return said(17u, "idle_poll_every"); }
    Nanoseconds busy_poll_every() const noexcept override {
        return said(Nanoseconds{18}, "busy_poll_every");
    }
    unsigned poll(Nanoseconds now) noexcept override { return said(19u, "poll", now); }
    std::uint32_t event_count(EventId event) const noexcept override {
        return said(20u, "event_count", +event);
    }
    std::byte* map(PeerId id, LcsAddress address, std::size_t bytes) noexcept override {
        return said(memory, "map", id, address, bytes);
    }
    Status provide(PeerId id, LcsAddress address, std::size_t bytes) noexcept override {
        return said(Status::unreachable, "provide", id, address, bytes);
    }
    void take_back(LcsAddress address, std::size_t bytes) noexcept override {
        (void)said(0, "take_back", address, bytes);
    }
    Ordering ordering() noexcept override { return said(Ordering::by_fence, "ordering"); }
    DataWay* data() noexcept override {
        return said(reinterpret_cast<DataWay*>(memory), "data");
    }
    Hints* hints() noexcept override { return said(reinterpret_cast<Hints*>(memory), "hints"); }
    Status copy(PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override {
        return said(Status::again, "copy", id, direction == Direction::write, remote, local, bytes);
    }

    std::byte memory[64]{};
    mutable std::string called;  // the last function, with its arguments

private:
    static void write(std::ostream& to, LcsAddress address) {
        to << ' ' << static_cast<std::uint64_t>(address);
    }
    template <class Any>
    static void write(std::ostream& to, const Any& any) {
        to << ' ' << any;
    }
    template <class Answer, class... Arguments>
    Answer said(Answer answer, const char* function, const Arguments&... arguments) const {
        std::ostringstream text;
        text << function;
        (write(text, arguments), ...);
        called = text.str();
        return answer;
    }
};

struct NhiForwarding : testing::Test {
    /// `called` with pointers as they are printed.
    static std::string at(const std::string& before, const void* pointer,
                          const std::string& after = "") {
        std::ostringstream text;
        text << before << ' ' << pointer << after;
        return text.str();
    }

    Inner inner;
    Forwarding forwarding{inner};
    NetworkInterface& outer = forwarding;
    const LcsAddress address{kPairLimit + 4096};
};

TEST_F(NhiForwarding, mandatory_functions__reach_the_inner_network) {
    EXPECT_EQ(outer.open_window(3, address, inner.memory), Status::exhausted);
    EXPECT_EQ(inner.called, at("open_window 3 4294971392", inner.memory, " 64"));
    EXPECT_EQ(outer.close_window(4), Status::not_found);
    EXPECT_EQ(inner.called, "close_window 4");
    const Transfer transfer(5);
    EXPECT_EQ(outer.initiate_transfer(transfer), Status::lost);
    EXPECT_EQ(inner.called, at("initiate_transfer", &transfer));
    EXPECT_EQ(outer.configure_event(6, {.flag = true}), Status::invalid);
    EXPECT_EQ(inner.called, "configure_event 6 1 0");
    EXPECT_EQ(outer.mask_event_interrupt(7, true), Status::mismatch);
    EXPECT_EQ(inner.called, "mask_event_interrupt 7 1");
}

TEST_F(NhiForwarding, turns__are_as_the_inner_network_wants_them) {
    EXPECT_FALSE(outer.is_idle());
    EXPECT_EQ(inner.called, "is_idle");
    EXPECT_EQ(outer.idle_poll_every(), 17u);
    EXPECT_EQ(inner.called, "idle_poll_every");
    EXPECT_EQ(outer.busy_poll_every(), 18);
    EXPECT_EQ(inner.called, "busy_poll_every");
    EXPECT_EQ(outer.poll(23), 19u);
    EXPECT_EQ(inner.called, "poll 23");
    EXPECT_EQ(outer.event_count(8), 20u);
    EXPECT_EQ(inner.called, "event_count 8");
}

TEST_F(NhiForwarding, memory__is_that_of_the_inner_network) {
    EXPECT_EQ(outer.map(9, address, 64), inner.memory);
    EXPECT_EQ(inner.called, "map 9 4294971392 64");
    EXPECT_EQ(outer.provide(10, address, 128), Status::unreachable);
    EXPECT_EQ(inner.called, "provide 10 4294971392 128");
    outer.take_back(address, 256);
    EXPECT_EQ(inner.called, "take_back 4294971392 256");
    EXPECT_EQ(outer.ordering(), Ordering::by_fence);
    EXPECT_EQ(inner.called, "ordering");
}

TEST_F(NhiForwarding, ways_around_transfers__are_those_of_the_inner_network) {
    const Link link = outer.link(11);
    EXPECT_EQ(inner.called, "link 11");
    EXPECT_EQ(link.block_bytes, 640u);
    EXPECT_TRUE(link.direct);
    EXPECT_EQ(outer.data(), reinterpret_cast<DataWay*>(inner.memory));
    EXPECT_EQ(inner.called, "data");
    EXPECT_EQ(outer.hints(), reinterpret_cast<Hints*>(inner.memory));
    EXPECT_EQ(inner.called, "hints");
    EXPECT_EQ(outer.copy(12, Inner::Direction::write, 512, inner.memory, 64), Status::again);
    EXPECT_EQ(inner.called, at("copy 12 1 512", inner.memory, " 64"));
}

}  // namespace
}  // namespace fci::nhi
