// SPDX-License-Identifier: BSD-3-Clause
// Hints by multicast, over the loopback interface, where all hear what one sends: what the
// conformance suite does not see. Strangers, other jobs, full sockets, sleeping, fork().
#include "drivers/multicast/multicast.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "drivers/tcp/tcp.h"
#include "fci_core/base/clock.h"
#include "fci_core/base/prng.h"
#include "test/unit/drivers/datagrams.h"
#include "test/unit/limit.h"
#include "test/unit/seed.h"

namespace fci::multicast {
namespace {

using nhi::Hint;
using nhi::Hints;

constexpr std::uint64_t kName = 0x0123'4567'89ab'cdef;

struct Count final : nhi::HintListener {
    void arrived(const Hint& hint, std::size_t) noexcept override {
        ++heard;
        last = hint.number;
    }
    unsigned heard = 0;
    std::uint64_t last = 0;
};

/// A device at an address of the loopback interface, in a job of this test alone.
class multicast_test : public testing::Test {
protected:
    std::unique_ptr<ddi::Device> open(unsigned host, std::uint64_t job_more = 0,
                                      bool multicast = true) {
        ddi::Settings settings;
        settings.block_bytes = 4096;
        settings.job = job_ + job_more;
        settings.wanted.host = htonl(0x7f000002 + host);
        settings.multicast = multicast;
        Status status;
        std::string error;
        auto device = tcp::open_tcp(settings, &status, &error);
        EXPECT_NE(device, nullptr) << error;
        return device;
    }
    bool poll_until(ddi::Device& device, const std::function<bool()>& reached) {
        for (Limit limit("a hint"); limit.holds();) {
            if (reached()) return true;
            device.network().poll(device.now());
        }
        return false;
    }
    /// All devices of a test are members with one key; the first one is rank 0.
    static Status join(ddi::Device& device, std::uint64_t name, nhi::HintListener& listener) {
        static constexpr std::uint32_t kFirst = 0x7f000002;
        const std::uint32_t hosts[] = {htonl(kFirst), htonl(kFirst + 1), htonl(INADDR_LOOPBACK)};
        const auto rank = static_cast<std::uint16_t>(ntohl(device.card().host) - kFirst);
        return device.network().hints()->join({{name, {}}, rank, hosts}, listener);
    }
    void join_both(ddi::Device& one, ddi::Device& two, nhi::HintListener& of_two) {
        ASSERT_EQ(join(one, kName, of_one_), Status::ok);
        ASSERT_EQ(join(two, kName, of_two), Status::ok);
    }
    /// Whatever a stranger may send there.
    void throw_at(std::uint32_t cookie_of_job, const std::vector<std::byte>& bytes,
                  unsigned lane = 0) {
        const Place place = Place::of(cookie_of_job == 0 ? job_ : cookie_of_job, {});
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(place.port + lane));
        to.sin_addr.s_addr = place.host;
        static const int stranger = [] {
            const int made = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            const in_addr own{htonl(INADDR_LOOPBACK)};
            EXPECT_EQ(setsockopt(made, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof own), 0);
            return made;
        }();
        EXPECT_GE(::sendto(stranger, bytes.data(), bytes.size(), 0,
                           reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    }

    const std::uint64_t job_ = static_cast<std::uint64_t>(getpid()) << 20 | 7;
    std::vector<std::byte> memory_ = std::vector<std::byte>(100'000);
    Count of_one_;
};

TEST_F(multicast_test, look__strangers_bytes_are_refused_and_other_jobs_never_seen) {
    auto one = open(0), two = open(1);
    Counters counters;
    two->count_in(counters);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    join_both(*one, *two, count);
    ASSERT_EQ(hints.expect(kName, 5, memory_), Status::ok);
    const Place place = Place::of(job_, {});
    Prng prng(seeded(4));
    const Hint hint{kName, 5, 0, 30, 2};
    // It is where the third member is, and has not the key.
    static constexpr std::uint32_t kNowhere[] = {0, 0, 0};
    nhi::HintMember stranger{{kName, {}}, 2, kNowhere};
    stranger.group.key[0] = std::byte{1};
    Seal seal(libcrypto(), stranger);
    testing::internal::CaptureStderr();
    for (unsigned i = 0; i < 5000; ++i) {
        auto bytes = random_bytes(prng, prng.below(kDatagramMost));
        if (bytes.size() >= 4 && i % 2 == 0) std::memcpy(bytes.data(), &place.cookie, 4);
        throw_at(0, bytes, static_cast<unsigned>(prng.below(kLanes)));
        throw_at(0, datagram_of(seal, place.cookie, hint, random_bytes(prng, 30)));
        if (i % 4 == 0) two->network().poll(two->now());
    }
    for (unsigned i = 0; i < 200; ++i) two->network().poll(two->now());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(count.heard, 0u);
    EXPECT_GT(counters.hints_refused, 500u);
    EXPECT_LT(counters.hints_refused, 2600u) << "of another cookie, which the filter drops";
    EXPECT_GT(counters.hints_forged, 1000u);
    EXPECT_NE(said.find("somebody at 127.0.0.1 forges"), std::string::npos) << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 2) << "once: " << said;
    EXPECT_EQ(std::ranges::count(memory_, std::byte{0}), 100'000);
    // And it still hears.
    const auto data = random_bytes(prng, 30);
    ASSERT_EQ(one->network().hints()->hint({kName, 5, 0, 30, 0}, data), Status::ok);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 1; }));
    EXPECT_EQ(std::memcmp(memory_.data(), data.data(), 30), 0);
}

/// What does not fit into the sockets of who does not poll is lost, and nothing else is.
TEST_F(multicast_test, look__full_sockets) {
    auto one = open(0), two = open(1);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    join_both(*one, *two, count);
    std::vector<std::byte> all = memory_;
    const Hint hint{kName, 5, 0, static_cast<std::uint32_t>(Hints::kMost), 0};
    ASSERT_EQ(hints.expect(kName, 5, memory_), Status::ok);
    for (unsigned i = 0; i < 300; ++i) {
        (void)one->network().hints()->hint(hint, std::span(all).first(Hints::kMost));
    }
    for (unsigned i = 0; i < 1000; ++i) two->network().poll(two->now());
    EXPECT_GE(count.heard, 44u);
    const unsigned before = count.heard;
    ASSERT_EQ(one->network().hints()->hint(hint, std::span(all).first(100)), Status::ok);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == before + 1; }));
}

