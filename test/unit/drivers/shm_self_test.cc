// SPDX-License-Identifier: BSD-3-Clause
// A process that is a peer of its own, as any other; and the memory that its device says it has.
#include <fcntl.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "drivers/shm/connection_manager.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

using Direction = nhi::NetworkInterface::Direction;

constexpr std::uint64_t kSizes = 4711;

ddi::Settings self_settings() {
    ddi::Settings settings = party_settings();
    settings.sizes = kSizes;
    return settings;
}

struct ShmSelf : testing::Test {
    nhi::NetworkInterface& network() { return self.device->network(); }
    SharedHeader& own() {
        return *reinterpret_cast<SharedHeader*>(self.device->communication_memory().data() -
                                                kSharedHeaderBytes);
    }
    HandClock clock;
    Party self{self_settings(), {.clock = &clock}};
};

TEST_F(ShmSelf, device__knows_itself_and_nobody_behind_the_last_peer) {
    EXPECT_EQ(self.device->sizes(nhi::kSelf), kSizes);
    EXPECT_EQ(self.device->about(nhi::kSelf).pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(self.device->peers(), 1u);
    EXPECT_EQ(self.device->describe(1), "no known process");
    EXPECT_EQ(self.device->card_of(1), nullptr);
    EXPECT_EQ(self.device->connect(1), Status::invalid);
    EXPECT_EQ(self.device->connect(nhi::kSelf), Status::ok);
    EXPECT_EQ(network().map(1, nhi::LcsAddress{0}, 1), nullptr);
    EXPECT_FALSE(network().link(1).mapped);
    std::uint64_t word = 0;
    EXPECT_EQ(network().copy(1, Direction::read, 0, &word, sizeof word), Status::invalid);
    EXPECT_EQ(self.put(1, 0, 7), Status::invalid);
}

TEST_F(ShmSelf, copy__within_the_own_process) {
    if (std::string why; !ShmInterface::kernel_copies(&why)) GTEST_SKIP() << why;
    const std::uint64_t source = 0x0123456789abcdef;
    std::uint64_t here = 0, there = 0;
    ASSERT_EQ(network().copy(nhi::kSelf, Direction::read,
                             reinterpret_cast<std::uint64_t>(&source), &here, sizeof here),
              Status::ok);
    EXPECT_EQ(here, source);
    ASSERT_EQ(network().copy(nhi::kSelf, Direction::write,
                             reinterpret_cast<std::uint64_t>(&there), &here, sizeof here),
              Status::ok);
    EXPECT_EQ(there, source);
    EXPECT_EQ(own().copying, 0u);
}

// A peer can write into the tables of this process, so they are believed no more than those of
// others.
TEST_F(ShmSelf, transfer__to_an_own_window_that_somebody_has_damaged) {
    constexpr std::uint64_t kBase = nhi::kPairLimit;
    const std::uint64_t bytes = party_settings().communication_bytes;
    own().window[3] = {1, kBase, bytes, 0};
    EXPECT_EQ(self.put(nhi::kSelf, kBase + bytes - 8, 7), Status::ok);
    own().window[3] = {3, kBase, bytes + 8, 0};
    EXPECT_EQ(self.put(nhi::kSelf, kBase, 7), Status::invalid);
    own().window[3] = {5, kBase, bytes, 8};
    EXPECT_EQ(self.put(nhi::kSelf, kBase, 7), Status::invalid);
}

// Without a barrier of the whole system a sender has to make a fence, to whomever it sends.
TEST(ShmSelfFence, link__has_no_block_where_there_is_no_barrier) {
    HandClock clock;
    Party self(party_settings(), {.barrier = Barrier::none, .clock = &clock});
    EXPECT_EQ(self.device->network().ordering(), nhi::Ordering::by_all);
    EXPECT_EQ(self.device->network().link(nhi::kSelf).block, nullptr);
    EXPECT_TRUE(self.device->network().link(nhi::kSelf).mapped);
    OddHost host;
    const Shown shown(host.card);
    const nhi::PeerId id = self.meet(host.card);
    const host::Descriptor link = host.accept();
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    for (unsigned i = 0; i < 40; ++i) self.turn();
    ASSERT_TRUE(say(link, shown.hello, shown.files()));
    for (unsigned i = 0; i < 40; ++i) self.turn();
    ASSERT_EQ(self.attached.size(), 1u);
    EXPECT_EQ(self.device->network().link(id).block, nullptr) << "it wants none itself";
    EXPECT_TRUE(self.device->network().link(id).mapped);
}

// A child of fork() has none of it, whatever it does with its copies of the objects.
TEST_F(ShmSelf, memory__is_not_that_of_a_child) {
    Party other(party_settings(), {.clock = &clock});
    const nhi::PeerId id = self.meet(other.device->card());
    ASSERT_TRUE(self.until([&] { return other.turn(), !self.attached.empty(); }));
    const std::byte* const hidden[] = {
        self.device->block(nhi::kSelf).data(), self.device->block(id).data(),
        network().map(id, nhi::LcsAddress{0}, 8), reinterpret_cast<const std::byte*>(&own())};
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    for (const std::byte* const place : hidden) {
        EXPECT_EQ(write(pipes[1], place, 8), 8);
        EXPECT_EQ(Child([&] {
                      return write(pipes[1], place, 8) < 0 && errno == EFAULT ? 0 : 1;
                  }).result(),
                  0)
            << place - reinterpret_cast<const std::byte*>(&own());
    }
    close(pipes[0]);
    close(pipes[1]);
}

TEST_F(ShmSelf, open__without_memory_for_its_own_block_says_so) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "what the sanitizer needs for itself is more than this limit";
#endif
    EXPECT_EQ(Child([&] {
                  const rlimit little{1u << 31, 1u << 31};
                  if (setrlimit(RLIMIT_DATA, &little) != 0) return 1;
                  ddi::Settings settings = party_settings();
                  settings.block_bytes = nhi::kPairLimit;
                  const Party greedy(settings, {.clock = &clock});
                  if (greedy.device) return 2;
                  return greedy.error.find("cannot map") != std::string::npos ? 0 : 3;
              }).result(),
              0);
}

