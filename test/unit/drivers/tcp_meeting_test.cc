// SPDX-License-Identifier: BSD-3-Clause
// Calls that the system does not make, and how long they are tried, in virtual time.
#include "test/unit/drivers/no_streams.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

/// A system of which each call fails.
struct Failing final : test::NoStreams {
    explicit Failing(int why) : error(why) {}
    int listen(ddi::Card* card) noexcept override {
        card->port = htons(4000);
        return 0;
    }
    int call(const ddi::Card&, const ddi::Card&) noexcept override {
        ++tries;
        return -error;
    }
    const int error;
    unsigned tries = 0;
};

struct Outcome {
    conformance::Ear::Loss loss;
    unsigned tries;
    Nanoseconds after;
};

Outcome outcome_of(int error) {
    auto made = std::make_unique<Failing>(error);
    Failing& system = *made;
    Status status = Status::ok;
    std::string text;
    const auto device = open_over(std::move(made), settings(), &status, &text);
    Listener listener;
    device->set_listener(&listener);
    const Nanoseconds began = system.time;
    nhi::PeerId id = 0;
    EXPECT_EQ(device->add_peer({AF_INET, htons(4711), htonl(0x0a4d0003), 5}, &id), Status::ok);
    EXPECT_EQ(device->connect(id), Status::ok);
    for (unsigned turn = 0; turn < 20'000 && listener.lost.empty(); ++turn) {
        device->network().poll(system.time);
        if (listener.lost.empty()) system.time += kSecond / 1000;
    }
    if (listener.lost.empty()) listener.lost.push_back({id, Status::ok, "nothing"});
    return {listener.lost[0], system.tries, system.time - began};
}

TEST(tcp_meeting, call__from_an_address_that_has_gone_fails_at_once_and_says_so) {
    const Outcome outcome = outcome_of(EADDRNOTAVAIL);
    EXPECT_EQ(outcome.loss.why, Status::unreachable);
    EXPECT_EQ(outcome.tries, 1u);
    EXPECT_EQ(outcome.after, 0);
    EXPECT_NE(outcome.loss.reason.find("cannot call 10.77.0.3:4711: this host has the address "
                                       "127.0.0.1 no more; "),
              std::string::npos)
        << outcome.loss.reason;
    EXPECT_EQ(outcome.loss.reason.find("ulimit"), std::string::npos) << outcome.loss.reason;
}

TEST(tcp_meeting, call__what_is_short_is_waited_for_and_named) {
    const std::pair<int, const char*> shortages[] = {
        {EMFILE, "limit of open files (ulimit -n)"},
        {ENOMEM, "needs more memory"},
        {EAGAIN, "no port of this host is free"},
    };
    for (const auto& [error, remedy] : shortages) {
        const Outcome outcome = outcome_of(error);
        EXPECT_EQ(outcome.loss.why, Status::exhausted);
        EXPECT_GT(outcome.tries, 8u);
        EXPECT_GE(outcome.after, 10 * kSecond);
        EXPECT_NE(outcome.loss.reason.find(remedy), std::string::npos) << outcome.loss.reason;
    }
}

}  // namespace
}  // namespace fci::tcp
