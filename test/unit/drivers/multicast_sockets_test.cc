// SPDX-License-Identifier: BSD-3-Clause
// Hints by multicast: what is sent where the system refuses, and what the sockets let through.
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <cstring>

#include "test/unit/drivers/multicast_hand.h"

namespace fci::multicast {
namespace {

/// Asked each time; how often for several at once.
struct Refusing {
    explicit Refusing(std::vector<int> answers) : errors(std::move(answers)) {
        calls.fail_datagram = [this](bool several) {
            (several ? bursts : singles)++;
            if (at == errors.size()) return 0;
            return errors[at++];
        };
    }
    ~Refusing() { calls.fail_datagram = {}; }
    std::vector<int> errors;
    std::size_t at = 0;
    unsigned bursts = 0, singles = 0;
};

TEST_F(multicast_hand, send__a_burst_in_one_call) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    Refusing system({});
    ASSERT_EQ(say(5, 0, long_.size(), kPiece), Status::ok);
    EXPECT_EQ(system.bursts, 0u);
    ASSERT_EQ(say(5, 0, long_.size(), kPiece + 1), Status::ok);
    EXPECT_EQ(system.bursts, 1u);
    EXPECT_EQ(system.singles, 1u);
    look_until(1, 3);
}

TEST_F(multicast_hand, send__piece_by_piece_where_the_system_cannot_part_them) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    Refusing system({EIO});
    for (unsigned i = 1; i <= 2; ++i) {
        ASSERT_EQ(say(5, 0, long_.size(), 2 * kPiece + 1), Status::ok);
        EXPECT_EQ(system.bursts, 1u) << "it is tried once";
        EXPECT_EQ(system.singles, 3 * i);
        EXPECT_EQ(sent_.hints_sent, 3 * i);
        look_until(1, 3 * i);
        EXPECT_EQ(heard_.all.back().second, 1u);
    }
}

TEST_F(multicast_hand, send__what_there_is_no_room_for_was_not_sent) {
    for (const int error : {EAGAIN, EINTR, ENOBUFS, ENOMEM}) {
        for (const std::size_t bytes : {std::size_t{10}, kPiece + 1}) {
            Refusing system({error});
            EXPECT_EQ(say(5, 0, long_.size(), bytes), Status::again) << error;
            EXPECT_EQ(system.bursts + system.singles, 1u);
        }
    }
    EXPECT_EQ(sent_.hints_sent, 0u);
    Refusing system({});
    EXPECT_EQ(say(5, 0, long_.size(), kPiece + 1), Status::ok);
    EXPECT_EQ(system.bursts, 1u) << "that says nothing about bursts";
}

/// As by a firewall: it is like one that a switch drops.
TEST_F(multicast_hand, send__what_is_forbidden_is_lost) {
    Refusing system({EPERM, EPERM, ENETUNREACH});
    EXPECT_EQ(say(5, 0, long_.size(), kPiece + 1), Status::ok);
    EXPECT_EQ(system.bursts, 1u);
    EXPECT_EQ(system.singles, 0u);
    EXPECT_EQ(say(5, 0, long_.size(), 10), Status::ok);
    EXPECT_EQ(say(5, 0, long_.size(), 10), Status::ok);
    EXPECT_EQ(sent_.hints_sent, 0u);
    EXPECT_EQ(say(5, 0, long_.size(), kPiece + 1), Status::ok);
    EXPECT_EQ(system.bursts, 2u);
}

TEST_F(multicast_hand, send__of_a_burst_in_pieces_the_rest_is_lost) {
    Refusing system({EIO, 0, EAGAIN, EAGAIN});
    EXPECT_EQ(say(5, 0, long_.size(), 2 * kPiece + 1), Status::ok);
    EXPECT_EQ(sent_.hints_sent, 1u);
    EXPECT_EQ(system.singles, 2u);
    EXPECT_EQ(say(5, 0, long_.size(), 2 * kPiece + 1), Status::again) << "of this one nothing went";
    EXPECT_EQ(system.bursts, 1u);
}

