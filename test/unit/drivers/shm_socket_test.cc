// SPDX-License-Identifier: BSD-3-Clause
// Sockets: records with their descriptors, whole or not at all, and what is known of the other end.
#include "drivers/shm/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

struct ShmSocket : testing::Test {
    ShmSocket() {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        one = host::Descriptor(ends[0]);
        other = host::Descriptor(ends[1]);
    }
    bool send(std::size_t bytes, const std::vector<int>& files = {}) {
        return send_record(one.get(), data.data(), bytes, files);
    }
    Reception receive() { return receive_record(other.get(), &received); }

    host::Descriptor one, other;
    std::vector<char> data = std::vector<char>(1000, 'x');
    Received received;
};

TEST_F(ShmSocket, record__comes_whole_with_its_descriptors) {
    EXPECT_EQ(receive(), Reception::nothing);
    const std::size_t before = open_descriptors();
    ASSERT_TRUE(send(100, {one.get(), other.get()}));
    ASSERT_EQ(receive(), Reception::record);
    EXPECT_EQ(received.length, 100u);
    EXPECT_EQ(received.file_count, 2u);
    EXPECT_FALSE(received.files_cut);
    EXPECT_EQ(std::memcmp(received.bytes.data(), data.data(), 100), 0);
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_NE(fcntl(received.files[i].get(), F_GETFD) & FD_CLOEXEC, 0);
    }
    EXPECT_EQ(open_descriptors(), before + 2);
    ASSERT_TRUE(send(3));
    ASSERT_EQ(receive(), Reception::record);
    EXPECT_EQ(received.length, 3u);
    EXPECT_EQ(received.file_count, 0u);
    EXPECT_EQ(receive(), Reception::nothing);
}

TEST_F(ShmSocket, record__of_each_length_up_to_the_longest) {
    ASSERT_TRUE(send(received.bytes.size()));
    ASSERT_EQ(receive(), Reception::record);
    EXPECT_EQ(received.length, received.bytes.size());
    ASSERT_TRUE(send(received.bytes.size() + 1));
    ASSERT_EQ(receive(), Reception::record);
    EXPECT_EQ(received.length, 0u) << "it was cut, so it is nothing";
    ASSERT_TRUE(send(0));
    EXPECT_EQ(receive(), Reception::closed) << "an empty one looks like the end";
}

TEST_F(ShmSocket, record__with_as_many_descriptors_as_there_may_be) {
    ASSERT_TRUE(send(1, std::vector<int>(Received::kFilesMax, one.get())));
    ASSERT_EQ(receive(), Reception::record);
    EXPECT_EQ(received.file_count, Received::kFilesMax);
    for (const auto& file : received.files) EXPECT_TRUE(file);
}

