// SPDX-License-Identifier: BSD-3-Clause
// Streams of the kernel: what is set of a socket, and what is told of it.
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <iterator>

#include "drivers/tcp/kernel.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

constexpr Nanoseconds kMs = 1'000'000, kSecond = 1000 * kMs;

int option(int socket, int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(getsockopt(socket, level, name, &value, &bytes), 0) << name;
    return value;
}

/// Two ends over the loopback interface.
struct KernelStreams : testing::Test {
    explicit KernelStreams(std::uint32_t silence_ms = 10'000) : kernel(silence_ms) {
        std::string error;
        EXPECT_EQ(kernel.open(&error), Status::ok) << error;
        door = host::Descriptor(kernel.listen(&place));
        EXPECT_GE(door.get(), 0);
        EXPECT_NE(place.port, 0);
        EXPECT_EQ(kernel.accept(door.get()), -EAGAIN);
        from = host::Descriptor(kernel.call({AF_INET, 0, place.host, 1}, place));
        EXPECT_GE(from.get(), 0);
        pollfd waits{door.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&waits, 1, 10'000), 1);
        to = host::Descriptor(kernel.accept(door.get()));
        EXPECT_GE(to.get(), 0);
    }
    ssize_t send(const std::string& text, bool lingers = false) {
        const iovec all{const_cast<char*>(text.data()), text.size()};
        return kernel.send(from.get(), {&all, 1}, lingers);
    }
    std::string receive() {
        std::string text(1000, '\0');
        const iovec all{text.data(), text.size()};
        const ssize_t got = kernel.receive(to.get(), {&all, 1});
        return got >= 0 ? text.substr(0, static_cast<std::size_t>(got)) : std::to_string(got);
    }
    [[nodiscard]] bool is_readable(int fd) const {
        pollfd waits{fd, POLLIN, 0};
        return ::poll(&waits, 1, 0) == 1;
    }
    [[nodiscard]] bool becomes_readable(int fd) const {
        pollfd waits{fd, POLLIN, 0};
        return ::poll(&waits, 1, 10'000) == 1;
    }
    std::vector<Streams::Event> look() {
        std::array<Streams::Event, Streams::kEventsMost> events;
        const std::size_t count = kernel.look(events);
        return {events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count)};
    }

    Kernel kernel;
    ddi::Card place{AF_INET, 0, htonl(INADDR_LOOPBACK), 1};
    host::Descriptor door, from, to;
};

TEST_F(KernelStreams, call__is_bounded_until_the_two_have_met) {
    EXPECT_EQ(kernel.outcome(from.get()), 0);
    EXPECT_EQ(option(from.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), 10'000);
    kernel.tune(from.get());
    EXPECT_EQ(option(from.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    EXPECT_EQ(option(from.get(), IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(from.get(), SOL_SOCKET, SO_RCVLOWAT), 1);
    EXPECT_GE(option(from.get(), SOL_SOCKET, SO_RCVBUF), 1 << 20) << "its window is open";
    EXPECT_EQ(kernel.caller(to.get()), htonl(INADDR_LOOPBACK));
    EXPECT_EQ(kernel.caller(door.get()), 0u);
    for (const int end : {from.get(), to.get()}) {
        EXPECT_NE(fcntl(end, F_GETFD) & FD_CLOEXEC, 0);
        EXPECT_NE(fcntl(end, F_GETFL) & O_NONBLOCK, 0);
    }
}

/// A host that falls silent is noticed within the time that the user bears.
TEST(kernel_streams, tune__a_silent_host_is_asked_in_time) {
    struct Row {
        std::uint32_t silence_ms;
        int idle, apart, times;
    };
    for (const Row& row : {Row{10'000, 4, 2, 3}, Row{60'000, 24, 12, 3}, Row{4'000, 1, 1, 3},
                           Row{3'000, 2, 1, 1}, Row{2'000, 1, 1, 1}, Row{1'000, 1, 1, 1}}) {
        Kernel kernel(row.silence_ms);
        const host::Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
        kernel.tune(socket.get());
        EXPECT_EQ(option(socket.get(), SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(option(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE), row.idle) << row.silence_ms;
        EXPECT_EQ(option(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL), row.apart) << row.silence_ms;
        EXPECT_EQ(option(socket.get(), IPPROTO_TCP, TCP_KEEPCNT), row.times) << row.silence_ms;
    }
}

TEST_F(KernelStreams, send__one_range_or_several) {
    EXPECT_EQ(receive(), std::to_string(-EAGAIN));
    EXPECT_EQ(send("one"), 3);
    std::string a = "two", b = "three";
    const iovec two[] = {{a.data(), 3}, {b.data(), 5}};
    EXPECT_EQ(kernel.send(from.get(), two, false), 8);
    int waits = 0;
    for (Limit limit("all bytes"); waits < 11 && limit.holds();) {
        ASSERT_EQ(ioctl(to.get(), FIONREAD, &waits), 0);
    }
    std::string here(4, '\0'), there(20, '\0');
    const iovec into[] = {{here.data(), 4}, {there.data(), 20}};
    EXPECT_EQ(kernel.receive(to.get(), into), 11);
    EXPECT_EQ(here + there.substr(0, 7), "onetwothree");
}

/// For a fifth of a second, which may be over before this looks; but not each time.
TEST_F(KernelStreams, send__what_may_linger_waits_for_more) {
    unsigned waited = 0;
    for (unsigned i = 0; i < 100 && waited == 0; ++i) {
        ASSERT_EQ(send("some", true), 4);
        waited += kernel.under_way(from.get()) == 4;
        ASSERT_EQ(send("more"), 4);
        for (std::size_t got = 0; got < 8;) {
            ASSERT_TRUE(becomes_readable(to.get()));
            got += receive().size();
        }
    }
    EXPECT_EQ(waited, 1u);
}

TEST_F(KernelStreams, cork__on_and_off) {
    kernel.cork(from.get(), true);
    EXPECT_EQ(option(from.get(), IPPROTO_TCP, TCP_CORK), 1);
    ASSERT_EQ(send("some"), 4);
    kernel.cork(from.get(), false);
    EXPECT_EQ(option(from.get(), IPPROTO_TCP, TCP_CORK), 0);
    EXPECT_TRUE(becomes_readable(to.get()));
}

TEST_F(KernelStreams, under_way__is_what_the_other_system_has_not) {
    EXPECT_EQ(kernel.under_way(from.get()), 0u);
    EXPECT_EQ(kernel.under_way(-1), 0u);
    Pulse::Sign sign;
    EXPECT_TRUE(kernel.sign(from.get(), &sign));
    EXPECT_FALSE(sign.is_owed);
    EXPECT_GE(sign.heard_ago, 0);
    EXPECT_EQ(sign.heard_ago % kMs, 0) << "as the kernel counts";
    EXPECT_FALSE(kernel.sign(-1, &sign));
    const std::string much(1 << 20, 'x');
    ssize_t sent = 0;
    for (Limit limit("a full window"); sent != -EAGAIN && limit.holds();) sent = send(much);
    EXPECT_GT(kernel.under_way(from.get()), 0u);
}

TEST_F(KernelStreams, end__of_what_is_sent_or_of_all) {
    kernel.end(from.get(), false);
    ASSERT_TRUE(becomes_readable(to.get()));
    EXPECT_EQ(receive(), "");
    EXPECT_EQ(send("more"), -EPIPE);
    const iovec one{const_cast<char*>("back"), 4};
    EXPECT_EQ(kernel.send(to.get(), {&one, 1}, false), 4) << "the other way it goes on";
    ASSERT_TRUE(becomes_readable(from.get()));
    kernel.end(to.get(), true);
    EXPECT_EQ(kernel.send(to.get(), {&one, 1}, false), -EPIPE);
}

TEST_F(KernelStreams, call__to_nobody) {
    door.close();
    const host::Descriptor in_vain(kernel.call({AF_INET, 0, place.host, 1}, place));
    ASSERT_GE(in_vain.get(), 0);
    pollfd waits{in_vain.get(), POLLOUT, 0};
    ASSERT_EQ(::poll(&waits, 1, 10'000), 1);
    EXPECT_EQ(kernel.outcome(in_vain.get()), -ECONNREFUSED);
    EXPECT_EQ(kernel.outcome(-1), -EBADF);
    EXPECT_EQ(kernel.accept(-1), -EBADF);
}

/// That passes: it is no other failure.
TEST_F(KernelStreams, call__without_descriptors) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer needs a descriptor to look at an object";
#endif
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit none{0, files.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    ddi::Card any = place;
    any.port = 0;
    EXPECT_EQ(kernel.call({AF_INET, 0, place.host, 1}, place), -EMFILE);
    EXPECT_EQ(kernel.listen(&any), -EMFILE);
    Kernel other;
    std::string error;
    EXPECT_EQ(other.open(&error), Status::exhausted);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_EQ(error, "no descriptor left: Too many open files");
}

TEST_F(KernelStreams, close__leaves_no_descriptor) {
    const auto open_files = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = open_files();
    Kernel other;
    std::string error;
    ASSERT_EQ(other.open(&error), Status::ok) << error;
    EXPECT_EQ(open_files(), before + 3);
    other.close();
    EXPECT_EQ(open_files(), before);
}

TEST_F(KernelStreams, listen__at_a_place_that_is_taken) {
    ddi::Card same = place;
    EXPECT_EQ(kernel.listen(&same), -EADDRINUSE);
    ddi::Card elsewhere = place;
    elsewhere.host = htonl(0xc0000201);  // 192.0.2.1, which nobody has
    EXPECT_EQ(kernel.listen(&elsewhere), -EADDRNOTAVAIL);
}

// --- what happens ---

TEST_F(KernelStreams, watch__tells_what_is_wanted_under_its_name) {
    kernel.watch(to.get(), Streams::Source::caller, 0xffff'fff0, Streams::kIn);
    EXPECT_TRUE(look().empty());
    ASSERT_EQ(send("one"), 3);
    ASSERT_TRUE(becomes_readable(kernel.fd()));
    auto events = look();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].source, Streams::Source::caller);
    EXPECT_EQ(events[0].detail, 0xffff'fff0u);
    kernel.watch(to.get(), Streams::Source::peer, 7, Streams::kIfBroken);
    EXPECT_TRUE(look().empty());
    kernel.watch(to.get(), Streams::Source::hints, 8, Streams::kOut);
    events = look();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].source, Streams::Source::hints);
    EXPECT_EQ(events[0].detail, 8u);
    kernel.forget(to.get());
    EXPECT_TRUE(look().empty());
}

TEST_F(KernelStreams, tell_from__so_much) {
    kernel.watch(to.get(), Streams::Source::peer, 7, Streams::kIn);
    kernel.tell_from(to.get(), 5);
    ASSERT_EQ(send("four"), 4);
    EXPECT_FALSE(is_readable(kernel.fd()));
    ASSERT_EQ(send("!"), 1);
    EXPECT_TRUE(becomes_readable(kernel.fd()));
}

TEST_F(KernelStreams, ring__ends_one_sleep) {
    EXPECT_FALSE(kernel.wait(0));
    kernel.ring();
    EXPECT_TRUE(kernel.wait(-1));
    EXPECT_TRUE(is_readable(kernel.fd()));
    EXPECT_TRUE(look().empty());
    EXPECT_FALSE(is_readable(kernel.fd())) << "it was heard";
    EXPECT_FALSE(kernel.wait(0));
}

TEST_F(KernelStreams, ring_at__that_time_and_no_earlier_one) {
    kernel.ring_at(kernel.now() + 100 * kSecond);
    EXPECT_FALSE(kernel.wait(kMs));
    const Nanoseconds when = kernel.now() + 5 * kMs;
    kernel.ring_at(when);
    EXPECT_TRUE(kernel.wait(100 * kSecond));
    EXPECT_GE(kernel.now(), when);
    EXPECT_TRUE(look().empty());
    EXPECT_FALSE(kernel.wait(0));
    kernel.ring_at(when);  // the same one anew: it is over, and rings at once
    EXPECT_TRUE(kernel.wait(100 * kSecond));
    kernel.ring_at(0);
    EXPECT_FALSE(kernel.wait(2 * kMs)) << "no more";
}

TEST_F(KernelStreams, wait__and_pause_last_as_long_as_that) {
    Nanoseconds began = kernel.now();
    EXPECT_FALSE(kernel.wait(3 * kMs));
    EXPECT_GE(kernel.now() - began, 3 * kMs);
    began = kernel.now();
    kernel.pause(3 * kMs);
    EXPECT_GE(kernel.now() - began, 3 * kMs);
}

TEST_F(KernelStreams, close__of_a_stream_is_told_of_no_more) {
    kernel.watch(to.get(), Streams::Source::peer, 7, Streams::kIn);
    ASSERT_EQ(send("one"), 3);
    ASSERT_TRUE(becomes_readable(kernel.fd()));
    kernel.close(to.release());
    EXPECT_TRUE(look().empty());
    kernel.close();
    EXPECT_EQ(kernel.fd(), -1);
}

}  // namespace
}  // namespace fci::tcp
