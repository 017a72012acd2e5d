// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: which side begins a long message, when, and by whose word it ends.
#include "fci_core/mp/rendezvous.h"

#include <gtest/gtest.h>

#include <cstring>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

constexpr std::uint64_t kBytes = 100'000;

/// Two hosts, between which data go directly.
struct Far : Forger {
    explicit Far(const Protocol& protocol = kEnhancedMixed) : Forger(protocol, direct_options()) {}

    std::uint64_t direct_bytes() const { return mp.engine().counters.direct_bytes; }
    void ask(std::uint32_t send, std::uint32_t receive, std::uint64_t bytes) {
        const auto path = static_cast<std::uint8_t>(Path::direct);
        say(Kind::clear_to_send, ClearToSendRecord{send, receive, 0, bytes, 4096, 0, path, 0});
    }
    void offer(std::uint32_t receive, std::uint64_t bytes, std::uint32_t seen = 0) {
        const auto path = static_cast<std::uint8_t>(Path::direct);
        say(Kind::offer, OfferRecord{7, 0, 0, bytes, receive, seen, 4096, 0, path, 0});
    }
    bool brings(std::uint64_t name, std::uint64_t offset, std::uint64_t bytes) {
        const std::uint64_t before = world.statistics().dropped;
        EXPECT_EQ(bad->network().data()->send(here, {name, offset, bytes}, data.data() + offset, 0),
                  Status::ok);
        turns();
        return world.statistics().dropped == before;
    }
    void expect_silence() {
        turns();
        EXPECT_FALSE(in.ready());
    }
};

// Where data go directly the receiver may believe that its offer was declined, and ask although
// the message is on its way.
TEST(rendezvous, request__again_for_what_is_on_its_way) {
    Far f;
    const std::uint32_t send = f.announced();
    f.ask(send, 9, kBytes);
    EXPECT_EQ(f.direct_bytes(), kBytes);
    EXPECT_EQ(f.recorder.error(1), kSuccess);
    f.ask(send, 9, kBytes);
    EXPECT_EQ(f.direct_bytes(), kBytes) << "once";
    f.ask(77, 9, kBytes);
    EXPECT_FALSE(f.gave_up());
}

TEST(rendezvous, request__for_more_than_there_is) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, kBytes + 1}) {
        Far f;
        f.ask(f.announced(), 9, bytes);
        EXPECT_TRUE(f.gave_up());
        EXPECT_EQ(f.direct_bytes(), 0u);
        EXPECT_EQ(f.recorder.error(1), kPeerLost);
    }
}

TEST(rendezvous, request__for_a_part_ends_the_whole_send) {
    Far f;
    f.ask(f.announced(), 9, 1);
    EXPECT_EQ(f.direct_bytes(), 1u);
    EXPECT_EQ(f.recorder.error(1), kSuccess);
    EXPECT_EQ(f.mp.engine().orders.used(), 0u);
}

// An offer that crosses the announcement it fits begins it; the request that follows is too late.
TEST(rendezvous, crossing__begins_what_has_bytes_at_both_ends) {
    for (const std::uint64_t room : {std::uint64_t{0}, std::uint64_t{1}, kBytes, 2 * kBytes}) {
        SCOPED_TRACE(room);
        Far f(kMixed);  // which takes notes from the first on
        const std::uint32_t send = f.announced();
        f.offer(9, room);
        EXPECT_EQ(f.direct_bytes(), std::min(room, kBytes));
        EXPECT_EQ(f.recorder.has(1), room != 0);
        if (room == 0) f.say(Kind::taken, HandleRecord{send});
        ASSERT_TRUE(f.recorder.has(1));
        EXPECT_EQ(f.recorder.error(1), kSuccess);
        EXPECT_EQ(f.mp.engine().counters.sent_one_sided, room != 0 ? 1u : 0u);
        EXPECT_FALSE(f.gave_up());
    }
}