/// A root sends before those who are late have begun.
TEST_F(multicast_test, look__long_hints_wait_for_who_expects_them) {
    auto one = open(0), two = open(1);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    join_both(*one, *two, count);
    EXPECT_GE(hints.window(), Hints::kMost);
    EXPECT_EQ(hints.window() % Hints::kMost, 0u);
    Prng prng(seeded(9));
    std::uint64_t number = 5;
    for (const std::size_t total : {Hints::kMost, Hints::kShortMost + 1}) {
        count.heard = 0;
        const auto data = random_bytes(prng, total);
        const Hint hint{kName, number, 0, static_cast<std::uint32_t>(total), 0};
        ASSERT_EQ(one->network().hints()->hint(hint, data), Status::ok);
        for (unsigned i = 0; i < 200; ++i) two->network().poll(two->now());
        EXPECT_EQ(count.heard, 0u);
        ASSERT_EQ(hints.expect(kName, number, std::span(memory_).first(total)), Status::ok);
        const std::size_t pieces = (total + Hints::kPieceMost - 1) / Hints::kPieceMost;
        EXPECT_TRUE(poll_until(*two, [&] { return count.heard == pieces; }));
        EXPECT_EQ(std::memcmp(memory_.data(), data.data(), data.size()), 0);
        hints.withdraw(kName, number++);
    }
}

