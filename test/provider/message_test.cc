// SPDX-License-Identifier: BSD-3-Clause
// Sending and receiving: completions, order, truncation, unexpected messages, self, vectors.
#include <algorithm>
#include <numeric>

#include "test/provider/support.h"

namespace fci::test {
namespace {

using Message = Pair;

TEST_F(Message, tagged__what_the_entries_say) {
    start();
    char in[64];
    int rx = 0, tx = 0;
    ASSERT_EQ(fi_trecv(b->ep, in, sizeof in, nullptr, to_a, 0x10, 0x0f, &rx), 0);
    insist([&] { return fi_tsenddata(a->ep, "hello", 6, nullptr, 0x1122334455667788, to_b, 0x17,
                                     &tx); });
    const Entry sent = next(*a), got = next(*b);
    EXPECT_EQ(sent.is.op_context, &tx);
    EXPECT_EQ(sent.is.flags, FI_SEND | FI_TAGGED);
    EXPECT_EQ(got.is.op_context, &rx);
    EXPECT_EQ(got.is.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(got.is.len, 6u);
    EXPECT_EQ(got.is.data, 0x1122334455667788u);
    EXPECT_EQ(got.is.tag, 0x17u) << "the sender's whole tag";
    EXPECT_EQ(got.source, to_a);
    EXPECT_STREQ(in, "hello");
}

TEST_F(Message, untagged__apart_from_tagged) {
    start();
    char tagged[8] = "", plain[8] = "";
    ASSERT_EQ(fi_trecv(b->ep, tagged, 8, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, tagged), 0);
    ASSERT_EQ(fi_recv(b->ep, plain, 8, nullptr, FI_ADDR_UNSPEC, plain), 0);
    insist([&] { return fi_send(a->ep, "plain", 6, nullptr, to_b, nullptr); });
    insist([&] { return fi_tinject(a->ep, "tagged", 7, to_b, 5); });
    EXPECT_EQ(next(*a).is.flags, FI_SEND | FI_MSG);
    bool seen_plain = false, seen_tagged = false;
    for (int i = 0; i < 2; ++i) {
        const Entry got = next(*b);
        if (got.is.op_context == plain) {
            seen_plain = true;
            EXPECT_EQ(got.is.flags, FI_RECV | FI_MSG);
            EXPECT_STREQ(plain, "plain");
        } else {
            seen_tagged = true;
            EXPECT_EQ(got.is.flags, FI_RECV | FI_TAGGED);
            EXPECT_STREQ(tagged, "tagged");
        }
    }
    EXPECT_TRUE(seen_plain && seen_tagged);
    EXPECT_FALSE(a->poll()) << "an inject has no entry";
}

// Trap: a small message must not overtake a large one in matching.
TEST_F(Message, order__kept_across_all_sizes) {
    start();
    const std::size_t sizes[] = {1u << 20, 0, 40, 3u << 20, 8, 6000, 70000, 1, 100000, 4096};
    std::vector<std::vector<char>> out, in;
    unsigned seed = 0;
    for (const std::size_t bytes : sizes) {
        out.push_back(pattern(bytes, ++seed));
        in.emplace_back(4u << 20);
    }
    // Half of the receives are there before, half come after the messages.
    for (std::size_t i = 0; i < 5; ++i) {
        ASSERT_EQ(fi_trecv(b->ep, in[i].data(), in[i].size(), nullptr, FI_ADDR_UNSPEC, 9, 0,
                           in[i].data()), 0);
    }
    for (const auto& data : out) {
        if (data.size() <= 64) {
            insist([&] { return fi_tinject(a->ep, data.data(), data.size(), to_b, 9); });
        } else {
            insist([&] { return fi_tsend(a->ep, data.data(), data.size(), nullptr, to_b, 9,
                                         nullptr); });
        }
    }
    for (int i = 0; i < 100; ++i) both();
    for (std::size_t i = 5; i < in.size(); ++i) {
        ASSERT_EQ(fi_trecv(b->ep, in[i].data(), in[i].size(), nullptr, FI_ADDR_UNSPEC, 9, 0,
                           in[i].data()), 0);
    }
    for (std::size_t n = 0; n < in.size(); ++n) {
        const Entry got = next(*b);
        std::size_t i = 0;
        while (i < in.size() && in[i].data() != got.is.op_context) ++i;
        ASSERT_LT(i, in.size());
        EXPECT_EQ(got.is.len, sizes[i]) << "message " << i;
        EXPECT_TRUE(std::equal(out[i].begin(), out[i].end(), in[i].begin())) << "message " << i;
    }
}

// Trap: the number of unexpected messages is limited by memory only, and a large one that nobody
// wants yet stops nothing.
TEST_F(Message, unexpected__many_and_large) {
    start();
    const auto large = pattern(1u << 20, 1);
    insist([&] { return fi_tsend(a->ep, large.data(), large.size(), nullptr, to_b, 1, nullptr); });
    std::vector<std::uint32_t> values(5000);
    std::iota(values.begin(), values.end(), 1000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        insist([&] { return fi_tsend(a->ep, &values[i], 4, nullptr, to_b, 2, nullptr); });
        if (i % 64 == 0) {
            while (a->poll()) {
            }
        }
    }
    for (const std::uint32_t value : values) {
        std::uint32_t got = 0;
        ASSERT_EQ(fi_trecv(b->ep, &got, sizeof got, nullptr, to_a, 2, 0, nullptr), 0);
        ASSERT_EQ(next(*b).is.len, sizeof got);
        ASSERT_EQ(got, value);
    }
    std::vector<char> in(large.size());
    ASSERT_EQ(fi_trecv(b->ep, in.data(), in.size(), nullptr, to_a, 1, 0, nullptr), 0);
    EXPECT_EQ(next(*b).is.len, large.size());
    EXPECT_EQ(in, large);
}

// Trap: the whole message is consumed, the rest is told, the next one is unharmed.
TEST_F(Message, truncation__an_error_entry_and_on) {
    start();
    for (const std::size_t bytes : {std::size_t{32}, std::size_t{5000}, std::size_t{1} << 20}) {
        SCOPED_TRACE(bytes);
        const auto data = pattern(bytes, 3);
        std::vector<char> in(bytes / 2 + 1, '#');
        ASSERT_EQ(fi_trecv(b->ep, in.data(), bytes / 2, nullptr, FI_ADDR_UNSPEC, 4, 0, &in), 0);
        insist([&] { return fi_tsenddata(a->ep, data.data(), bytes, nullptr, 77, to_b, 4,
                                         nullptr); });
        const Entry got = next(*b);
        ASSERT_TRUE(got.error);
        EXPECT_EQ(got.error->err, FI_ETRUNC);
        EXPECT_EQ(got.error->len, bytes / 2);
        EXPECT_EQ(got.error->olen, bytes - bytes / 2);
        EXPECT_EQ(got.error->tag, 4u);
        EXPECT_EQ(got.error->data, 77u);
        EXPECT_EQ(got.error->op_context, &in);
        EXPECT_EQ(std::memcmp(in.data(), data.data(), bytes / 2), 0);
        EXPECT_EQ(in[bytes / 2], '#') << "nothing beyond the buffer";
        EXPECT_FALSE(next(*a).error);
    }
    acquaint();
}

TEST_F(Message, vectors__gathered_and_scattered) {
    start();
    for (const std::size_t piece : {std::size_t{3}, std::size_t{900}, std::size_t{70001}}) {
        SCOPED_TRACE(piece);
        const auto data = pattern(piece * 40, 5);
        std::vector<iovec> out, in;
        std::vector<char> to(data.size());
        for (std::size_t i = 0; i < 40; ++i) {
            out.push_back({const_cast<char*>(data.data()) + i * piece, piece});
        }
        for (std::size_t i = 0; i < 20; ++i) in.push_back({to.data() + i * 2 * piece, 2 * piece});
        ASSERT_EQ(fi_trecvv(b->ep, in.data(), nullptr, in.size(), to_a, 1, 0, &to), 0);
        insist([&] { return fi_tsendv(a->ep, out.data(), nullptr, out.size(), to_b, 1, nullptr); });
        next(*a);
        EXPECT_EQ(next(*b).is.len, data.size());
        EXPECT_EQ(to, data);
    }
}

TEST_F(Message, message_calls__flags_and_data) {
    start();
    char in[16] = "";
    iovec to{in, sizeof in}, from{const_cast<char*>("abc"), 4};
    fi_msg receive{&to, nullptr, 1, FI_ADDR_UNSPEC, in, 0};
    ASSERT_EQ(fi_recvmsg(b->ep, &receive, FI_COMPLETION), 0);
    fi_msg send{&from, nullptr, 1, to_b, &from, 42};
    insist([&] { return fi_sendmsg(a->ep, &send, FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_INJECT); });
    EXPECT_EQ(next(*a).is.op_context, &from);
    const Entry got = next(*b);
    EXPECT_EQ(got.is.data, 42u);
    EXPECT_STREQ(in, "abc");
    EXPECT_EQ(fi_sendmsg(a->ep, &send, FI_FENCE), -FI_EBADFLAGS) << "not offered";
}

TEST_F(Message, tag_bits__all_64_and_any_ignored) {
    start();
    const std::uint64_t tag = 0xfedcba9876543210;
    int wrong = 0, right = 0;
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, tag ^ (1ull << 63), 0, &wrong),
              0);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, tag ^ (1ull << 63) ^ 1,
                       (1ull << 63) | 1, &right), 0);
    insist([&] { return fi_tsend(a->ep, nullptr, 0, nullptr, to_b, tag, nullptr); });
    const Entry got = next(*b);
    EXPECT_EQ(got.is.op_context, &right);
    EXPECT_EQ(got.is.tag, tag);
}