/// A burst that fails piece by piece, too, says nothing about bursts.
TEST_F(multicast_hand, send__a_burst_of_which_nothing_went_is_tried_as_a_burst_again) {
    Refusing system({EIO, EAGAIN});
    EXPECT_EQ(say(5, 0, long_.size(), kPiece + 1), Status::again);
    EXPECT_EQ(say(5, 0, long_.size(), kPiece + 1), Status::ok);
    EXPECT_EQ(system.bursts, 2u);
}

/// Processes on this host hear of it by memory, and those on other networks need not.
TEST_F(multicast_hand, sockets__are_set_so) {
    calls.ip_options.clear();
    ASSERT_EQ(say(5, 0, 10, 10), Status::ok);
    EXPECT_EQ(calls.ip_options.at(IP_MULTICAST_LOOP), 0);
    EXPECT_EQ(calls.ip_options.at(IP_MULTICAST_TTL), 1);
    in_addr own{};
    std::memcpy(&own, &calls.ip_options.at(IP_MULTICAST_IF), sizeof own);
    EXPECT_EQ(own.s_addr, htonl(0x7f000002));
    calls.ip_options.clear();
    ASSERT_EQ(say(5, 0, 10, 10), Status::ok);
    EXPECT_TRUE(calls.ip_options.empty()) << "once";
    ear_->leave(kName);
    calls.ip_options.clear();
    ASSERT_EQ(join(*ear_, 1, heard_), Status::ok);
    EXPECT_EQ(calls.ip_options.at(IP_MULTICAST_ALL), 0) << "groups at other interfaces";
}

TEST_F(multicast_hand, window__is_what_waits_in_the_sockets) {
    EXPECT_EQ(make(2)->window(), 3 * kMost) << "a burst in each lane before anything is known";
    Sockets like(Place::of(1, {}), htonl(0x7f000002));
    std::string why;
    ASSERT_TRUE(like.open_to_hear(&why)) << why;
    ASSERT_GT(like.room(), 0u);
    // The kernel counts its own room as well: a piece of 1416 bytes is more than twice that.
    const std::size_t each = ear_->window() / 3;
    EXPECT_EQ(each % kMost, 0u);
    EXPECT_GE(each, kMost);
    EXPECT_LE(each, std::max(kMost, like.room() * 9 / 20));
    EXPECT_GT(each + kMost, like.room() * 9 / 20);
    ear_->close();
    EXPECT_EQ(ear_->window(), 0u);
}

TEST_F(multicast_hand, close__ends_it_for_good) {
    mouth_->close();
    EXPECT_EQ(say(5, 0, 10, 10), Status::unsupported);
    EXPECT_EQ(join(*mouth_, 0, nobody_, kName + 1), Status::unsupported);
    nhi::HintGroup group{};
    EXPECT_EQ(mouth_->draw(&group), Status::unsupported);
    EXPECT_FALSE(mouth_->can_hear());
    EXPECT_EQ(mouth_->look(0), 0u);
    EXPECT_EQ(mouth_->look_for_long(), 0u);
}

/// They are not taken from the network, so that they take no room in the sockets.
TEST_F(multicast_hand, filter__of_other_jobs_at_this_address_nothing_is_seen) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    const Place place = Place::of(static_cast<std::uint64_t>(getpid()) << 20 | 11, {});
    Sockets stranger(place, htonl(0x7f000002));
    std::string why;
    ASSERT_TRUE(stranger.open_to_send(&why)) << why;
    std::vector<std::byte> other(sizeof(Heading) + 10);
    for (std::uint32_t i = 0; i < 100; ++i) {
        const std::uint32_t cookie = place.cookie ^ (i < 32 ? 1u << i : i);
        std::memcpy(other.data(), &cookie, sizeof cookie);
        ASSERT_GT(stranger.send(0, other, 0), 0);
    }
    ASSERT_GT(stranger.send(0, std::span(other).first(3), 0), 0);
    ASSERT_EQ(say(5, 0, 10, 10), Status::ok);
    look_until(0, 1);
    EXPECT_EQ(counters_.hints_refused, 0u);
    std::memcpy(other.data(), &place.cookie, sizeof place.cookie);
    ASSERT_GT(stranger.send(0, other, 0), 0);
    ASSERT_EQ(say(5, 0, 10, 10), Status::ok);
    look_until(0, 2);
    EXPECT_EQ(counters_.hints_refused, 1u) << "of this job, and yet no hint";
}

