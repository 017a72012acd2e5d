// SPDX-License-Identifier: BSD-3-Clause
// Data that may come early, by a hint, and that come by a message, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "fci_core/group/hosts/exchange.h"
#include "test/unit/group/hosts/exchanges.h"

namespace fci::group::test {
namespace {

constexpr std::uint64_t kKey = Exchanges::kKey;
constexpr unsigned kRank = Exchanges::kRank;

/// Hints of one process, as the test makes them.
class HandMade final : public nhi::Hints {
public:
    /// One is here: true, if anybody expects it.
    bool arrive(std::uint64_t number, std::span<const std::byte> bytes) {
        latest = std::max(latest, number);
        const auto to = expected_.find(number);
        if (to == expected_.end() || to->second.size() < bytes.size()) return false;
        if (!bytes.empty()) std::memcpy(to->second.data(), bytes.data(), bytes.size());
        listener_->arrived({kName, number, 0, static_cast<std::uint32_t>(bytes.size()), 0},
                           bytes.size());
        return true;
    }
    static constexpr std::uint64_t kName = 77;
    std::uint64_t latest = 0;

    [[nodiscard]] std::size_t window() noexcept override { return 0; }
    Status draw(nhi::HintGroup*) noexcept override { return Status::ok; }
    Status join(const nhi::HintMember&, nhi::HintListener& listener) noexcept override {
        listener_ = &listener;
        return Status::ok;
    }
    void leave(std::uint64_t) noexcept override { expected_.clear(); }
    Status expect(std::uint64_t, std::uint64_t number, std::span<std::byte> to) noexcept override {
        expected_[number] = to;
        return Status::ok;
    }
    void withdraw(std::uint64_t, std::uint64_t number) noexcept override {
        expected_.erase(number);
    }
    [[nodiscard]] std::uint64_t looks() const noexcept override { return 0; }
    [[nodiscard]] std::uint64_t heard(std::uint64_t) const noexcept override { return latest; }
    Status hint(const nhi::Hint&, std::span<const std::byte>) noexcept override {
        return Status::ok;
    }

private:
    nhi::HintListener* listener_ = nullptr;
    std::map<std::uint64_t, std::span<std::byte>> expected_;
};

/// A chain of three hosts, of which the second one hears hints that the test makes.
class Hinted : public testing::Test {
protected:
    struct Message {
        std::uint64_t word;
        Trailer trailer;
    };
    static Message message(std::uint64_t word) { return {word, {0, Hears::never, 1}}; }
    static std::span<const std::byte> bytes_of(const Message& of) {
        return std::as_bytes(std::span(&of, 1));
    }
    void SetUp() override { hosts.all.meet_all(); }
    void begin(std::uint64_t number = 1, bool lingers = false) {
        hosts.begin(1, Steps::chain(3, 1, 0), number, 0);
        hosts[1].listen({early, number, lingers});
    }
    /// The root's message, alone.
    void say(const Message& what, std::uint64_t number = 1) {
        std::vector<std::byte> data(sizeof what);
        std::memcpy(data.data(), &what, sizeof what);
        hosts.forge(0, 1, number, data);
    }
    /// The message that comes to the third one.
    Message passed_on(std::uint64_t number = 1) {
        Message to{};
        const iovec range{&to, sizeof to};
        mp::Outcome outcome{};
        EXPECT_EQ(hosts.all[2].messages->receive(
                      {hosts.all[2].peers[1], mp::kGroupSpace, match_of(kKey, number, false), 0},
                      {&range, 1}, {}, nullptr, &outcome),
                  mp::kDone);
        EXPECT_EQ(outcome.received, sizeof to);
        return to;
    }
    /// Without the 200 ms that messages may linger.
    void soon() {
        for (int i = 0; i < 20; ++i) {
            hosts.all.pass(1'000);
            hosts.all.turns(1);
        }
    }

    Exchanges hosts{3};
    HandMade hints;
    std::array<std::uint32_t, 3> addresses{1, 2, 3};
    Early early{hints, {{HandMade::kName, {}}, 1, addresses}};
};

TEST_F(Hinted, hint__before_anything_else) {
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(5))));
    begin();
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), kDone);
    EXPECT_EQ(hosts[1].length(), 8u);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 5u);
    const Trailer trailer = hosts[1].trailer();
    EXPECT_EQ(trailer.is_heard, 1u);
    EXPECT_EQ(trailer.hears, Hears::lately);
    EXPECT_EQ(trailer.by_tree, 1u);
    EXPECT_FALSE(hosts[1].early().waits());
    soon();
    const Message passed = passed_on();
    EXPECT_EQ(passed.word, 5u);
    EXPECT_EQ(passed.trailer.is_heard, 1u);
    say(message(5));
    soon();
    EXPECT_TRUE(hosts.holds_nothing(1)) << "the message is thrown away";
}

TEST_F(Hinted, message__before_the_hint) {
    say(message(6));
    soon();
    begin();
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 6u);
    EXPECT_EQ(hosts[1].trailer().is_heard, 0u);
    EXPECT_EQ(hosts[1].trailer().hears, Hears::never);
    soon();
    EXPECT_EQ(passed_on().trailer.is_heard, 0u);
    EXPECT_TRUE(hosts.holds_nothing(1));
}

