// SPDX-License-Identifier: BSD-3-Clause
// Peek, claim, discard; cancel; sources that are not known yet; multi-receive buffers.
#include <algorithm>

#include "test/provider/support.h"

namespace fci::test {
namespace {

/// Every test runs with contexts that are ours to write into, and without.
class Matching : public Pair, public ::testing::WithParamInterface<std::uint64_t> {
protected:
    static OpenOptions wishes() {
        OpenOptions wishes;
        wishes.mode = GetParam();
        return wishes;
    }
    void begin() { start(wishes()); }

    ssize_t tagged(Side& side, std::uint64_t flags, std::uint64_t tag, fi_context2& context,
                   std::vector<char>* to = nullptr, fi_addr_t from = FI_ADDR_UNSPEC) {
        iovec range{to == nullptr ? nullptr : to->data(), to == nullptr ? 0 : to->size()};
        fi_msg_tagged message{&range, nullptr, to == nullptr ? 0u : 1u, from, tag, 0, &context, 0};
        return fi_trecvmsg(side.ep, &message, flags);
    }
    /// Peeks until the message is there: nothing else is called, so peeking must progress.
    Entry peek_hit(std::uint64_t flags, std::uint64_t tag, fi_context2& context) {
        for (int i = 0; i < 1'000'000; ++i) {
            a->progress();
            EXPECT_EQ(tagged(*b, FI_PEEK | flags, tag, context), 0);
            const auto entry = b->poll();
            if (!entry) {
                ADD_FAILURE() << "a peek has an answer at once";
                return {};
            }
            if (!entry->error) return *entry;
            EXPECT_EQ(entry->error->err, FI_ENOMSG);
        }
        ADD_FAILURE() << "never seen";
        return {};
    }
    void send(const std::vector<char>& data, std::uint64_t tag) {
        insist([&] {
            return fi_tsenddata(a->ep, data.data(), data.size(), nullptr, 31, to_b, tag, nullptr);
        });
    }
};

INSTANTIATE_TEST_SUITE_P(contexts, Matching, ::testing::Values(std::uint64_t{0}, FI_CONTEXT));

TEST_P(Matching, peek__miss_is_an_error_entry) {
    begin();
    fi_context2 context{};
    ASSERT_EQ(tagged(*b, FI_PEEK, 1, context), 0);
    const auto entry = b->poll();
    ASSERT_TRUE(entry && entry->error);
    EXPECT_EQ(entry->error->err, FI_ENOMSG);
    EXPECT_EQ(entry->error->op_context, &context);
}

TEST_P(Matching, peek__tells_all_and_leaves_the_message) {
    begin();
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{1} << 20}) {
        const auto data = pattern(bytes, 1);
        send(data, 0x77);
        fi_context2 context{};
        for (int i = 0; i < 2; ++i) {
            const Entry seen = peek_hit(0, 0x77, context);
            EXPECT_EQ(seen.is.op_context, &context);
            EXPECT_EQ(seen.is.len, bytes);
            EXPECT_EQ(seen.is.tag, 0x77u);
            EXPECT_EQ(seen.is.data, 31u);
            EXPECT_EQ(seen.is.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
            EXPECT_EQ(seen.source, to_a);
        }
        std::vector<char> in(bytes);
        ASSERT_EQ(tagged(*b, 0, 0x77, context, &in), 0);
        next(*b);
        EXPECT_EQ(in, data);
        next(*a);
    }
}

TEST_P(Matching, claim__by_context_alone) {
    begin();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, std::size_t{1} << 20}) {
        const auto first = pattern(bytes, 1), second = pattern(bytes, 2);
        send(first, 5);
        send(second, 5);
        fi_context2 claimed{}, other{};
        EXPECT_EQ(peek_hit(FI_CLAIM, 5, claimed).is.len, bytes);
        // The claimed one is out of the matching: the next receive gets the second.
        std::vector<char> in(bytes);
        ASSERT_EQ(tagged(*b, 0, 5, other, &in), 0);
        EXPECT_EQ(next(*b).is.op_context, &other);
        EXPECT_EQ(in, second);
        // Tag and source of the claim mean nothing.
        ASSERT_EQ(tagged(*b, FI_CLAIM | FI_COMPLETION, 99, claimed, &in, 1), 0);
        const Entry got = next(*b);
        EXPECT_EQ(got.is.op_context, &claimed);
        EXPECT_EQ(got.is.len, bytes);
        EXPECT_EQ(got.is.tag, 5u);
        EXPECT_EQ(in, first);
        EXPECT_EQ(tagged(*b, FI_CLAIM, 5, claimed, &in), -FI_ENOENT) << "only once";
        next(*a);
        next(*a);
    }
}

