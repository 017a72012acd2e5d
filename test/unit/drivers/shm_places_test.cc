// SPDX-License-Identifier: BSD-3-Clause
// Places: the addresses of one, and processes that leave theirs before or after somebody came.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>

#include <cstring>
#include <memory>

#include "drivers/host/mark.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

/// Of this host, one that is not its loopback address; 127.0.1.1 where it has no other.
std::uint32_t other_address() {
    std::uint32_t found = htonl(0x7f000101);
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return found;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
        sockaddr_in address;
        std::memcpy(&address, one->ifa_addr, sizeof address);
        if (address.sin_addr.s_addr != htonl(INADDR_LOOPBACK)) found = address.sin_addr.s_addr;
    }
    freeifaddrs(all);
    return found;
}

// A launcher may tell the address of the host's card, /etc/hosts may say 127.0.1.1.
TEST(ShmPlaces, typed__every_address_of_this_host_is_the_same_place) {
    for (const std::uint32_t host : {other_address(), htonl(0x7f000101), std::uint32_t{0}}) {
        Party self;
        ddi::Settings settings = party_settings();
        settings.wanted.host = host;
        Party other(settings);
        ASSERT_TRUE(other.device) << other.error;
        ddi::Card typed = other.device->card();
        typed.incarnation = 0;
        nhi::PeerId id = nhi::kNoPeer, again = nhi::kNoPeer;
        for (const std::uint32_t name : {host, htonl(INADDR_LOOPBACK)}) {
            typed.host = name;
            ASSERT_EQ(self.device->add_peer(typed, &again), Status::ok);
            EXPECT_TRUE(id == nhi::kNoPeer || again == id) << "one process, two ranks";
            id = again;
        }
        typed = self.device->card();
        typed.incarnation = 0;
        typed.host = host;
        ASSERT_EQ(self.device->add_peer(typed, &again), Status::ok);
        EXPECT_EQ(again, nhi::kSelf);
        ASSERT_EQ(self.device->connect(id), Status::ok);
        ASSERT_TRUE(self.until([&] { return other.turn(), !self.attached.empty(); }));
        EXPECT_EQ(self.attached, std::vector<nhi::PeerId>{id});
    }
}

// Its card says that it is at 127.0.0.1, as each process that has shared memory alone says.
TEST(ShmPlaces, card__of_another_host) {
    Party self;
    ddi::Card card = self.device->card();
    const host::Mark own = host::mark_of(card.incarnation);
    ASSERT_NE(own, host::kNoMark);
    const auto other = static_cast<host::Mark>(own == 1 ? 2 : 1);
    card.incarnation ^= std::uint64_t{static_cast<host::Mark>(own ^ other)} << host::kRandomBits;
    card.port = htons(1);
    nhi::PeerId id = nhi::kNoPeer;
    testing::internal::CaptureStderr();
    EXPECT_EQ(self.device->add_peer(card, &id), Status::unreachable);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("another host"), std::string::npos) << said;
    EXPECT_NE(said.find("FCI_DRIVER=node"), std::string::npos) << said;
    EXPECT_EQ(said.find("127."), std::string::npos) << said;
    card.incarnation = 4711;  // of a process that cannot tell
    EXPECT_EQ(self.device->add_peer(card, &id), Status::ok);
}

// Nobody waits for what cannot come.
TEST(ShmPlaces, typed__address_of_another_host) {
    Party self;
    ddi::Card card;
    card.host = htonl(0xcb007163);  // 203.0.113.99
    card.port = htons(4711);
    ASSERT_NE(other_address(), card.host);
    self.meet(card);
    ASSERT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_EQ(self.lost[0].why, Status::unreachable);
    EXPECT_NE(self.lost[0].reason.find("203.0.113.99:4711: that is no address of this host"),
              std::string::npos)
        << self.lost[0].reason;
    ddi::Settings settings = party_settings();
    settings.wanted = card;
    const Party there(settings);
    EXPECT_FALSE(there.device);
    EXPECT_NE(there.error.find("no address of this host"), std::string::npos) << there.error;
}

// Whoever waits for the descriptor, and has other things to wait for, hears of it as well.
TEST(ShmPlaces, wait_fd__tells_of_a_call_that_failed_at_once) {
    Party self;
    self.turn();
    pollfd watched{self.device->wait_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&watched, 1, 0), 0);
    ddi::Card card;
    card.host = htonl(0xcb007163);
    card.port = htons(4711);
    self.meet(card);
    EXPECT_EQ(poll(&watched, 1, 0), 1);
    self.turn();
    EXPECT_EQ(self.lost.size(), 1u);
    self.turn();
    EXPECT_EQ(poll(&watched, 1, 0), 0);
}

// The device above, which knows this process by other networks as well, has drawn it.
TEST(ShmPlaces, incarnation__is_the_one_given_or_has_the_mark_of_this_host) {
    ddi::Settings settings = party_settings();
    settings.incarnation = 0x123456789abcdef;
    Party given(settings), drawn;
    EXPECT_EQ(given.device->card().incarnation, settings.incarnation);
    EXPECT_NE(host::own_mark(), host::kNoMark);
    EXPECT_EQ(host::mark_of(drawn.device->card().incarnation), host::own_mark());
    ddi::Card card = drawn.device->card();
    card.incarnation = 0;  // that says to the one with another mark that it is on another host
    given.meet(card);
    ASSERT_TRUE(given.until([&] { return drawn.turn(), !given.attached.empty(); }));
}

