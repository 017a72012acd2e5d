// SPDX-License-Identifier: BSD-3-Clause
// A host in a chain, to which data come by a hint or by a message.
#include "fci_core/group/hints/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "test/unit/group/hints/bulk.h"
#include "test/unit/group/hosts/exchanges.h"

namespace fci::group::test {
namespace {

constexpr std::uint64_t kKey = Exchanges::kKey;
constexpr unsigned kRank = Exchanges::kRank;
constexpr Nanoseconds kMilli = 1'000'000;

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
class ChainOfHosts : public testing::Test {
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
        hosts.bring_share(1, number, 0, kDone);
        if (!lingers) slots.be_plain(number);
        const auto& peers = hosts.all[1].peers;
        chain.begin(slots, number, {peers[0], peers[2], kRank});
    }
    bool advance() { return chain.advance(); }
    [[nodiscard]] progress::Wait& wait() { return chain; }
    /// What lies behind the data that have come.
    [[nodiscard]] Trailer trailer() {
        Trailer of;
        std::memcpy(&of, hosts[1].data() + hosts[1].length() - sizeof of, sizeof of);
        return of;
    }
    /// The root's message, alone.
    void send(const Message& what, std::uint64_t number = 1) {
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
    HintSlots slots{hints, {{HandMade::kName, {}}, 1, addresses}};
    Chain chain{*hosts.all[1].messages, kKey, hosts.messenger(1), hosts[1]};
};

TEST_F(ChainOfHosts, hint__before_anything_else) {
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(5))));
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), kDone);
    EXPECT_EQ(hosts[1].length(), sizeof(Message));
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 5u);
    const Trailer of = trailer();
    EXPECT_EQ(of.is_heard, 1u);
    EXPECT_EQ(of.hears, Hears::lately);
    EXPECT_EQ(of.by_tree, 1u);
    soon();
    const Message passed = passed_on();
    EXPECT_EQ(passed.word, 5u);
    EXPECT_EQ(passed.trailer.is_heard, 1u);
    send(message(5));
    soon();
    EXPECT_TRUE(hosts.holds_nothing(1)) << "the message is thrown away";
}

TEST_F(ChainOfHosts, message__before_the_hint) {
    send(message(6));
    soon();
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 6u);
    EXPECT_EQ(trailer().is_heard, 0u);
    EXPECT_EQ(trailer().hears, Hears::never);
    soon();
    EXPECT_EQ(passed_on().trailer.is_heard, 0u);
    EXPECT_TRUE(hosts.holds_nothing(1));
}

TEST_F(ChainOfHosts, wait__is_ended_by_the_hint) {
    begin();
    EXPECT_FALSE(advance());
    EXPECT_FALSE(hosts.messenger(1).is_busy()) << "no receive stands that could not be taken back";
    EXPECT_EQ(wait().since(), hosts.all.world.now());
    EXPECT_FALSE(wait().is_over());
    EXPECT_TRUE(hints.arrive(2, bytes_of(message(8))));
    EXPECT_FALSE(wait().is_over()) << "it is of the next one";
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(7))));
    EXPECT_TRUE(wait().is_over());
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 7u);
}

TEST_F(ChainOfHosts, wait__is_ended_by_the_message) {
    begin();
    EXPECT_FALSE(advance());
    send(message(8));
    EXPECT_FALSE(wait().is_over());
    soon();
    EXPECT_TRUE(wait().is_over());
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 8u);
}

TEST_F(ChainOfHosts, wait__is_ended_by_the_death_of_who_sends_the_message) {
    begin();
    EXPECT_FALSE(advance());
    hosts.all.lose(0);
    EXPECT_TRUE(wait().is_over());
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
    EXPECT_EQ(hosts[1].lost(), kRank);
    begin(2);
    EXPECT_TRUE(advance()) << "nor does the next one begin to wait";
    EXPECT_EQ(hosts[1].lost(), kRank);
}

