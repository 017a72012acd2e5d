// SPDX-License-Identifier: BSD-3-Clause
// Whether broadcasts of a group over hosts have hints: processes of a simulated network that loses
// them, brings them late, or lets none through.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/api/process.h"
#include "test/unit/api/group_job.h"

namespace fci {
namespace {

constexpr unsigned kHosts = 4;

Context open_in(sim::World& world, unsigned host) {
    const mp::Protocol& protocol = *mp::find_protocol("enhanced-mixed");
    const mp::Limits limits = api::limits_for({}, protocol, 1, {1, {}});
    ddi::Settings settings;
    settings.block_bytes = limits.layout.block_bytes();
    settings.block_first_bytes = limits.layout.block_first_bytes();
    settings.communication_bytes = limits.layout.pool_bytes + gcs::Layout::kBoardLeast;
    settings.sizes = limits.layout.sizes();
    settings.wanted.host = htonl(0x0a00'0001 + host);
    std::string error;
    auto device = world.open(settings, &error);
    EXPECT_NE(device, nullptr) << error;
    auto process = api::Process::make(std::move(device), "sim", protocol, limits,
                                      progress::CoreShare("spin", 1, 1), progress::own_host());
    return Context(reinterpret_cast<fci_icl_context*>(process.release()));
}

/// One process on each of four hosts, in a group of all.
class Hinting : public testing::Test {
protected:
    void open(const sim::HintOptions& hints) {
        world_ = std::make_unique<sim::World>(
            sim::WorldOptions{.seed = 21, .per_host = 1, .hints = hints});
        std::vector<Context> contexts;
        for (unsigned host = 0; host < kHosts; ++host) contexts.push_back(open_in(*world_, host));
        job_ = std::make_unique<Job>(std::move(contexts));
        job_->join();
    }
    using Data = std::vector<std::vector<std::uint8_t>>;  // by rank

    /// One of rank 0, that each calls with its own length: what each answers in the end.
    std::vector<int> call(const std::vector<std::size_t>& bytes, Data& data) {
        std::vector<int> answers(kHosts, FCI_ICL_EAGAIN);
        for (Limit limit("a broadcast"); limit.holds();) {
            for (unsigned rank = 0; rank < kHosts; ++rank) {
                std::size_t length = bytes[rank];
                Job::Member& one = job_->members[rank];
                if (is_waiting(answers[rank])) {
                    answers[rank] = group_broadcast(one.context.get(), one.group, 0,
                                                    data[rank].data(), &length);
                }
                fci_icl_progress(one.context.get());
            }
            if (std::ranges::none_of(answers, is_waiting)) break;
        }
        return answers;
    }
    /// So many, one after the other, of 16 bytes or of so many.
    void broadcast(unsigned times, std::size_t length = 16) {
        for (unsigned i = 0; i < times; ++i) {
            Data data(kHosts, std::vector<std::uint8_t>(length));
            for (std::uint8_t& byte : data[0]) byte = static_cast<std::uint8_t>(++next_);
            const std::vector<int> answers = call(std::vector<std::size_t>(kHosts, length), data);
            for (unsigned rank = 0; rank < kHosts; ++rank) {
                EXPECT_EQ(answers[rank], FCI_ICL_DONE);
                EXPECT_EQ(data[rank], data[0]);
            }
        }
    }
    [[nodiscard]] std::uint64_t sum_of(std::string_view counter) const {
        std::uint64_t sum = 0;
        for (unsigned i = 0; const char* name = fci_icl_counter_name(i, nullptr); ++i) {
            if (name != counter) continue;
            for (const Job::Member& one : job_->members) {
                sum += fci_icl_counter(one.context.get(), i);
            }
        }
        return sum;
    }
    void TearDown() override {
        job_->leave();
        // One after the other: a simulated world is not for threads.
        for (Job::Member& one : job_->members) one.context.reset();
        job_.reset();
    }

    std::unique_ptr<sim::World> world_;
    std::unique_ptr<Job> job_;

private:
    unsigned next_ = 0;
};

TEST_F(Hinting, late__is_not_deaf) {
    open({.work = true, .late_percent = 100, .late_max = 3'000'000});
    testing::internal::CaptureStderr();
    broadcast(400);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nobody is blamed";
    EXPECT_EQ(sum_of("hints_off"), 0u);
}

TEST_F(Hinting, lost__one_of_twenty_leaves_them_on) {
    open({.work = true, .lost_percent = 5});
    broadcast(1000);
    EXPECT_EQ(sum_of("hints_off"), 0u);
}

TEST_F(Hinting, deaf__all_of_them_and_none_are_sent) {
    open({.work = true, .deaf = 0xf});
    testing::internal::CaptureStderr();
    broadcast(30);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("no other host hears multicast"), std::string::npos) << said;
    EXPECT_EQ(sum_of("hints_off"), 1u);
}

/// A firewall that is switched on while the job runs: not at once, as many may be lost in a row.
TEST_F(Hinting, deaf__later_on) {
    open({.work = true, .deaf = 0xf, .deaf_from = 2'000'000});
    testing::internal::CaptureStderr();
    broadcast(400);
    EXPECT_EQ(sum_of("hints_off"), 0u);
    world_->run_until(world_->now() + 10'000'000'000);
    broadcast(20);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nobody is blamed: it did work";
    EXPECT_EQ(sum_of("hints_off"), 1u);
}

/// What a root announces is not allocated, nor waited for, where the caller said another length.
TEST_F(Hinting, announced__another_length_than_the_caller_said) {
    open({.work = true});
    for (const std::size_t other : {4'000u, 6'000u, 1u << 30}) {
        std::vector<std::size_t> bytes(kHosts, 5'000);
        bytes[2] = other;
        Data data(kHosts, std::vector<std::uint8_t>(6'000));
        const std::vector<int> answers = call(bytes, data);
        EXPECT_EQ(answers,
                  (std::vector<int>{FCI_ICL_DONE, FCI_ICL_DONE, FCI_ICL_ETRUNC, FCI_ICL_DONE}));
        broadcast(3, 5'000);  // and all goes on
    }
}

}  // namespace
}  // namespace fci
