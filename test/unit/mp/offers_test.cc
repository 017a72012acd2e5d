// SPDX-License-Identifier: BSD-3-Clause
// Offers: both sides must come to the same match although they decide apart.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "test/unit/mp/pair.h"

using namespace fci;
using namespace fci::mp;
using namespace fci::mp::test;

namespace {
constexpr std::size_t kLong = 50'000;

sim::WorldOptions with_copy() {
    sim::WorldOptions options;
    options.mapped = options.kernel_copy = true;
    return options;
}

/// Not by the fast path, which is for peers without offers.
int send_the_long_way(Pair& p, std::uint64_t match, std::span<std::byte> data, int number) {
    const iovec range{data.data(), data.size()};
    return p.ends[0]->send({p.there[0], 0, 0, match, 0, {&range, 1}}, p.recorder.on(number),
                           nullptr);
}
}  // namespace

/// Whether both sides copy; and whether the sender writes straight into the receiver's block.
class offers : public ::testing::TestWithParam<std::tuple<bool, bool>> {
protected:
    bool copies() const { return std::get<0>(GetParam()); }
    sim::WorldOptions options() const {
        sim::WorldOptions options = copies() ? with_copy() : sim::WorldOptions{};
        options.mapped = options.mapped || std::get<1>(GetParam());
        options.stores = std::get<1>(GetParam());
        return options;
    }
    Limits limits() const {
        Limits limits = small_limits();
        if (copies()) limits.copy = CopyPath::Policy::shared;  // a pull needs no offer
        return limits;
    }
};
INSTANTIATE_TEST_SUITE_P(paths, offers, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& p) {
                             return std::string(std::get<0>(p.param) ? "copy" : "ring") +
                                    (std::get<1>(p.param) ? "_reached" : "");
                         });

TEST_P(offers, send__finds_the_receive_request_and_starts_at_once) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> to(kLong);
    EXPECT_EQ(p.receive(1, 5, to, 1), kAccepted);
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
    p.both(50);  // the offer travels
    EXPECT_EQ(p.send(0, 0, 5, data, 2), kAccepted);
    p.both();
    ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
    EXPECT_EQ(p.recorder.error(1), kSuccess);
    EXPECT_EQ(to, data);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
    EXPECT_EQ(p.ends[1]->engine().orders.used(), 0u);
}

TEST_P(offers, send__under_way_when_the_offer_was_made_uses_it_up) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    auto first = pattern(100, 1), second = pattern(kLong, 2);
    std::vector<std::byte> a(kLong), b(kLong);
    // The send goes out while the receiver has not seen it; then the offer is made.
    EXPECT_EQ(p.send(0, 0, 5, first, 1), kDone);
    EXPECT_EQ(p.receive(1, 5, a, 2), kAccepted);
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
    p.turns(0, 300);  // only the sender looks: it gets the offer, which is used up already
    EXPECT_EQ(p.send(0, 0, 5, second, 3), kAccepted);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 0u);
    p.both();
    EXPECT_EQ(p.receive(1, 5, b, 4), kAccepted);
    p.both();
    ASSERT_TRUE(p.recorder.has(2) && p.recorder.has(4));
    EXPECT_EQ(p.recorder.outcomes[2].length, first.size());
    EXPECT_EQ(p.recorder.outcomes[4].length, second.size());
    EXPECT_EQ(b, second);
    EXPECT_EQ(p.ends[0]->engine().counters.bad_requests + p.ends[1]->engine().counters.bad_requests,
              0u);
}

TEST_P(offers, send__short_one_uses_the_offer_up_too) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    auto little = pattern(8), big = pattern(kLong, 3);
    std::vector<std::byte> a(kLong), b(kLong);
    p.receive(1, 5, a, 1);
    p.receive(1, 5, b, 2);
    p.both(50);
    EXPECT_EQ(p.send(0, 0, 5, little, 3), kDone);
    EXPECT_EQ(p.send(0, 0, 5, big, 4), kAccepted);
    p.both();
    ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
    EXPECT_EQ(p.recorder.outcomes[1].length, little.size());
    EXPECT_EQ(p.recorder.outcomes[2].length, big.size());
    EXPECT_EQ(b, big);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
}