TEST(rendezvous, crossing__by_another_way_begins_nothing) {
    Far f(kMixed);
    (void)f.announced();
    const auto path = static_cast<std::uint8_t>(Path::ring);
    f.say(Kind::offer, OfferRecord{7, 0, 0, kBytes, 9, 0, 4096, 0, path, 0});
    f.expect_silence();
    EXPECT_EQ(f.mp.engine().counters.sent_one_sided, 0u);
    EXPECT_FALSE(f.recorder.has(1));
}

// The receiver has seen both, and asks only once it hears that its offer was declined.
TEST(rendezvous, crossing__in_vain_is_asked_for) {
    Far f;
    const std::uint32_t receive = f.posted(7, kBytes, f.there);
    EXPECT_EQ(unpack<OfferRecord>(f.hear()).receive, receive);
    f.say(Kind::announce, AnnounceRecord{7, 0, kBytes, 0, 3, 0, 0});
    f.expect_silence();
    f.say(Kind::decline, HandleRecord{0});
    const gcs::Line line = f.hear();
    EXPECT_EQ(Control::of(line).kind, Kind::clear_to_send);
    EXPECT_EQ(unpack<ClearToSendRecord>(line).send, 3u);
    EXPECT_EQ(unpack<ClearToSendRecord>(line).bytes, kBytes);
    EXPECT_EQ(unpack<ClearToSendRecord>(line).receive, receive);
    f.expect_silence();
    EXPECT_TRUE(f.brings(receive, 0, kBytes));
    EXPECT_EQ(f.recorder.error(2), kSuccess);
    EXPECT_EQ(f.to, f.data);
}

// Of a receive whose offer was declined the sender knows nothing: it is asked at once.
TEST(rendezvous, declined__is_asked_for_as_soon_as_it_is_announced) {
    Far f;
    const std::uint32_t receive = f.posted(7, kBytes, f.there);
    EXPECT_EQ(Control::of(f.hear()).kind, Kind::offer);
    f.say(Kind::decline, HandleRecord{0});
    f.say(Kind::announce, AnnounceRecord{7, 0, kBytes, 0, 3, 0, 0});
    const gcs::Line line = f.hear();
    EXPECT_EQ(Control::of(line).kind, Kind::clear_to_send);
    EXPECT_EQ(unpack<ClearToSendRecord>(line).receive, receive);
    EXPECT_TRUE(f.brings(receive, 0, kBytes));
    EXPECT_EQ(f.recorder.error(2), kSuccess);
}

TEST(rendezvous, direct__not_where_all_is_to_go_by_the_ring) {
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::ring;
    Pair p(kEnhancedMixed, direct_options(), limits);
    p.attach();
    auto data = pattern(kBytes);
    for (const bool early : {true, false}) {
        std::vector<std::byte> to(kBytes);
        if (early) p.receive(1, 7, to, 1);
        p.both(50);
        p.send(0, 0, 7, data, 2);
        p.both(50);
        if (!early) p.receive(1, 7, to, 1);
        p.settle();
        EXPECT_EQ(to, data);
        p.recorder.outcomes.clear();
    }
    EXPECT_EQ(p.ends[0]->engine().counters.direct_bytes, 0u);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_pushed, 0u);
}

TEST(rendezvous, crossing__with_an_announcement_of_nothing_is_taken) {
    Far f;
    f.posted(7, kBytes, f.there);
    (void)f.hear();
    f.say(Kind::announce, AnnounceRecord{7, 0, 0, 0, 3, 0, 0});
    EXPECT_EQ(Control::of(f.hear()).kind, Kind::taken);
    EXPECT_EQ(f.recorder.error(2), kSuccess);
}

