// SPDX-License-Identifier: BSD-3-Clause
// Watch: more than one look can tell, and what it refuses.
#include "drivers/tcp/watch.h"

#include <sys/socket.h>

#include <array>
#include <set>

#include "test/unit/drivers/calls.h"
#include "test/unit/limit.h"

namespace fci::tcp {
namespace {

constexpr unsigned kMany = 6;

/// Sockets, the other ends of which say something.
struct TcpWatch : testing::Test {
    TcpWatch() {
        EXPECT_TRUE(watch.open());
        for (unsigned i = 0; i < kMany; ++i) {
            int pair[2];
            EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
            here.emplace_back(pair[0]), there.emplace_back(pair[1]);
        }
    }
    ~TcpWatch() override { calls.fail_watch = {}; }

    void set(unsigned i) { watch.set(here[i].get(), 100 + i, EPOLLIN); }
    void say(unsigned i) { EXPECT_EQ(::send(there[i].get(), "x", 1, 0), 1); }
    /// The names that are told, of so many at most.
    std::set<std::uint64_t> look(std::size_t most = kMany) {
        std::array<epoll_event, kMany> happened;
        const std::size_t count = watch.look(std::span(happened).first(most));
        std::set<std::uint64_t> names;
        for (std::size_t i = 0; i < count; ++i) {
            names.insert(happened[i].data.u64);
            EXPECT_EQ(happened[i].events, std::uint32_t{EPOLLIN});
        }
        EXPECT_EQ(names.size(), count);
        return names;
    }

    Watch watch;
    std::vector<host::Descriptor> here, there;
};

TEST_F(TcpWatch, look__as_many_as_there_is_room_for) {
    calls.fail_watch = [] { return ENOSPC; };
    for (unsigned i = 0; i < 3; ++i) set(i);
    EXPECT_FALSE(watch.is_complete());
    bool is_refused = true;
    calls.fail_watch = [&] { return is_refused ? ENOSPC : 0; };
    for (unsigned i = 0; i < 3; ++i) say(i);
    EXPECT_EQ(look(2).size(), 2u);
    EXPECT_EQ(look(3), (std::set<std::uint64_t>{100, 101, 102}));
    EXPECT_EQ(look(), (std::set<std::uint64_t>{100, 101, 102}));
    is_refused = false;
    EXPECT_EQ(look().size(), 3u);
    EXPECT_TRUE(watch.is_complete());
    is_refused = true;
    set(3);
    say(3);
    EXPECT_EQ(look(3).size(), 3u) << "there is no room for what was refused";
    EXPECT_EQ(look(4), (std::set<std::uint64_t>{100, 101, 102, 103}));
}

TEST_F(TcpWatch, set__again_changes_its_name) {
    set(0);
    say(0);
    watch.set(here[0].get(), 7, EPOLLIN);
    EXPECT_EQ(look(), (std::set<std::uint64_t>{7}));
    watch.forget(here[0].get());
    EXPECT_TRUE(look().empty());
    calls.fail_watch = [] { return ENOSPC; };
    set(0);
    watch.set(here[0].get(), 8, EPOLLIN);
    EXPECT_EQ(look(), (std::set<std::uint64_t>{8})) << "once";
    watch.closed(here[1].get());
    EXPECT_EQ(look().size(), 1u);
    watch.closed(here[0].get());
    EXPECT_TRUE(watch.is_complete());
    EXPECT_TRUE(look().empty());
}

/// A sleeper that was refused a watch looks again in a while; others sleep as long as they asked.
TEST_F(TcpWatch, wait__comes_back_for_what_was_refused) {
    EXPECT_FALSE(watch.wait(0));
    EXPECT_FALSE(watch.wait(20'000'000));
    calls.fail_watch = [] { return ENOSPC; };
    set(0);
    EXPECT_TRUE(watch.wait(-1));
    EXPECT_TRUE(watch.wait(Watch::kAgain + 1));
    EXPECT_FALSE(watch.wait(Watch::kAgain)) << "the time is over";
    EXPECT_FALSE(watch.wait(0));
    calls.fail_watch = {};
    EXPECT_TRUE(look().empty());
    EXPECT_FALSE(watch.wait(Watch::kAgain + 1));
    say(0);
    EXPECT_TRUE(watch.wait(-1));
}

TEST_F(TcpWatch, close__forgets_all) {
    calls.fail_watch = [] { return ENOSPC; };
    set(0);
    watch.close();
    EXPECT_TRUE(watch.is_complete());
    EXPECT_EQ(watch.fd(), -1);
}

}  // namespace
}  // namespace fci::tcp
