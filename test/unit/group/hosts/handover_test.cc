// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/handover.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "test/unit/group/hints/bulk.h"

namespace fci::group {
namespace {

using test::Bytes;

constexpr std::uint64_t kMatch = 5 << kNumberBits;
constexpr std::size_t kLengths[] = {8, 100'000};  // in the request, and announced

struct Host : test::Ends {
    explicit Host(unsigned ends) : Ends(ends) {
        for (unsigned end = 0; end < ends; ++end) {
            all.push_back(std::make_unique<Handover>(messages(end)));
            all.back()->begin(kMatch);
        }
    }
    Handover& at(unsigned end) { return *all[end]; }
    void send(unsigned from, unsigned to, const Bytes& data) {
        at(from).send(peers(from)[to], data);
    }
    void receive(unsigned at_end, unsigned from, Bytes& to) {
        at(at_end).receive(peers(at_end)[from], to);
    }

    std::vector<std::unique_ptr<Handover>> all;
};

TEST(Handover, data__whoever_comes_first) {
    for (const std::size_t length : kLengths) {
        for (const bool sender_first : {true, false}) {
            Host it(2);
            const Bytes data = test::pattern(length);
            Bytes place(length);
            if (!sender_first) it.receive(1, 0, place);
            EXPECT_EQ(it.at(1).is_busy(), !sender_first);
            EXPECT_FALSE(it.at(1).has_failed());
            it.send(0, 1, data);
            EXPECT_EQ(it.at(0).is_busy(), length > 8) << "while it may be read";
            it.settle();
            if (sender_first) it.receive(1, 0, place);
            it.settle();
            EXPECT_FALSE(it.at(0).is_busy());
            EXPECT_FALSE(it.at(1).is_busy());
            EXPECT_FALSE(it.at(1).has_failed());
            EXPECT_EQ(place, data);
        }
    }
}

TEST(Handover, data__of_another_length_or_none_are_a_failure) {
    for (const std::size_t length : kLengths) {
        for (const std::size_t sent : {std::size_t{0}, length - 1, length + 1}) {
            for (const bool sender_first : {true, false}) {
                Host it(2);
                const Bytes data = test::pattern(sent);
                Bytes place(length);
                if (!sender_first) it.receive(1, 0, place);
                it.send(0, 1, data);
                it.settle();
                if (sender_first) it.receive(1, 0, place);
                it.settle();
                EXPECT_FALSE(it.at(1).is_busy());
                EXPECT_TRUE(it.at(1).has_failed()) << sent << " for " << length;
                it.at(1).begin(kMatch + 1);
                EXPECT_FALSE(it.at(1).has_failed()) << "another one";
            }
        }
    }
}

TEST(Handover, match__of_another_one_stays) {
    Host it(2);
    const Bytes other = test::pattern(8, 1), data = test::pattern(8, 2);
    it.at(0).begin(kMatch + 1);
    it.send(0, 1, other);
    it.at(0).begin(kMatch);
    it.settle();
    Bytes place(8);
    it.receive(1, 0, place);
    it.settle();
    EXPECT_TRUE(it.at(1).is_busy());
    it.send(0, 1, data);
    it.settle();
    EXPECT_EQ(place, data);
}

TEST(Handover, busy__until_each_has_taken_it) {
    Host it(3);
    const Bytes data = test::pattern(100'000);
    Bytes place(data.size());
    it.send(0, 1, data);
    it.send(0, 2, data);
    it.receive(1, 0, place);
    it.settle();
    EXPECT_TRUE(it.at(0).is_busy());
    it.receive(2, 0, place);
    it.settle();
    EXPECT_FALSE(it.at(0).is_busy());
}

TEST(Handover, discarded__whenever_it_comes_and_its_sender_is_free) {
    for (const bool sender_first : {true, false}) {
        Host it(2);
        const Bytes data = test::pattern(100'000);
        if (!sender_first) it.at(1).discard(it.peers(1)[0]);
        EXPECT_FALSE(it.at(1).is_busy());
        it.send(0, 1, data);
        it.settle();
        EXPECT_EQ(it.at(0).is_busy(), sender_first);
        if (sender_first) it.at(1).discard(it.peers(1)[0]);
        it.settle();
        EXPECT_FALSE(it.at(0).is_busy());
        EXPECT_FALSE(it.at(1).has_failed());
    }
}

TEST(Handover, gone__before) {
    Host it(2);
    it.kill(1);
    const Bytes data = test::pattern(100'000);
    Bytes place(8);
    it.send(0, 1, data);
    EXPECT_FALSE(it.at(0).is_busy());
    it.receive(0, 1, place);
    EXPECT_FALSE(it.at(0).is_busy());
    EXPECT_TRUE(it.at(0).has_failed());
}

TEST(Handover, gone__meanwhile) {
    Host it(3);
    const Bytes data = test::pattern(100'000);
    Bytes place(8);
    it.send(0, 1, data);
    it.receive(0, 1, place);
    it.settle();
    EXPECT_TRUE(it.at(0).is_busy());
    it.kill(1);
    it.settle();
    EXPECT_FALSE(it.at(0).is_busy());
    EXPECT_TRUE(it.at(0).has_failed());
    it.at(0).begin(kMatch + 1);
    it.send(0, 2, data);
    EXPECT_TRUE(it.at(0).is_busy()) << "the others go on";
}

TEST(Handover, given_up__nothing_is_written_any_more) {
    Host it(2);
    Bytes place(8);
    it.at(1).give_up();  // of nothing
    it.receive(1, 0, place);
    it.at(1).give_up();
    it.settle();
    EXPECT_FALSE(it.at(1).is_busy());
    EXPECT_TRUE(it.at(1).has_failed());
    it.send(0, 1, test::pattern(8));
    it.settle();
    EXPECT_EQ(place, Bytes(8));
}

}  // namespace
}  // namespace fci::group
