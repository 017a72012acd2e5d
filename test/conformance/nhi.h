// SPDX-License-Identifier: BSD-3-Clause
// What the cases of the conformance suite have in common: a world of devices of each driver.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "fci_core/base/flag.h"
#include "fci_core/nhi/transfer.h"
#include "test/conformance/world.h"
#include "test/unit/limit.h"

namespace fci::conformance {

using nhi::LcsAddress;
using nhi::Transfer;

inline constexpr std::size_t kBlockBytes = 64 * 1024;
inline constexpr std::size_t kBlockFirstBytes = 60 * 1024;
inline constexpr std::size_t kMemoryBytes = 64 * 1024;

inline ddi::Settings usual_settings() {
    ddi::Settings settings;
    settings.block_bytes = kBlockBytes;
    settings.block_first_bytes = kBlockFirstBytes;
    settings.layout_digest = 0x1234;
    settings.job = 77;
    settings.communication_bytes = kMemoryBytes;
    return settings;
}

class Nhi : public testing::TestWithParam<Maker> {
protected:
    void SetUp() override {
        world_ = GetParam().make();
        if (world_ == nullptr) GTEST_SKIP() << "the driver does not work on this machine";
    }

    void open(unsigned count) {
        for (unsigned i = 0; i < count; ++i) world_->open(usual_settings());
    }
    ddi::Device& device(unsigned i) { return world_->device(i); }
    nhi::NetworkInterface& network(unsigned i) { return world_->device(i).network(); }
    Ear& ear(unsigned i) { return world_->ear(i); }

    nhi::PeerId id_of(unsigned at, unsigned other) {
        nhi::PeerId id = nhi::kNoPeer;
        EXPECT_EQ(device(at).add_peer(device(other).card(), &id), Status::ok);
        return id;
    }
    bool is_attached(unsigned at, nhi::PeerId id) {
        return std::ranges::count(ear(at).attached, id) == 1;
    }
    /// Opens `count` devices, each attached to each.
    void open_attached(unsigned count) {
        open(count);
        for (unsigned a = 0; a < count; ++a) {
            for (unsigned b = a + 1; b < count; ++b) {
                ASSERT_EQ(device(a).connect(id_of(a, b)), Status::ok);
            }
        }
        ASSERT_TRUE(world_->until([&] {
            for (unsigned i = 0; i < count; ++i) {
                if (ear(i).attached.size() != count - 1) return false;
            }
            return true;
        }));
    }
    Status put(unsigned from, nhi::PeerId to, std::uint64_t address, const void* bytes,
               std::size_t length) {
        Transfer transfer(to);
        transfer.put(LcsAddress{address}, bytes, length);
        return initiate(from, transfer);
    }
    /// Again and again while the network is full.
    Status initiate(unsigned from, const Transfer& transfer) {
        for (Limit limit("room"); limit.holds(); world_->turn()) {
            const Status status = network(from).initiate_transfer(transfer);
            if (status != Status::again) return status;
        }
        return Status::again;
    }
    /// As above, while the other devices are used by other threads.
    Status initiate_alone(unsigned from, const Transfer& transfer) {
        Status status;
        while ((status = network(from).initiate_transfer(transfer)) == Status::again) {
            network(from).poll(device(from).now());
        }
        return status;
    }
    std::uint64_t* words(unsigned at, nhi::PeerId from) {
        return reinterpret_cast<std::uint64_t*>(device(at).block(from).data());
    }

    std::unique_ptr<World> world_;
};

/// The reader of a line whose last word counts rounds must find that round in all of it.
inline bool line_is_whole(const std::uint64_t* line, std::size_t words, std::uint64_t round) {
    for (std::size_t i = 0; i + 1 < words; ++i) {
        if (flag::load_relaxed(line[i]) < round) return false;
    }
    return true;
}

}  // namespace fci::conformance
