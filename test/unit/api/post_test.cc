// SPDX-License-Identifier: BSD-3-Clause
// fci_icl_post(): the fast path of a receive, and when it leaves the receive to others.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/unit/api/context.h"

namespace fci {
namespace {

constexpr std::uint64_t kJob = 0x4715;

struct Seen {
    int times = 0;
    void* owner = nullptr;
    fci_icl_status status{};
};
void done(void* user, void* owner, const fci_icl_status* status) {
    auto& seen = *static_cast<Seen*>(user);
    ++seen.times;
    seen.owner = owner;
    seen.status = *status;
}

class Post : public testing::Test {
protected:
    Post() {
        unsigned char card[FCI_ICL_CARD_BYTES];
        fci_icl_card(receiver_.get(), card);
        EXPECT_EQ(fci_icl_add_peer(sender_.get(), card, &to_), FCI_ICL_OK);
        fci_icl_card(sender_.get(), card);
        EXPECT_EQ(fci_icl_add_peer(receiver_.get(), card, &from_), FCI_ICL_OK);
        // From here on they are connected.
        EXPECT_EQ(post(from_, 0, 0, 8), 0u) << "nobody knows the source yet";
        EXPECT_NE(post_any_way(0), 0u);
        send(0, "warm up");
        turn_until(1);
        seen_ = {};
        std::memset(buffer_, 0, sizeof buffer_);
    }

    fci_icl_order post(fci_icl_peer source, std::uint64_t match, std::uint64_t ignore,
                       std::size_t bytes, fci_icl_done_fn call = done) {
        return fci_icl_post(receiver_.get(), source, match, ignore, buffer_, bytes, call, &seen_,
                            this);
    }
    fci_icl_order post_any_way(std::uint64_t match) {
        const fci_icl_completion told{done, &seen_, this};
        fci_icl_order order = 0;
        EXPECT_EQ(fci_icl_receive_bytes(receiver_.get(), from_, 0, match, 0, buffer_,
                                        sizeof buffer_, &told, &order, nullptr), FCI_ICL_OK);
        return order;
    }
    void send(std::uint64_t match, const char* text) {
        ASSERT_GE(fci_icl_send_bytes(sender_.get(), to_, 0, 0, match, 0, text,
                                     std::strlen(text) + 1, nullptr, nullptr), 0);
    }
    void turn_until(int times) {
        for (int turn = 0; seen_.times < times; ++turn) {
            ASSERT_LT(turn, 10'000'000);
            fci_icl_progress(sender_.get());
            fci_icl_progress(receiver_.get());
        }
    }
    bool waits(std::uint64_t match) {
        fci_icl_status status{};
        return fci_icl_probe(receiver_.get(), FCI_ICL_ANY_SOURCE, 0, match, 0, &status,
                             nullptr) == FCI_ICL_OK;
    }

    const Context receiver_ = open_context(kJob), sender_ = open_context(kJob);
    fci_icl_peer to_ = 0, from_ = 0;
    char buffer_[64] = {};
    Seen seen_;
};

TEST_F(Post, message__comes_to_it) {
    ASSERT_NE(post(from_, 0x12, 0xf0, sizeof buffer_), 0u);
    send(0xa2, "hello");
    turn_until(1);
    EXPECT_STREQ(buffer_, "hello");
    EXPECT_EQ(seen_.owner, this);
    EXPECT_EQ(seen_.status.error, FCI_ICL_OK);
    EXPECT_EQ(seen_.status.source, from_);
    EXPECT_EQ(seen_.status.match, 0xa2u);
    EXPECT_EQ(seen_.status.received, 6u);
}

TEST_F(Post, from_anybody__the_same) {
    ASSERT_NE(post(FCI_ICL_ANY_SOURCE, 7, 0, sizeof buffer_), 0u);
    send(7, "hello");
    turn_until(1);
    EXPECT_EQ(seen_.status.source, from_);
    EXPECT_STREQ(buffer_, "hello");
}

TEST_F(Post, longer_message__fills_it_and_says_so) {
    ASSERT_NE(post(from_, 7, 0, 2), 0u);
    send(7, "hello");
    turn_until(1);
    EXPECT_EQ(seen_.status.error, FCI_ICL_ETRUNC);
    EXPECT_EQ(seen_.status.received, 2u);
    EXPECT_EQ(seen_.status.length, 6u);
    EXPECT_EQ(std::memcmp(buffer_, "he\0", 3), 0);
}

TEST_F(Post, message_that_waits__is_left_to_a_receive_that_looks) {
    send(7, "first");
    for (int turn = 0; !waits(7); ++turn) {
        ASSERT_LT(turn, 10'000'000);
        fci_icl_progress(receiver_.get());
    }
    EXPECT_EQ(post(from_, 7, 0, sizeof buffer_), 0u);
    const fci_icl_completion told{done, &seen_, this};
    fci_icl_status status{};
    EXPECT_EQ(fci_icl_receive_bytes(receiver_.get(), from_, 0, 7, 0, buffer_, sizeof buffer_, &told,
                                    nullptr, &status), FCI_ICL_DONE);
    EXPECT_STREQ(buffer_, "first");
    EXPECT_NE(post(from_, 7, 0, sizeof buffer_), 0u);
    send(7, "second");
    turn_until(1);
    EXPECT_STREQ(buffer_, "second");
    EXPECT_EQ(seen_.times, 1) << "the one that answered 0 was posted all the same";
}

TEST_F(Post, cancel__takes_it_back) {
    const fci_icl_order order = post(from_, 7, 0, sizeof buffer_);
    ASSERT_NE(order, 0u);
    ASSERT_EQ(fci_icl_cancel(receiver_.get(), order), FCI_ICL_OK);
    turn_until(1);
    EXPECT_EQ(seen_.status.error, FCI_ICL_ECANCELED);
}

TEST_F(Post, what_it_cannot__nothing_happens) {
    EXPECT_EQ(post(4711, 7, 0, 8), 0u) << "a source that nobody knows";
    EXPECT_EQ(post(from_, 7, 0, 8, nullptr), 0u) << "nobody to tell";
    struct fci_icl_limits limits{};
    fci_icl_limits(receiver_.get(), &limits);
    std::vector<char> much(limits.offer_bytes);
    EXPECT_EQ(fci_icl_post(receiver_.get(), from_, 7, 0, much.data(), much.size(), done, &seen_,
                           this), 0u) << "a receive that may be offered to its source";
    send(7, "hello");
    for (int turn = 0; !waits(7); ++turn) {
        ASSERT_LT(turn, 10'000'000);
        fci_icl_progress(receiver_.get());
    }
    EXPECT_EQ(seen_.times, 0);
}

}  // namespace
}  // namespace fci