TEST_P(Matching, discard__frees_message_and_sender) {
    begin();
    const auto data = pattern(1u << 20, 1);
    fi_context2 context{};
    send(data, 1);
    peek_hit(FI_DISCARD, 1, context);
    next(*a);
    send(data, 1);
    peek_hit(FI_CLAIM, 1, context);
    ASSERT_EQ(tagged(*b, FI_CLAIM | FI_DISCARD, 1, context), 0);
    EXPECT_EQ(next(*b).is.op_context, &context);
    next(*a);
    ASSERT_EQ(tagged(*b, FI_PEEK, 1, context), 0);
    EXPECT_TRUE(next(*b).error) << "nothing is left";
}

TEST_P(Matching, cancel__one_entry_then_gone) {
    begin();
    char in[16];
    fi_context2 context{}, never{};
    for (const std::size_t bytes : {sizeof in}) {
        ASSERT_EQ(fi_trecv(b->ep, in, bytes, nullptr, FI_ADDR_UNSPEC, 1, 0, &context), 0);
        ASSERT_EQ(fi_cancel(&b->ep->fid, &context), 0);
        const Entry entry = next(*b);
        ASSERT_TRUE(entry.error);
        EXPECT_EQ(entry.error->err, FI_ECANCELED);
        EXPECT_EQ(entry.error->op_context, &context);
    }
    EXPECT_EQ(fi_cancel(&b->ep->fid, &context), -FI_ENOENT);
    EXPECT_EQ(fi_cancel(&b->ep->fid, &never), -FI_ENOENT);
    insist([&] { return fi_tinject(a->ep, "late", 5, to_b, 1); });
    for (int i = 0; i < 200; ++i) {
        a->progress();
        ASSERT_FALSE(b->poll()) << "a cancelled receive takes nothing";
    }
    ASSERT_EQ(fi_trecv(b->ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &context), 0);
    EXPECT_EQ(next(*b).is.len, 5u);
    EXPECT_EQ(fi_cancel(&b->ep->fid, &context), -FI_ENOENT) << "it is done";
}

// Trap: whichever is first, cancelling or matching, there is one entry and no message is lost.
TEST_P(Matching, cancel__races_with_the_match) {
    begin();
    acquaint();
    unsigned matched = 0, cancelled = 0, expected = 0;
    std::vector<char> large = pattern(100000, 1), in(100000);
    for (unsigned round = 0; round < 300; ++round) {
        const std::size_t bytes = round % 3 == 0 ? large.size() : 8;
        fi_context2 context{};
        ASSERT_EQ(fi_trecv(b->ep, in.data(), in.size(), nullptr, to_a, round, 0, &context), 0);
        for (unsigned i = 0; i < round % 5; ++i) both();
        insist([&] { return fi_tsend(a->ep, large.data(), bytes, nullptr, to_b, round, nullptr); });
        ++expected;
        for (unsigned i = 0; i < round % 7; ++i) a->progress();
        const ssize_t result = fi_cancel(&b->ep->fid, &context);
        ASSERT_TRUE(result == 0 || result == -FI_ENOENT);
        const Entry entry = next(*b);
        EXPECT_EQ(entry.is.op_context, &context);
        if (entry.error) {
            ASSERT_EQ(entry.error->err, FI_ECANCELED);
            ++cancelled;
            ASSERT_EQ(fi_trecv(b->ep, in.data(), in.size(), nullptr, to_a, round, 0, &context), 0);
            EXPECT_EQ(next(*b).is.len, bytes);
        } else {
            EXPECT_EQ(entry.is.len, bytes);
            ++matched;
        }
        EXPECT_FALSE(next(*a).error);
        EXPECT_FALSE(b->poll()) << "exactly one entry";
    }
    EXPECT_EQ(matched + cancelled, expected);
}

