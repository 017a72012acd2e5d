// SPDX-License-Identifier: BSD-3-Clause
// A connection's reads in one turn, how quiet its stream is meanwhile, and how it ends.
#include <climits>

#include "drivers/tcp/connection.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/drivers/hand_streams.h"

namespace fci::tcp::test {
namespace {

using Reading = Connection::Reading;

constexpr int kLittle = 96 * 1024;
constexpr std::size_t kMiB = 1024 * 1024;
constexpr Nanoseconds kReadsApart = 10'000;

struct TcpConnectionIn : testing::Test {
    TcpConnectionIn() : stream(system.at(system.add({}))) { memory.buffer = &buffer; }

    void bring_data(std::size_t bytes, std::size_t here) {
        Stream frames;
        data(&frames, {7, buffer.filled, bytes}, here);
        stream.here.insert(stream.here.end(), frames.begin(), frames.end());
    }
    void bring(std::size_t bytes) { stream.here.resize(stream.here.size() + bytes, std::byte{9}); }
    void bring_head(FrameKind kind, std::uint32_t events = 0) {
        Stream frame;
        head(&frame, kind, 0, events);
        stream.here.insert(stream.here.end(), frame.begin(), frame.end());
    }

    HandStreams system;
    HandStreams::One& stream;
    Memory memory;
    Buffer buffer;
    Counters counters;
    Connection connection{system, tcp::Stream(system, 1), FrameDecoder(memory, kWriter), counters,
                          10'000'000'000};
};

TEST_F(TcpConnectionIn, read__counts_what_came) {
    EXPECT_EQ(connection.read(), Reading::nothing);
    EXPECT_EQ(counters.network_reads, 0u);
    bring_head(FrameKind::transfer, 4);
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_EQ(memory.events, 4u);
    EXPECT_EQ(counters.network_reads, 1u);
    EXPECT_EQ(counters.network_bytes_received, sizeof(FrameHead));
    EXPECT_EQ(stream.receives, 2u) << "that was all, and it is not asked again";
    bring_data(100, 40);
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_EQ(counters.direct_bytes + counters.staged_bytes, 40u);
    bring(60);
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_EQ(counters.direct_bytes + counters.staged_bytes, 100u);
    EXPECT_EQ(buffer.filled, 100u);
}

TEST_F(TcpConnectionIn, read__counts_what_had_to_be_copied) {
    buffer.is_expecting = false;
    bring_data(1000, 60);
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_EQ(counters.staged_bytes, 60u);
    bring(940);
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_EQ(counters.staged_bytes, 60u);
    EXPECT_EQ(counters.direct_bytes, 940u);
}

TEST_F(TcpConnectionIn, read__no_more_than_a_mebibyte_in_one_turn) {
    bring_data(3'000'000, 2'900'000);
    EXPECT_EQ(connection.read(), Reading::some);
    const std::uint64_t first = counters.network_bytes_received;
    EXPECT_GE(first, kMiB);
    EXPECT_EQ(counters.direct_bytes, 2'900'000u) << "one call may bring more";
    // Transfers come in small pieces: then it ends between two of them.
    buffer.is_expecting = false;
    bring(100'000);
    Stream heads;
    for (unsigned i = 0; i < 150'000; ++i) head(&heads, FrameKind::transfer, 0);
    stream.here.insert(stream.here.end(), heads.begin(), heads.end());
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_GE(counters.network_bytes_received, first + kMiB);
    EXPECT_LE(counters.network_bytes_received, first + kMiB + 3072);
    EXPECT_FALSE(stream.here.empty());
    EXPECT_EQ(connection.read(), Reading::some) << "the rest in the next one";
    EXPECT_EQ(memory.transfers, 150'000u);
}

TEST_F(TcpConnectionIn, read__what_fails_for_now_is_no_end) {
    for (const int error : {EAGAIN, EINTR, ENOBUFS, ENOMEM}) {
        stream.at_its_end = error;
        EXPECT_EQ(connection.read(), Reading::nothing) << error;
    }
}

TEST_F(TcpConnectionIn, read__its_end_comes_behind_all_that_was_sent) {
    bring_head(FrameKind::transfer, 1);
    stream.at_its_end = ECONNRESET;
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_EQ(memory.events, 1u);
    EXPECT_EQ(connection.read(), Reading::end);
}

TEST_F(TcpConnectionIn, read__goodbye_and_nonsense) {
    bring_head(FrameKind::transfer, 1);
    bring_head(FrameKind::goodbye);
    EXPECT_EQ(connection.read(), Reading::goodbye);
    EXPECT_EQ(memory.events, 1u);
}

TEST_F(TcpConnectionIn, read__nonsense) {
    bring_head(FrameKind{99});
    EXPECT_EQ(connection.read(), Reading::nonsense);
}

/// The reader finds out later that they belong nowhere.
TEST_F(TcpConnectionIn, read__early_data_wait_and_are_looked_at_again) {
    buffer.is_unknown = true;
    bring_data(100, 100);
    EXPECT_EQ(connection.read(), Reading::some);
    EXPECT_TRUE(connection.waits());
    const unsigned before = stream.receives;
    EXPECT_EQ(connection.read(), Reading::nothing);
    EXPECT_EQ(stream.receives, before) << "nothing may be read behind them";
    buffer.is_unknown = false;
    const std::size_t left = stream.here.size();
    EXPECT_EQ(connection.read(), left != 0 ? Reading::some : Reading::nothing);
    EXPECT_FALSE(connection.waits());
    EXPECT_EQ(buffer.filled, 100u);
    EXPECT_EQ(counters.direct_bytes + counters.staged_bytes, 100u);
    buffer.is_unknown = true;
    bring_data(100, 100);
    EXPECT_EQ(connection.read(), Reading::some);
    buffer.is_unknown = false;
    buffer.filled = buffer.bytes.size();
    EXPECT_EQ(connection.read(), Reading::nonsense);
}

// --- how it ended ---

TEST_F(TcpConnectionIn, how_it_ended__is_what_the_system_says) {
    const std::pair<int, const char*> ends[] = {
        {0, "it died, or was killed (the connection ended)"},
        {ECONNRESET, "it died, or was killed (the connection ended)"},
        {ETIMEDOUT, "its host does not answer: Connection timed out"},
        {EHOSTUNREACH, "its host does not answer: No route to host"},
        {ENETUNREACH, "its host does not answer: Network is unreachable"},
        {EIO, "the connection failed: Input/output error"},
    };
    for (const auto& [error, said] : ends) {
        stream.at_its_end = error;
        EXPECT_EQ(connection.read(), Reading::end);
        EXPECT_EQ(connection.how_it_ended().why, said);
        EXPECT_EQ(connection.how_it_ended().loss, -1);
    }
}

TEST_F(TcpConnectionIn, how_it_ended__after_a_loss_that_it_told_of) {
    bring_head(FrameKind::loss, 0);
    EXPECT_EQ(connection.read(), Reading::some);
    stream.at_its_end = 0;
    EXPECT_EQ(connection.read(), Reading::end);
    const Connection::End end = connection.how_it_ended();
    EXPECT_EQ(end.why, "it ended after it had lost rank 0; look there first");
    EXPECT_EQ(end.loss, 0);
    stream.at_its_end = ETIMEDOUT;
    EXPECT_EQ(connection.read(), Reading::end);
    EXPECT_EQ(connection.how_it_ended().loss, -1) << "its host is another cause";
}

// --- quiet ---

TEST_F(TcpConnectionIn, set_quiet__where_little_is_to_come) {
    EXPECT_EQ(stream.tells_from, 1);
    connection.set_quiet(true);
    EXPECT_EQ(stream.tells_from, kLittle);
    bring_data(kLittle, 10);
    (void)connection.read();
    EXPECT_EQ(stream.tells_from, kLittle);
    bring(kLittle - 10);
    (void)connection.read();
    ASSERT_EQ(buffer.filled, std::uint64_t{kLittle});
    system.time += kReadsApart;
    bring_data(kLittle + 1, 10);
    (void)connection.read();
    EXPECT_EQ(stream.tells_from, 1) << "one acknowledgement for several segments";
    bring(kLittle + 1 - 10);
    system.time += kReadsApart;
    (void)connection.read();
    EXPECT_EQ(stream.tells_from, kLittle) << "they are here";
    connection.set_quiet(false);
    EXPECT_EQ(stream.tells_from, 1);
    bring_head(FrameKind::transfer);
    (void)connection.read();
    EXPECT_EQ(stream.tells_from, 1);
    EXPECT_EQ(stream.tells, 4u) << "a call for each change";
}

/// While more than a little is to come; and exactly so long.
TEST_F(TcpConnectionIn, read__of_long_data_rests_between_two_reads) {
    connection.set_quiet(true);
    bring_data(kMiB, 1000);
    EXPECT_EQ(connection.read(), Reading::some);
    bring(1000);
    system.time += kReadsApart - 1;
    EXPECT_EQ(connection.read(), Reading::some) << "the first read did not know of them";
    bring(kMiB - 2000 - kLittle - 1);
    system.time += kReadsApart - 1;
    const unsigned before = stream.receives;
    EXPECT_EQ(connection.read(), Reading::nothing);
    EXPECT_EQ(stream.receives, before);
    system.time += 1;
    EXPECT_EQ(connection.read(), Reading::some);
    bring(1);
    EXPECT_EQ(connection.read(), Reading::nothing) << "one byte too many is missing";
    system.time += kReadsApart;
    EXPECT_EQ(connection.read(), Reading::some);
    bring(1);
    EXPECT_EQ(connection.read(), Reading::some) << "the rest is short";
}

TEST_F(TcpConnectionIn, read__rests_only_after_something_came) {
    connection.set_quiet(true);
    bring_data(kMiB, 1000);
    (void)connection.read();
    system.time += 10 * kReadsApart;
    EXPECT_EQ(connection.read(), Reading::nothing);
    bring(1);
    EXPECT_EQ(connection.read(), Reading::some);
}

TEST_F(TcpConnectionIn, read__does_not_rest_where_the_kernel_wakes_the_reader) {
    bring_data(kMiB, 1000);
    for (unsigned i = 0; i < 3; ++i) {
        bring(1);
        EXPECT_EQ(connection.read(), Reading::some);
    }
}

}  // namespace
}  // namespace fci::tcp::test
