// SPDX-License-Identifier: BSD-3-Clause
// Streams: how long each part of a message is, what it says, and what of it a receive takes.
#include "fci_core/mp/move/streams.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

constexpr std::uint64_t kPiece = gcs::Layout::kPieceBytes;

/// A message of the process for the forger, which asks for it and hears all parts of it.
struct Heard : Forger {
    Heard(const sim::WorldOptions& options, const Limits& limits)
        : Forger(kEnhancedMixed, options, limits) {}

    void ask(std::span<std::byte> from, std::uint64_t wanted, std::uint32_t piece_bytes) {
        const iovec range{from.data(), from.size()};
        EXPECT_EQ(mp.send({there, 0, 0, 7, 0, {&range, 1}}, recorder.on(1), nullptr), kAccepted);
        const std::uint32_t send = unpack<AnnounceRecord>(hear()).send;
        say(Kind::clear_to_send,
            ClearToSendRecord{send, kReceive, 0, wanted, piece_bytes, 0, 0, 0});
        while (!world.idle()) turns(1);
        while (in.ready()) {
            const gcs::Line line = in.take();
            const Control control = Control::of(line);
            EXPECT_EQ(control.kind, Kind::piece);
            EXPECT_EQ(line.word[0], kReceive);
            lengths.push_back(control.bytes);
            is_in_pool.push_back((control.flags & kInPool) != 0);
            EXPECT_NE((control.flags & kInPool) != 0, (control.flags & kInRing) != 0);
            if ((control.flags & kInRing) != 0) {
                const std::byte* const at = in.ring(line, control.bytes);
                ASSERT_NE(at, nullptr);
                whole.insert(whole.end(), at, at + control.bytes);
            }
        }
    }
    static constexpr std::uint32_t kReceive = 4711;
    std::vector<std::uint64_t> lengths;
    std::vector<bool> is_in_pool;
    std::vector<std::byte> whole;
};

Limits wide_limits(std::uint64_t pieces = 64) {
    Limits limits = Forger::limits(pieces);
    limits.layout.slots = 256;
    limits.layout.ring_bytes = 512 * 1024;
    limits.lend_after.fill(Limits::kNever);
    return limits;
}