TEST_F(ChainOfHosts, hint__without_a_whole_trailer_is_none_of_this_group) {
    const Message of = message(1);
    EXPECT_TRUE(hints.arrive(1, bytes_of(of).first(sizeof(Trailer) - 1)));
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(hosts[1].length(), sizeof(Trailer) - 1);
    EXPECT_TRUE(hints.arrive(2, bytes_of(of).last(sizeof(Trailer))));
    begin(2);
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), kDone);
    EXPECT_EQ(hosts[1].length(), sizeof(Trailer));
    EXPECT_EQ(trailer().by_tree, 1u);
    EXPECT_TRUE(hints.arrive(3, {}));
    begin(3);
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(hosts[1].length(), 0u);
}

TEST_F(ChainOfHosts, hint__as_long_as_any_can_be) {
    std::vector<std::byte> bytes(HintSlots::kMost, std::byte{3});
    EXPECT_TRUE(hints.arrive(1, bytes));
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].length(), HintSlots::kMost);
    EXPECT_EQ(hosts[1].data()[Entry::kLong - 1], std::byte{3});
}

TEST_F(ChainOfHosts, message__lingers_where_it_may) {
    for (const bool lingers : {false, true}) {
        const std::uint64_t number = lingers ? 2 : 1;
        EXPECT_TRUE(hints.arrive(number, bytes_of(message(5))));
        begin(number, lingers);
        EXPECT_TRUE(advance());
        soon();
        EXPECT_EQ(hosts.holds_nothing(2), lingers);
        hosts.all.pass(200'000'000);
        soon();
        EXPECT_FALSE(hosts.holds_nothing(2));
        EXPECT_EQ(passed_on(number).word, 5u);
    }
}

// The next one may have had a hint, and have closed in order.
TEST_F(ChainOfHosts, deaths__of_who_is_told_are_no_lack) {
    hosts.all.lose(2);
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(5))));
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), kDone);
}

TEST_F(ChainOfHosts, root__sends_its_share_whole) {
    std::array<std::uint32_t, 3> same{1, 2, 3};
    HintSlots own{hints, {{HandMade::kName, {}}, 0, same}};
    Chain first{*hosts.all[0].messages, kKey, hosts.messenger(0), hosts[0]};
    hosts.bring_share(0, 1, sizeof(Message), kDone);
    hosts.bring(0, Message{44, {1, Hears::formerly, 7}});
    own.be_plain(1);
    first.begin(own, 1, {nhi::kNoPeer, hosts.all[0].peers[1], FCI_ICL_NO_RANK});
    EXPECT_TRUE(first.advance());
    soon();
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts.brought<std::uint64_t>(1), 44u);
    EXPECT_EQ(trailer().by_tree, 7u);
    EXPECT_EQ(trailer().is_heard, 1u) << "as those before say";
    EXPECT_EQ(trailer().hears, Hears::formerly);
}

