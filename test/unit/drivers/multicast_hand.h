// SPDX-License-Identifier: BSD-3-Clause
// Two processes with hints by multicast, over the loopback interface: one sends, and the other one
// looks lane by lane where the test says.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "drivers/multicast/multicast.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/limit.h"

namespace fci::multicast {

inline constexpr std::uint64_t kName = 0x0123'4567'89ab'cdef;
inline constexpr std::size_t kPiece = nhi::Hints::kPieceMost, kMost = nhi::Hints::kMost;
inline constexpr std::size_t kPieces = kMost / kPiece, kStashMost = 6 * kPieces;

struct Heard final : nhi::HintListener {
    void arrived(const nhi::Hint& hint, std::size_t bytes) noexcept override {
        all.push_back({hint, bytes});
    }
    [[nodiscard]] std::size_t of(std::uint64_t number) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            all, [&](const auto& one) { return one.first.number == number; }));
    }
    std::vector<std::pair<nhi::Hint, std::size_t>> all;
};

/// One sends, and the other one looks where the test says.
class multicast_hand : public testing::Test {
protected:
    multicast_hand() {
        mouth_->count_in(sent_);
        ear_->count_in(counters_);
        EXPECT_EQ(join(*mouth_, 0, nobody_), Status::ok);
        EXPECT_EQ(join(*ear_, 1, heard_), Status::ok);
        watched_.clear();
    }
    ~multicast_hand() override { calls.fail_datagram = {}; }

    std::unique_ptr<Multicast> make(unsigned host) {
        return std::make_unique<Multicast>(
            Place::of(static_cast<std::uint64_t>(getpid()) << 20 | 11, {}),
            htonl(0x7f000002 + host),
            [this, host](int descriptor, unsigned lane, bool on) {
                EXPECT_GE(descriptor, 0);
                watched_.emplace_back(host, lane, on);
            });
    }
    Status join(Multicast& hints, std::uint16_t rank, Heard& listener, std::uint64_t name = kName) {
        const std::uint32_t hosts[] = {htonl(0x7f000002), htonl(0x7f000003)};
        return hints.join({{name, {}}, rank, hosts}, listener);
    }
    Status say(std::uint64_t number, std::size_t offset, std::size_t total, std::size_t bytes,
               std::uint64_t name = kName) {
        const std::span<const std::byte> data = data_;
        return mouth_->hint({name, number, static_cast<std::uint32_t>(offset),
                             static_cast<std::uint32_t>(total), 99},
                            data.first(bytes));
    }
    /// Looks there until so many pieces have come, or are lost for this test.
    void look_until(unsigned lane, std::size_t pieces) {
        for (Limit limit("a piece"); heard_.all.size() < pieces && limit.holds();) {
            (void)ear_->look(lane);
        }
        EXPECT_EQ(heard_.all.size(), pieces);
    }
    /// The pieces ahead come, and behind them in each lane one of number 5, which is expected.
    void drain() {
        for (unsigned lane = 1; lane < kLanes; ++lane) {
            const std::size_t before = heard_.all.size();
            ASSERT_EQ(say(5, (lane - 1) * kMost, long_.size(), 1), Status::ok);
            look_until(lane, before + 1);
        }
    }

    std::vector<std::tuple<unsigned, unsigned, bool>> watched_;  // who, lane, on
    Counters sent_, counters_;
    Heard heard_, nobody_;
    std::vector<std::byte> data_ = std::vector<std::byte>(kMost, std::byte{7});
    std::vector<std::byte> long_ = std::vector<std::byte>(3 * kMost),
                           next_ = std::vector<std::byte>(10 * kMost);
    std::unique_ptr<Multicast> mouth_ = make(0), ear_ = make(1);
};

}  // namespace fci::multicast