/// Who still hears one hears the beginning of the next one, and not what is over.
TEST_F(multicast_test, look__what_is_ahead_is_kept) {
    auto one = open(0), two = open(1);
    Counters counters;
    two->count_in(counters);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    nhi::Hints& mouth = *one->network().hints();
    join_both(*one, *two, count);
    ASSERT_EQ(hints.expect(kName, 5, memory_), Status::ok);
    Prng prng(seeded(10));
    const auto data = random_bytes(prng, Hints::kMost);
    const auto total = static_cast<std::uint32_t>(Hints::kMost);
    ASSERT_EQ(mouth.hint({kName, 6, 0, total, 0}, data), Status::ok);
    ASSERT_EQ(mouth.hint({kName, 5, 0, total, 0}, data), Status::ok);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 44; }));
    EXPECT_EQ(count.last, 5u);
    hints.withdraw(kName, 5);
    std::fill(memory_.begin(), memory_.end(), std::byte{0});
    ASSERT_EQ(hints.expect(kName, 6, memory_), Status::ok);
    EXPECT_EQ(count.heard, 44u) << "told outside of poll()";
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 88; }));
    EXPECT_EQ(count.last, 6u);
    EXPECT_EQ(std::memcmp(memory_.data(), data.data(), data.size()), 0);
    EXPECT_EQ(counters.hints_stray, 0u);
    ASSERT_EQ(mouth.hint({kName, 5, 0, total, 0}, data), Status::ok);
    EXPECT_TRUE(poll_until(*two, [&] { return counters.hints_stray == 44; }));
}

TEST_F(multicast_test, sleep__a_long_hint_that_is_expected_ends_it) {
    auto one = open(0), two = open(1);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    join_both(*one, *two, count);
    const auto total = static_cast<std::uint32_t>(Hints::kMost);
    const auto send = [&] {
        const std::span<const std::byte> data = memory_;
        ASSERT_EQ(one->network().hints()->hint({kName, 5, 0, total, 0}, data.first(total)),
                  Status::ok);
    };
    send();
    Nanoseconds before = monotonic_now();
    two->sleep(20'000'000);
    EXPECT_GE(monotonic_now() - before, 19'000'000) << "nobody expects it";
    std::vector<std::byte> to(total);
    ASSERT_EQ(hints.expect(kName, 5, to), Status::ok);
    before = monotonic_now();
    two->sleep(kForEver);
    EXPECT_LT(monotonic_now() - before, kForEver);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 44; }));
}

/// Told in poll() only; who sleeps comes back for it.
TEST_F(multicast_test, sleep__a_hint_ends_it) {
    auto one = open(0), two = open(1);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    join_both(*one, *two, count);
    ASSERT_EQ(hints.expect(kName, 5, memory_), Status::ok);
    two->network().poll(two->now());
    const std::byte byte{7};
    ASSERT_EQ(one->network().hints()->hint({kName, 5, 0, 1, 0}, {&byte, 1}), Status::ok);
    const Nanoseconds before = monotonic_now();
    two->sleep(kForEver);
    EXPECT_LT(monotonic_now() - before, kForEver);
    EXPECT_EQ(count.heard, 0u);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 1; }));
    EXPECT_EQ(memory_[0], byte);
}

TEST_F(multicast_test, settings__off_and_without_groups_nothing_is_open) {
    const auto open_files = [] {
        unsigned count = 0;
        for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0;
        return count;
    };
    EXPECT_EQ(open(0, 0, false)->network().hints(), nullptr);
    auto one = open(0);
    const unsigned before = open_files();
    Count count;
    nhi::Hints& hints = *one->network().hints();
    ASSERT_EQ(join(*one, kName, count), Status::ok);
    ASSERT_EQ(join(*one, kName + 1, count), Status::ok);
    EXPECT_EQ(open_files(), before + kLanes);
    hints.leave(kName);
    EXPECT_EQ(open_files(), before + kLanes);
    hints.leave(kName + 1);
    EXPECT_EQ(open_files(), before) << "nobody hears any more";
    ASSERT_EQ(join(*one, kName, count), Status::ok);
    EXPECT_EQ(open_files(), before + kLanes);
}