// Trap: to oneself, of all lengths, posted before and after.
TEST_F(Message, self__all_lengths) {
    start();
    const fi_addr_t self = a->insert(*a);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{5000},
                                    std::size_t{2} << 20}) {
        for (const bool before : {false, true}) {
            SCOPED_TRACE(std::to_string(bytes) + (before ? " posted" : " unexpected"));
            const auto data = pattern(bytes, 8);
            std::vector<char> in(bytes);
            const auto post = [&] {
                ASSERT_EQ(fi_trecv(a->ep, in.data(), bytes, nullptr, self, 3, 0, &in), 0);
            };
            if (before) post();
            insist([&] { return fi_tsend(a->ep, data.data(), bytes, nullptr, self, 3, nullptr); });
            if (!before) post();
            const Entry first = next(*a), second = next(*a);
            const Entry& got = (first.is.flags & FI_RECV) != 0 ? first : second;
            EXPECT_EQ(got.is.op_context, &in);
            EXPECT_EQ(got.is.len, bytes);
            EXPECT_EQ(got.source, self);
            EXPECT_EQ(in, data);
        }
    }
}

TEST_F(Message, inject__buffer_free_at_once) {
    start();
    acquaint();
    const std::size_t most = a->info->tx_attr->inject_size;
    EXPECT_EQ(fi_tinject(a->ep, nullptr, most + 1, to_b, 1), -FI_EINVAL);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{48}, most}) {
        const auto data = pattern(bytes, 9);
        auto out = data;
        insist([&] { return fi_tinjectdata(a->ep, out.data(), bytes, 6, to_b, 1); });
        std::fill(out.begin(), out.end(), 'x');
        std::vector<char> in(bytes);
        ASSERT_EQ(fi_trecv(b->ep, in.data(), bytes, nullptr, to_a, 1, 0, nullptr), 0);
        const Entry got = next(*b);
        EXPECT_EQ(got.is.len, bytes);
        EXPECT_EQ(got.is.data, 6u);
        EXPECT_EQ(in, data);
    }
}

