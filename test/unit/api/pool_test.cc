// SPDX-License-Identifier: BSD-3-Clause
// What long messages take of shared memory: so much for each sender, however many it sends to.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "fci_core/api/icl.h"
#include "fci_core/api/process.h"

namespace fci::api {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;
constexpr std::uint64_t kTag = 7;

/// Contexts of one job, all in this process, that know each other.
struct Job {
    explicit Job(unsigned size) {
        setenv("FCI_COPY", "ring", 1);
        for (unsigned i = 0; i < size; ++i) {
            OpenOptions options;
            options.job = 0x4712;
            options.local_ranks = size;
            Status status;
            std::string error;
            all.push_back(open_process(options, &status, &error));
            EXPECT_NE(all.back(), nullptr) << error;
        }
        for (auto& process : all) {
            ranks.emplace_back(size);
            for (unsigned i = 0; i < size; ++i) {
                EXPECT_EQ(process->add_peer(all[i]->device().card(), &ranks.back()[i]), Status::ok);
            }
        }
        unsetenv("FCI_COPY");
    }
    /// Everybody sends to `peers` others, and receives from as many.
    void exchange(unsigned peers, std::uint64_t bytes) {
        const auto size = static_cast<unsigned>(all.size());
        const std::vector<std::byte> data(bytes, std::byte{42});
        std::vector<std::vector<std::byte>> to(size * peers, std::vector<std::byte>(bytes));
        unsigned open = 0;
        const mp::Completion done{[](void* self, void*, const mp::Outcome* outcome) {
                                      EXPECT_EQ(outcome->error, mp::kSuccess);
                                      --*static_cast<unsigned*>(self);
                                  },
                                  &open, nullptr};
        for (unsigned i = 0; i < size; ++i) {
            for (unsigned n = 0; n < peers; ++n) {
                std::vector<std::byte>& buffer = to[i * peers + n];
                const iovec in{buffer.data(), bytes};
                const iovec out{const_cast<std::byte*>(data.data()), bytes};
                const nhi::PeerId source = ranks[i][(i + size - 1 - n) % size];
                const nhi::PeerId target = ranks[i][(i + 1 + n) % size];
                mp::MessagePassing& mp = all[i]->messages();
                ++open;
                ASSERT_EQ(mp.receive({source, 0, kTag, 0}, {&in, 1}, done, nullptr, nullptr),
                          mp::kAccepted);
                open += mp.send({target, 0, 0, kTag, 0, {&out, 1}}, done, nullptr) ==
                        mp::kAccepted;
            }
        }
        for (unsigned n = 0; open != 0 && n < 1'000'000; ++n) {
            for (auto& process : all) process->progress();
        }
        EXPECT_EQ(open, 0u);
        for (const auto& buffer : to) EXPECT_EQ(buffer, data);
    }
    /// Of the one that has most.
    [[nodiscard]] std::uint64_t shared() {
        std::uint64_t most = 0;
        for (auto& process : all) most = std::max(most, process->device().memory().shared);
        return most;
    }
    std::vector<std::unique_ptr<Process>> all;
    std::vector<std::vector<nhi::PeerId>> ranks;  // by process, then by number
};

TEST(pool, memory__nothing_before_the_first_long_message) {
    Job job(3);
    EXPECT_EQ(job.shared(), 4096u) << "the header";
    job.exchange(2, 2000);
    EXPECT_LE(job.shared(), 4096u + 2 * 16384u);
    for (auto& process : job.all) EXPECT_EQ(process->messages().engine().counters.pool_bytes, 0u);
}

TEST(pool, memory__grows_with_senders_and_not_with_pairs) {
    constexpr unsigned kSize = 9;
    constexpr std::uint64_t kPair = 16384;  // credit, claims, slots, the beginning of the ring
    Job job(kSize);
    job.exchange(1, kBytes);
    const std::uint64_t pool = 1 << 20;
    EXPECT_LE(job.shared(), 4096 + 2 * kPair + pool) << "two neighbours";
    job.exchange(kSize - 1, kBytes);
    const std::uint64_t most = 4 << 20;
    EXPECT_LE(job.shared(), 4096 + (kSize - 1) * kPair + most);
    for (int round = 0; round < 3; ++round) job.exchange(kSize - 1, kBytes);
    EXPECT_LE(job.shared(), 4096 + (kSize - 1) * kPair + most);
    for (auto& process : job.all) {
        const Counters& counters = process->messages().engine().counters;
        EXPECT_EQ(counters.ring_bytes, 2 * kBytes * (1 + 4 * (kSize - 1)));
        EXPECT_EQ(counters.pool_bytes, counters.ring_bytes);
    }
}

}  // namespace
}  // namespace fci::api