// Its data may be there before its announcement; all of them, or the first of them.
TEST(rendezvous, offered__data_before_their_announcement_count) {
    for (const std::uint64_t early : {std::uint64_t{0}, std::uint64_t{1000}, kBytes}) {
        SCOPED_TRACE(early);
        Far f;
        const std::uint32_t receive = f.posted(7, kBytes, f.there);
        (void)f.hear();
        EXPECT_TRUE(early == 0 || f.brings(receive, 0, early));
        EXPECT_FALSE(f.recorder.has(2));
        f.say(Kind::announce, AnnounceRecord{7, 0, kBytes, 0, 3, receive, 0});
        EXPECT_EQ(f.recorder.has(2), early == kBytes);
        EXPECT_TRUE(early == kBytes || f.brings(receive, early, kBytes - early));
        ASSERT_TRUE(f.recorder.has(2));
        EXPECT_EQ(f.recorder.error(2), kSuccess);
        EXPECT_EQ(f.recorder.outcomes[2].received, kBytes);
        EXPECT_EQ(f.to, f.data);
        EXPECT_EQ(f.mp.engine().peers[f.there].data.expected, 0u);
        EXPECT_FALSE(f.gave_up());
    }
}

TEST(rendezvous, offered__data_at_their_edges) {
    Far f;
    const std::uint32_t receive = f.posted(7, kBytes - 10, f.there);
    (void)f.hear();
    EXPECT_FALSE(f.brings(receive, 0, kBytes - 9)) << "more than there is room for";
    EXPECT_TRUE(f.brings(receive, 0, 1000));
    EXPECT_FALSE(f.brings(receive, 0, 1000)) << "again";
    EXPECT_FALSE(f.brings(receive, 1001, 1)) << "with a gap";
    EXPECT_FALSE(f.brings(receive, 1000, kBytes - 1009)) << "more than is left";
    f.say(Kind::announce, AnnounceRecord{7, 0, 5000, 0, 3, receive, 0});
    EXPECT_FALSE(f.brings(receive, 1000, 4001)) << "more than its message has";
    EXPECT_TRUE(f.brings(receive, 1000, 4000));
    EXPECT_EQ(f.recorder.outcomes[2].length, 5000u);
    EXPECT_EQ(f.recorder.outcomes[2].received, 5000u);
    EXPECT_FALSE(f.brings(receive, 5000, 1)) << "of what has ended";
    EXPECT_EQ(std::memcmp(f.to.data(), f.data.data(), 5000), 0);
    EXPECT_EQ(f.to[5000], std::byte{0});
}

// A message that had to be shorter than what was brought is all here.
TEST(rendezvous, offered__message_shorter_than_the_data_that_came_before_it) {
    Far f;
    const std::uint32_t receive = f.posted(7, kBytes, f.there);
    (void)f.hear();
    EXPECT_TRUE(f.brings(receive, 0, 6000));
    f.say(Kind::announce, AnnounceRecord{7, 0, 5000, 0, 3, receive, 0});
    ASSERT_TRUE(f.recorder.has(2));
    EXPECT_EQ(f.recorder.outcomes[2].received, 5000u);
    EXPECT_FALSE(f.gave_up());
}

// The receiver needs nothing of it: told of what was announced, and of nothing else.
TEST(rendezvous, taken__ends_a_send_that_was_announced) {
    Forger f;
    const std::uint32_t send = f.announced();
    f.say(Kind::taken, HandleRecord{send});
    EXPECT_EQ(f.recorder.error(1), kSuccess);
    EXPECT_EQ(f.mp.engine().orders.used(), 0u);
    f.say(Kind::taken, HandleRecord{send});
    EXPECT_FALSE(f.gave_up());
}

// A short message may use up an offer by which both sides would have copied a long one.
TEST(rendezvous, claim__of_an_offer_that_a_short_message_used_up_is_free_again) {
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::shared;
    Pair p(kEnhancedMixed, {.mapped = true, .kernel_copy = true}, limits);
    p.attach();
    auto little = pattern(8);
    std::vector<std::byte> to(kBytes);
    p.receive(1, 7, to, 1);
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
    p.send(0, 0, 7, little, 2);
    p.settle();
    EXPECT_EQ(p.recorder.outcomes[1].length, 8u);
    EXPECT_EQ(p.ends[1]->engine().peers[p.there[1]].claims.take(), 0);
}

