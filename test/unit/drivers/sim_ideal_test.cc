// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/base/prng.h"
#include "test/unit/limit.h"
#include "test/unit/seed.h"

namespace fci::sim {
namespace {

using nhi::LcsAddress;
using nhi::PeerId;
using nhi::Transfer;

struct Log final : ddi::PeerListener {
    std::vector<PeerId> attached;
    std::vector<std::pair<PeerId, Status>> lost;
    std::string reason;
    void peer_attached(PeerId id) override { attached.push_back(id); }
    void peer_lost(PeerId id, Status why, const std::string& text) override {
        lost.emplace_back(id, why);
        reason = text;
    }
};

ddi::Settings settings(std::size_t block_bytes = 4096) {
    ddi::Settings settings;
    settings.block_bytes = block_bytes;
    settings.layout_digest = 77;
    settings.job = 5;
    settings.communication_bytes = 8192;
    return settings;
}

class sim_ideal : public ::testing::Test {
protected:
    void open(unsigned processes, WorldOptions options = {}) {
        world = std::make_unique<World>(options);
        logs.resize(processes);
        for (unsigned i = 0; i < processes; ++i) {
            devices.push_back(world->open(settings()));
            devices[i]->set_listener(&logs[i]);
        }
    }
    void TearDown() override { devices.clear(); }

    /// Numbers peers so that process j has id (j - i + n) % n of process i, and attaches all.
    void join() {
        const auto n = static_cast<unsigned>(devices.size());
        for (unsigned i = 0; i < n; ++i) {
            for (unsigned step = 1; step < n; ++step) {
                PeerId id = nhi::kNoPeer;
                ASSERT_EQ(devices[i]->add_peer(devices[(i + step) % n]->card(), &id), Status::ok);
                ASSERT_EQ(id, step);
                ASSERT_EQ(devices[i]->connect(id), Status::ok);
            }
        }
        settle();
        for (const Log& log : logs) ASSERT_EQ(log.attached.size(), n - 1);
    }
    void settle() {
        for (Limit limit("the last event"); world->step() && limit.holds();) {}
        for (auto& device : devices) {
            if (device != nullptr) device->network().poll(world->now());
        }
    }
    nhi::NetworkInterface& net(unsigned i) { return devices[i]->network(); }

    std::unique_ptr<World> world;
    std::vector<Log> logs;
    std::vector<std::unique_ptr<ddi::Device>> devices;
};

TEST_F(sim_ideal, attach__both_sides_hear_once_and_blocks_are_zero) {
    open(2);
    EXPECT_TRUE(devices[0]->block(1).empty());
    PeerId id = nhi::kNoPeer;
    ASSERT_EQ(devices[0]->add_peer(devices[1]->card(), &id), Status::ok);
    EXPECT_EQ(id, 1u);
    ASSERT_EQ(devices[0]->add_peer(devices[1]->card(), &id), Status::ok);
    EXPECT_EQ(id, 1u);
    ASSERT_EQ(devices[0]->add_peer(devices[0]->card(), &id), Status::ok);
    EXPECT_EQ(id, nhi::kSelf);
    EXPECT_EQ(devices[0]->connect(1), Status::ok);
    EXPECT_EQ(devices[0]->connect(1), Status::ok);
    std::uint64_t word = 1;
    EXPECT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{0}, &word, 8)), Status::again);
    settle();
    EXPECT_EQ(logs[0].attached, std::vector<PeerId>{1});
    EXPECT_EQ(logs[1].attached, std::vector<PeerId>{1});  // it never named the first process
    ASSERT_EQ(devices[1]->block(1).size(), 4096u);
    for (const std::byte b : devices[1]->block(1)) ASSERT_EQ(b, std::byte{0});
    EXPECT_NE(devices[1]->card_of(1)->incarnation, 0u);
    EXPECT_EQ(devices[1]->connect(1), Status::ok);
    settle();
    EXPECT_EQ(logs[1].attached.size(), 1u);
}