TEST_F(ChainOfHosts, root__without_data_says_so_to_the_next_one) {
    Chain first{*hosts.all[0].messages, kKey, hosts.messenger(0), hosts[0]};
    hosts.bring_share(0, 1, 40, FCI_ICL_ETRUNC);
    first.begin(slots, 1, {nhi::kNoPeer, hosts.all[0].peers[1], FCI_ICL_NO_RANK});
    EXPECT_TRUE(first.advance());
    soon();
    begin();
    EXPECT_TRUE(advance());
    EXPECT_EQ(hosts[1].code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(hosts[1].length(), 40u);
}

// --- asking ---

TEST_F(ChainOfHosts, asks__after_2_ms_and_twice_as_long_each_time) {
    begin();
    EXPECT_FALSE(advance());
    const Nanoseconds begun = hosts.all.world.now();
    const std::uint64_t sends = hosts.all[1].engine().begun();
    std::uint64_t asked = 0;
    for (const Nanoseconds after : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        hosts.all.world.run_until(begun + after * kMilli - 1);
        EXPECT_FALSE(advance());
        EXPECT_EQ(hosts.all[1].counters().hints_asked, asked) << after;
        hosts.all.world.run_until(begun + after * kMilli);
        EXPECT_FALSE(advance());
        EXPECT_EQ(hosts.all[1].counters().hints_asked, ++asked) << after;
    }
    EXPECT_EQ(hosts.all[1].engine().begun(), sends) << "the caller waits, and does not go on";
}

TEST_F(ChainOfHosts, asks__anew_in_the_next_one) {
    begin();
    EXPECT_FALSE(advance());
    hosts.all.pass(2 * kMilli);
    EXPECT_FALSE(advance());
    EXPECT_TRUE(hints.arrive(1, bytes_of(message(5))));
    EXPECT_TRUE(advance());
    begin(2);
    EXPECT_FALSE(advance());
    hosts.all.pass(2 * kMilli - 1);
    EXPECT_FALSE(advance());
    EXPECT_EQ(hosts.all[1].counters().hints_asked, 1u);
    hosts.all.pass(1);
    EXPECT_FALSE(advance());
    EXPECT_EQ(hosts.all[1].counters().hints_asked, 2u);
}

TEST_F(ChainOfHosts, asks__at_once_where_the_next_hint_is_here) {
    EXPECT_TRUE(hints.arrive(4, bytes_of(message(5))));
    EXPECT_TRUE(hints.arrive(7, bytes_of(message(5))));
    begin(5);
    EXPECT_FALSE(advance());
    EXPECT_EQ(hosts.all[1].counters().hints_asked, 0u);
    EXPECT_TRUE(hints.arrive(6, bytes_of(message(5))));
    EXPECT_FALSE(advance());
    EXPECT_FALSE(advance());
    EXPECT_EQ(hosts.all[1].counters().hints_asked, 1u) << "once";
}

TEST_F(ChainOfHosts, trailer__says_whether_any_host_so_far_hears) {
    Message of = message(1);
    of.trailer = {1, Hears::lately, 0};
    send(of, 1);
    soon();
    begin(1);
    EXPECT_TRUE(advance());
    EXPECT_EQ(trailer().is_heard, 1u) << "by another one";
    EXPECT_EQ(trailer().hears, Hears::lately);
    hints.latest = 1;
    of.trailer = {0, Hears::formerly, 0};
    send(of, 2);
    soon();
    begin(2);
    EXPECT_TRUE(advance());
    EXPECT_EQ(trailer().is_heard, 0u);
    EXPECT_EQ(trailer().hears, Hears::lately) << "as this one does";
}

TEST(Chain, asks__the_host_before_for_that_broadcast) {
    Ends ends(2);
    Share share{};
    Messenger messenger(ends.messages(0), kGroupKey, share);
    Chain chain(ends.messages(0), kGroupKey, messenger, share);
    const std::vector<std::uint32_t> addresses{1, 2};
    HintSlots slots{ends.hints(0), {{kName, {}}, 0, addresses}};
    messenger.begin(9);
    share.begin(0);
    chain.begin(slots, 4, {ends.peers(0)[1], nhi::kNoPeer, 1});
    EXPECT_FALSE(chain.advance());
    ends.wait(2 * kMilli);
    EXPECT_FALSE(chain.advance());
    ends.settle();
    ASSERT_EQ(ends.notes(1).size(), 1u);
    EXPECT_EQ(ends.notes(1)[0].as<HintLacking>().key, kGroupKey);
    EXPECT_EQ(ends.notes(1)[0].as<HintLacking>().number, 4u);
}

// A process hears of the death of one that it has met.
TEST(Chain, wait__for_a_stranger_meets_it) {
    Exchanges hosts(2);
    HandMade hints;
    const std::array<std::uint32_t, 2> addresses{1, 2};
    HintSlots slots{hints, {{HandMade::kName, {}}, 1, addresses}};
    Chain chain{*hosts.all[1].messages, kKey, hosts.messenger(1), hosts[1]};
    progress::Wait& wait = chain;
    hosts.bring_share(1, 1, 0, kDone);
    chain.begin(slots, 1, {hosts.all[1].peers[0], nhi::kNoPeer, kRank});
    EXPECT_FALSE(chain.advance());
    EXPECT_TRUE(hosts.all.is_met(1, 0));
    EXPECT_TRUE(wait.is_for_network());
    EXPECT_TRUE(wait.needs(3));
    EXPECT_TRUE(wait.may_be_woken());
    hosts.all.lose(0);
    EXPECT_TRUE(wait.is_over());
    EXPECT_TRUE(chain.advance());
    EXPECT_EQ(hosts[1].code(), FCI_ICL_EPEER);
}

}  // namespace
}  // namespace fci::group::test