// --- sockets alone ---

constexpr std::uint32_t kLoopback = 0x7f000001;

/// Of a job that no other test has.
Place own_place() {
    return Place::of(static_cast<std::uint64_t>(getpid()) << 20 | 17, {});
}

TEST(multicast_sockets, open_to_hear__as_much_as_the_kernel_gives) {
    Sockets sockets(own_place(), htonl(kLoopback));
    std::string why;
    ASSERT_TRUE(sockets.open_to_hear(&why)) << why;
    EXPECT_TRUE(sockets.can_hear());
    EXPECT_FALSE(sockets.can_send());
    const host::Descriptor usual(::socket(AF_INET, SOCK_DGRAM, 0));
    const auto option = [](int socket, int level, int name) {
        int value = -1;
        socklen_t bytes = sizeof value;
        EXPECT_EQ(getsockopt(socket, level, name, &value, &bytes), 0);
        return value;
    };
    EXPECT_GT(sockets.room(), static_cast<std::size_t>(option(usual.get(), SOL_SOCKET, SO_RCVBUF)));
    std::vector<int> ears;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        ears.push_back(sockets.ear(lane));
        EXPECT_EQ(option(ears[lane], IPPROTO_UDP, UDP_GRO), 1) << "several in one call";
    }
    ASSERT_TRUE(sockets.open_to_hear(&why));
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(sockets.ear(lane), ears[lane]);
}

TEST(multicast_sockets, open__what_fails_is_said_and_leaves_nothing) {
    std::string why;
    Sockets nowhere(own_place(), htonl(0x0102'0304));
    const char* const no_interface = "no interface here has the address at which this process";
    EXPECT_FALSE(nowhere.open_to_send(&why));
    EXPECT_NE(why.find(no_interface), std::string::npos) << why;
    why.clear();
    EXPECT_FALSE(nowhere.open_to_hear(&why));
    EXPECT_NE(why.find(no_interface), std::string::npos) << why;
    Sockets sockets(own_place(), htonl(kLoopback));
    calls.fail_connect = [] { return ENETUNREACH; };
    EXPECT_FALSE(sockets.open_to_send(&why));
    calls.fail_connect = {};
    EXPECT_EQ(why, "cannot send by multicast: Network is unreachable");
    EXPECT_FALSE(sockets.can_send());
    ASSERT_TRUE(sockets.open_to_send(&why));
    // Somebody has one of the ports for itself.
    const Place place = own_place();
    const host::Descriptor other(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(place.port + 2));
    at.sin_addr.s_addr = place.host;
    ASSERT_EQ(bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_FALSE(sockets.open_to_hear(&why));
    EXPECT_EQ(why, "cannot hear multicast: Address already in use");
    EXPECT_FALSE(sockets.can_hear());
    for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(sockets.ear(lane), -1);
}

// --- the interface ---

constexpr int kNoNamespace = 77;

/// In a network of this process alone, whose interface takes packets of so many bytes: whether that
/// is enough to hear. Else why not.
bool can_hear_with(int mtu, std::string* why) {
    const host::Descriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
    ifreq told{};
    std::strcpy(told.ifr_name, "lo");
    told.ifr_mtu = mtu;
    if (ioctl(socket.get(), SIOCSIFMTU, &told) != 0) _exit(kNoNamespace);
    told.ifr_flags = IFF_UP;
    if (ioctl(socket.get(), SIOCSIFFLAGS, &told) != 0) _exit(kNoNamespace);
    Sockets sockets(Place::of(1, {}), htonl(INADDR_LOOPBACK));
    return sockets.open_to_hear(why);
}

TEST(multicast_interface, open__where_no_whole_hint_fits_says_so) {
    const pid_t child = fork();
    if (child == 0) {
        const bool has_own =
            unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
        if (!has_own) _exit(kNoNamespace);
        std::string why;
        const bool is_refused = !can_hear_with(1499, &why) &&
                                why ==
                                    "the interface lo takes packets of 1499 bytes at most, and "
                                    "hints have 1500";
        _exit(is_refused && can_hear_with(1500, &why) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "no namespaces of its own";
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace fci::multicast
