// SPDX-License-Identifier: BSD-3-Clause
// The network interface over shared memory, with a peer whose tables and waker a test holds: whom a
// transfer wakes, how often, and where it may write.
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <span>

#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

/// A process and a peer that is nothing but its memory.
struct ShmInterfaceTest : testing::Test {
    ShmInterfaceTest() {
        id = self.meet(host.card);
        link = host.accept();
        EXPECT_TRUE(say(link, make_word(Kind::welcome)));
        for (unsigned i = 0; i < 40; ++i) self.turn();
        EXPECT_TRUE(say(link, shown.hello, shown.files()));
        for (unsigned i = 0; i < 40; ++i) self.turn();
        EXPECT_EQ(self.attached.size(), 1u);
    }
    nhi::NetworkInterface& network() { return self.device->network(); }
    SharedHeader& its() { return *reinterpret_cast<SharedHeader*>(shown.header.data()); }
    SharedHeader& own() {
        return *reinterpret_cast<SharedHeader*>(self.device->communication_memory().data() -
                                                kSharedHeaderBytes);
    }
    std::byte* its_memory() { return shown.header.data() + kSharedHeaderBytes; }
    /// The owner of that memory wants to hear of these events.
    void want(std::uint32_t counting, std::uint32_t interrupting, std::uint64_t cycle) {
        its().counting = counting;
        its().interrupting = interrupting;
        its().wanted_events = cycle << 32 | counting | interrupting;
    }
    void raise(std::initializer_list<nhi::EventId> events) {
        nhi::Transfer transfer(id);
        transfer.put(nhi::LcsAddress{0}, &word, sizeof word);
        for (const nhi::EventId event : events) transfer.raise(event);
        EXPECT_EQ(network().initiate_transfer(transfer), Status::ok);
    }
    /// How often it was called since this was asked last.
    std::uint64_t calls_heard() {
        eventfd_t count = 0;
        return eventfd_read(shown.waker.get(), &count) == 0 ? count : 0;
    }
    Status put(std::uint64_t at, std::size_t bytes = 8) {
        nhi::Transfer transfer(id);
        transfer.put(nhi::LcsAddress{at}, &word, bytes);
        return network().initiate_transfer(transfer);
    }
    std::uint32_t cycle() { return static_cast<std::uint32_t>(own().wanted_events >> 32); }

    HandClock clock;
    Party self{party_settings(), {.clock = &clock}};
    OddHost host;
    Shown shown{host.card};
    host::Descriptor link;
    nhi::PeerId id = nhi::kNoPeer;
    const std::uint64_t word = 0x0123456789abcdef;
};

TEST_F(ShmInterfaceTest, event__that_nobody_wants_is_not_told) {
    raise({0, 1, 31});
    want(0b10, 0b100, 7);
    raise({0, 3});
    EXPECT_EQ(its().count[0] + its().count[1] + its().count[2] + its().count[3], 0u);
    EXPECT_EQ(calls_heard(), 0u);
}

TEST_F(ShmInterfaceTest, event__is_counted_where_it_was_asked_for) {
    want(1u << 31 | 0b10, 0, 7);
    raise({1});
    raise({0, 1, 31});
    EXPECT_EQ(its().count[0], 0u);
    EXPECT_EQ(its().count[1], 2u);
    EXPECT_EQ(its().count[31], 1u);
    want(1, 0, 8);
    raise({0});
    EXPECT_EQ(its().count[0], 1u);
    EXPECT_EQ(its().window[0].generation, 0u) << "behind the counts";
    EXPECT_EQ(calls_heard(), 0u);
}

TEST_F(ShmInterfaceTest, event__wakes_once_in_each_cycle) {
    want(0, 0b1, 7);
    for (unsigned i = 0; i < 3; ++i) raise({0});
    EXPECT_EQ(calls_heard(), 1u);
    EXPECT_EQ(its().rung_cycle, 7u);
    EXPECT_EQ(its().count[0], 0u);
    want(0b1, 0b1, 8);
    for (unsigned i = 0; i < 3; ++i) raise({0});
    EXPECT_EQ(calls_heard(), 1u);
    EXPECT_EQ(its().count[0], 3u);
    want(0b1, 0b10, 9);
    raise({0});
    EXPECT_EQ(calls_heard(), 0u) << "another one would";
    raise({1});
    EXPECT_EQ(calls_heard(), 1u);
}

