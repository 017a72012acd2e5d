// What a connection writes, whatever of it the system takes, and when.
#include "drivers/tcp/connection.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/drivers/hand_streams.h"
#include "test/unit/seed.h"

namespace fci::tcp::test {
namespace {

constexpr std::size_t kWaitingMost = 256 * 1024;
constexpr std::size_t kHeads = sizeof(FrameHead) + sizeof(PartHead);

struct TcpConnectionOut : testing::Test {
    TcpConnectionOut() : stream(system.at(system.add({}))) {}

    void write(const nhi::Transfer& transfer, bool goes_on = false) {
        connection.reserve(transfer);
        connection.write(transfer, goes_on);
    }
    /// A transfer of one part that is no request.
    nhi::Transfer transfer_of(std::size_t bytes, std::uint64_t to = 64) {
        nhi::Transfer transfer(kWriter);
        return transfer.put(nhi::LcsAddress{to}, memory.data(), bytes);
    }
    void send_data(std::size_t bytes, std::uint32_t events = 0) {
        connection.reserve_for_data();
        connection.write(nhi::Data{7, 0, bytes}, memory.data(), events);
    }
    /// Of the first frame that was written.
    [[nodiscard]] FrameKind read_head() const {
        FrameHead head{};
        EXPECT_GE(stream.sent.size(), sizeof head);
        std::memcpy(&head, stream.sent.data(), std::min(sizeof head, stream.sent.size()));
        return head.kind;
    }
    /// How many bytes a transfer of so many takes on the stream.
    static std::size_t framed(std::size_t bytes) { return kHeads + bytes; }

    HandStreams system;
    HandStreams::One& stream;
    Memory target;
    Counters counters;
    Connection connection{system, tcp::Stream(system, 1), FrameDecoder(target, kWriter), counters,
                          10'000'000'000};
    std::vector<std::byte> memory = std::vector<std::byte>(2 * kWaitingMost, std::byte{5});
};

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
    write(transfer_of(8), true);
    send_data(10'000);
    EXPECT_FALSE(stream.is_corked) << "nor do data";
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
    for (const int error : {EAGAIN, EINTR, ENOBUFS, ENOMEM}) {
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
    EXPECT_FALSE(connection.has_taken_data());
    stream.room = SIZE_MAX;
    write(transfer_of(8));
    connection.say(kGoodbye);
    EXPECT_EQ(stream.sends, 1u);
    stream.has_sign = true;
    stream.sign = {true, 100'000'000'000};
    EXPECT_EQ(connection.feel(500'000'000'000), Connection::Beat::idle) << "reading finds out why";
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

// --- data ---

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

/// What has gone is let go of; then what is borrowed stands at another place.
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
