// SPDX-License-Identifier: BSD-3-Clause
// Roads of a ucx driver over a UCX in memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drivers/ucx/road.h"
#include "test/unit/drivers/ucx_in_memory.h"

namespace fci::ucx::test {

using Texts = std::vector<std::string>;

struct Ear final : Road::Listener {
    void frame_came(std::span<const std::byte> frame) noexcept override {
        frames.emplace_back(reinterpret_cast<const char*>(frame.data()), frame.size());
    }
    Texts frames;
};

/// One end of ways.
struct End {
    explicit End(UcxInMemory& ucx) {
        std::string error;
        Status status = Status::invalid;
        road = Road::open(ucx.library(), ear, &status, &error);
        EXPECT_EQ(status, Status::ok) << error;
        worker = &ucx.last_worker();
    }
    Road::Way* open_way(const End& to) const {
        std::string error;
        Road::Way* const way = road->open_way(to.road->address().data(), &error);
        EXPECT_NE(way, nullptr) << error;
        return way;
    }
    /// False: it cannot be sent now.
    [[nodiscard]] bool send(Road::Way* way, std::string_view text) const {
        std::byte* const frame = road->begin(way, text.size());
        if (frame == nullptr) return false;
        std::memcpy(frame, text.data(), text.size());
        road->send(way, text.size());
        return true;
    }

    Ear ear;
    std::unique_ptr<Road> road;
    UcxInMemory::Worker* worker = nullptr;
};

/// At the end of each test UCX has everything back.
struct ucx_road : testing::Test {
    ~ucx_road() override { EXPECT_EQ(ucx.mistakes(), Texts()); }
    /// The words of a road that cannot be opened.
    std::string refusal(Status expected) {
        Ear ear;
        Status status = Status::ok;
        std::string error;
        EXPECT_EQ(Road::open(ucx.library(), ear, &status, &error), nullptr);
        EXPECT_EQ(status, expected);
        return error;
    }
    UcxInMemory ucx;
};

/// A way from one end to another.
struct ucx_way : ucx_road {
    ucx_way() : way(near.open_way(far)), endpoint(ucx.last_endpoint()) {}
    ~ucx_way() override {
        for (const auto& each : ucx.endpoints) {
            each->takes = true;
            if (each->close_answer == UCS_INPROGRESS) each->close_answer = UCS_OK;
        }
        if (way != nullptr) near.road->close(way);
        for (const auto& each : ucx.endpoints) ucx.finish(*each);
        (void)near.road->is_idle();
        (void)near.road->progress();
        EXPECT_EQ(near.road->ways(), 0u);
        EXPECT_EQ(ucx.requests_left(), 0u);
    }
    const Texts& heard() {
        (void)far.road->progress();
        return far.ear.frames;
    }
    void close() { near.road->close(std::exchange(way, nullptr)); }

    End near{ucx}, far{ucx};
    Road::Way* way;
    UcxInMemory::Endpoint& endpoint;
};

}  // namespace fci::ucx::test