TEST(streams, pieces__in_the_ring_as_long_as_was_asked_for_and_the_rest) {
    Heard f({}, wide_limits());
    auto from = pattern(50'000);
    f.ask(from, 45'001, 10'000);
    EXPECT_EQ(f.lengths, (std::vector<std::uint64_t>{10'000, 10'000, 10'000, 10'000, 5'001}));
    EXPECT_TRUE(std::equal(f.whole.begin(), f.whole.end(), from.begin()));
    EXPECT_EQ(f.recorder.error(1), kSuccess);
    EXPECT_EQ(f.recorder.outcomes[1].received, from.size()) << "of a send: its length";
}

TEST(streams, pieces__in_the_ring_are_no_longer_than_the_receiver_takes) {
    Heard f({}, wide_limits());
    auto from = pattern(100'000);
    f.ask(from, from.size(), 100'000);
    EXPECT_EQ(f.lengths, (std::vector<std::uint64_t>{60 * 1024, 100'000 - 60 * 1024}));
    EXPECT_EQ(f.whole, from);
    Limits limits = wide_limits();
    limits.layout.ring_bytes = 64 * 1024;
    Heard small({}, limits);
    small.ask(from, 20'000, 100'000);
    EXPECT_EQ(small.lengths, (std::vector<std::uint64_t>{8192, 8192, 20'000 - 2 * 8192}));
}

// The first ones are short, so that their receiver begins early; of long messages all are longer.
TEST(streams, pieces__in_the_pool_of_short_and_of_long_messages) {
    for (const std::uint64_t length : {512 * 1024 - 1, 512 * 1024}) {
        Heard f({.mapped = true}, wide_limits(256));
        auto from = pattern(length);
        f.ask(from, length, 4096);
        const std::uint64_t each =
            length < 512 * 1024 ? kPiece : kPiece * gcs::Layout::kPiecesOfRequest;
        const std::uint64_t share = Heard::limits(256).layout.pool_share() * kPiece;
        const std::uint64_t most = std::min(length, share);
        ASSERT_EQ(f.lengths.size(), (most + each - 1) / each);
        EXPECT_EQ(f.lengths.front(), each);
        EXPECT_EQ(std::accumulate(f.lengths.begin(), f.lengths.end(), std::uint64_t{0}), most);
        EXPECT_EQ(std::ranges::count(f.is_in_pool, false), 0);
        EXPECT_EQ(f.mp.engine().counters.pool_bytes, most);
    }
}

/// Whether a piece of so many bytes is taken, of a message of `length` of which `moved` are there.
bool is_taken(const Limits& limits, std::uint64_t length, std::uint64_t moved,
              std::uint16_t bytes) {
    Forger f(kEnhancedMixed, {.mapped = true}, limits);
    const std::uint32_t receive = f.asked(length);
    for (; moved > 0; moved -= std::min<std::uint64_t>(moved, 4096)) {
        f.say_with(Kind::piece, HandleRecord{receive}, kInRing,
                   static_cast<std::uint16_t>(std::min<std::uint64_t>(moved, 4096)));
    }
    f.say_with(Kind::piece, HandleRecord{receive}, kInRing, bytes);
    return !f.gave_up();
}

TEST(streams, piece__in_the_ring_at_its_edges) {
    Limits small = Forger::limits();  // whose rings of 64 KiB hold eight
    EXPECT_TRUE(is_taken(small, 20'000, 0, 8192));
    EXPECT_FALSE(is_taken(small, 20'000, 0, 8193));
    EXPECT_TRUE(is_taken(small, 9000, 8192, 808));
    EXPECT_FALSE(is_taken(small, 9000, 8192, 809));
    EXPECT_TRUE(is_taken(wide_limits(), 65'000, 0, 60 * 1024));
    EXPECT_FALSE(is_taken(wide_limits(), 65'000, 0, 60 * 1024 + 1));
}

TEST(streams, piece__of_a_message_that_goes_another_way) {
    Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true});
    f.mp.engine().peers[f.there].path.set_policy(CopyPath::Policy::shared);
    const auto address = reinterpret_cast<std::uint64_t>(f.data.data());
    const std::uint32_t receive = f.posted(7, 100'000, kAnySource);
    const gcs::Line said[] = {
        pack(Control{Kind::announce, 0, 0}, AnnounceRecord{7, 0, 100'000, address, 3, 0, 0}),
        pack(Control{Kind::piece, kInPool, 10}, PieceRecord{receive, 0})};
    for (const gcs::Line& line : said) EXPECT_EQ(f.out.put(f.bad->network(), line), Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
    f.turns();
    EXPECT_TRUE(f.gave_up());
}

TEST(streams, piece__of_nothing_changes_nothing) {
    Forger f;
    const std::uint32_t receive = f.asked(5000);
    f.say_with(Kind::piece, HandleRecord{receive}, kInRing, 2500);
    f.say_with(Kind::piece, HandleRecord{receive}, kInRing, 2500);
    EXPECT_EQ(f.recorder.error(2), kSuccess);
    EXPECT_EQ(f.recorder.outcomes[2].received, 5000u);
    for (const std::size_t half : {0, 2500}) {
        EXPECT_EQ(std::memcmp(f.to.data() + half, f.data.data(), 2500), 0);
    }
    EXPECT_EQ(f.to[5000], std::byte{0});
    EXPECT_EQ(f.mp.engine().counters.ring_bytes, 5000u);
}

// --- where the data of a pool goes ---

/// How many of `messages` of that length, each into a buffer that was not received into before or
/// always into the same one, were copied past the cache.
std::uint64_t past_cache(std::size_t bytes, unsigned messages, bool same, bool in_ranges = false) {
    Limits limits = small_limits();
    limits.layout.pool_bytes = 64 * kPiece;
    limits.copy = CopyPath::Policy::ring;
    limits.lend_after.fill(Limits::kNever);
    Pair p(kEnhancedMixed, {.mapped = true}, limits);
    p.attach();
    auto data = pattern(bytes);
    std::vector<std::vector<std::byte>> to(same ? 1 : messages, std::vector<std::byte>(bytes));
    for (unsigned i = 0; i < messages; ++i) {
        std::vector<std::byte>& into = to[same ? 0 : i];
        std::ranges::fill(into, std::byte{0});
        const iovec ranges[] = {{into.data(), bytes / 2},
                                {into.data() + bytes / 2, bytes - bytes / 2}};
        const iovec whole{into.data(), bytes};
        Outcome outcome{};
        EXPECT_EQ(p.ends[1]->receive({p.there[1], 0, 7, 0},
                                     in_ranges ? std::span<const iovec>(ranges)
                                               : std::span<const iovec>(&whole, 1),
                                     p.recorder.on(static_cast<int>(i)), nullptr, &outcome),
                  kAccepted);
        p.send(0, 0, 7, data, 1000 + static_cast<int>(i));
        p.settle();
        EXPECT_EQ(into, data);
    }
    EXPECT_EQ(p.ends[1]->engine().counters.past_cache_bytes % bytes, 0u);
    return p.ends[1]->engine().counters.past_cache_bytes / bytes;
}

TEST(streams, landing__long_messages_try_all_ways_where_memory_is_cold) {
    constexpr unsigned kAllTrials = 12;  // of three ways
    EXPECT_EQ(past_cache(ColdLanding::kLeast, kAllTrials, false), 4u);
    EXPECT_EQ(past_cache(ColdLanding::kLeast - 1, kAllTrials, false), 0u);
    EXPECT_EQ(past_cache(ColdLanding::kLeast, kAllTrials, true), 0u) << "it is warm";
    EXPECT_EQ(past_cache(ColdLanding::kLeast, kAllTrials, false, true), 0u)
        << "the bounce is copied again";
}

// --- data, from buffer to buffer ---

// The last part of each message alone wakes its receiver.
TEST(streams, data__raise_one_event_for_a_message_of_several_parts) {
    Pair p(kEnhancedMixed, direct_options());
    p.attach();
    auto data = pattern(2 * nhi::Data::kMost + 1);
    std::vector<std::byte> to(data.size());
    p.receive(1, 5, to, 1);
    p.settle();
    nhi::NetworkInterface& network = p.devices[1]->network();
    ASSERT_EQ(network.configure_event(gcs::kWakeEvent, {.flag = true, .interrupt = false}),
              Status::ok);
    const std::uint32_t before = network.event_count(gcs::kWakeEvent);
    p.send(0, 0, 5, data, 2);
    p.settle();
    EXPECT_EQ(to, data);
    EXPECT_EQ(network.event_count(gcs::kWakeEvent) - before, 2u) << "the announcement, and the end";
    EXPECT_EQ(p.ends[0]->engine().counters.direct_bytes, data.size());
}

// Two messages to one peer: the second one's data do not overtake the first's.
TEST(streams, data__of_one_message_after_the_other) {
    Pair p(kEnhancedMixed, direct_options());
    p.attach();
    auto first = pattern(3 * nhi::Data::kMost, 1), second = pattern(kPushMost + 1, 2);
    std::vector<std::byte> to[2] = {std::vector<std::byte>(first.size()),
                                    std::vector<std::byte>(second.size())};
    p.receive(1, 1, to[0], 1);
    p.receive(1, 2, to[1], 2);
    p.settle();
    p.send(0, 0, 1, first, 11);
    p.send(0, 0, 2, second, 12);
    for (Limit limit("the second"); limit.holds() && !p.recorder.has(2);) p.both(1);
    EXPECT_TRUE(p.recorder.has(1)) << "the first was overtaken";
    p.settle();
    EXPECT_EQ(to[0], first);
    EXPECT_EQ(to[1], second);
}

}  // namespace
}  // namespace fci::mp::test
