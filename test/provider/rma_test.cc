// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads of remote memory.
#include "test/provider/remote.h"

namespace fci::test {
namespace {

// Below, at and above where data moves from the header to the message, and from there to a landing.
constexpr std::size_t kLengths[] = {0,    1,    8,     959,   960,     961,     1920,   4095,
                                    4096, 4097, 8192,  8193,  65536,   1u << 20, 9u << 20};
constexpr std::size_t kMargin = 64;

TEST_F(Remote, write__nothing_but_the_range_changes) {
    start();
    for (const std::size_t bytes : kLengths) {
        SCOPED_TRACE(bytes);
        std::vector<char> memory(bytes + 2 * kMargin, 'm');
        const auto data = pattern(bytes, 1);
        Region region(*b, memory.data(), memory.size(), kKey);
        ASSERT_EQ(write(data.data(), bytes, kMargin), 0);
        auto expected = std::vector<char>(memory.size(), 'm');
        std::copy(data.begin(), data.end(), expected.begin() + kMargin);
        EXPECT_EQ(memory, expected);
    }
}

TEST_F(Remote, read__nothing_but_the_range_comes) {
    start();
    for (const std::size_t bytes : kLengths) {
        SCOPED_TRACE(bytes);
        auto memory = pattern(bytes + 2 * kMargin, 2);
        std::vector<char> in(bytes + 1, 'i');
        Region region(*b, memory.data(), memory.size(), kKey);
        ASSERT_EQ(read(in.data(), bytes, kMargin), 0);
        EXPECT_EQ(std::memcmp(in.data(), memory.data() + kMargin, bytes), 0);
        EXPECT_EQ(in.back(), 'i');
    }
}

TEST_F(Remote, vectors__ranges_on_both_sides) {
    start();
    for (const std::size_t bytes : {5u, 1000u, 5000u, 100000u}) {
        SCOPED_TRACE(bytes);
        std::vector<char> first(4 * bytes), second(4 * bytes);
        const iovec there[] = {{first.data(), bytes}, {first.data() + 2 * bytes, 2 * bytes}};
        fid_mr* split = nullptr;
        ASSERT_EQ(fi_mr_regv(b->domain, there, 2, kBoth, 0, kKey, 0, &split, nullptr), 0);
        Region whole(*b, second.data(), second.size(), kKey + 1);
        const auto out = pattern(4 * bytes, 3);
        const auto at = const_cast<char*>(out.data());
        const iovec mine[] = {{at, 1}, {at + 1, 0}, {at + 1, 2 * bytes}, {at + 1 + 2 * bytes,
                                                                         2 * bytes - 1}};
        const fi_rma_iov theirs[] = {{bytes / 2, 2 * bytes, kKey}, {3, 2 * bytes, kKey + 1}};
        fi_msg_rma message{mine, nullptr, 4, to_b, theirs, 2, this, 0};
        ASSERT_EQ(ended([&] { return fi_writemsg(a->ep, &message, FI_COMPLETION); }), 0);
        std::vector<char> joined(first.begin(), first.begin() + static_cast<long>(bytes));
        joined.insert(joined.end(), first.begin() + static_cast<long>(2 * bytes), first.end());
        EXPECT_EQ(std::memcmp(joined.data() + bytes / 2, at, 2 * bytes), 0);
        EXPECT_EQ(std::memcmp(second.data() + 3, at + 2 * bytes, 2 * bytes), 0);

        std::vector<char> in(4 * bytes);
        const iovec back[] = {{in.data(), bytes}, {in.data() + bytes, 3 * bytes}};
        message.msg_iov = back;
        message.iov_count = 2;
        ASSERT_EQ(ended([&] { return fi_readmsg(a->ep, &message, FI_COMPLETION); }), 0);
        EXPECT_EQ(in, out);
        ASSERT_EQ(ended([&] {
            return fi_readv(a->ep, back, nullptr, 2, to_b, 0, kKey + 1, this);
        }), 0);
        EXPECT_EQ(in, second);
        ASSERT_EQ(ended([&] {
            return fi_writev(a->ep, mine, nullptr, 4, to_b, 0, kKey + 1, this);
        }), 0);
        EXPECT_EQ(out, second);
        EXPECT_EQ(fi_close(&split->fid), 0);
    }
}

TEST_F(Remote, refused__with_the_reason_and_nothing_touched) {
    start();
    for (const std::size_t bytes : {8u, 3000u, 100000u}) {
        SCOPED_TRACE(bytes);
        std::vector<char> memory(bytes, 'm'), mine(2 * bytes, 'x');
        Region region(*b, memory.data(), bytes, kKey);
        Region read_only(*b, memory.data(), bytes, kKey + 1, FI_REMOTE_READ);
        Region write_only(*b, memory.data(), bytes, kKey + 2, FI_REMOTE_WRITE);
        Region nobodys(*b, memory.data(), bytes, kKey + 3, FI_READ | FI_WRITE);
        const struct {
            int error;
            std::size_t bytes;
            std::uint64_t place, key;
            bool write;
        } cases[] = {
            {FI_EKEYREJECTED, bytes, 0, kKey - 1, true},
            {FI_EKEYREJECTED, bytes, 0, kKey - 1, false},
            {FI_EKEYREJECTED, bytes, 0, kKey + 3, true},
            {FI_EINVAL, bytes, 1, kKey, true},
            {FI_EINVAL, bytes, 1, kKey, false},
            {FI_EINVAL, bytes + 1, 0, kKey, true},
            {FI_EINVAL, bytes, ~0ull, kKey, true},
            {FI_EINVAL, 0, bytes + 1, kKey, false},
            {FI_EINVAL, bytes, 0 - std::uint64_t{bytes}, kKey, false},
            {FI_EACCES, bytes, 0, kKey + 1, true},
            {FI_EACCES, bytes, 0, kKey + 2, false},
        };
        for (const auto& one : cases) {
            EXPECT_EQ(one.write ? write(mine.data(), one.bytes, one.place, one.key)
                                : read(mine.data(), one.bytes, one.place, one.key),
                      one.error);
        }
        EXPECT_EQ(memory, std::vector<char>(bytes, 'm'));
        EXPECT_EQ(mine, std::vector<char>(2 * bytes, 'x'));
        EXPECT_EQ(write(mine.data(), bytes, 0), 0) << "the connection stays usable";
        region.close();
        EXPECT_EQ(write(mine.data(), bytes, 0), FI_EKEYREJECTED) << "closed";
    }
    const fi_rma_iov there{0, 8, kKey};
    const iovec mine{&to_b, 7};
    const fi_msg_rma uneven{&mine, nullptr, 1, to_b, &there, 1, nullptr, 0};
    EXPECT_EQ(fi_writemsg(a->ep, &uneven, 0), -FI_EINVAL);
    EXPECT_EQ(fi_writemsg(a->ep, &uneven, FI_FENCE), -FI_EBADFLAGS);
    EXPECT_EQ(fi_write(a->ep, &to_b, 8, nullptr, 99, 0, kKey, nullptr), -FI_EINVAL);
}

TEST_F(Remote, refused__by_an_endpoint_without_the_capability) {
    OpenOptions messages_only;
    Pair::start(remote_wishes(), messages_only);
    char byte = 0;
    EXPECT_EQ(write(&byte, 1, 0), FI_EOPNOTSUPP);
    EXPECT_EQ(fi_write(b->ep, &byte, 1, nullptr, to_a, 0, kKey, nullptr), -FI_ENOSYS);
}

TEST_F(Remote, remote_data__reported_without_a_receive) {
    start();
    for (const std::size_t bytes : {0u, 8u, 3000u, 100000u}) {
        SCOPED_TRACE(bytes);
        std::vector<char> memory(bytes);
        const auto data = pattern(bytes, 4);
        Region region(*b, memory.data(), bytes, kKey);
        for (const bool inject : {false, true}) {
            if (inject && bytes > a->info->tx_attr->inject_size) {
                EXPECT_EQ(fi_inject_writedata(a->ep, data.data(), bytes, 7, to_b, 0, kKey),
                          -FI_EINVAL);
                continue;
            }
            insist([&] {
                return inject
                           ? fi_inject_writedata(a->ep, data.data(), bytes, 7, to_b, 0, kKey)
                           : fi_writedata(a->ep, data.data(), bytes, nullptr, 1ull << 63, to_b, 0,
                                          kKey, this);
            });
            const Entry told = next(*b);
            EXPECT_EQ(told.is.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
            EXPECT_EQ(told.is.data, inject ? 7 : 1ull << 63);
            EXPECT_EQ(told.is.len, bytes);
            EXPECT_EQ(told.source, to_a);
            EXPECT_EQ(memory, data);
            if (!inject) {
                EXPECT_EQ(next(*a).is.op_context, this);
            }
        }
    }
    for (int i = 0; i < 1000; ++i) both();
    EXPECT_FALSE(a->poll() || b->poll());
}

TEST_F(Remote, injected__the_buffer_is_free_at_once) {
    start();
    std::vector<char> memory(4096);
    Region region(*b, memory.data(), memory.size(), kKey);
    for (unsigned round = 0; round < 200; ++round) {
        auto data = pattern(round * 20, round);
        const auto kept = data;
        insist([&] { return fi_inject_write(a->ep, data.data(), data.size(), to_b, 0, kKey); });
        std::fill(data.begin(), data.end(), 'x');
        ASSERT_EQ(read(data.data(), data.size(), 0), 0);
        ASSERT_EQ(data, kept);
    }
}

TEST_F(Remote, selective__success_is_silent_and_errors_are_not) {
    OpenOptions wishes = remote_wishes();
    wishes.selective = true;
    start(wishes);
    std::uint64_t memory = 0, data = 5;
    Region region(*b, &memory, sizeof memory, kKey);
    insist([&] { return fi_write(a->ep, &data, 8, nullptr, to_b, 0, kKey, nullptr); });
    const iovec mine{&data, 8};
    const fi_rma_iov there{0, 8, kKey};
    const fi_msg_rma message{&mine, nullptr, 1, to_b, &there, 1, this, 0};
    insist([&] { return fi_writemsg(a->ep, &message, 0); });
    EXPECT_EQ(ended([&] { return fi_writemsg(a->ep, &message, FI_COMPLETION); }), 0);
    EXPECT_EQ(memory, 5u);
    EXPECT_EQ(ended([&] {
        return fi_write(a->ep, &data, 8, nullptr, to_b, 1, kKey, nullptr);
    }), FI_EINVAL);
    EXPECT_EQ(ended([&] { return fi_inject_write(a->ep, &data, 8, to_b, 0, 1); }), FI_EKEYREJECTED);
}

TEST_F(Remote, counters__of_both_sides_and_of_a_region) {
    OpenOptions wishes = remote_wishes();
    wishes.enable = false;
    a = std::make_unique<Side>(wishes);
    b = std::make_unique<Side>(wishes);
    fid_cntr* counters[2][4];
    const std::uint64_t kinds[] = {FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
    for (Side* side : {a.get(), b.get()}) {
        for (int i = 0; i < 4; ++i) {
            fid_cntr*& counter = counters[side == b.get()][i];
            ASSERT_EQ(fi_cntr_open(side->domain, nullptr, &counter, nullptr), 0);
            ASSERT_EQ(fi_ep_bind(side->ep, &counter->fid, kinds[i]), 0);
        }
        ASSERT_EQ(fi_enable(side->ep), 0);
        side->name_bytes = sizeof side->name;
        ASSERT_EQ(fi_getname(&side->ep->fid, side->name, &side->name_bytes), 0);
    }
    to_b = a->insert(*b);
    to_a = b->insert(*a);
    std::vector<char> memory(100000), data(100000);
    Region region(*b, memory.data(), memory.size(), kKey);
    fid_cntr* of_region = nullptr;
    ASSERT_EQ(fi_cntr_open(b->domain, nullptr, &of_region, nullptr), 0);
    ASSERT_EQ(fi_mr_bind(region.mr, &of_region->fid, FI_REMOTE_WRITE), 0);
    EXPECT_EQ(fi_mr_bind(region.mr, &of_region->fid, FI_REMOTE_WRITE), -FI_EINVAL);
    EXPECT_EQ(fi_mr_bind(region.mr, &of_region->fid, FI_SEND), -FI_EBADFLAGS);
    EXPECT_EQ(fi_close(&of_region->fid), -FI_EBUSY);
    for (const std::size_t bytes : {8u, 4096u, 100000u}) {
        EXPECT_EQ(write(data.data(), bytes, 0), 0);
        EXPECT_EQ(read(data.data(), bytes, 0), 0);
        EXPECT_EQ(read(data.data(), bytes, 0), 0);
    }
    EXPECT_EQ(write(data.data(), 8, 0, 1), FI_EKEYREJECTED);
    for (int i = 0; i < 1000; ++i) both();
    const std::uint64_t expected[2][4] = {{6, 3, 0, 0}, {0, 0, 6, 3}};
    for (int side = 0; side < 2; ++side) {
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(fi_cntr_read(counters[side][i]), expected[side][i]) << side << i;
        }
    }
    EXPECT_EQ(fi_cntr_readerr(counters[0][1]), 1u);
    EXPECT_EQ(fi_cntr_wait(of_region, 3, 5000), 0);
    region.close();
    EXPECT_EQ(fi_close(&of_region->fid), 0);
    for (Side* side : {a.get(), b.get()}) {
        EXPECT_EQ(fi_close(&side->ep->fid), 0);
        side->ep = nullptr;
        for (fid_cntr* counter : counters[side == b.get()]) EXPECT_EQ(fi_close(&counter->fid), 0);
    }
}

/// Whatever the lengths, up to what is promised, the last write wins and reads see what was written
/// before them and nothing of what comes after.
TEST_F(Remote, order__writes_and_reads_as_called) {
    start();
    const std::size_t most = a->info->ep_attr->max_order_waw_size;
    ASSERT_EQ(most, a->info->ep_attr->max_order_raw_size);
    ASSERT_EQ(most, a->info->ep_attr->max_order_war_size);
    std::vector<char> memory(most);
    Region region(*b, memory.data(), memory.size(), kKey);
    constexpr int kRounds = 300;
    std::vector<std::vector<char>> in(kRounds);
    std::size_t entries = 0;
    for (int i = 0; i < kRounds; ++i) {
        const std::vector<char> out(most >> i % 7, static_cast<char>(i));
        in[i].resize(most >> i % 5);
        for (const bool reads : {false, true}) {
            insist([&] {
                if (a->poll()) ++entries;
                return reads ? fi_read(a->ep, in[i].data(), in[i].size(), nullptr, to_b, 0, kKey,
                                       nullptr)
                             : fi_inject_write(a->ep, out.data(), out.size(), to_b, 0, kKey);
            });
        }
    }
    ASSERT_TRUE(eventually([&] {
        both();
        while (a->poll()) ++entries;
        return entries == kRounds;
    })) << entries;
    std::vector<char> model(most);
    for (int i = 0; i < kRounds; ++i) {
        std::fill_n(model.begin(), most >> i % 7, static_cast<char>(i));
        ASSERT_EQ(std::memcmp(in[i].data(), model.data(), in[i].size()), 0) << i;
    }
}

TEST_F(Remote, back_pressure__again_and_then_everything) {
    start();
    std::vector<std::uint64_t> memory(20000), data(20000);
    Region region(*b, memory.data(), memory.size() * 8, kKey);
    std::size_t posted = 0, refused = 0, done = 0;
    for (; refused < 100 && posted < data.size(); ++posted) {
        data[posted] = posted + 1;
        ssize_t result = -FI_EAGAIN;
        while (refused < 100 && result == -FI_EAGAIN) {
            result = fi_write(a->ep, &data[posted], 8, nullptr, to_b, posted * 8, kKey, nullptr);
            refused += result == -FI_EAGAIN;
        }
        if (result != 0) break;
    }
    EXPECT_EQ(refused, 100u) << "the target did nothing, so there must be an end";
    EXPECT_GT(posted, 1000u);
    EXPECT_TRUE(eventually([&] {
        both();
        while (a->poll()) ++done;
        return done == posted;
    }));
    for (std::size_t i = 0; i < memory.size(); ++i) {
        ASSERT_EQ(memory[i], i < posted ? i + 1 : 0) << i;
    }
}

TEST_F(Remote, self__as_to_others) {
    start();
    const fi_addr_t self = a->insert(*a);
    for (const std::size_t bytes : kLengths) {
        SCOPED_TRACE(bytes);
        std::vector<char> memory(bytes), in(bytes);
        const auto out = pattern(bytes, 5);
        Region region(*a, memory.data(), bytes, kKey);
        EXPECT_EQ(ended([&] {
            return fi_write(a->ep, out.data(), bytes, nullptr, self, 0, kKey, this);
        }), 0);
        EXPECT_EQ(memory, out);
        EXPECT_EQ(ended([&] {
            return fi_read(a->ep, in.data(), bytes, nullptr, self, 0, kKey, this);
        }), 0);
        EXPECT_EQ(in, out);
    }
}

}  // namespace
}  // namespace fci::test