// Trap: a sender that is not in the address vector yet is nobody; inserting it gives its waiting
// messages their name, and a directed receive finds them.
TEST_P(Matching, source__named_when_inserted) {
    a = std::make_unique<Side>(wishes());
    b = std::make_unique<Side>(wishes());
    to_b = a->insert(*b);
    for (std::uint64_t tag : {1, 1, 2}) {
        insist([&] { return fi_tsend(a->ep, nullptr, 0, nullptr, to_b, tag, nullptr); });
    }
    fi_context2 any{}, named{};
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, 1, 0, &any), 0);
    EXPECT_EQ(next(*b).source, FI_ADDR_NOTAVAIL);
    Side c(wishes());
    b->insert(c);
    to_a = b->insert(*a);
    EXPECT_EQ(to_a, 1u);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 1, 0, &named), 0);
    EXPECT_EQ(next(*b).source, to_a);
    fi_context2 context{};
    EXPECT_EQ(peek_hit(0, 2, context).source, to_a);
    // Removed again, it is nobody again.
    ASSERT_EQ(fi_av_remove(b->av, &to_a, 1, 0), 0);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, 2, 0, &any), 0);
    EXPECT_EQ(next(*b).source, FI_ADDR_NOTAVAIL);
    EXPECT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 2, 0, &any), -FI_EINVAL);
}

// --- multi-receive buffers ---

class MultiReceive : public Matching {
protected:
    int post(Side& side, std::vector<char>& buffer, fi_context2& context) {
        iovec range{buffer.data(), buffer.size()};
        fi_msg message{&range, nullptr, 1, FI_ADDR_UNSPEC, &context, 0};
        return static_cast<int>(fi_recvmsg(side.ep, &message, FI_MULTI_RECV | FI_COMPLETION));
    }
};

INSTANTIATE_TEST_SUITE_P(contexts, MultiReceive, ::testing::Values(std::uint64_t{0}, FI_CONTEXT));