// Trap: a flood of injects meets -FI_EAGAIN, and progress on both sides clears it.
TEST_F(Message, inject_flood__back_pressure_that_clears) {
    start();
    acquaint();
    constexpr unsigned kMost = 200000;
    unsigned sent = 0;
    bool again = false;
    char data[1024] = "";
    while (sent < kMost && !again) {
        const ssize_t result = fi_tinject(a->ep, data, sizeof data, to_b, 1);
        ASSERT_TRUE(result == 0 || result == -FI_EAGAIN);
        again = result == -FI_EAGAIN;
        sent += !again;
    }
    EXPECT_TRUE(again) << "memory would grow without bound";
    unsigned got = 0;
    ASSERT_TRUE(eventually([&] {
        char in[1024];
        EXPECT_EQ(fi_trecv(b->ep, in, sizeof in, nullptr, to_a, 1, 0, nullptr), 0);
        return eventually([&] {
            a->progress();  // what waits in copies has to be asked for
            return b->poll().has_value();
        }) && ++got == sent;
    }));
    insist([&] { return fi_tinject(a->ep, data, 1, to_b, 1); });
}

// Trap: MPICH sends short messages by injection for MPI_Isend, too, which may not wait for the
// receiver: that may want the last of them first. Held back, they get on when nothing else helps.
TEST_F(Message, inject_flood__gets_on_to_what_the_receiver_wants_first) {
    start();
    acquaint();
    char data[1024] = "", in[1024];
    ASSERT_EQ(fi_trecv(b->ep, in, sizeof in, nullptr, to_a, 2, 0, nullptr), 0);
    unsigned sent = 0;
    const auto one_more = [&] {
        both();
        const bool taken = fi_tinject(a->ep, data, sizeof data, to_b, 1) == 0;
        sent += taken;
        return taken;
    };
    const auto is_held = [&] {
        for (int i = 0; i < 1000; ++i) {
            if (one_more()) return false;
        }
        return true;
    };
    for (int time = 0; time < 2; ++time) {
        ASSERT_TRUE(eventually(is_held)) << "memory would grow without bound";
        ASSERT_TRUE(eventually(one_more)) << "a hang";
    }
    EXPECT_LT(sent, 5000u);
    insist([&] { return fi_tinject(a->ep, "it", 3, to_b, 2); });
    EXPECT_EQ(next(*b).is.len, 3u);
    EXPECT_STREQ(in, "it");
    for (; sent != 0; --sent) {
        ASSERT_EQ(fi_trecv(b->ep, in, sizeof in, nullptr, to_a, 1, 0, nullptr), 0);
        EXPECT_EQ(next(*b).is.len, sizeof in);
    }
}

