// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "drivers/tap/fault/fault_device.h"
#include "fci_core/base/flag.h"
#include "test/unit/limit.h"

namespace fci::tap {
namespace {

struct Ear final : ddi::PeerListener {
    std::vector<nhi::PeerId> attached;
    std::vector<Status> lost;
    void peer_attached(nhi::PeerId id) override { attached.push_back(id); }
    void peer_lost(nhi::PeerId, Status why, const std::string&) override { lost.push_back(why); }
};

/// Processes on a network that takes no time, each behind a tap. Number 0 knows the others as
/// ids 1, 2, ..., and is everybody's id 1.
struct Job {
    sim::World world{{.seed = 3, .delay_min = 0, .delay_max = 0, .split_percent = 0,
                      .attach_delay_max = 0}};
    Ear ears[3];
    std::unique_ptr<FaultDevice> devices[3];

    explicit Job(const FaultOptions& options, unsigned count = 3) {
        ddi::Settings settings;
        settings.block_bytes = 4096;
        settings.job = 1;
        for (unsigned i = 0; i < count; ++i) {
            devices[i] = std::make_unique<FaultDevice>(world.open(settings), options);
            devices[i]->set_listener(&ears[i]);
            nhi::PeerId id = 0;
            if (i != 0 && devices[0]->add_peer(devices[i]->card(), &id) == Status::ok) {
                EXPECT_EQ(devices[0]->connect(id), Status::ok);
            }
        }
        turns(100);
    }
    void turns(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            for (auto& device : devices) {
                if (device) device->network().poll(device->now());
            }
        }
    }
    Status put(nhi::PeerId to, std::uint64_t value) {
        nhi::Transfer transfer(to);
        transfer.put(nhi::LcsAddress{0}, &value, sizeof value);
        return devices[0]->network().initiate_transfer(transfer);
    }
    std::uint64_t word(unsigned at) {
        return flag::load_acquire(*reinterpret_cast<std::uint64_t*>(devices[at]->block(1).data()));
    }
};

constexpr FaultOptions kLate{.seed = 7, .delay_percent = 100, .delay_max = 10'000};

/// When the words that are sent in turns to 1 and to 2 got there.
std::vector<Nanoseconds> arrivals(const FaultOptions& options, int* overtaken = nullptr) {
    Job job(options);
    std::vector<Nanoseconds> found;
    for (std::uint64_t round = 1; round <= 50; ++round) {
        EXPECT_EQ(job.put(1, round), Status::ok);
        EXPECT_EQ(job.put(2, round), Status::ok);
        bool first = false, second = false;
        for (Limit limit("both words"); (!first || !second) && limit.holds();) {
            job.turns(1);
            EXPECT_LE(job.word(1), round);
            first = job.word(1) == round;
            second = job.word(2) == round;
            if (overtaken != nullptr && second && !first) {
                ++*overtaken;
                overtaken = nullptr;
            }
            found.push_back(first * 2 + second);
        }
        found.push_back(job.world.now());
    }
    return found;
}

TEST(tap_fault, no_faults__is_not_there) {
    Job job(FaultOptions{});
    EXPECT_EQ(job.put(1, 5), Status::ok);
    EXPECT_EQ(job.devices[0]->due(), FaultInterface::kNever);
    job.turns(2);
    EXPECT_EQ(job.word(1), 5u);
}

TEST(tap_fault, delay__pairs_overtake_each_other_and_a_seed_repeats) {
    int overtaken = 0;
    const auto once = arrivals(kLate, &overtaken);
    EXPECT_EQ(overtaken, 1);
    EXPECT_EQ(arrivals(kLate), once);
    FaultOptions other = kLate;
    other.seed = 8;
    EXPECT_NE(arrivals(other), once);
}

TEST(tap_fault, delay__one_pair_stays_in_order) {
    Job job(kLate, 2);
    std::uint64_t sent = 0, seen = 0;
    for (Limit limit("the last of 500 words"); seen < 500 && limit.holds();) {
        if (sent < 500 && job.put(1, sent + 1) == Status::ok) ++sent;
        job.turns(1);
        const std::uint64_t now = job.word(1);
        ASSERT_GE(now, seen);
        ASSERT_LE(now, sent);
        seen = now;
    }
}

TEST(tap_fault, delay__is_bounded_in_length_and_number) {
    Job job(kLate, 2);
    std::uint64_t sent = 0;
    while (sent < 1000 && job.put(1, sent + 1) == Status::ok) ++sent;
    EXPECT_GT(sent, 10u);
    EXPECT_LT(sent, 1000u);
    EXPECT_EQ(job.word(1), 0u);
    // From the last one on nothing is later than delay_max.
    EXPECT_LE(job.devices[0]->due(), job.devices[0]->now() + kLate.delay_max);
    job.world.run_until(job.world.now() + kLate.delay_max + 1);
    job.turns(2);
    EXPECT_EQ(job.word(1), sent);
    EXPECT_EQ(job.devices[0]->due(), FaultInterface::kNever);
}

TEST(tap_fault, stall__holds_one_peer_only) {
    Job job({.seed = 1, .stall_per_mille = 500, .stall_max = 1'000'000'000});
    std::uint64_t sent = 0;
    const auto stalled = [&] { return job.devices[0]->due() != FaultInterface::kNever; };
    for (Limit limit("a stall"); !stalled() && limit.holds();) {
        ASSERT_EQ(job.put(1, ++sent), Status::ok);
    }
    job.turns(10);
    EXPECT_EQ(job.word(1), sent - 1);
    EXPECT_EQ(job.put(1, ++sent), Status::ok);  // behind it
    job.turns(10);
    EXPECT_EQ(job.word(1), sent - 2);
    job.devices[0]->sleep(-1);  // no longer than that
    job.world.run_until(job.world.now() + 2'000'000'000);
    job.turns(2);
    EXPECT_EQ(job.word(1), sent);
}

TEST(tap_fault, again__leaves_no_trace) {
    Job job({.seed = 1, .again_percent = 50}, 2);
    int refused = 0;
    for (std::uint64_t value = 1; value <= 100; ++value) {
        for (Limit limit("room"); job.put(1, value) == Status::again && limit.holds();) {
            ++refused;
            job.turns(1);
            ASSERT_EQ(job.word(1), value - 1);
        }
        job.turns(2);
        ASSERT_EQ(job.word(1), value);
    }
    EXPECT_GT(refused, 20);
}

TEST(tap_fault, refuse__both_sides_hear_it_once) {
    Job job({.seed = 1, .refuse_percent = 100}, 2);
    nhi::PeerId id = 0;
    ASSERT_EQ(job.devices[1]->add_peer(job.devices[0]->card(), &id), Status::ok);
    EXPECT_EQ(job.devices[1]->connect(id), Status::ok);
    EXPECT_EQ(job.devices[1]->connect(id), Status::ok);
    job.turns(10);
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_TRUE(job.ears[i].attached.empty());
        EXPECT_EQ(job.ears[i].lost, std::vector<Status>{Status::unreachable});
    }
    EXPECT_NE(job.put(1, 1), Status::ok);
    EXPECT_TRUE(job.devices[0]->block(1).empty());
}

TEST(tap_fault, refuse__by_pairs) {
    const FaultOptions half{.seed = 5, .refuse_percent = 50};
    int refused = 0;
    for (std::uint16_t port = 2; port < 102; ++port) {
        const ddi::Card one{.port = 1}, other{.port = port};
        EXPECT_EQ(FaultDevice::refuses(half, one, other), FaultDevice::refuses(half, other, one));
        refused += FaultDevice::refuses(half, one, other);
    }
    EXPECT_GT(refused, 20);
    EXPECT_LT(refused, 80);
    EXPECT_FALSE(FaultDevice::refuses({.refuse_percent = 100}, ddi::Card{}, ddi::Card{}));
}

TEST(tap_fault, close__sends_what_was_held_back) {
    Job job({.seed = 1, .delay_percent = 100, .delay_max = 1'000'000'000}, 2);
    for (std::uint64_t value = 1; value <= 20; ++value) ASSERT_EQ(job.put(1, value), Status::ok);
    EXPECT_EQ(job.word(1), 0u);
    job.devices[0].reset();
    job.turns(10);
    EXPECT_EQ(job.word(1), 20u);
}

TEST(tap_fault, lost__refuses_what_comes_after) {
    Job job(kLate, 2);
    ASSERT_EQ(job.put(1, 1), Status::ok);
    job.world.kill(1);
    for (Limit limit("news of the death"); job.ears[0].lost.empty() && limit.holds();) {
        job.world.step();
        job.devices[0]->network().poll(job.devices[0]->now());
    }
    EXPECT_EQ(job.devices[0]->due(), FaultInterface::kNever);
    EXPECT_EQ(job.put(1, 2), Status::lost);
}

}  // namespace
}  // namespace fci::tap
