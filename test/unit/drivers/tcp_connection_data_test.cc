// SPDX-License-Identifier: BSD-3-Clause
// A connection's writes of data, which it borrows, and of all that is before and behind them.
#include "test/unit/drivers/tcp_connection_out.h"
#include "test/unit/seed.h"

namespace fci::tcp::test {
namespace {

TEST_F(TcpConnectionOut, flush__of_a_stream_that_breaks_leaves_nothing) {
    stream.room = 0;
    send_data(1000);
    write(transfer_of(8));
    ASSERT_TRUE(connection.borrows());
    stream.refusal = EPIPE;
    EXPECT_TRUE(connection.flush());
    EXPECT_FALSE(connection.has_waiting());
    EXPECT_FALSE(connection.is_refused());
    EXPECT_FALSE(connection.borrows()) << "they are touched no more";
    EXPECT_FALSE(connection.has_taken_data()) << "and nobody has them";
}

TEST_F(TcpConnectionOut, data__are_borrowed_until_the_system_has_them) {
    stream.room = kDataHeads + 100;
    send_data(1000, 6);
    EXPECT_TRUE(connection.borrows());
    EXPECT_TRUE(connection.has_waiting());
    EXPECT_FALSE(connection.has_taken_data());
    EXPECT_TRUE(connection.is_refused());
    EXPECT_EQ(counters.network_full, 1u);
    EXPECT_FALSE(connection.fits(transfer_of(kWaitingMost)));
    std::fill(memory.begin() + 100, memory.end(), std::byte{6});
    stream.room = SIZE_MAX;
    EXPECT_TRUE(connection.flush());
    EXPECT_FALSE(connection.borrows());
    EXPECT_TRUE(connection.has_taken_data());
    ASSERT_EQ(stream.sent.size(), kDataHeads + 1000);
    EXPECT_EQ(std::ranges::count(std::span(stream.sent).subspan(kDataHeads), std::byte{6}), 900);
    FrameHead head{};
    std::memcpy(&head, stream.sent.data(), sizeof head);
    EXPECT_EQ(head.kind, FrameKind::data);
    EXPECT_EQ(head.events, 6u);
    nhi::Data told{};
    std::memcpy(&told, stream.sent.data() + sizeof head, sizeof told);
    EXPECT_EQ(told.name, 7u);
    EXPECT_EQ(told.bytes, 1000u);
}

TEST_F(TcpConnectionOut, data__that_are_taken_at_once_are_not_borrowed) {
    send_data(100'000);
    EXPECT_FALSE(connection.borrows());
    EXPECT_TRUE(connection.has_taken_data());
    EXPECT_EQ(counters.network_full, 0u);
    EXPECT_EQ(counters.network_writes, 1u);
    EXPECT_EQ(stream.ranges.back(), 3u);
}

TEST_F(TcpConnectionOut, give_data_back__ends_the_stream_where_any_are_borrowed) {
    connection.give_data_back();
    send_data(1000);
    connection.give_data_back();
    EXPECT_FALSE(stream.is_ended_wholly);
    stream.room = 0;
    send_data(1000);
    connection.give_data_back();
    EXPECT_TRUE(stream.is_ended_wholly);
    EXPECT_FALSE(connection.borrows());
    EXPECT_FALSE(connection.has_taken_data());
    const unsigned before = stream.sends;
    stream.room = SIZE_MAX;
    (void)connection.flush();
    EXPECT_EQ(stream.sends, before) << "nothing more goes there";
}

TEST_F(TcpConnectionOut, keep_data__sends_a_copy_in_their_place) {
    connection.keep_data();
    stream.room = kDataHeads + 100;
    send_data(1000);
    write(transfer_of(8));
    connection.keep_data();
    EXPECT_FALSE(connection.borrows());
    EXPECT_TRUE(connection.has_waiting());
    std::fill(memory.begin(), memory.end(), std::byte{6});
    stream.room = SIZE_MAX;
    EXPECT_TRUE(connection.flush());
    ASSERT_EQ(stream.sent.size(), kDataHeads + 1000 + framed(8));
    const auto* const from = stream.sent.data() + kDataHeads;
    EXPECT_EQ(std::count(from, from + 1000, std::byte{5}), 1000);
    FrameHead head{};
    std::memcpy(&head, from + 1000, sizeof head);
    EXPECT_EQ(head.kind, FrameKind::transfer);
}

/// The bytes that have gone are let go of; then the borrowed ones stand at another place.
TEST_F(TcpConnectionOut, data__behind_much_that_has_gone_and_a_refusal) {
    constexpr std::size_t kRest = 4096;
    write(transfer_of(kWaitingMost + kRest).let_wait());
    stream.room = kWaitingMost;  // of what is in front of them
    send_data(1000);
    write(transfer_of(8));
    EXPECT_EQ(stream.sent.size(), kWaitingMost);
    for (const std::size_t more : {kRest, kHeads + kDataHeads - 1, std::size_t{500}}) {
        stream.room = more;
        EXPECT_FALSE(connection.flush());
        EXPECT_FALSE(connection.flush());
        EXPECT_TRUE(connection.borrows());
    }
    stream.room = SIZE_MAX;
    EXPECT_TRUE(connection.flush());
    const std::size_t data_at = framed(kWaitingMost + kRest);
    ASSERT_EQ(stream.sent.size(), data_at + kDataHeads + 1000 + framed(8));
    FrameHead heads[2];
    std::memcpy(&heads[0], stream.sent.data() + data_at, sizeof heads[0]);
    std::memcpy(&heads[1], stream.sent.data() + data_at + kDataHeads + 1000, sizeof heads[1]);
    EXPECT_EQ(heads[0].kind, FrameKind::data);
    EXPECT_EQ(heads[1].kind, FrameKind::transfer);
    EXPECT_EQ(std::ranges::count(stream.sent, std::byte{5}),
              static_cast<std::ptrdiff_t>(kWaitingMost + kRest + 1000 + 8));
}

/// All that may wait, in any order, and a system that takes what it likes.
TEST(tcp_connection_out, stream__is_all_that_was_written_in_that_order) {
    for (const std::uint64_t seed : seeds(40)) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        HandStreams system;
        const int number = system.add({});
        HandStreams::One& stream = system.at(number);
        Memory nowhere;
        Counters counters;
        Connection connection(system, tcp::Stream(system, number), FrameDecoder(nowhere, kWriter),
                              counters, 10'000'000'000);
        Memory target;
        Buffer buffer;
        target.buffer = &buffer;
        std::vector<std::byte> expected(kBytes), data;
        unsigned transfers = 0;
        std::deque<std::vector<std::byte>> borrowed;
        for (unsigned i = 0; i < 120; ++i) {
            stream.room = prng.chance(40) ? 0 : prng.below(prng.chance(30) ? 120'000 : 300);
            switch (prng.below(6)) {
                case 0:
                    if (connection.borrows() || connection.is_refused()) break;
                    borrowed.push_back(random_bytes(prng, 1 + prng.below(20'000)));
                    connection.reserve_for_data();
                    connection.write(nhi::Data{7, data.size(), borrowed.back().size()},
                                     borrowed.back().data(), 0);
                    data.insert(data.end(), borrowed.back().begin(), borrowed.back().end());
                    break;
                case 1:
                    (void)connection.flush();
                    break;
                case 2:
                    if (prng.chance(90)) break;
                    connection.keep_data();
                    if (!borrowed.empty()) std::ranges::fill(borrowed.back(), std::byte{0});
                    break;
                default: {
                    const auto bytes =
                        random_bytes(prng, prng.below(prng.chance(20) ? 60'000 : 90));
                    const std::uint64_t to = prng.below(kBytes - bytes.size() + 1);
                    nhi::Transfer transfer(kWriter);
                    transfer.put(nhi::LcsAddress{to}, bytes.data(), bytes.size());
                    if (prng.chance(20)) transfer.let_wait();
                    if (!connection.fits(transfer)) break;
                    connection.reserve(transfer);
                    connection.write(transfer, prng.chance(50));
                    std::ranges::copy(bytes, expected.begin() + static_cast<long>(to));
                    ++transfers;
                }
            }
        }
        stream.room = SIZE_MAX;
        EXPECT_TRUE(connection.flush());
        FrameDecoder decoder(target, kWriter);
        ASSERT_TRUE(feed(decoder, stream.sent));
        EXPECT_EQ(target.transfers, transfers);
        EXPECT_EQ(std::memcmp(target.words.data(), expected.data(), kBytes), 0);
        ASSERT_EQ(buffer.filled, data.size());
        EXPECT_TRUE(std::equal(data.begin(), data.end(), buffer.bytes.begin()));
        EXPECT_EQ(counters.network_bytes_sent, stream.sent.size());
    }
}

}  // namespace
}  // namespace fci::tcp::test