// Trap: the buffers that a consumer names must come from whom it names.
TEST_F(Message, directed_receive__by_number) {
    start();
    Side c;
    const fi_addr_t c_to_b = c.insert(*b), b_to_c = b->insert(c);
    int from_a = 0, from_c = 0;
    ASSERT_EQ(fi_trecv(b->ep, &from_c, 4, nullptr, b_to_c, 1, 0, &from_c), 0);
    ASSERT_EQ(fi_trecv(b->ep, &from_a, 4, nullptr, to_a, 1, 0, &from_a), 0);
    int one = 1, three = 3;
    insist([&] { return fi_tsend(a->ep, &one, 4, nullptr, to_b, 1, nullptr); });
    insist([&] {
        c.progress();
        return fi_tsend(c.ep, &three, 4, nullptr, c_to_b, 1, nullptr);
    });
    for (int i = 0; i < 2; ++i) {
        const Entry got = b->next([&] { both(); c.progress(); });
        EXPECT_EQ(got.source, got.is.op_context == &from_a ? to_a : b_to_c);
    }
    EXPECT_EQ(from_a, 1);
    EXPECT_EQ(from_c, 3);
}

TEST_F(Message, undirected__source_argument_without_meaning) {
    OpenOptions wishes;
    wishes.caps = FI_MSG;
    start(wishes);
    char in[8];
    ASSERT_EQ(fi_recv(b->ep, in, 8, nullptr, 12345, nullptr), 0);
    insist([&] { return fi_send(a->ep, "x", 1, nullptr, to_b, nullptr); });
    EXPECT_EQ(next(*b).is.len, 1u);
}

// Trap: matching completes later than transmission; both arrive.
TEST_F(Message, completion_levels__all_accepted) {
    start();
    iovec from{const_cast<char*>("data"), 5};
    const std::uint64_t levels[] = {
        0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE,
        FI_MATCH_COMPLETE | FI_INJECT,
    };
    for (const std::uint64_t level : levels) {
        SCOPED_TRACE(level);
        fi_msg_tagged send{&from, nullptr, 1, to_b, 1, 0, &from, 0};
        insist([&] { return fi_tsendmsg(a->ep, &send, level | FI_COMPLETION); });
        if ((level & FI_MATCH_COMPLETE) != 0) {
            for (int i = 0; i < 200; ++i) {
                ASSERT_FALSE(a->poll()) << "not matched yet";
                b->progress();
            }
        }
        char in[8];
        ASSERT_EQ(fi_trecv(b->ep, in, 8, nullptr, to_a, 1, 0, nullptr), 0);
        next(*b);
        EXPECT_EQ(next(*a).is.op_context, &from);
    }
}

TEST_F(Message, bad_destination__refused) {
    start();
    EXPECT_EQ(fi_tsend(a->ep, nullptr, 0, nullptr, 99, 1, nullptr), -FI_EINVAL);
    EXPECT_EQ(fi_tsend(a->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, 1, nullptr), -FI_EINVAL);
    EXPECT_EQ(fi_trecv(a->ep, nullptr, 0, nullptr, 99, 1, 0, nullptr), -FI_EINVAL);
}

}  // namespace
}  // namespace fci::test