// The process shows its masks of events to those who write to it.
TEST_F(ShmInterfaceTest, mask__shows_what_wakes_and_begins_a_cycle) {
    EXPECT_EQ(static_cast<std::uint32_t>(own().wanted_events), 0u);
    ASSERT_EQ(network().configure_event(3, {.flag = true, .interrupt = true}), Status::ok);
    EXPECT_EQ(own().counting, 0b1000u);
    EXPECT_EQ(own().interrupting, 0b1000u);
    const std::uint32_t before = cycle();
    ASSERT_EQ(network().mask_event_interrupt(3, true), Status::ok);
    EXPECT_EQ(own().interrupting, 0u);
    EXPECT_EQ(static_cast<std::uint32_t>(own().wanted_events), 0b1000u) << "it is counted";
    EXPECT_EQ(cycle(), before);
    for (unsigned i = 0; i < 2; ++i) {
        ASSERT_EQ(network().mask_event_interrupt(3, false), Status::ok);
        EXPECT_EQ(own().interrupting, 0b1000u);
        EXPECT_EQ(cycle(), before + 1) << "once";
    }
    ASSERT_EQ(network().mask_event_interrupt(5, true), Status::ok);
    ASSERT_EQ(network().mask_event_interrupt(5, false), Status::ok);
    EXPECT_EQ(cycle(), before + 1) << "nobody wants it";
    ASSERT_EQ(network().configure_event(3, {}), Status::ok);
    EXPECT_EQ(own().counting | own().interrupting, 0u);
    EXPECT_EQ(static_cast<std::uint32_t>(own().wanted_events), 0u);
}

