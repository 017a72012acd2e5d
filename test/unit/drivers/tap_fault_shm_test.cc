// SPDX-License-Identifier: BSD-3-Clause
// The fault tap over shared memory, in real time: what tap_fault_test.cc shows over the simulated
// network holds over the driver that programs use.
#include <memory>
#include <utility>
#include <vector>

#include "drivers/shm/region.h"
#include "drivers/tap/fault/fault_device.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/limit.h"
#include "test/unit/seed.h"

namespace fci::tap {
namespace {

using shm::Party;

/// Processes that all meet each other, each behind a tap.
struct Job {
    std::vector<std::unique_ptr<Party>> all;
    std::vector<std::vector<nhi::PeerId>> id;  // [of whom][at whom]: its number there
    FaultOptions options;

    Job(const FaultOptions& faults, unsigned count) : id(count), options(faults) {
        for (unsigned i = 0; i < count; ++i) {
            all.push_back(std::make_unique<Party>());
            Party& one = *all.back();
            one.device = std::make_unique<FaultDevice>(std::move(one.device), options);
            one.device->set_listener(&one);
        }
        for (unsigned i = 0; i < count; ++i) {
            for (auto& other : all) id[i].push_back(other->meet(all[i]->device->card()));
        }
    }
    bool until(const std::function<bool()>& reached) {
        return all[0]->until([&] {
            for (auto& one : all) one->turn();
            return reached();
        });
    }
    [[nodiscard]] bool refused(unsigned i, unsigned j) const {
        return FaultDevice::refuses(options, all[i]->device->card(), all[j]->device->card());
    }
    Status put(unsigned from, unsigned to, std::uint64_t value) {
        return all[from]->put(id[to][from], 0, value);
    }
    std::uint64_t word(unsigned at, unsigned from) { return all[at]->word(id[from][at], 0); }
};

TEST(tap_fault_shm, refuse__both_sides_of_some_pairs_hear_it_once_and_others_nothing) {
    constexpr unsigned kMembers = 8;
    Job job({.seed = seeded(3), .refuse_percent = 50}, kMembers);
    ASSERT_TRUE(job.until([&] {
        return std::ranges::all_of(job.all, [](const auto& one) {
            return one->attached.size() + one->lost.size() == kMembers - 1;
        });
    }));
    for (unsigned i = 0; i < 1000; ++i) {
        for (auto& one : job.all) one->turn();
    }
    unsigned refused = 0;
    for (unsigned i = 0; i < kMembers; ++i) {
        Party& one = *job.all[i];
        EXPECT_EQ(one.attached.size() + one.lost.size(), kMembers - 1);
        for (unsigned j = 0; j < kMembers; ++j) {
            if (i == j) continue;
            const nhi::PeerId other = job.id[j][i];
            const auto met = std::ranges::count(one.attached, other);
            const auto lost = std::ranges::count(one.lost, other, &Party::Loss::id);
            EXPECT_EQ(lost, job.refused(i, j)) << i << " " << j;
            EXPECT_EQ(met, !job.refused(i, j)) << i << " " << j;
            refused += job.refused(i, j);
            if (job.refused(i, j)) {
                EXPECT_NE(job.put(i, j, 1), Status::ok);
                EXPECT_TRUE(one.device->block(other).empty());
                EXPECT_EQ(one.device->connect(other), Status::ok) << "and no second answer";
            } else {
                EXPECT_EQ(job.put(i, j, 1 + i), Status::ok);
                EXPECT_EQ(job.word(j, i), 1 + i);
            }
        }
        for (const Party::Loss& loss : one.lost) EXPECT_EQ(loss.why, Status::unreachable);
    }
    EXPECT_GT(refused, 0u);
    EXPECT_LT(refused, kMembers * (kMembers - 1));
}

TEST(tap_fault_shm, delay__pairs_overtake_each_other_and_each_stays_in_order) {
    Job job({.seed = seeded(7), .delay_percent = 90, .delay_max = 200'000}, 3);
    ASSERT_TRUE(job.until([&] { return job.all[0]->attached.size() == 2; }));
    unsigned overtaken = 0;
    std::uint64_t seen[3]{};
    for (std::uint64_t round = 1; round <= 200; ++round) {
        ASSERT_TRUE(job.until([&] { return job.put(0, 1, round) == Status::ok; }));
        ASSERT_TRUE(job.until([&] { return job.put(0, 2, round) == Status::ok; }));
        for (const unsigned to : {1u, 2u}) {
            const std::uint64_t now = job.word(to, 0);
            ASSERT_GE(now, seen[to]);
            ASSERT_LE(now, round);
            seen[to] = now;
        }
        overtaken += seen[2] > seen[1];  // though it was sent later
    }
    EXPECT_GT(overtaken, 0u);
    EXPECT_TRUE(job.until([&] { return job.word(1, 0) == 200 && job.word(2, 0) == 200; }));
}

TEST(tap_fault_shm, stall__holds_one_peer_only_and_a_sleep_ends_with_it) {
    Job job({.seed = seeded(1), .stall_per_mille = 200, .stall_max = 50'000'000}, 3);
    ASSERT_TRUE(job.until([&] { return job.all[0]->attached.size() == 2; }));
    auto& device = static_cast<FaultDevice&>(*job.all[0]->device);
    std::uint64_t sent = 0;
    for (Limit limit("a stall"); device.due() == FaultInterface::kNever && limit.holds();) {
        ASSERT_EQ(job.put(0, 1, ++sent), Status::ok);
    }
    EXPECT_EQ(job.word(1, 0), sent - 1);
    device.sleep(-1);
    EXPECT_TRUE(job.until([&] { return job.word(1, 0) == sent; }));
    // One that is not stalled itself gets through meanwhile.
    std::uint64_t other = 0;
    for (bool through = false; !through;) {
        ASSERT_LT(other, 100u);
        for (Limit limit("a stall"); device.due() == FaultInterface::kNever && limit.holds();) {
            ASSERT_EQ(job.put(0, 1, ++sent), Status::ok);
        }
        ASSERT_EQ(job.put(0, 2, ++other), Status::ok);
        through = job.word(2, 0) == other && job.word(1, 0) != sent;
        ASSERT_TRUE(
            job.until([&] { return job.word(2, 0) == other && job.word(1, 0) == sent; }));
    }
}

TEST(tap_fault_shm, network__is_the_one_inside_but_for_its_faults) {
    using nhi::Ordering;
    ddi::Settings settings = shm::party_settings();
    settings.communication_later = true;
    Party party(settings);
    nhi::NetworkInterface& inner = party.device->network();
    party.device = std::make_unique<FaultDevice>(std::move(party.device), FaultOptions{});
    nhi::NetworkInterface& outer = party.device->network();
    EXPECT_EQ(outer.ordering() == Ordering::by_all, inner.ordering() == Ordering::by_all);
    EXPECT_EQ(outer.busy_poll_every(), inner.busy_poll_every());
    EXPECT_EQ(outer.idle_poll_every(), 1u) << "poll() sends what was held back";
    if (!shm::Region::provides()) GTEST_SKIP() << "needs Linux 5.14";
    const std::uint64_t before = party.device->memory().shared;
    const nhi::LcsAddress window{nhi::kPairLimit};
    ASSERT_EQ(outer.open_window(0, window, party.device->communication_memory()), Status::ok);
    EXPECT_EQ(outer.provide(nhi::kSelf, window, 4096), Status::ok);
    EXPECT_EQ(party.device->memory().shared, before + 4096);
    outer.take_back(window, 4096);
    EXPECT_EQ(party.device->memory().shared, before);
}

}  // namespace
}  // namespace fci::tap
