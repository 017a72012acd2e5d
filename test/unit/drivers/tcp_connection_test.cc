// SPDX-License-Identifier: BSD-3-Clause
// A connection over a stream that brings what the test says, when it says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "drivers/tcp/connection.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/drivers/no_streams.h"

namespace fci::tcp::test {
namespace {

/// One stream.
struct Script final : NoStreams {
    ssize_t receive(int, std::span<const iovec> ranges) noexcept override {
        std::size_t got = 0;
        for (const iovec& range : ranges) {
            const std::size_t some = std::min(range.iov_len, here.size() - got);
            std::memcpy(range.iov_base, here.data() + got, some);
            got += some;
        }
        here.erase(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(got));
        return got != 0 ? static_cast<ssize_t>(got) : -EAGAIN;
    }

    std::vector<std::byte> here;
};

struct TcpConnection : testing::Test {
    TcpConnection() { memory.buffer = &buffer; }
    Connection::Reading read(std::size_t more) {
        script.here.resize(script.here.size() + more, std::byte{9});
        return connection.read();
    }

    Script script;
    Memory memory;
    Buffer buffer;
    Counters counters;
    Connection connection{script, tcp::Stream(script, 0), FrameDecoder(memory, kWriter), counters,
                          10'000'000'000};
};

constexpr std::size_t kMiB = 1024 * 1024;

TEST_F(TcpConnection, read__long_data_now_and_then_and_their_end_as_it_comes) {
    using Reading = Connection::Reading;
    connection.set_quiet(true);
    data(&script.here, {7, 0, kMiB}, 0);
    EXPECT_EQ(read(100'000), Reading::some);
    EXPECT_EQ(read(400'000), Reading::some);
    script.time += 5'000;
    EXPECT_EQ(read(400'000), Reading::nothing) << "a few large reads are faster than many";
    EXPECT_EQ(counters.direct_bytes, 500'000u);
    script.time += 5'000;
    EXPECT_EQ(read(60'000), Reading::some);
    script.time += 1'000;
    EXPECT_EQ(read(kMiB - 960'000 - 1), Reading::some) << "the rest is short, and waited for";
    script.time += 1'000;
    EXPECT_EQ(read(1), Reading::some);
    EXPECT_EQ(buffer.filled, kMiB);
    EXPECT_EQ(counters.direct_bytes, kMiB);
}

TEST_F(TcpConnection, read__long_data_as_they_come_where_the_kernel_wakes_the_reader) {
    using Reading = Connection::Reading;
    data(&script.here, {7, 0, kMiB}, 0);
    EXPECT_EQ(read(500'000), Reading::some);
    EXPECT_EQ(read(1'000), Reading::some);
    EXPECT_EQ(read(0), Reading::nothing);
}

}  // namespace
}  // namespace fci::tcp::test
