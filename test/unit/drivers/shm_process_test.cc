// SPDX-License-Identifier: BSD-3-Clause
// What only real processes show: forks, kernel copies, descriptors.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <sstream>

#include "fci_core/ddi/crossing.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

bool readable(int fd, int timeout_ms) {
    pollfd one{fd, POLLIN, 0};
    return poll(&one, 1, timeout_ms) == 1;
}

// The child has copies of all objects. Whatever it does with them, the parent is not concerned.
TEST(ShmProcess, fork__child_does_not_disturb_its_parent) {
    Party self, other;
    const nhi::PeerId id = self.meet(other.device->card());
    ASSERT_TRUE(self.until([&] { return other.turn(), !self.attached.empty(); }));
    ASSERT_TRUE(other.until([&] { return !other.attached.empty(); }));
    Child child([&] {
        self.turn();
        self.device->sleep(1'000'000);
        if (self.device->network().poll(0) != 0) return 1;
        self.device.reset();
        other.device.reset();
        return 0;
    });
    EXPECT_EQ(child.result(), 0);
    self.turn_for(20'000'000);
    other.turn_for(20'000'000);
    EXPECT_TRUE(self.lost.empty());
    EXPECT_TRUE(other.lost.empty());
    ASSERT_EQ(self.put(id, 8, 3), Status::ok);
    EXPECT_EQ(other.word(other.attached[0], 8), 3u);
    // The sockets are still watched.
    other.device.reset();
    EXPECT_TRUE(self.sleep_until([&] { return !self.lost.empty(); }));
}

// It holds all sockets, so closing them here does not end them for the kernel.
TEST(ShmProcess, fork__child_that_stays_keeps_nobody_awake) {
    Party self;
    Child peer([&] { return visit(self.device->card(), 1); });
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    Child child([] {
        for (;;) pause();
        return 0;
    });
    peer.signal(SIGKILL);
    ASSERT_TRUE(self.sleep_until([&] { return !self.lost.empty(); }));
    EXPECT_TRUE(sleeps_well(self));
}

/// What is open, by number: where it leads.
std::map<int, std::string> all_open() {
    std::map<int, std::string> found;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        found[std::stoi(one.path().filename().string())] =
            std::filesystem::read_symlink(one.path(), gone).string();
    }
    return found;
}

TEST(ShmProcess, open__nothing_survives_an_exec) {
    const std::map<int, std::string> before = all_open();
    Party self, other;
    self.meet(other.device->card());
    ASSERT_TRUE(self.until([&] { return other.turn(), !self.attached.empty(); }));
    unsigned opened = 0;
    for (const auto& [fd, target] : all_open()) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags < 0 || before.count(fd) != 0) continue;  // the directory itself is closed again
        ++opened;
        EXPECT_NE(flags & FD_CLOEXEC, 0) << target;
    }
    EXPECT_GE(opened, 10u) << "the sockets, wakers and files of two";
}

TEST(ShmProcess, close__leaves_nothing_behind) {
    std::ostringstream names;
    const std::size_t before = open_descriptors();
    ddi::Card card;
    {
        Party self;
        card = self.device->card();
        for (unsigned i = 0; i < 20; ++i) {
            Party other;
            other.meet(card);
            ASSERT_TRUE(self.until([&] { return other.turn(), self.attached.size() == i + 1; }));
            ASSERT_TRUE(other.until([&] { return !other.attached.empty(); }));
            other.device.reset();
            ASSERT_TRUE(self.until([&] { return self.lost.size() == i + 1; }));
        }
        EXPECT_LE(open_descriptors(), before + 6) << "descriptors of lost peers";
    }
    EXPECT_EQ(open_descriptors(), before);
    names << std::ifstream("/proc/net/unix").rdbuf();
    EXPECT_EQ(names.str().find("/" + std::to_string(ntohs(card.port)) + "\n"), std::string::npos);
}