/// More groups than a socket may join: all are one address.
TEST_F(multicast_test, join__a_hundred_groups) {
    auto one = open(0), two = open(1);
    std::vector<Count> counts(100);
    Count nobody;
    nhi::Hints& hints = *two->network().hints();
    for (unsigned i = 0; i < counts.size(); ++i) {
        ASSERT_EQ(join(*two, kName + i, counts[i]), Status::ok);
        ASSERT_EQ(join(*one, kName + i, nobody), Status::ok);
        ASSERT_EQ(hints.expect(kName + i, i, memory_), Status::ok);
    }
    for (unsigned i = 0; i < counts.size(); ++i) {
        ASSERT_EQ(one->network().hints()->hint({kName + i, i, 0, 0, 0}, {}), Status::ok);
        ASSERT_TRUE(poll_until(*two, [&] { return counts[i].heard == 1; }));
    }
}

/// What is heard of it a second time is what was heard before, and goes nowhere once that is over.
TEST_F(multicast_test, look__a_replay_changes_nothing) {
    auto one = open(0), two = open(1);
    Counters counters;
    two->count_in(counters);
    Count count;
    join_both(*one, *two, count);
    ASSERT_EQ(two->network().hints()->expect(kName, 5, memory_), Status::ok);
    const std::vector<std::byte> data(30, std::byte{7});
    const std::uint32_t hosts[] = {htonl(INADDR_LOOPBACK)};  // from where it is replayed
    Seal seal(libcrypto(), {{kName, {}}, 0, hosts});
    const auto bytes = datagram_of(seal, Place::of(job_, {}).cookie, {kName, 5, 0, 30, 0}, data);
    throw_at(0, bytes);
    EXPECT_TRUE(poll_until(*two, [&] { return counters.hints_forged == 1; })) << "from elsewhere";
    ASSERT_EQ(one->network().hints()->hint({kName, 5, 0, 30, 0}, data), Status::ok);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 1; }));
    two->network().hints()->withdraw(kName, 5);
    std::fill(memory_.begin(), memory_.end(), std::byte{0});
    ASSERT_EQ(two->network().hints()->expect(kName, 21, memory_), Status::ok);
    for (unsigned i = 0; i < 100; ++i) {
        ASSERT_EQ(one->network().hints()->hint({kName, 5, 0, 30, 0}, data), Status::ok);
    }
    EXPECT_TRUE(poll_until(*two, [&] { return counters.hints_stray == 100; }));
    EXPECT_EQ(std::ranges::count(memory_, std::byte{0}), 100'000);
    EXPECT_EQ(count.heard, 1u);
}

TEST_F(multicast_test, open__an_interface_without_multicast_says_so) {
    const Place place = Place::of(job_, {});
    Sockets nowhere(place, htonl(0x0102'0304));
    std::string why;
    EXPECT_FALSE(nowhere.open_to_hear(&why));
    EXPECT_NE(why.find("address"), std::string::npos) << why;
    EXPECT_FALSE(nowhere.open_to_send(&why));
    EXPECT_FALSE(nowhere.can_send());
}

/// A child of fork() has none of it, and takes none from its parent.
TEST_F(multicast_test, fork__the_parent_goes_on) {
    auto one = open(0), two = open(1);
    Count count;
    nhi::Hints& hints = *two->network().hints();
    join_both(*one, *two, count);
    ASSERT_EQ(hints.expect(kName, 5, memory_), Status::ok);
    const pid_t child = fork();
    if (child == 0) {
        const bool is_gone = join(*two, kName + 1, count) == Status::unsupported &&
                             hints.hint({kName, 5, 0, 0, 0}, {}) == Status::unsupported;
        _exit(is_gone ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(one->network().hints()->hint({kName, 5, 0, 0, 0}, {}), Status::ok);
    EXPECT_TRUE(poll_until(*two, [&] { return count.heard == 1; }));
}

}  // namespace
}  // namespace fci::multicast
