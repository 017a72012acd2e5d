// SPDX-License-Identifier: BSD-3-Clause
// A connection's writes of transfers, whatever of them the system takes, and when.
#include "test/unit/drivers/tcp_connection_out.h"

namespace fci::tcp::test {
namespace {

TEST_F(TcpConnectionOut, write__a_line_alone_is_a_request_and_the_next_one_is_shorter) {
    write(transfer_of(kLineBytes));
    EXPECT_EQ(read_head(), FrameKind::request);
    const std::size_t first = stream.sent.size();
    write(transfer_of(kLineBytes, 128));
    EXPECT_EQ(stream.sent.size() - first, sizeof(RequestHead));
    EXPECT_EQ(counters.network_writes, 2u);
    EXPECT_EQ(counters.network_bytes_sent, stream.sent.size());
    EXPECT_EQ(counters.network_full, 0u);
}

/// Data may follow it, and it is no request then, nor written at once.
TEST_F(TcpConnectionOut, write__what_may_wait_waits) {
    write(transfer_of(kLineBytes).let_wait());
    EXPECT_EQ(stream.sends, 0u);
    EXPECT_TRUE(connection.has_waiting());
    EXPECT_FALSE(connection.is_refused());
    EXPECT_EQ(counters.network_full, 0u);
    write(transfer_of(8));
    EXPECT_EQ(stream.sends, 1u);
    EXPECT_EQ(stream.ranges, std::vector<std::size_t>{1});
    EXPECT_EQ(read_head(), FrameKind::transfer);
    EXPECT_EQ(stream.sent.size(), framed(kLineBytes) + framed(8));
    EXPECT_FALSE(connection.has_waiting());
}

/// One piece of it is cheaper for the system than several; not where much must be copied.
TEST_F(TcpConnectionOut, write__what_is_short_is_one_piece) {
    write(transfer_of(512));
    write(transfer_of(513));
    EXPECT_EQ(stream.ranges, (std::vector<std::size_t>{1, 2}));
    nhi::Transfer two(kWriter);
    two.put(nhi::LcsAddress{0}, memory.data(), 256).put(nhi::LcsAddress{512}, memory.data(), 257);
    write(two);
    EXPECT_EQ(stream.ranges.back(), 3u);
    nhi::Transfer empty(kWriter);
    empty.put(nhi::LcsAddress{0}, nullptr, 0).put(nhi::LcsAddress{512}, memory.data(), 8);
    write(empty);
    EXPECT_EQ(stream.ranges.back(), 1u);
}

TEST_F(TcpConnectionOut, write__what_may_linger_says_so) {
    write(transfer_of(8));
    EXPECT_FALSE(stream.lingered);
    write(transfer_of(8).let_linger());
    EXPECT_TRUE(stream.lingered);
    connection.say(kGoodbye);
    EXPECT_FALSE(stream.lingered);
}

TEST_F(TcpConnectionOut, write__a_burst_is_held_together_until_its_end) {
    write(transfer_of(8));
    EXPECT_EQ(stream.corks, 0u);
    write(transfer_of(8), true);
    write(transfer_of(8), true);
    EXPECT_TRUE(stream.is_corked);
    EXPECT_EQ(stream.corks, 1u);
    connection.push();
    EXPECT_FALSE(stream.is_corked);
    connection.push();
    EXPECT_EQ(stream.corks, 2u);
    write(transfer_of(8), true);
    write(transfer_of(8));
    EXPECT_FALSE(stream.is_corked) << "another one began";
    write(transfer_of(8), true);
    connection.say(kGoodbye);
    EXPECT_FALSE(stream.is_corked) << "a last word waits for nothing";
    EXPECT_TRUE(stream.was_corked) << "and goes with what was held";
    write(transfer_of(8), true);
    send_data(10'000);
    EXPECT_FALSE(stream.is_corked) << "nor do data";
    EXPECT_TRUE(stream.was_corked);
}

TEST_F(TcpConnectionOut, write__what_is_refused_is_kept_and_not_offered_each_time) {
    stream.room = 10;
    write(transfer_of(600));
    EXPECT_EQ(stream.sent.size(), 10u);
    EXPECT_TRUE(connection.is_refused());
    EXPECT_EQ(counters.network_full, 1u);
    EXPECT_EQ(counters.network_bytes_sent, 10u);
    write(transfer_of(8));
    EXPECT_EQ(stream.sends, 1u) << "there is no room";
    EXPECT_EQ(counters.network_full, 2u);
    EXPECT_FALSE(connection.flush());
    EXPECT_EQ(stream.sends, 2u);
    stream.room = SIZE_MAX;
    EXPECT_TRUE(connection.flush());
    EXPECT_FALSE(connection.is_refused());
    EXPECT_FALSE(connection.has_waiting());
    EXPECT_EQ(stream.sent.size(), framed(600) + framed(8));
    EXPECT_TRUE(connection.flush());
    EXPECT_EQ(stream.sends, 3u) << "nothing is left";
    EXPECT_EQ(counters.network_writes, 2u) << "those that brought something";
}

/// Nothing of these is an end.
TEST_F(TcpConnectionOut, write__what_fails_for_now) {
    std::size_t wanted = 0;
    for (const int error : {EAGAIN, EINTR, ENOBUFS, ENOMEM, 0}) {  // 0: it took nothing
        stream.room = 0;
        stream.refusal = error;
        write(transfer_of(8));
        EXPECT_TRUE(connection.is_refused()) << error;
        EXPECT_FALSE(connection.has_arrived()) << error;
        stream.room = SIZE_MAX;
        EXPECT_TRUE(connection.flush());
        EXPECT_EQ(stream.sent.size(), wanted += framed(8)) << error;
    }
}

TEST_F(TcpConnectionOut, write__after_the_stream_broke_goes_nowhere) {
    stream.room = 0;
    stream.refusal = EPIPE;
    write(transfer_of(8));
    EXPECT_TRUE(connection.has_arrived()) << "there is nobody to wait for";
    EXPECT_FALSE(connection.has_waiting());
    EXPECT_EQ(counters.network_full, 0u);
    EXPECT_FALSE(connection.has_taken_data());
    stream.room = SIZE_MAX;
    write(transfer_of(8));
    connection.say(kGoodbye);
    EXPECT_EQ(stream.sends, 1u);
    stream.has_sign = true;
    stream.sign = {true, 100'000'000'000};
    EXPECT_EQ(connection.feel(500'000'000'000), Connection::Beat::idle) << "reading finds out why";
    EXPECT_EQ(connection.feel(600'000'000'000), Connection::Beat::idle);
    EXPECT_FALSE(connection.has_waiting());
}

TEST_F(TcpConnectionOut, fits__so_much_may_wait_and_one_transfer_alone_always) {
    const nhi::Transfer huge = transfer_of(2 * kWaitingMost);
    EXPECT_TRUE(connection.fits(huge));
    stream.room = 0;
    write(transfer_of(1000));
    const std::size_t waits = framed(1000);
    EXPECT_TRUE(connection.fits(transfer_of(kWaitingMost - waits - kHeads)));
    EXPECT_FALSE(connection.fits(transfer_of(kWaitingMost - waits - kHeads + 1)));
    EXPECT_FALSE(connection.fits(huge));
    stream.room = 100;
    EXPECT_FALSE(connection.flush());
    EXPECT_TRUE(connection.fits(transfer_of(kWaitingMost - waits - kHeads + 100)));
    EXPECT_FALSE(connection.fits(transfer_of(kWaitingMost - waits - kHeads + 101)));
    stream.room = SIZE_MAX;
    EXPECT_TRUE(connection.flush());
    EXPECT_TRUE(connection.fits(huge));
}

// --- whether it arrived ---

TEST_F(TcpConnectionOut, has_arrived__when_the_other_system_has_all) {
    EXPECT_TRUE(connection.has_arrived());
    stream.under_way = 1;
    EXPECT_FALSE(connection.has_arrived());
    stream.under_way = 0;
    stream.room = 0;
    write(transfer_of(8));
    EXPECT_FALSE(connection.has_arrived()) << "it waits here";
}

TEST_F(TcpConnectionOut, feel__of_a_host_that_owes_an_answer) {
    using Beat = Connection::Beat;
    constexpr Nanoseconds kSecond = 1'000'000'000;
    EXPECT_EQ(connection.feel(kSecond), Beat::idle) << "nothing is known of it";
    stream.has_sign = true;
    stream.sign = {true, 0};
    stream.under_way = 8;
    EXPECT_EQ(connection.feel(2 * kSecond), Beat::alive);
    stream.sign = {true, 9 * kSecond};
    EXPECT_EQ(connection.feel(11 * kSecond), Beat::alive);
    stream.sign = {true, 10 * kSecond};
    EXPECT_EQ(connection.feel(12 * kSecond), Beat::silent);
    stream.sign = {false, 0};
    stream.under_way = 0;
    EXPECT_EQ(connection.feel(12 * kSecond), Beat::idle);
}

TEST_F(TcpConnectionOut, close__in_a_child_says_nothing) {
    stream.room = 0;
    write(transfer_of(8));
    connection.close();
    EXPECT_FALSE(stream.is_open);
    EXPECT_TRUE(connection.flush());
    EXPECT_EQ(stream.sends, 1u);
    EXPECT_EQ(connection.stream(), -1);
}

}  // namespace
}  // namespace fci::tcp::test
