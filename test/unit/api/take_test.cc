// SPDX-License-Identifier: BSD-3-Clause
// fci_icl_take(): a short message is received at once where nothing else could be meant.
#include <gtest/gtest.h>

#include <cstring>

#include "fci_core/api/icl.h"
#include "test/unit/api/context.h"

namespace fci {
namespace {

constexpr std::uint64_t kJob = 0x4716;
constexpr int kTurnsMost = 10'000'000;

void count(void* user, void*, const fci_icl_status*) { ++*static_cast<int*>(user); }

class Take : public testing::Test {
protected:
    Take() {
        unsigned char card[FCI_ICL_CARD_BYTES];
        fci_icl_card(receiver_.get(), card);
        EXPECT_EQ(fci_icl_add_peer(sender_.get(), card, &to_), FCI_ICL_OK);
        fci_icl_card(sender_.get(), card);
        EXPECT_EQ(fci_icl_add_peer(receiver_.get(), card, &from_), FCI_ICL_OK);
        // From here on they are connected, and nothing else is on the way.
        send(0, "warm up");
        receive_any_way(0);
    }

    void send(std::uint64_t match, const char* text, std::uint32_t space = 0,
              std::uint32_t flags = 0) {
        ASSERT_GE(fci_icl_send_bytes(sender_.get(), to_, space, flags, match, 77, text,
                                     std::strlen(text) + 1, nullptr, nullptr), 0);
    }
    void receive_any_way(std::uint64_t match) {
        int received = 0;
        const fci_icl_completion told{count, &received, nullptr};
        fci_icl_order order = 0;
        fci_icl_status status{};
        if (fci_icl_receive_bytes(receiver_.get(), from_, 0, match, 0, buffer_, sizeof buffer_,
                                  &told, &order, &status) == FCI_ICL_DONE) {
            return;
        }
        for (int turn = 0; received == 0; ++turn) {
            ASSERT_LT(turn, kTurnsMost);
            fci_icl_progress(sender_.get());
            fci_icl_progress(receiver_.get());
        }
    }
    int take(fci_icl_peer source, std::uint64_t match, std::uint64_t ignore = 0,
             std::size_t bytes = sizeof buffer_) {
        return fci_icl_take(receiver_.get(), source, match, ignore, buffer_, bytes, &status_);
    }

    const Context receiver_ = open_context(kJob), sender_ = open_context(kJob);
    fci_icl_peer to_ = 0, from_ = 0;
    char buffer_[48] = {};
    fci_icl_status status_{};
};

TEST_F(Take, message_that_is_here__is_received) {
    for (const fci_icl_peer source : {from_, fci_icl_peer{FCI_ICL_ANY_SOURCE}}) {
        send(0xa2, "hello");
        ASSERT_EQ(take(source, 0x12, 0xf0), FCI_ICL_DONE);
        EXPECT_STREQ(buffer_, "hello");
        EXPECT_EQ(status_.error, FCI_ICL_OK);
        EXPECT_EQ(status_.source, from_);
        EXPECT_EQ(status_.match, 0xa2u);
        EXPECT_EQ(status_.length, 6u);
        EXPECT_EQ(status_.received, 6u);
    }
    EXPECT_EQ(take(from_, 0xa2), FCI_ICL_EAGAIN) << "there is no other";
}

TEST_F(Take, many__come_in_order_and_credit_goes_back) {
    unsigned left = 0;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        send(i, "x");
        if (take(from_, i) == FCI_ICL_DONE) continue;
        ++left;  // to a turn, which has other things to do besides
        receive_any_way(i);
    }
    EXPECT_GT(left, 0u);
    EXPECT_LT(left, 500u);
}

TEST_F(Take, whatever_could_be_meant_otherwise__is_left_to_a_turn) {
    send(7, "other");
    EXPECT_EQ(take(from_, 8), FCI_ICL_EAGAIN) << "another one comes first";
    EXPECT_EQ(take(from_, 7, 0, 3), FCI_ICL_EAGAIN) << "it is longer";
    EXPECT_EQ(take(0, 7), FCI_ICL_EAGAIN) << "it is from somebody else";
    ASSERT_EQ(take(from_, 7), FCI_ICL_DONE);
    send(7, "in another space", 1);
    EXPECT_EQ(take(from_, 7), FCI_ICL_EAGAIN);
}

TEST_F(Take, flags__are_left_to_a_turn) {
    send(7, "with a word", 0, FCI_ICL_IMMEDIATE);
    EXPECT_EQ(take(from_, 7), FCI_ICL_EAGAIN);
    receive_any_way(7);
    send(7, "with an answer", 0, FCI_ICL_SYNCHRONOUS);
    EXPECT_EQ(take(from_, 7), FCI_ICL_EAGAIN);
    receive_any_way(7);
    send(7, "longer than a line, and then some more: in the ring");
    EXPECT_EQ(take(from_, 7), FCI_ICL_EAGAIN);
}

TEST_F(Take, receive_that_was_posted_before__gets_it) {
    char first[16] = {};
    int received = 0;
    ASSERT_NE(fci_icl_post(receiver_.get(), FCI_ICL_ANY_SOURCE, 7, 0, first, sizeof first, count,
                           &received, nullptr), 0u);
    send(7, "first");
    send(7, "second");
    EXPECT_EQ(take(from_, 7), FCI_ICL_EAGAIN);
    receive_any_way(7);
    EXPECT_EQ(received, 1);
    EXPECT_STREQ(first, "first");
    EXPECT_STREQ(buffer_, "second");
}

TEST_F(Take, message_that_waits__comes_first) {
    send(7, "first");
    fci_icl_status status{};
    for (int turn = 0; fci_icl_probe(receiver_.get(), from_, 0, 7, 0, &status, nullptr) !=
                       FCI_ICL_OK; ++turn) {
        ASSERT_LT(turn, kTurnsMost);
        fci_icl_progress(receiver_.get());
    }
    send(7, "second");
    EXPECT_EQ(take(from_, 7), FCI_ICL_EAGAIN);
    receive_any_way(7);
    EXPECT_STREQ(buffer_, "first");
    ASSERT_EQ(take(from_, 7), FCI_ICL_DONE);
    EXPECT_STREQ(buffer_, "second");
}

}  // namespace
}  // namespace fci