TEST_F(ShmInterfaceTest, woken__begins_a_cycle_so_that_the_next_one_calls_again) {
    ASSERT_EQ(network().configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    const std::uint32_t before = cycle();
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    EXPECT_EQ(own().rung_cycle, before);
    clock.time += kMs;
    self.turn();
    EXPECT_EQ(cycle(), before + 1);
    ASSERT_EQ(self.put(nhi::kSelf, 0, 2), Status::ok);
    EXPECT_EQ(own().rung_cycle, before + 1);
}

TEST_F(ShmInterfaceTest, transfer__to_the_edges_of_the_block) {
    const std::uint64_t bytes = shown.settings.block_bytes;
    EXPECT_EQ(put(bytes - 8), Status::ok);
    EXPECT_EQ(std::memcmp(shown.block.data() + bytes - 8, &word, 8), 0);
    EXPECT_EQ(put(bytes - 7), Status::invalid);
    EXPECT_EQ(put(bytes), Status::invalid);
    EXPECT_EQ(put(bytes, 0), Status::ok) << "nothing, at its end";
    EXPECT_EQ(put(nhi::kPairLimit - 8), Status::invalid);
    EXPECT_NE(network().map(id, nhi::LcsAddress{bytes - 8}, 8), nullptr);
    EXPECT_EQ(network().map(id, nhi::LcsAddress{bytes - 7}, 8), nullptr);
}

TEST_F(ShmInterfaceTest, transfer__to_the_edges_of_a_window) {
    constexpr std::uint64_t kBase = nhi::kPairLimit + 64, kBytes = 100;
    EXPECT_EQ(put(kBase), Status::invalid);
    its().window[5] = {1, kBase, kBytes, 200};
    EXPECT_EQ(put(kBase), Status::ok);
    EXPECT_EQ(std::memcmp(its_memory() + 200, &word, 8), 0);
    EXPECT_EQ(put(kBase + kBytes - 8), Status::ok);
    EXPECT_EQ(std::memcmp(its_memory() + 200 + kBytes - 8, &word, 8), 0);
    EXPECT_EQ(put(kBase - 1), Status::invalid);
    EXPECT_EQ(put(kBase + kBytes - 7), Status::invalid);
    its().window[5].generation = 2;
    EXPECT_EQ(put(kBase), Status::invalid) << "it is closed";
    its().window[6] = {3, kBase, 4096 - 200, 200};
    EXPECT_EQ(put(kBase + 4096 - 208), Status::ok);
    its().window[6] = {5, kBase, 4096 - 199, 200};
    EXPECT_EQ(put(kBase), Status::invalid) << "more than its memory";
    its().window[6] = {7, kBase, 0, 4096};
    EXPECT_EQ(put(kBase), Status::invalid);
    its().window[6] = {9, kBase, 8, 4096 - 8};
    EXPECT_EQ(put(kBase), Status::ok);
}

TEST_F(ShmInterfaceTest, transfer__of_several_parts_is_all_or_nothing) {
    nhi::Transfer transfer(id);
    transfer.put(nhi::LcsAddress{0}, &word, sizeof word);
    transfer.put(nhi::LcsAddress{shown.settings.block_bytes}, &word, sizeof word);
    EXPECT_EQ(network().initiate_transfer(transfer), Status::invalid);
    EXPECT_EQ(shown.block.data()[0], std::byte{0});
}

// The process says this of itself to all who write to it.
TEST_F(ShmInterfaceTest, header__says_who_it_is_and_whether_writers_need_fences) {
    const bool needs_fences = network().ordering() == nhi::Ordering::by_all;
    EXPECT_EQ(own().senders_fence, needs_fences ? 1u : 0u);
    EXPECT_EQ(own().magic, kSharedHeaderMagic);
    EXPECT_EQ(own().incarnation, self.device->card().incarnation);
    EXPECT_EQ(own().header_bytes, sizeof(SharedHeader));
    EXPECT_EQ(own().copying, 0u);
}

TEST_F(ShmInterfaceTest, card_of__those_that_are_known) {
    EXPECT_EQ(self.device->peers(), 2u);
    EXPECT_EQ(self.device->card_of(id)->incarnation, host.card.incarnation);
    EXPECT_EQ(self.device->card_of(2), nullptr);
    EXPECT_TRUE(self.device->block(2).empty());
    EXPECT_EQ(self.device->block(id).size(), party_settings().block_bytes);
    EXPECT_EQ(self.device->sizes(2), 0u);
    EXPECT_EQ(self.device->about(2).rank, -1);
    EXPECT_EQ(self.device->about(id).pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_LT(self.device->memory().fixed, 1u << 20);
    EXPECT_GE(self.device->memory().fixed, 4096u) << "a page of its own for the guard";
}

TEST_F(ShmInterfaceTest, memory__of_what_was_provided) {
    if (!Region::provides()) GTEST_SKIP() << "needs Linux 5.14";
    const MemoryUse before = self.device->memory();
    EXPECT_EQ(network().provide(id, nhi::LcsAddress{0}, 8192), Status::ok);
    EXPECT_EQ(self.device->memory().shared, before.shared + 8192);
    EXPECT_EQ(self.device->memory().shared_peers, before.shared_peers + 8192);
    const nhi::LcsAddress window{nhi::kPairLimit};
    ASSERT_EQ(network().open_window(0, window, self.device->communication_memory()), Status::ok);
    EXPECT_EQ(network().provide(nhi::kSelf, window, 4096), Status::ok);
    EXPECT_EQ(self.device->memory().shared, before.shared + 8192 + 4096);
    EXPECT_EQ(self.device->memory().shared_peers, before.shared_peers + 8192);
    network().take_back(window, 4096);
    EXPECT_EQ(self.device->memory().shared, before.shared + 8192);
    EXPECT_EQ(network().provide(nhi::kSelf, nhi::LcsAddress{0}, 4096), Status::ok);
    EXPECT_EQ(self.device->memory().shared, before.shared + 8192);
    EXPECT_EQ(network().provide(id, nhi::LcsAddress{nhi::kPairLimit}, 8), Status::invalid);
    its().window[0] = {1, nhi::kPairLimit, 4096, 0};
    EXPECT_EQ(network().provide(id, nhi::LcsAddress{nhi::kPairLimit}, 8), Status::ok);
    EXPECT_EQ(self.device->memory().shared_peers, before.shared_peers + 8192) << "not its block";
}

// A transfer that was looking when a window changed sees by its number that it did.
TEST_F(ShmInterfaceTest, window__has_another_number_after_each_change) {
    const nhi::LcsAddress base{nhi::kPairLimit};
    const std::span<std::byte> memory = self.device->communication_memory();
    std::uint64_t last = own().window[2].generation;
    EXPECT_EQ(last % 2, 0u);
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_EQ(network().open_window(2, base, memory), Status::ok);
        EXPECT_EQ(own().window[2].generation, ++last);
        EXPECT_EQ(network().open_window(2, base, memory), Status::invalid) << "it is open";
        ASSERT_EQ(network().close_window(2), Status::ok);
        EXPECT_EQ(own().window[2].generation, ++last);
        EXPECT_EQ(network().close_window(2), Status::not_found);
    }
    EXPECT_EQ(network().close_window(nhi::kWindowsMax), Status::invalid);
}

/// Whether the page of memory at `address` is there without having been touched here.
bool is_provided(std::byte* address) {
    unsigned char in_memory = 0;
    EXPECT_EQ(mincore(address, 1, &in_memory), 0);
    return (in_memory & 1) != 0;
}

// The kernel provides whole pages: those of the first and of the last byte, and what is between.
TEST(ShmInterfaceProvide, provide__all_pages_of_a_range_that_begins_within_one) {
    if (!Region::provides()) GTEST_SKIP() << "needs Linux 5.14";
    const std::size_t page = page_round(1);
    ddi::Settings settings = party_settings();
    settings.communication_later = true;
    settings.communication_bytes = 8 * page;
    Party self(settings);
    nhi::NetworkInterface& network = self.device->network();
    const std::span<std::byte> memory = self.device->communication_memory();
    const nhi::LcsAddress base{nhi::kPairLimit};
    ASSERT_EQ(network.open_window(0, base, memory), Status::ok);
    ASSERT_FALSE(is_provided(memory.data() + 2 * page));
    ASSERT_EQ(network.provide(nhi::kSelf, nhi::LcsAddress{nhi::kPairLimit + 2 * page - 8}, page),
              Status::ok);
    EXPECT_FALSE(is_provided(memory.data()));
    EXPECT_TRUE(is_provided(memory.data() + page));
    EXPECT_TRUE(is_provided(memory.data() + 2 * page));
    EXPECT_FALSE(is_provided(memory.data() + 3 * page));
}

TEST_F(ShmInterfaceTest, link__is_of_an_attached_peer) {
    const nhi::Link link_to = network().link(id);
    EXPECT_EQ(link_to.block_bytes, shown.settings.block_bytes);
    EXPECT_TRUE(link_to.mapped && link_to.same_host);
    EXPECT_FALSE(network().link(id + 1).mapped);
    link.close();
    for (unsigned i = 0; i < 40; ++i) self.turn();
    ASSERT_EQ(self.lost.size(), 1u);
    EXPECT_FALSE(network().link(id).mapped);
    EXPECT_EQ(put(0), Status::lost);
}

// A peer that says that it has no way to make others pass a barrier is written to by transfers.
TEST(ShmInterfaceFence, link__to_a_peer_that_wants_fences_has_no_block) {
    for (const bool fence : {true, false}) {
        HandClock clock;
        Party self(party_settings(), {.clock = &clock});
        if (self.device->network().ordering() == nhi::Ordering::by_all) GTEST_SKIP();
        OddHost host;
        Shown shown(host.card);
        reinterpret_cast<SharedHeader*>(shown.header.data())->senders_fence = fence;
        const nhi::PeerId id = self.meet(host.card);
        const host::Descriptor link = host.accept();
        ASSERT_TRUE(say(link, make_word(Kind::welcome)));
        for (unsigned i = 0; i < 40; ++i) self.turn();
        ASSERT_TRUE(say(link, shown.hello, shown.files()));
        for (unsigned i = 0; i < 40; ++i) self.turn();
        EXPECT_EQ(self.device->network().link(id).block == nullptr, fence);
    }
}

}  // namespace
}  // namespace fci::shm