TEST_F(ShmSelf, memory__of_a_process_alone) {
    const MemoryUse use = self.device->memory();
    EXPECT_EQ(use.shared, page_round(kSharedHeaderBytes + party_settings().communication_bytes));
    EXPECT_EQ(use.shared_peers, 0u);
    EXPECT_EQ(use.mapped, 0u);
    EXPECT_GE(use.fixed, sizeof(ConnectionManager) + page_round(1)) << "with the guard's page";
    EXPECT_LT(use.fixed, sizeof(ConnectionManager) + 16 * page_round(1));
}

TEST_F(ShmSelf, memory__that_comes_later_is_not_there_yet) {
    if (!Region::provides()) GTEST_SKIP() << "needs Linux 5.14";
    ddi::Settings settings = party_settings();
    settings.communication_later = true;
    settings.block_first_bytes = 4096;
    Party later(settings, {.clock = &clock});
    EXPECT_EQ(later.device->memory().shared, page_round(kSharedHeaderBytes));
    OddHost host;
    later.meet(host.card);
    EXPECT_EQ(later.device->memory().shared_peers, page_round(4096));
    EXPECT_EQ(later.device->memory().shared, page_round(kSharedHeaderBytes) + page_round(4096));
}

TEST_F(ShmSelf, memory__grows_with_those_who_are_known_and_those_who_are_met) {
    const MemoryUse before = self.device->memory();
    OddHost host;
    ddi::Card card = host.card;
    nhi::PeerId id = 0;
    for (unsigned i = 0; i < 100; ++i, ++card.incarnation, ++card.port) {
        ASSERT_EQ(self.device->add_peer(card, &id), Status::ok);
    }
    const MemoryUse known = self.device->memory();
    EXPECT_GE(known.known, before.known + 100 * sizeof(Entry));
    EXPECT_LT(known.known, 1u << 20);
    EXPECT_EQ(known.connected, before.connected);
    self.meet(host.card);
    const MemoryUse met = self.device->memory();
    const std::size_t block = page_round(party_settings().block_bytes);
    EXPECT_EQ(met.shared_peers, block);
    EXPECT_EQ(met.shared, before.shared + block);
    EXPECT_GE(met.connected, before.connected + sizeof(Peer) + 16 * sizeof(ddi::Card))
        << "with a table of links";
    EXPECT_LT(met.connected, 1u << 20);
    OddHost another(4712);
    self.meet(another.card);
    EXPECT_EQ(self.device->memory().connected, met.connected + sizeof(Peer));
}

/// The mappings of this process whose name has `name` in it.
std::size_t mappings(const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find(name) != line.npos;
    return count;
}

TEST_F(ShmSelf, memory__for_one_who_was_never_met_is_given_back) {
    const MemoryUse before = self.device->memory();
    const std::size_t blocks = mappings("fci-block"), descriptors = open_descriptors();
    {
        OddHost host;
        self.meet(host.card);
        EXPECT_EQ(mappings("fci-block"), blocks + 1);
        const host::Descriptor link = host.accept();
        ASSERT_TRUE(say(link, make_refusal(party_settings(), Objection::job)));
        for (unsigned i = 0; i < 40; ++i) self.turn();
    }
    ASSERT_EQ(self.lost.size(), 1u);
    EXPECT_EQ(self.device->memory().shared_peers, 0u);
    EXPECT_EQ(self.device->memory().shared, before.shared);
    EXPECT_EQ(network().map(1, nhi::LcsAddress{nhi::kPairLimit}, 8), nullptr);
    EXPECT_TRUE(self.device->block(1).empty());
    EXPECT_EQ(self.device->connect(1), Status::lost);
    EXPECT_EQ(mappings("fci-block"), blocks);
    EXPECT_EQ(open_descriptors(), descriptors);
}

}  // namespace
}  // namespace fci::shm