// Trap: given back with the last message, never before, and never a message outside.
TEST_P(MultiReceive, several_buffers__in_order_until_full) {
    begin();
    std::size_t least = 2048;
    ASSERT_EQ(fi_setopt(&b->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least),
              0);
    std::size_t told = 0, told_bytes = sizeof told;
    ASSERT_EQ(fi_getopt(&b->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &told, &told_bytes),
              0);
    EXPECT_EQ(told, least);
    constexpr std::size_t kBuffers = 3;
    std::vector<std::vector<char>> buffers(kBuffers, std::vector<char>(8192));
    fi_context2 contexts[kBuffers]{};
    for (std::size_t i = 0; i < kBuffers; ++i) ASSERT_EQ(post(*b, buffers[i], contexts[i]), 0);
    std::size_t current = 0, end = 0;
    for (unsigned n = 0; n < 200; ++n) {
        const auto data = pattern((n * 337) % least, n);
        insist([&] { return fi_senddata(a->ep, data.data(), data.size(), nullptr, n, to_b,
                                        nullptr); });
        EXPECT_FALSE(next(*a).error);
        const Entry got = next(*b);
        ASSERT_FALSE(got.error);
        ASSERT_EQ(got.is.op_context, &contexts[current]) << "in the order of posting";
        EXPECT_EQ(got.is.flags & ~FI_MULTI_RECV, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
        ASSERT_EQ(got.is.len, data.size());
        EXPECT_EQ(got.is.data, n);
        const auto* place = static_cast<char*>(got.is.buf);
        auto& buffer = buffers[current];
        ASSERT_GE(place, buffer.data() + end) << "no overlap";
        ASSERT_LE(place + data.size(), buffer.data() + buffer.size());
        EXPECT_TRUE(std::equal(data.begin(), data.end(), place));
        end = static_cast<std::size_t>(place - buffer.data()) + data.size();
        if ((got.is.flags & FI_MULTI_RECV) != 0) {
            EXPECT_GT(end + least + 16, buffer.size()) << "given back too early";
            ASSERT_EQ(post(*b, buffer, contexts[current]), 0);
            current = (current + 1) % kBuffers;
            end = 0;
        }
    }
}

TEST_P(MultiReceive, messages_that_wait__fill_it_at_once) {
    begin();
    for (unsigned n = 0; n < 50; ++n) {
        insist([&] { return fi_inject(a->ep, &n, sizeof n, to_b); });
    }
    std::vector<char> buffer(1u << 20);
    fi_context2 context{};
    ASSERT_EQ(post(*b, buffer, context), 0);
    for (unsigned n = 0; n < 50; ++n) {
        const Entry got = next(*b);
        ASSERT_EQ(got.is.len, sizeof n);
        EXPECT_EQ(std::memcmp(got.is.buf, &n, sizeof n), 0);
        EXPECT_EQ(got.is.flags & FI_MULTI_RECV, 0u);
    }
}

TEST_P(MultiReceive, large_messages__rendezvous_into_it) {
    begin();
    std::vector<char> buffer(4u << 20);
    fi_context2 context{};
    ASSERT_EQ(post(*b, buffer, context), 0);
    const auto data = pattern(1u << 20, 4);
    for (int i = 0; i < 3; ++i) {
        insist([&] { return fi_send(a->ep, data.data(), data.size(), nullptr, to_b, nullptr); });
    }
    for (int i = 0; i < 3; ++i) {
        const Entry got = next(*b);
        ASSERT_EQ(got.is.len, data.size());
        EXPECT_EQ(std::memcmp(got.is.buf, data.data(), data.size()), 0);
    }
}

TEST_P(MultiReceive, plain_receive_behind_it__waits_its_turn) {
    begin();
    std::vector<char> buffer(256);
    char plain[64] = "";
    fi_context2 multi{}, after{}, cancelled{};
    ASSERT_EQ(post(*b, buffer, multi), 0);
    ASSERT_EQ(fi_recv(b->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, &cancelled), 0);
    ASSERT_EQ(fi_recv(b->ep, plain, sizeof plain, nullptr, FI_ADDR_UNSPEC, &after), 0);
    ASSERT_EQ(fi_cancel(&b->ep->fid, &cancelled), 0);
    EXPECT_EQ(next(*b).error.value().err, FI_ECANCELED);
    char data[100] = "x";
    for (int i = 0; i < 3; ++i) {
        insist([&] { return fi_inject(a->ep, data, i < 2 ? 100 : 2, to_b); });
    }
    EXPECT_EQ(next(*b).is.op_context, &multi);
    EXPECT_EQ(next(*b).is.flags & FI_MULTI_RECV, FI_MULTI_RECV);
    const Entry got = next(*b);
    EXPECT_EQ(got.is.op_context, &after);
    EXPECT_EQ(got.is.len, 2u);
    EXPECT_STREQ(plain, "x");
}

TEST_P(MultiReceive, cancel__gives_it_back) {
    begin();
    std::vector<char> buffer(4096);
    fi_context2 context{}, second{};
    ASSERT_EQ(post(*b, buffer, context), 0);
    insist([&] { return fi_inject(a->ep, "1", 2, to_b); });
    EXPECT_EQ(next(*b).is.len, 2u);
    ASSERT_EQ(fi_cancel(&b->ep->fid, &context), 0);
    const Entry entry = next(*b);
    ASSERT_TRUE(entry.error);
    EXPECT_EQ(entry.error->err, FI_ECANCELED);
    EXPECT_EQ(entry.error->op_context, &context);
    EXPECT_EQ(fi_cancel(&b->ep->fid, &context), -FI_ENOENT);
    ASSERT_EQ(post(*b, buffer, second), 0);
    insist([&] { return fi_inject(a->ep, "2", 2, to_b); });
    EXPECT_EQ(next(*b).is.op_context, &second);
}

TEST_P(MultiReceive, too_long__truncated_and_given_back) {
    begin();
    std::vector<char> buffer(128);
    fi_context2 context{};
    ASSERT_EQ(post(*b, buffer, context), 0);
    const auto data = pattern(200, 1);
    insist([&] { return fi_inject(a->ep, data.data(), data.size(), to_b); });
    const Entry entry = next(*b);
    ASSERT_TRUE(entry.error);
    EXPECT_EQ(entry.error->err, FI_ETRUNC);
    EXPECT_EQ(entry.error->olen, 72u);
    const Entry back = next(*b);
    EXPECT_EQ(back.is.flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
    EXPECT_EQ(back.is.len, 0u);
}

TEST_P(MultiReceive, close__while_posted) {
    begin();
    std::vector<std::vector<char>> buffers(8, std::vector<char>(1u << 16));
    fi_context2 contexts[8]{};
    for (int i = 0; i < 8; ++i) ASSERT_EQ(post(*b, buffers[i], contexts[i]), 0);
}

}  // namespace
}  // namespace fci::test
