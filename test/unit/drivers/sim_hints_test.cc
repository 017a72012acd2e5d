// SPDX-License-Identifier: BSD-3-Clause
// Hints of the simulated network: random programs, each from one seed. Whatever is lost, doubled,
// late and out of order, memory has what was expected there and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/base/prng.h"
#include "test/unit/seed.h"

namespace fci::sim {
namespace {

using nhi::Hint;

constexpr std::uint64_t kName = 77;
constexpr std::size_t kSlot = 3 * nhi::Hints::kPieceMost;

ddi::Settings settings() {
    ddi::Settings settings;
    settings.block_bytes = 4096;
    settings.layout_digest = 77;
    settings.job = 5;
    return settings;
}

/// Of number `number`, in all runs: the length, and each byte of it.
std::size_t total_of(std::uint64_t number) {
    return number % 3 == 0 ? number * 40 % kSlot : number * 7 % 200;
}
std::byte byte_of(std::uint64_t number, std::size_t offset) {
    return static_cast<std::byte>(number * 31 + offset * 17 + offset / 251 + 1);
}

/// One process that expects numbers in order, several at a time, and is told of them.
class Member final : public nhi::HintListener {
public:
    Member(World& world, unsigned number) : device_(world.open(settings())), number_(number) {
        for (auto& slot : slots_) slot.assign(kSlot, std::byte{0});
        const std::vector<std::uint32_t> hosts(8, device_->card().host);
        EXPECT_EQ(hints().join({{kName, {}}, static_cast<std::uint16_t>(number), hosts}, *this),
                  Status::ok);
        for (std::uint64_t i = 0; i < nhi::Hints::kIndices; ++i) expect(i);
    }
    [[nodiscard]] nhi::NetworkInterface& network() { return device_->network(); }
    [[nodiscard]] nhi::Hints& hints() { return *network().hints(); }
    void poll() { network().poll(device_->now()); }
    void close() { device_.reset(); }
    [[nodiscard]] bool is_open() const { return device_ != nullptr; }

    /// The oldest number is not waited for any more, whether it came or not.
    void move_on() {
        hints().withdraw(kName, next_);
        check(next_);
        came_.erase(next_);
        expect(next_ + nhi::Hints::kIndices);
        ++next_;
    }
    void arrived(const Hint& hint, std::size_t bytes) noexcept override {
        EXPECT_EQ(hint.name, kName);
        EXPECT_NE(hint.rank, number_);
        EXPECT_GE(hint.number, next_);
        EXPECT_LT(hint.number, next_ + nhi::Hints::kIndices);
        EXPECT_EQ(hint.total, total_of(hint.number));
        for (std::size_t i = 0; i < bytes; ++i) {
            came_[hint.number].insert(hint.offset + i);
        }
        ++told;
    }

    unsigned told = 0;

private:
    std::vector<std::byte>& slot(std::uint64_t number) {
        return slots_[number % nhi::Hints::kIndices];
    }
    void expect(std::uint64_t number) {
        slot(number).assign(kSlot, std::byte{0});
        EXPECT_EQ(hints().expect(kName, number, slot(number)), Status::ok);
    }
    /// What it was told of is there, and nothing else.
    void check(std::uint64_t number) {
        const std::set<std::size_t>& came = came_[number];
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kSlot; ++i) {
            const std::byte wanted = came.contains(i) ? byte_of(number, i) : std::byte{0};
            wrong += slot(number)[i] != wanted;
        }
        EXPECT_EQ(wrong, 0u) << "member " << number_ << ", number " << number;
    }

