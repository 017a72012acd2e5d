// SPDX-License-Identifier: BSD-3-Clause
// A connection that writes to a stream in hand.
#pragma once

#include "drivers/tcp/connection.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/drivers/hand_streams.h"

namespace fci::tcp::test {

inline constexpr std::size_t kWaitingMost = 256 * 1024;
inline constexpr std::size_t kHeads = sizeof(FrameHead) + sizeof(PartHead);

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

}  // namespace fci::tcp::test