// A short send is on its way when the offer of the receive that it will get is made. Whether other
// offers were there when it went out makes no difference.
TEST_P(offers, send__under_way_and_looked_up_among_offers_uses_it_up) {
    for (const bool others : {false, true}) {
        SCOPED_TRACE(others);
        Pair p(kEnhancedMixed, options(), limits());
        p.attach();
        auto little = pattern(8), big = pattern(kLong, 3);
        std::vector<std::byte> a(kLong), b(kLong), c(kLong), d(kLong);
        p.receive(1, 4, d, 6);  // an offer that is used: from now on sends are noted
        p.both(50);
        EXPECT_EQ(send_the_long_way(p, 4, big, 7), kAccepted);
        p.both();
        EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
        if (others) p.receive(1, 6, c, 1);
        p.both(50);
        EXPECT_EQ(send_the_long_way(p, 5, little, 2), kDone);
        p.receive(1, 5, a, 3);
        p.turns(0, 300);
        EXPECT_EQ(send_the_long_way(p, 5, big, 4), kAccepted);
        EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
        p.both();
        p.receive(1, 5, b, 5);
        p.both();
        ASSERT_TRUE(p.recorder.has(3) && p.recorder.has(5));
        EXPECT_EQ(p.recorder.outcomes[3].length, little.size());
        EXPECT_EQ(p.recorder.outcomes[5].length, big.size());
        EXPECT_EQ(b, big);
        EXPECT_EQ(p.ends[1]->engine().counters.bad_requests, 0u);
    }
}

// It has used up the first offer; the second one is for the next message, though that was made
// before the receiver had seen the first.
TEST_P(offers, send__that_used_one_offer_does_not_use_up_the_next) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    auto little = pattern(8), big = pattern(kLong, 3);
    std::vector<std::byte> a(kLong), b(kLong);
    p.receive(1, 5, a, 1);
    p.both(50);
    EXPECT_EQ(send_the_long_way(p, 5, little, 2), kDone);
    p.receive(1, 5, b, 3);
    p.turns(0, 300);
    EXPECT_EQ(send_the_long_way(p, 5, big, 4), kAccepted);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
    p.both();
    ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(3));
    EXPECT_EQ(p.recorder.outcomes[1].length, little.size());
    EXPECT_EQ(b, big);
}

TEST_P(offers, receive__behind_a_wildcard_is_not_offered) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    std::vector<std::byte> a(kLong), b(kLong), c(kLong);
    p.receive(1, 5, a, 1, nullptr, true);
    p.receive(1, 5, b, 2);
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 0u);
    p.receive(1, 6, c, 3);  // no message fits both
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
    p.both(50);
    auto one = pattern(kLong, 1), two = pattern(kLong, 2);
    p.send(0, 0, 5, one, 4);
    p.send(0, 0, 5, two, 5);
    p.both();
    ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
    EXPECT_EQ(a, one);
    EXPECT_EQ(b, two);
}

TEST_P(offers, cancel__waits_for_the_sender_and_ends_once) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    std::vector<std::byte> a(kLong);
    std::uint32_t handle = 0;
    p.receive(1, 5, a, 1, &handle);
    p.both(50);
    EXPECT_EQ(p.ends[1]->cancel(handle), kSuccess);
    EXPECT_FALSE(p.recorder.has(1));
    p.both();
    ASSERT_TRUE(p.recorder.has(1));
    EXPECT_EQ(p.recorder.error(1), kCanceled);
    EXPECT_EQ(p.ends[1]->cancel(handle), kNoEntry);
    // The sender does not write into the cancelled buffer any more.
    auto data = pattern(kLong);
    std::vector<std::byte> b(kLong);
    p.send(0, 0, 5, data, 2);
    p.receive(1, 5, b, 3);
    p.both();
    EXPECT_EQ(b, data);
    EXPECT_EQ(a, std::vector<std::byte>(kLong));
}

TEST_P(offers, cancel__loses_against_a_send_that_was_first) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> a(kLong);
    std::uint32_t handle = 0;
    p.receive(1, 5, a, 1, &handle);
    p.turns(0, 100);
    EXPECT_EQ(p.send(0, 0, 5, data, 2), kAccepted);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
    EXPECT_EQ(p.ends[1]->cancel(handle), kSuccess);
    p.both();
    ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
    EXPECT_EQ(p.recorder.error(1), kSuccess);
    EXPECT_EQ(a, data);
}