TEST_F(Hinted, wait__is_ended_by_the_hint) {
    begin();
    EXPECT_EQ(hosts.advance(1), kWaits);
    EXPECT_FALSE(hosts[1].is_busy()) << "nothing stands for it that could not be taken back";
    EXPECT_TRUE(hosts[1].early().waits());
    EXPECT_EQ(hosts[1].early().from(), hosts.all[1].peers[0]);
    EXPECT_EQ(hosts.wait(1).since(), hosts.all.world.now());
    EXPECT_FALSE(hosts.wait(1).is_over());
    EXPECT_TRUE(hints.arrive(2, bytes_of(message(8))));
    EXPECT_FALSE(hosts.wait(1).is_over()) << "it is of the next one";
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(7))));
    EXPECT_TRUE(hosts.wait(1).is_over());
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 7u);
    EXPECT_FALSE(hosts[1].early().waits());
}

TEST_F(Hinted, wait__is_ended_by_the_message) {
    begin();
    EXPECT_EQ(hosts.advance(1), kWaits);
    say(message(8));
    EXPECT_FALSE(hosts.wait(1).is_over());
    soon();
    EXPECT_TRUE(hosts.wait(1).is_over());
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 8u);
}

TEST_F(Hinted, wait__is_ended_by_the_death_of_who_sends_the_message) {
    begin();
    EXPECT_EQ(hosts.advance(1), kWaits);
    hosts.all.lose(0);
    EXPECT_TRUE(hosts.wait(1).is_over());
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[1].lost(), kRank);
    begin(2);
    EXPECT_EQ(hosts.advance(1), kDone) << "nor does the next one begin to wait";
    EXPECT_EQ(hosts[1].lost(), kRank);
}

TEST_F(Hinted, hint__without_a_whole_trailer_is_none_of_this_group) {
    const Message of = message(1);
    EXPECT_TRUE(hints.arrive(1, bytes_of(of).first(sizeof(Trailer) - 1)));
    begin();
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(hosts[1].length(), sizeof(Trailer) - 1);
    EXPECT_TRUE(hints.arrive(2, bytes_of(of).last(sizeof(Trailer))));
    begin(2);
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), kDone);
    EXPECT_EQ(hosts[1].length(), 0u);
    EXPECT_EQ(hosts[1].trailer().by_tree, 1u);
    EXPECT_TRUE(hints.arrive(3, {}));
    begin(3);
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(hosts[1].length(), 0u);
}

TEST_F(Hinted, hint__as_long_as_any_can_be) {
    std::vector<std::byte> bytes(Early::kMost, std::byte{3});
    EXPECT_TRUE(hints.arrive(1, bytes));
    begin();
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].length(), Entry::kLong);
    EXPECT_EQ(hosts[1].data()[Entry::kLong - 1], std::byte{3});
}

TEST_F(Hinted, message__lingers_where_it_may) {
    for (const bool lingers : {false, true}) {
        const std::uint64_t number = lingers ? 2 : 1;
        EXPECT_TRUE(hints.arrive(number, bytes_of(message(5))));
        begin(number, lingers);
        EXPECT_EQ(hosts.advance(1), kDone);
        soon();
        EXPECT_EQ(hosts.holds_nothing(2), lingers);
        hosts.all.pass(200'000'000);
        soon();
        EXPECT_FALSE(hosts.holds_nothing(2));
        EXPECT_EQ(passed_on(number).word, 5u);
    }
}

// The next one may have had a hint, and have closed in order.
TEST_F(Hinted, deaths__of_who_is_told_are_no_lack) {
    hosts.all.lose(2);
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(5))));
    begin();
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), kDone);
}

TEST_F(Hinted, trailer__lies_behind_the_data) {
    hosts.begin(0, Steps::chain(3, 0, 0), 1, sizeof(std::uint64_t));
    hosts[0].listen({early, 1, false});
    hosts.bring(0, std::uint64_t{44});
    hosts[0].set_trailer({1, Hears::formerly, 7});
    EXPECT_EQ(hosts[0].trailer().by_tree, 7u);
    EXPECT_EQ(hosts[0].trailer().hears, Hears::formerly);
    EXPECT_EQ(hosts.advance(0), kDone);
    soon();
    begin();
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 44u);
    EXPECT_EQ(hosts[1].length(), 8u);
    EXPECT_EQ(hosts[1].trailer().by_tree, 7u);
    EXPECT_EQ(hosts[1].trailer().is_heard, 1u) << "as those before say";
    EXPECT_EQ(hosts[1].trailer().hears, Hears::formerly);
}

// Only who has met a process hears of its death.
TEST(Hints, wait__for_a_stranger_meets_it) {
    Exchanges hosts(2);
    HandMade hints;
    const std::array<std::uint32_t, 2> addresses{1, 2};
    Early early{hints, {{HandMade::kName, {}}, 1, addresses}};
    hosts.begin(1, Steps::chain(2, 1, 0), 1, 0);
    hosts[1].listen({early, 1, false});
    EXPECT_EQ(hosts.advance(1), kWaits);
    EXPECT_TRUE(hosts.all.is_met(1, 0));
    hosts.all.lose(0);
    EXPECT_TRUE(hosts.wait(1).is_over());
    EXPECT_EQ(hosts.advance(1), kDone);
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
}

}  // namespace
}  // namespace fci::group::test