TEST_F(ShmSocket, record__whose_descriptors_do_not_fit_says_so) {
    ASSERT_TRUE(send(1, {one.get(), one.get(), one.get()}));
    rlimit old{};
    getrlimit(RLIMIT_NOFILE, &old);
    const rlimit few{lowest_free_descriptor(1), old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const Reception reception = receive();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    ASSERT_EQ(reception, Reception::record);
    EXPECT_TRUE(received.files_cut);
    EXPECT_EQ(received.file_count, 1u);
}

TEST_F(ShmSocket, end__is_heard_after_what_was_said) {
    EXPECT_FALSE(is_hung_up(other.get()));
    EXPECT_FALSE(is_readable(other.get()));
    ASSERT_TRUE(send(5));
    EXPECT_TRUE(is_readable(other.get()));
    EXPECT_FALSE(is_hung_up(other.get()));
    one.close();
    EXPECT_TRUE(is_hung_up(other.get()));
    EXPECT_EQ(receive(), Reception::record);
    EXPECT_EQ(receive(), Reception::closed);
    EXPECT_FALSE(send_record(other.get(), data.data(), 1, {}));
    EXPECT_EQ(errno, EPIPE) << "and no signal";
}

// An end that closes without having read everything resets the connection.
TEST_F(ShmSocket, end__with_something_unread_hides_nothing) {
    ASSERT_TRUE(send_record(other.get(), data.data(), 7, {}));
    ASSERT_TRUE(send(5));
    one.close();
    EXPECT_EQ(receive(), Reception::record);
    EXPECT_EQ(received.length, 5u);
    EXPECT_EQ(receive(), Reception::closed);
}

TEST_F(ShmSocket, is_all_read__of_what_was_sent) {
    EXPECT_TRUE(is_all_read(one.get()));
    ASSERT_TRUE(send(5));
    EXPECT_FALSE(is_all_read(one.get()));
    EXPECT_EQ(receive(), Reception::record);
    EXPECT_TRUE(is_all_read(one.get()));
    EXPECT_FALSE(is_all_read(-1));
}

TEST_F(ShmSocket, send__to_one_who_does_not_read_fails_for_now) {
    for (unsigned i = 0; send(1000) && i < 100'000; ++i) {
    }
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_TRUE(is_shortage(EAGAIN) && is_shortage(ETOOMANYREFS) && is_shortage(ENOBUFS) &&
                is_shortage(ENOMEM));
    EXPECT_FALSE(is_shortage(EPIPE) || is_shortage(ECONNRESET) || is_shortage(0));
}

TEST_F(ShmSocket, is_readable__of_no_descriptor) {
    EXPECT_FALSE(is_readable(-1));
    EXPECT_FALSE(is_readable(static_cast<int>(lowest_free_descriptor()))) << "it is not open";
    const host::Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    EXPECT_FALSE(is_readable(event.get()));
    ASSERT_EQ(eventfd_write(event.get(), 1), 0);
    EXPECT_TRUE(is_readable(event.get()));
}

TEST_F(ShmSocket, is_waker__nothing_that_could_block_or_kill) {
    const host::Descriptor own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const host::Descriptor its(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const host::Descriptor blocks(eventfd(0, EFD_CLOEXEC));
    EXPECT_TRUE(is_waker(its.get(), own.get()));
    EXPECT_FALSE(is_waker(blocks.get(), own.get()));
    EXPECT_FALSE(is_waker(one.get(), own.get()));
    EXPECT_FALSE(is_waker(-1, own.get()));
    EXPECT_FALSE(is_waker(its.get(), -1));
}

TEST_F(ShmSocket, watch_process__until_it_ends) {
    EXPECT_FALSE(watch_process(0));
    EXPECT_EQ(errno, EINVAL);
    Child child([] {
        for (;;) pause();
        return 0;
    });
    const host::Descriptor process = watch_process(child.pid());
    if (!process && errno == ENOSYS) GTEST_SKIP() << "needs Linux 5.3";
    ASSERT_TRUE(process);
    EXPECT_FALSE(is_readable(process.get()));
    child.signal(SIGKILL);
    child.await_end();
    EXPECT_TRUE(is_readable(process.get()));
}

TEST_F(ShmSocket, place_here__all_addresses_of_this_host_are_one) {
    ddi::Card card;
    card.port = htons(7);
    card.incarnation = 4711;
    for (const std::uint32_t address : {0u, 0x7f000001u, 0x7f0000feu, 0x7f010203u}) {
        card.host = htonl(address);
        const ddi::Card here = place_here(card);
        EXPECT_TRUE(is_here(here)) << address;
        EXPECT_EQ(here.host, htonl(INADDR_LOOPBACK));
        EXPECT_EQ(here.port, card.port);
        EXPECT_EQ(here.incarnation, card.incarnation);
    }
    card.host = htonl(0xcb007163);  // 203.0.113.99
    EXPECT_EQ(place_here(card).host, card.host);
    EXPECT_FALSE(is_here(place_here(card)));
}

TEST_F(ShmSocket, listen_at__a_place_that_is_taken_or_of_another_user) {
    ddi::Card card;
    card.host = htonl(INADDR_LOOPBACK);
    card.port = htons(2);
    host::Descriptor door;
    while (!(door = listen_at(card)) && errno == EADDRINUSE) ++card.port;
    ASSERT_TRUE(door);
    EXPECT_FALSE(listen_at(card));
    EXPECT_EQ(errno, EADDRINUSE);
    EXPECT_FALSE(connect_to(card, geteuid() + 1));
    EXPECT_EQ(errno, ECONNREFUSED);
    EXPECT_FALSE(accept_from(door.get()));
    EXPECT_EQ(errno, EAGAIN);
    const host::Descriptor caller = connect_to(card);
    EXPECT_TRUE(caller);
    const host::Descriptor guest = accept_from(door.get());
    ASSERT_TRUE(guest);
    EXPECT_NE(fcntl(guest.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(fcntl(caller.get(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace fci::shm