TEST_P(offers, notes__that_do_not_reach_back_decline) {
    Limits limits = this->limits();
    limits.layout.slots = 256;
    Pair p(kEnhancedMixed, options(), limits);
    p.attach();
    auto tiny = pattern(4), big = pattern(kLong, 9);
    // More sends than notes are under way when the offer is made.
    for (unsigned i = 0; i < Peer::kSentNotes + 10; ++i) {
        ASSERT_EQ(p.send(0, 0, 100 + i, tiny, 1000 + static_cast<int>(i)), kDone);
    }
    std::vector<std::byte> a(kLong), b(kLong);
    p.receive(1, 5, a, 1);
    p.both();
    EXPECT_EQ(p.ends[1]->engine().counters.receives_declined, 1u);
    p.receive(1, 5, b, 2);  // behind one that the sender does not know
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
    p.send(0, 0, 5, big, 3);
    auto other = pattern(kLong, 10);
    p.send(0, 0, 5, other, 4);
    p.both();
    EXPECT_EQ(a, big);
    EXPECT_EQ(b, other);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 0u);
    // The new epoch works.
    std::vector<std::byte> c(kLong);
    p.receive(1, 5, c, 5);
    p.both(50);
    p.send(0, 0, 5, big, 6);
    p.both();
    EXPECT_EQ(c, big);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
}

TEST_P(offers, notes__a_later_offer_of_a_declined_epoch_is_not_used) {
    Limits limits = this->limits();
    limits.layout.slots = 256;
    Pair p(kEnhancedMixed, options(), limits);
    p.attach();
    auto tiny = pattern(4), one = pattern(kLong, 1), two = pattern(kLong, 2);
    for (unsigned i = 0; i < Peer::kSentNotes + 10; ++i) {
        ASSERT_EQ(p.send(0, 0, 100 + i, tiny, 1000 + static_cast<int>(i)), kDone);
    }
    // The first offer will be declined. The second, which the same message fits, is made before
    // the receiver hears of that, and after it has seen all sends: by itself it could be used.
    std::vector<std::byte> a(kLong), b(kLong);
    p.receive(1, 5, a, 1);
    p.turns(1, 3000);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), Peer::kSentNotes + 10u);
    p.receive(1, 5, b, 2);
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 2u);
    p.turns(0, 300);
    EXPECT_EQ(p.send(0, 0, 5, one, 3), kAccepted);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 0u);
    EXPECT_EQ(p.send(0, 0, 5, two, 4), kAccepted);
    p.settle();
    EXPECT_EQ(a, one);
    EXPECT_EQ(b, two);
    EXPECT_EQ(p.ends[1]->engine().counters.bad_requests, 0u);
}

TEST_P(offers, send__longer_than_the_receive_is_cut) {
    Pair p(kEnhancedMixed, options(), limits());
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> a(10'000);
    p.receive(1, 5, a, 1);
    p.both(50);
    p.send(0, 0, 5, data, 2);
    p.both();
    ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
    EXPECT_EQ(p.recorder.error(1), kTruncated);
    EXPECT_EQ(p.recorder.outcomes[1].length, kLong);
    EXPECT_EQ(p.recorder.outcomes[1].received, a.size());
    EXPECT_TRUE(std::equal(a.begin(), a.end(), data.begin()));
    EXPECT_EQ(p.recorder.error(2), kSuccess);
}

TEST(two_sided, receive__is_never_offered) {
    Pair p(kTwoSided);
    p.attach();
    std::vector<std::byte> a(kLong);
    p.receive(1, 5, a, 1);
    p.both();
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 0u);
    auto data = pattern(kLong), little = pattern(4);
    p.send(0, 0, 5, data, 2);
    p.both();
    EXPECT_EQ(a, data);
    p.send(0, 0, 6, little, 3);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_inline, 0u);  // even a short message is asked for
}

TEST(offers_of_a_pull, receive__that_is_best_copied_by_this_side_alone_is_not_offered) {
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::pull;
    Pair p(kEnhancedMixed, with_copy(), limits);
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> to(kLong);
    EXPECT_EQ(p.receive(1, 5, to, 1), kAccepted);
    p.both();
    p.send(0, 0, 5, data, 2);
    p.both();
    EXPECT_EQ(to, data);
    EXPECT_EQ(p.recorder.error(2), kSuccess);
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 0u);
    EXPECT_EQ(p.ends[1]->engine().counters.kernel_bytes, kLong);
    EXPECT_EQ(p.ends[0]->engine().counters.kernel_bytes, 0u);
}