TEST_F(sim_ideal, attach__only_from_inside_poll) {
    open(2);
    PeerId id;
    ASSERT_EQ(devices[0]->add_peer(devices[1]->card(), &id), Status::ok);
    ASSERT_EQ(devices[0]->connect(id), Status::ok);
    for (Limit limit("the last event"); world->step() && limit.holds();) {}
    EXPECT_TRUE(logs[0].attached.empty());
    EXPECT_TRUE(devices[0]->block(id).empty());
    EXPECT_GT(net(0).poll(world->now()), 0u);
    EXPECT_EQ(logs[0].attached.size(), 1u);
}

TEST_F(sim_ideal, attach__polling_alone_gets_there) {
    open(3, {.long_delay_percent = 100});
    PeerId id;
    ASSERT_EQ(devices[0]->add_peer(devices[2]->card(), &id), Status::ok);
    ASSERT_EQ(devices[0]->connect(id), Status::ok);
    for (int i = 0; i < 100 && logs[0].attached.empty(); ++i) net(0).poll(devices[0]->now());
    EXPECT_EQ(logs[0].attached.size(), 1u);
}

TEST_F(sim_ideal, attach__typed_card_learns_the_incarnation) {
    open(2);
    ddi::Card typed = devices[1]->card();
    typed.incarnation = 0;
    PeerId id, again;
    ASSERT_EQ(devices[0]->add_peer(typed, &id), Status::ok);
    ASSERT_EQ(devices[0]->connect(id), Status::ok);
    settle();
    EXPECT_EQ(devices[0]->card_of(id)->incarnation, devices[1]->card().incarnation);
    ASSERT_EQ(devices[0]->add_peer(devices[1]->card(), &again), Status::ok);
    EXPECT_EQ(again, id);
}

TEST_F(sim_ideal, attach__strangers_and_misfits_are_refused_with_a_reason) {
    open(1);
    ddi::Settings other = settings();
    other.job = 6;
    devices.push_back(world->open(other));
    other = settings();
    other.layout_digest = 78;
    devices.push_back(world->open(other));
    ddi::Card nobody = devices[0]->card();
    nobody.port = 0xffff;
    const ddi::Card cards[] = {devices[1]->card(), devices[2]->card(), nobody};
    const Status expected[] = {Status::mismatch, Status::mismatch, Status::unreachable};
    const char* const texts[] = {"job: 5 and 6", "4d and 4e", "65535"};
    for (unsigned i = 0; i < 3; ++i) {
        PeerId id;
        ASSERT_EQ(devices[0]->add_peer(cards[i], &id), Status::ok);
        ASSERT_EQ(devices[0]->connect(id), Status::ok);
        settle();
        ASSERT_EQ(logs[0].lost.size(), i + 1);
        EXPECT_EQ(logs[0].lost[i], std::make_pair(id, expected[i]));
        EXPECT_NE(logs[0].reason.find(texts[i]), std::string::npos) << logs[0].reason;
        EXPECT_EQ(devices[0]->connect(id), Status::lost);
    }
    EXPECT_TRUE(logs[0].attached.empty());
}

TEST_F(sim_ideal, open__a_taken_port_is_refused) {
    open(1);
    ddi::Settings same = settings();
    same.wanted = devices[0]->card();
    std::string reason;
    EXPECT_EQ(world->open(same, &reason), nullptr);
    EXPECT_NE(reason.find("127.0.0.1:1"), std::string::npos);
}