// A sender that may not copy holds a piece that it claimed, so `taken` alone does not end it.
TEST(rendezvous, taken__of_a_send_whose_copies_were_refused) {
    const auto taken = [](std::initializer_list<std::uint8_t> all_flags, bool ends) {
        Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true});
        f.world.refuse_copies(0, nhi::NetworkInterface::Direction::write, 1);
        const std::uint32_t send = f.announced();
        const auto path = static_cast<std::uint8_t>(Path::shared);
        const auto address = reinterpret_cast<std::uint64_t>(f.to.data());
        f.say(Kind::clear_to_send, ClearToSendRecord{send, 9, address, kBytes, 65'536, 0, path, 0});
        const gcs::Line refused = f.hear();
        EXPECT_EQ(Control::of(refused).kind, Kind::sent);
        EXPECT_EQ(Control::of(refused).flags, kRefused);
        for (const std::uint8_t flags : all_flags) f.say(Kind::taken, HandleRecord{send}, flags);
        EXPECT_EQ(f.recorder.has(1), ends);
        EXPECT_FALSE(f.gave_up());
    };
    taken({0}, false);
    taken({kAll}, true);
    taken({0, kAll}, true);
}

// Room for the claim words of 63 messages; who finds none is copied by its receiver alone.
TEST(rendezvous, choose_path__without_a_claim_word_the_receiver_copies_alone) {
    Limits limits = Forger::limits();
    limits.layout.slots = 256;
    limits.copy = CopyPath::Policy::shared;
    Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true}, limits);
    const auto address = reinterpret_cast<std::uint64_t>(f.data.data());
    constexpr unsigned kMany = gcs::Layout::kClaims + 1;
    std::vector<std::uint32_t> receives;
    for (unsigned i = 0; i < kMany; ++i) {
        const iovec range{f.to.data(), f.to.size()};
        std::uint32_t handle = 0;
        EXPECT_EQ(f.mp.receive({kAnySource, 0, i, 0}, {&range, 1},
                               f.recorder.on(static_cast<int>(100 + i)), &handle, nullptr),
                  kAccepted);
        receives.push_back(handle);
    }
    std::vector<unsigned> words;
    for (unsigned i = 0; i < kMany; ++i) {  // all of them begin before one ends
        const gcs::Line line =
            pack(Control{Kind::announce, 0, 0}, AnnounceRecord{i, 0, kBytes, address, 3 + i, 0, 0});
        ASSERT_TRUE(f.out.slot_free());
        EXPECT_EQ(f.out.put(f.bad->network(), line), Status::ok);
    }
    while (!f.world.idle()) f.device->network().poll(0);
    for (unsigned i = 0; i < 2; ++i) f.mp.turn();
    while (!f.world.idle()) f.bad->network().poll(0);
    while (f.in.ready()) {
        const gcs::Line line = f.in.take();
        if (Control::of(line).kind != Kind::clear_to_send) continue;
        words.push_back(ClaimWord::index_of(unpack<ClearToSendRecord>(line).claim));
    }
    EXPECT_EQ(words.size(), std::size_t{gcs::Layout::kClaims});
    std::ranges::sort(words);
    EXPECT_EQ(std::ranges::adjacent_find(words), words.end()) << "two messages in one word";
    f.turns(1000);
    for (unsigned i = 0; i < kMany; ++i) {
        ASSERT_TRUE(f.recorder.has(static_cast<int>(100 + i))) << i;
        EXPECT_EQ(f.recorder.error(static_cast<int>(100 + i)), kSuccess);
    }
    EXPECT_EQ(f.to, f.data);
}

}  // namespace
}  // namespace fci::mp::test