    std::unique_ptr<ddi::Device> device_;
    const unsigned number_;
    std::uint64_t next_ = 0;
    std::array<std::vector<std::byte>, nhi::Hints::kIndices> slots_;
    std::map<std::uint64_t, std::set<std::size_t>> came_;  // by number: the bytes
};

struct Outcome {
    std::uint64_t digest;
    unsigned told;
    World::Statistics statistics;
};

/// Numbers are sent by turns. Members go on in their own time, are deaf, stopped, or close.
Outcome run(std::uint64_t seed) {
    Prng prng(seed);
    WorldOptions options{.seed = seed, .per_host = 1, .hints = {.work = true}};
    options.long_delay_percent = prng.chance(30) ? 10 : 0;
    options.again_percent = prng.chance(30) ? 20 : 0;
    options.hints.lost_percent = prng.chance(50) ? static_cast<unsigned>(prng.below(101)) : 0;
    options.hints.twice_percent = prng.chance(50) ? static_cast<unsigned>(prng.below(101)) : 0;
    options.hints.late_percent = prng.chance(50) ? static_cast<unsigned>(prng.below(50)) : 0;
    const auto count = static_cast<unsigned>(prng.between(2, 6));
    if (prng.chance(20)) options.hints.deaf = 1ull << prng.below(count);
    options.hints.deaf_from = static_cast<Nanoseconds>(prng.below(100'000));
    World world(options);
    std::vector<std::unique_ptr<Member>> members;
    for (unsigned i = 0; i < count; ++i) members.push_back(std::make_unique<Member>(world, i));
    const unsigned stopped = prng.chance(30) ? static_cast<unsigned>(prng.below(count)) : count;
    std::vector<std::byte> bytes(kSlot);
    std::uint64_t number = 0;
    for (unsigned step = 0; step < 400; ++step) {
        const auto at = static_cast<unsigned>(prng.below(count));
        Member& member = *members[at];
        if (!member.is_open()) continue;
        if (prng.chance(1) && prng.chance(30)) {
            member.close();
        } else if (prng.chance(30)) {
            const std::size_t total = total_of(number);
            for (std::size_t i = 0; i < total; ++i) bytes[i] = byte_of(number, i);
            const Hint hint{kName, number, 0, static_cast<std::uint32_t>(total),
                            static_cast<std::uint16_t>(at)};
            if (member.hints().hint(hint, {bytes.data(), total}) == Status::ok) ++number;
        } else if (at == stopped && step < 300) {
            continue;
        } else if (prng.chance(30)) {
            member.move_on();
        } else {
            member.poll();
        }
    }
    unsigned told = 0;
    for (const auto& member : members) {
        told += member->told;
        for (unsigned i = 0; i < nhi::Hints::kIndices && member->is_open(); ++i) member->move_on();
    }
    const Outcome outcome{world.digest(), told, world.statistics()};
    members.clear();
    return outcome;
}

TEST(sim_hints, seeds__what_is_told_is_there_and_nothing_else) {
    unsigned told = 0;
    World::Statistics all{};
    for (const std::uint64_t seed : seeds(300)) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Outcome outcome = run(seed);
        told += outcome.told;
        all.hints += outcome.statistics.hints;
        all.hints_lost += outcome.statistics.hints_lost;
        if (seed % 20 == 0) {
            ASSERT_EQ(run(seed).digest, outcome.digest);
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(told, 10'000u);
    EXPECT_GT(all.hints_lost, 1000u);
    EXPECT_LT(all.hints_lost, all.hints);
}

/// Of who does not poll the oldest come first, and what there is no room for is lost.
TEST(sim_hints, room__is_that_of_a_socket) {
    World world({.seed = 3, .per_host = 1, .hints = {.work = true}});
    Member one(world, 0), two(world, 1);
    const std::byte byte = byte_of(8, 0);
    ASSERT_EQ(total_of(8), 56u);
    for (unsigned i = 0; i < 1000; ++i) {
        ASSERT_EQ(one.hints().hint({kName, 8, 0, 56, 0}, {&byte, 1}), Status::ok);
        while (world.step()) {
        }
    }
    two.poll();
    EXPECT_EQ(two.told, 256u);
    EXPECT_EQ(world.statistics().hints_lost, 1000u - 256u);
    one.close();
    two.close();
}

TEST(sim_hints, wake__a_hint_ends_a_sleep_that_an_event_would) {
    World world({.seed = 4, .per_host = 1, .hints = {.work = true}});
    Member one(world, 0), two(world, 1);
    for (const bool masked : {true, false}) {
        two.poll();
        (void)world.is_woken(1);
        ASSERT_EQ(two.network().configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
        ASSERT_EQ(two.network().mask_event_interrupt(0, masked), Status::ok);
        ASSERT_EQ(one.hints().hint({kName, 7, 0, 49, 0}, {}), Status::ok);
        EXPECT_TRUE(world.will_be_woken(1));
        while (world.step()) {
        }
        EXPECT_EQ(world.is_woken(1), !masked);
    }
    one.close();
    two.close();
}

}  // namespace
}  // namespace fci::sim