// The receiver checks after every step of the world that what it sees is a prefix, in the order of
// issue, that rises within a part, and that the last word of a part never precedes the rest.
TEST_F(sim_ideal, transfer__visible_in_order_and_the_last_word_last) {
    unsigned half_seen = 0;
    for (const std::uint64_t seed : seeds(40)) {
        devices.clear();
        logs.clear();
        open(2, {.seed = seed, .long_delay_percent = 20, .split_percent = 80, .again_percent = 20});
        join();
        constexpr unsigned kWords = 8, kRounds = 30;
        std::uint64_t part[2][kWords];
        const auto* const seen =
            reinterpret_cast<const std::uint64_t*>(devices[1]->block(1).data());
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            for (auto& words : part) std::fill(words, words + kWords, round);
            Transfer transfer(1);
            transfer.put(LcsAddress{0}, part[0], sizeof part[0]);
            transfer.put(LcsAddress{256}, part[1], sizeof part[1]);
            const Status status = net(0).initiate_transfer(transfer);
            ASSERT_TRUE(status == Status::ok || status == Status::again);
            if (status == Status::again) --round;
            std::memset(part, 0xff, sizeof part);  // the bytes were taken
            if (seed % 2 == 0 && round % 3 != 0) continue;  // several on the way at once
            do {
                const std::uint64_t *first = seen, *second = seen + 32;
                for (unsigned i = 1; i < kWords; ++i) {
                    ASSERT_LE(first[i], first[i - 1]);
                    ASSERT_LE(second[i], second[i - 1]);
                    half_seen += second[i] != second[0];
                }
                ASSERT_LE(second[0], first[kWords - 1]);
                ASSERT_LE(first[0], second[kWords - 1] + 1);
            } while (world->step());
        }
    }
    EXPECT_GT(half_seen, 100u);
}

TEST_F(sim_ideal, transfer__odd_ends_keep_the_last_aligned_word_last) {
    for (const std::uint64_t seed : seeds(20)) {
        devices.clear();
        logs.clear();
        open(2, {.seed = seed, .split_percent = 100});
        join();
        char text[45];
        std::memset(text, 'x', sizeof text);
        ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{3}, text, sizeof text)),
                  Status::ok);
        const auto* const seen = reinterpret_cast<const char*>(devices[1]->block(1).data());
        for (Limit limit("the last event"); world->step() && limit.holds();) {
            if (seen[40] == 0) continue;  // 3 + 45 = 48: the last aligned word is 40...47
            for (unsigned i = 3; i < 48; ++i) ASSERT_EQ(seen[i], 'x');
        }
        EXPECT_EQ(seen[40], 'x');
        EXPECT_EQ(seen[2], 0);
        EXPECT_EQ(seen[48], 0);
    }
}

TEST_F(sim_ideal, transfer__pairs_overtake_each_other_but_not_themselves) {
    open(3, {.long_delay_percent = 30});
    join();
    bool overtaken = false;
    std::uint64_t last[2] = {};
    for (std::uint64_t i = 1; i <= 50; ++i) {
        for (unsigned from = 0; from < 2; ++from) {  // process 2 has id 2 at 0, and 1 at 1
            ASSERT_EQ(net(from).initiate_transfer(Transfer(2 - from).put(LcsAddress{0}, &i, 8)),
                      Status::ok);
        }
    }
    for (Limit limit("the last event"); world->step() && limit.holds();) {
        for (unsigned from = 0; from < 2; ++from) {
            std::uint64_t now;
            std::memcpy(&now, devices[2]->block(from + 1).data(), 8);
            EXPECT_LE(last[from], now);
            last[from] = now;
        }
        overtaken = overtaken || last[1] > last[0];
    }
    EXPECT_EQ(last[0], 50u);
    EXPECT_EQ(last[1], 50u);
    EXPECT_TRUE(overtaken);
}

TEST_F(sim_ideal, transfer__wrong_arguments_leave_no_trace) {
    open(2);
    std::uint64_t word = 1;
    EXPECT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{0}, &word, 8)), Status::invalid);
    join();
    EXPECT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{4090}, &word, 8)),
              Status::invalid);
    EXPECT_EQ(net(0).initiate_transfer(Transfer(3).put(LcsAddress{0}, &word, 8)),
              Status::invalid);
    EXPECT_TRUE(world->idle());
    ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{nhi::kPairLimit}, &word, 8)),
              Status::ok);
    settle();
    EXPECT_EQ(world->statistics().dropped, 1u);  // no such window
}