TEST(ShmProcess, connect__waits_for_one_that_starts_later) {
    Party self;
    ddi::Settings settings = party_settings();
    {
        Party place;  // a port that is free
        settings.wanted = place.device->card();
    }
    settings.wanted.incarnation = 0;
    const nhi::PeerId id = self.meet(settings.wanted);
    Child child([&] {
        usleep(100'000);
        Party late(settings);
        return late.device && late.until([&] { return late.lost.size() == 1; }) ? 0 : 1;
    });
    ASSERT_TRUE(self.sleep_until([&] { return !self.attached.empty() || !self.lost.empty(); }));
    EXPECT_EQ(self.attached, std::vector<nhi::PeerId>{id});
    self.turn();
    EXPECT_TRUE(sleeps_well(self));
    self.device.reset();
    EXPECT_EQ(child.result(), 0);
}

TEST(ShmProcess, wait_fd__readable_for_whatever_ends_a_sleep) {
    Party self;
    nhi::NetworkInterface& net = self.device->network();
    EXPECT_FALSE(readable(self.device->wait_fd(), 0));
    Child child([&] { return visit(self.device->card(), 1); });
    while (self.attached.empty()) {
        ASSERT_TRUE(readable(self.device->wait_fd(), 10'000)) << "an arrival";
        self.turn();
    }
    self.until([&] { return self.word(self.attached[0], 0) == 1; });
    self.turn();
    ASSERT_EQ(net.configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    EXPECT_FALSE(readable(self.device->wait_fd(), 0));
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    EXPECT_TRUE(readable(self.device->wait_fd(), 0)) << "an event";
    for (unsigned i = 0; i < 20; ++i) self.turn();
    EXPECT_FALSE(readable(self.device->wait_fd(), 0));
    child.signal(SIGKILL);
    EXPECT_TRUE(readable(self.device->wait_fd(), 10'000)) << "a departure";
    EXPECT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_FALSE(readable(self.device->wait_fd(), 0));
}

TEST(ShmProcess, connect__gives_up_with_cause_and_remedy) {
    Party self(party_settings(), {.patience_typed = 50'000'000, .patience_given = 1'000'000});
    ddi::Card card;
    card.host = htonl(INADDR_LOOPBACK);
    card.port = htons(1023);
    self.meet(card);
    const Nanoseconds before = monotonic_now();
    ASSERT_TRUE(self.sleep_until([&] { return !self.lost.empty(); }));
    EXPECT_GE(monotonic_now() - before, 50'000'000);
    EXPECT_EQ(self.lost[0].why, Status::unreachable);
    EXPECT_TRUE(sleeps_well(self));
    for (const char* said :
         {"127.0.0.1:1023", "FCI_CONNECT_MS", "exited", "container", "start all"}) {
        EXPECT_NE(self.lost[0].reason.find(said), std::string::npos) << self.lost[0].reason;
    }
}

TEST(ShmProcess, open__port_that_is_taken) {
    Party self;
    ddi::Settings settings = party_settings();
    settings.wanted = self.device->card();
    Party second(settings);
    EXPECT_EQ(second.device, nullptr);
    EXPECT_NE(second.error.find(std::to_string(ntohs(settings.wanted.port))), std::string::npos)
        << second.error;
}

TEST(ShmProcess, copy__between_processes) {
    Party self;
    Child child([&] {
        std::vector<std::uint64_t> data(100'000);
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = i;
        Party other;
        const nhi::PeerId id = other.meet(self.device->card());
        if (!other.until([&] { return !other.attached.empty(); })) return 1;
        if (other.put(id, 0, reinterpret_cast<std::uint64_t>(data.data())) != Status::ok) {
            return 2;
        }
        if (!other.until([&] { return other.word(id, 0) == 1; })) return 3;
        return data[50'000] == 123 && data[50'001] == 50'001 ? 0 : 4;
    });
    ASSERT_TRUE(self.until([&] { return !self.attached.empty(); }));
    const nhi::PeerId id = self.attached[0];
    ASSERT_TRUE(self.until([&] { return self.word(id, 0) != 0; }));
    nhi::NetworkInterface& net = self.device->network();
    using Direction = nhi::NetworkInterface::Direction;
    if (net.copy(id, Direction::read, 0, nullptr, 0) == Status::unsupported) {
        GTEST_SKIP() << "the kernel does not copy between processes here";
    }
    std::vector<std::uint64_t> data(100'000);
    const std::uint64_t there = self.word(id, 0);
    ASSERT_EQ(net.copy(id, Direction::read, there, data.data(), 800'000), Status::ok);
    for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], i);
    data[0] = 123;
    ASSERT_EQ(net.copy(id, Direction::write, there + 400'000, data.data(), 8), Status::ok);
    EXPECT_EQ(net.copy(id, Direction::read, 64, data.data(), 8), Status::invalid);
    EXPECT_EQ(net.copy(id, Direction::write, ~0ull - 4096, data.data(), 8), Status::invalid);
    ASSERT_EQ(self.put(id, 0, 1), Status::ok);
    EXPECT_EQ(child.result(), 0);
    ASSERT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_EQ(net.copy(id, Direction::read, there, data.data(), 8), Status::lost);
}

// Many at once, everybody to everybody, all crossing.
TEST(ShmProcess, connect__crowd) {
    constexpr unsigned kCrowd = 16;  // all in one process, with its 1024 descriptors
    std::vector<std::unique_ptr<Party>> crowd;
    for (unsigned i = 0; i < kCrowd; ++i) crowd.push_back(std::make_unique<Party>());
    for (auto& one : crowd) {
        for (auto& other : crowd) one->meet(other->device->card());
    }
    for (auto& one : crowd) {
        ASSERT_TRUE(one->until([&] {
            for (auto& other : crowd) other->turn();
            return one->attached.size() == kCrowd - 1;
        }));
    }
    for (auto& one : crowd) {
        EXPECT_EQ(one->device->peers(), kCrowd);
        EXPECT_TRUE(one->lost.empty());
    }
}

// One hears that the other is on its way, and has the word of its end before it reads that.
TEST(ShmProcess, connect__crossing_one_that_closes) {
    constexpr Nanoseconds kSoon = 300'000'000;  // before it looks by itself
    HandClock clock;
    const Tuning impatient{.patience_given = 20'000'000, .clock = &clock};
    Party one(party_settings(), impatient), other(party_settings(), impatient);
    const bool goes_on =
        ddi::is_own_way(one.device->card().incarnation, other.device->card().incarnation);
    Party& leaves = goes_on ? one : other;
    Party& stays = goes_on ? other : one;
    stays.meet(leaves.device->card());
    leaves.meet(stays.device->card());
    leaves.turn();
    leaves.device.reset();
    for (; stays.lost.empty() && clock.time < kSoon; clock.time += 100'000) stays.turn();
    EXPECT_FALSE(stays.lost.empty());
}

// Nobody can come in any more, and those who try hear why, once that has lasted; the process itself
// goes on. With room for no socket at all, for one, and for one with some of the three files that a
// visitor brings.
TEST(ShmProcess, accept__without_descriptors) {
    for (rlim_t room = 0; room < 4; ++room) {
        HandClock clock;
        const Tuning tuning{.short_untold = 100'000'000, .clock = &clock};
        Party self(party_settings(), tuning), visitor(party_settings(), tuning);
        testing::internal::CaptureStderr();
        visitor.meet(self.device->card());
        // What the visitor holds is open already.
        rlimit old{};
        getrlimit(RLIMIT_NOFILE, &old);
        const rlimit few{lowest_free_descriptor(room), old.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        unsigned woken = 0;
        for (unsigned i = 0; i < 40; ++i, clock.time += 2'000'000) {
            const Nanoseconds before = monotonic_now();
            self.device->sleep(1'000'000);
            woken += monotonic_now() - before < 1'000'000;
            self.turn();
            visitor.turn();
        }
        EXPECT_LE(woken, 20u) << "somebody at the door keeps everybody awake";
        EXPECT_TRUE(visitor.lost.empty()) << "at once";
        const bool over = visitor.until([&] {
            clock.time += 1'000'000;
            return self.turn(), !visitor.lost.empty() || !visitor.attached.empty();
        });
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
        ASSERT_TRUE(over);
        const std::string said = testing::internal::GetCapturedStderr();
        ASSERT_EQ(visitor.lost.size(), 1u) << room;
        EXPECT_NE(said.find(visitor.lost[0].reason), std::string::npos) << said;
        EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
        EXPECT_EQ(visitor.lost[0].why, Status::exhausted) << room << visitor.lost[0].reason;
        Party second(party_settings(), tuning);  // now there are some again
        second.meet(self.device->card());
        EXPECT_TRUE(second.until([&] {
            clock.time += 1'000'000;
            return self.turn(), !second.attached.empty();
        }));
    }
}

}  // namespace
}  // namespace fci::shm