// A typed place may change hands before anybody has answered there.
TEST(ShmPlaces, connect__typed_place_changes_hands) {
    for (const bool comes_in : {false, true}) {
        Party self;
        ddi::Settings settings = party_settings();
        auto first = std::make_unique<Party>();
        settings.wanted = first->device->card();
        settings.wanted.incarnation = 0;
        const nhi::PeerId id = self.meet(settings.wanted);  // waits at the first one's door
        first.reset();                                      // which never opens
        Party second(settings);
        ASSERT_TRUE(second.device);
        if (comes_in) {
            second.meet(self.device->card());
            second.turn();
        }
        ASSERT_TRUE(self.until([&] { return second.turn(), !self.attached.empty(); }));
        ASSERT_TRUE(second.until([&] { return !second.attached.empty(); }));
        for (unsigned i = 0; i < 1000; ++i) second.turn(), self.turn();
        EXPECT_EQ(self.attached, std::vector<nhi::PeerId>{id});
        EXPECT_EQ(second.attached.size(), 1u);
        EXPECT_TRUE(self.lost.empty()) << self.lost[0].reason;
        EXPECT_TRUE(second.lost.empty()) << second.lost[0].reason;
        ASSERT_EQ(self.put(id, 0, 9), Status::ok);
        EXPECT_EQ(second.word(second.attached[0], 0), 9u);
    }
}

// Who leaves while others stand at the door, or have just come in, has not died for them; who is
// killed has.
TEST(ShmPlaces, connect__to_one_who_leaves_before_it_answers) {
    Party self;
    nhi::PeerId id = nhi::kNoPeer;
    {
        Party host;
        id = self.meet(host.device->card());
    }
    ASSERT_TRUE(self.until([&] { return !self.lost.empty(); }));
    EXPECT_EQ(self.lost[0].id, id);
    EXPECT_EQ(self.lost[0].why, Status::not_found) << self.lost[0].reason;

    int cards[2];
    ASSERT_EQ(pipe(cards), 0);
    Child child([&] {
        Party host;
        (void)!write(cards[1], &host.device->card(), sizeof(ddi::Card));
        for (;;) pause();
        return 0;
    });
    ddi::Card card;
    ASSERT_EQ(read(cards[0], &card, sizeof card), static_cast<ssize_t>(sizeof card));
    close(cards[0]);
    close(cards[1]);
    self.meet(card);
    child.signal(SIGKILL);
    ASSERT_TRUE(self.until([&] { return self.lost.size() == 2; }));
    EXPECT_EQ(self.lost[1].why, Status::lost) << self.lost[1].reason;
    EXPECT_TRUE(self.attached.empty());
}

// Its place is taken by another one: it has left, and nobody knows how.
TEST(ShmPlaces, connect__to_one_who_was_replaced) {
    Party self;
    ddi::Settings settings = party_settings();
    ddi::Card old;
    {
        Party first;
        old = settings.wanted = first.device->card();
    }
    settings.wanted.incarnation = 0;
    Party second(settings);
    ASSERT_TRUE(second.device) << second.error;
    self.meet(old);
    ASSERT_TRUE(self.until([&] { return second.turn(), !self.lost.empty(); }));
    EXPECT_EQ(self.lost[0].why, Status::unreachable) << self.lost[0].reason;
    EXPECT_TRUE(second.lost.empty());
}

// Ports are used again. Nobody grieves for one who was never met, or who has said goodbye.
TEST(ShmPlaces, seat__of_one_who_left) {
    for (const bool met : {false, true}) {
        Party self;
        ddi::Settings settings = party_settings();
        auto first = std::make_unique<Party>();
        settings.wanted = first->device->card();
        nhi::PeerId id = nhi::kNoPeer;
        ASSERT_EQ(self.device->add_peer(settings.wanted, &id), Status::ok);
        if (met) {
            ASSERT_EQ(self.device->connect(id), Status::ok);
            ASSERT_TRUE(self.until([&] { return first->turn(), !self.attached.empty(); }));
            ASSERT_TRUE(first->until([&] { return self.turn(), !first->attached.empty(); }));
        }
        first.reset();  // and self is busy elsewhere
        settings.wanted.incarnation = 0;
        Party second(settings);
        ASSERT_TRUE(second.device) << second.error;
        second.meet(self.device->card());
        ASSERT_TRUE(self.until([&] { return second.turn(), self.attached.size() == 1u + met; }));
        ASSERT_EQ(self.lost.size(), 1u);
        EXPECT_EQ(self.lost[0].id, id);
        EXPECT_EQ(self.lost[0].why, met ? Status::not_found : Status::unreachable)
            << self.lost[0].reason;
        EXPECT_NE(self.attached.back(), id);
    }
}

}  // namespace
}  // namespace fci::shm