TEST_F(sim_ideal, windows__open_and_closed) {
    open(2);
    join();
    const auto memory = devices[1]->communication_memory();
    ASSERT_EQ(memory.size(), 8192u);
    const LcsAddress base{nhi::kPairLimit + 4096};
    EXPECT_EQ(net(1).open_window(0, LcsAddress{64}, memory.first(64)), Status::invalid);
    std::byte elsewhere[64];
    EXPECT_EQ(net(1).open_window(0, base, elsewhere), Status::invalid);
    ASSERT_EQ(net(1).open_window(0, base, memory.subspan(128, 256)), Status::ok);
    EXPECT_EQ(net(1).open_window(1, base + 100, memory.first(64)), Status::invalid);
    std::uint64_t word = 4711;
    ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(base + 8, &word, 8)), Status::ok);
    settle();
    EXPECT_EQ(std::memcmp(memory.data() + 136, &word, 8), 0);
    EXPECT_EQ(world->statistics().dropped, 0u);
    ASSERT_EQ(net(1).close_window(0), Status::ok);
    EXPECT_EQ(net(1).close_window(0), Status::not_found);
    ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(base + 24, &word, 8)), Status::ok);
    settle();
    EXPECT_EQ(world->statistics().dropped, 1u);
}

TEST_F(sim_ideal, events__after_the_writes_of_their_transfer) {
    for (const std::uint64_t seed : seeds(20)) {
        devices.clear();
        logs.clear();
        open(2, {.seed = seed, .split_percent = 100});
        join();
        ASSERT_EQ(net(1).configure_event(1, {.flag = true}), Status::ok);
        std::uint64_t words[4] = {1, 2, 3, 4};
        ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{0}, words, 32).raise(1)),
                  Status::ok);
        while (net(1).event_count(1) == 0) ASSERT_TRUE(world->step());
        EXPECT_EQ(std::memcmp(devices[1]->block(1).data(), words, 32), 0);
    }
}

TEST_F(sim_ideal, sleep__ends_with_what_happens_next_or_the_timeout) {
    open(2);
    join();
    const Nanoseconds before = world->now();
    devices[1]->sleep(1000);
    EXPECT_EQ(world->now(), before + 1000);
    std::uint64_t word = 1;
    ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{0}, &word, 8)), Status::ok);
    devices[1]->sleep(-1);
    EXPECT_EQ(devices[1]->block(1)[0], std::byte{1});
    EXPECT_LE(world->now(), before + 1000 + 2000);
}

TEST_F(sim_ideal, ways_around__by_option_only) {
    open(2);
    join();
    std::uint64_t mine = 5, theirs = 7;
    const auto address = reinterpret_cast<std::uint64_t>(&theirs);
    using Direction = nhi::NetworkInterface::Direction;
    EXPECT_EQ(net(0).copy(1, Direction::read, address, &mine, 8), Status::unsupported);
    EXPECT_EQ(net(0).map(1, LcsAddress{0}, 8), nullptr);
    devices.clear();
    logs.clear();
    open(2, {.mapped = true, .kernel_copy = true});
    EXPECT_EQ(net(0).map(1, LcsAddress{0}, 8), nullptr);
    join();
    EXPECT_EQ(net(0).copy(1, Direction::read, address, &mine, 8), Status::ok);
    EXPECT_EQ(mine, 7u);
    mine = 8;
    EXPECT_EQ(net(0).copy(1, Direction::write, address, &mine, 8), Status::ok);
    EXPECT_EQ(theirs, 8u);
    EXPECT_EQ(net(0).map(1, LcsAddress{16}, 8), devices[1]->block(1).data() + 16);
    EXPECT_EQ(net(0).map(1, LcsAddress{4090}, 8), nullptr);
}

