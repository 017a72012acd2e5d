// SPDX-License-Identifier: BSD-3-Clause
// Data over a tcp device: borrowed from where it is, until the kernel has it.
#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

constexpr std::size_t kBytes = 16 << 20;  // more than two kernels keep

struct Buffer final : nhi::DataTarget {
    bool expects(nhi::PeerId) const noexcept override { return true; }
    bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return false; }
    std::byte* locate(nhi::PeerId, const nhi::Data& data) noexcept override {
        const bool is_here = data.name == 7 && data.offset == filled &&
                             data.bytes <= bytes.size() - filled;
        return is_here ? bytes.data() + filled : nullptr;
    }
    bool arrived(nhi::PeerId, const nhi::Data& data) noexcept override {
        filled += data.bytes;
        return true;
    }

    std::vector<std::byte> bytes = std::vector<std::byte>(kBytes);
    std::uint64_t filled = 0;
};

/// One sends all of its data, and the other one does not look.
struct TcpData : testing::Test {
    void SetUp() override {
        for (std::size_t i = 0; i < kBytes; ++i) data[i] = static_cast<std::byte>(i * 31 >> 4);
        receiver.device->network().data()->set_target(&buffer);
        ASSERT_EQ(sender.device->add_peer(receiver.device->card(), &there), Status::ok);
        ASSERT_EQ(sender.device->connect(there), Status::ok);
        ASSERT_TRUE(both([&] {
            return sender.listener.attached.size() + receiver.listener.attached.size() == 2;
        }));
        here = receiver.listener.attached[0];
        ASSERT_EQ(network().data()->send(there, {7, 0, kBytes}, data.data(), 0), Status::ok);
    }
    template <class Reached>
    bool both(Reached reached) {
        return sender.until([&] {
            receiver.turn();
            return reached();
        });
    }
    nhi::NetworkInterface& network() { return sender.device->network(); }
    std::uint64_t word() {
        std::uint64_t value = 0;
        std::memcpy(&value, receiver.device->block(here).data() + 8, sizeof value);
        return value;
    }

    std::vector<std::byte> data = std::vector<std::byte>(kBytes);
    Buffer buffer;
    Party sender, receiver;
    nhi::PeerId there = nhi::kNoPeer, here = nhi::kNoPeer;
};

TEST_F(TcpData, send__is_behind_what_came_before_and_before_what_comes_after) {
    EXPECT_TRUE(network().link(there).direct);
    sender.turns();
    EXPECT_FALSE(network().data()->has_taken(there));
    EXPECT_EQ(network().data()->send(there, {7, 0, 1}, data.data(), 0), Status::again);
    const std::uint64_t value = 4711;
    nhi::Transfer transfer(there);
    transfer.put(nhi::LcsAddress{8}, &value, sizeof value);
    ASSERT_EQ(network().initiate_transfer(transfer), Status::ok);
    EXPECT_FALSE(network().is_idle());
    ASSERT_TRUE(both([&] { return buffer.filled == kBytes || word() != 0; }));
    EXPECT_EQ(buffer.filled, kBytes);
    ASSERT_TRUE(both([&] { return word() == value; }));
    EXPECT_TRUE(buffer.bytes == data);
    EXPECT_TRUE(network().data()->has_taken(there));
    EXPECT_TRUE(network().is_idle());
}

TEST_F(TcpData, give_back__ends_the_stream_in_its_midst) {
    sender.turns();
    ASSERT_FALSE(network().data()->has_taken(there));
    network().data()->give_back(there);
    const std::vector<std::byte> sent = std::exchange(data, {});
    ASSERT_TRUE(both([&] {
        return !receiver.listener.lost.empty() && !sender.listener.lost.empty();
    }));
    EXPECT_EQ(receiver.listener.lost[0].why, Status::lost);
    EXPECT_EQ(buffer.filled, 0u);
    EXPECT_FALSE(network().data()->has_taken(there));
    EXPECT_EQ(network().data()->send(there, {7, 0, 1}, sent.data(), 0), Status::lost);
}

TEST_F(TcpData, close__in_its_midst_brings_the_rest) {
    std::thread closing([&] { sender.device.reset(); });
    ASSERT_TRUE(receiver.until([&] { return !receiver.listener.lost.empty(); }));
    closing.join();
    EXPECT_EQ(receiver.listener.lost[0].why, Status::not_found) << "it has closed in order";
    EXPECT_TRUE(buffer.bytes == data);
}

TEST_F(TcpData, set_target__of_none_lets_go_of_what_was_borrowed) {
    sender.turns();
    network().data()->set_target(nullptr);
    const std::vector<std::byte> sent = data;
    std::ranges::fill(data, std::byte{0xee});
    EXPECT_FALSE(network().is_idle());
    ASSERT_TRUE(both([&] { return buffer.filled == kBytes && network().is_idle(); }));
    EXPECT_TRUE(buffer.bytes == sent);
}

TEST_F(TcpData, receive__of_data_that_nobody_wants_any_more) {
    receiver.device->network().data()->set_target(nullptr);
    ASSERT_TRUE(both([&] { return network().data()->has_taken(there); }));
    receiver.turns();
    EXPECT_TRUE(receiver.listener.lost.empty());
    EXPECT_EQ(buffer.filled, 0u);
}

}  // namespace
}  // namespace fci::tcp