TEST_F(sim_ideal, link__the_block_at_once_and_who_wants_events) {
    open(2, {.mapped = true, .stores = true});
    PeerId id;
    ASSERT_EQ(devices[0]->add_peer(devices[1]->card(), &id), Status::ok);
    EXPECT_EQ(net(0).link(1).block, nullptr);
    join();
    const nhi::Link link = net(0).link(1);
    EXPECT_EQ(link.block, devices[1]->block(1).data());
    EXPECT_EQ(*link.wanted_events, 0u);
    ASSERT_EQ(net(1).configure_event(3, {.interrupt = true}), Status::ok);
    EXPECT_EQ(*link.wanted_events, 8u);
    ASSERT_EQ(net(1).mask_event_interrupt(3, true), Status::ok);
    EXPECT_EQ(*link.wanted_events, 0u);
    ASSERT_EQ(net(1).configure_event(4, {.flag = true}), Status::ok);
    EXPECT_EQ(*link.wanted_events, 16u);
}

TEST_F(sim_ideal, close__what_was_sent_arrives_before_the_loss) {
    open(2, {.long_delay_percent = 50});
    join();
    for (std::uint64_t i = 1; i <= 20; ++i) {
        ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{0}, &i, 8)), Status::ok);
    }
    devices[0].reset();
    for (Limit limit("news of the end"); logs[1].lost.empty() && limit.holds();) {
        net(1).poll(devices[1]->now());
    }
    EXPECT_EQ(logs[1].lost[0], std::make_pair(PeerId{1}, Status::not_found));
    EXPECT_NE(logs[1].reason.find("127.0.0.1:1 has closed"), std::string::npos);
    EXPECT_EQ(devices[1]->block(1)[0], std::byte{20});
    std::uint64_t word = 1;
    EXPECT_EQ(net(1).initiate_transfer(Transfer(1).put(LcsAddress{0}, &word, 8)), Status::lost);
}

TEST_F(sim_ideal, kill__a_prefix_arrives_and_everybody_hears) {
    bool some_lost = false, some_kept = false;
    for (const std::uint64_t seed : seeds(20)) {
        devices.clear();
        logs.clear();
        open(3, {.seed = seed});
        join();
        for (std::uint64_t i = 1; i <= 20; ++i) {
            ASSERT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{8 * i}, &i, 8)),
                      Status::ok);
        }
        world->kill_at(0, world->now() + 100);
        settle();
        ASSERT_EQ(logs[1].lost.size(), 1u);
        EXPECT_EQ(logs[1].lost[0].second, Status::lost);
        EXPECT_EQ(logs[2].lost.size(), 1u);
        EXPECT_TRUE(logs[0].lost.empty());
        const auto* const seen =
            reinterpret_cast<const std::uint64_t*>(devices[1]->block(2).data());
        std::uint64_t arrived = 0;
        while (arrived < 20 && seen[arrived + 1] != 0) ++arrived;
        for (std::uint64_t i = arrived + 1; i <= 20; ++i) EXPECT_EQ(seen[i], 0u);
        some_lost = some_lost || arrived < 20;
        some_kept = some_kept || arrived > 0;
        std::uint64_t word = 1;
        EXPECT_EQ(net(0).initiate_transfer(Transfer(1).put(LcsAddress{0}, &word, 8)), Status::lost);
    }
    EXPECT_TRUE(some_lost);
    EXPECT_TRUE(some_kept);
}

TEST_F(sim_ideal, replay__equal_seeds_equal_runs) {
    std::vector<std::uint64_t> digests;
    for (const std::uint64_t seed : {3, 3, 4}) {
        devices.clear();
        logs.clear();
        open(4, {.seed = seed, .long_delay_percent = 10, .again_percent = 10});
        join();
        Prng prng(seeded(1));
        for (int i = 0; i < 500; ++i) {
            const std::uint64_t word = prng.next();
            const auto to = static_cast<PeerId>(prng.below(4));
            (void)net(prng.below(4) & 3).initiate_transfer(
                Transfer(to).put(LcsAddress{8 * prng.below(512)}, &word, 8));
            net(i % 4).poll(world->now());
        }
        settle();
        digests.push_back(world->digest());
    }
    EXPECT_EQ(digests[0], digests[1]);
    EXPECT_NE(digests[0], digests[2]);
}

}  // namespace
}  // namespace fci::sim
