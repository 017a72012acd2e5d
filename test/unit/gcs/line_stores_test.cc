// SPDX-License-Identifier: BSD-3-Clause
// Lines to a peer whose block is written by stores: what it finds there, when it is woken; and what
// the reader of lines counts.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "fci_core/gcs/request_block.h"
#include "test/unit/gcs/wire.h"

namespace fci::gcs {
namespace {

constexpr Layout kLayout{8, 4096};
constexpr std::uint64_t kUnexpected = 8192;
constexpr std::uint64_t kWakes = 1u << kWakeEvent;

using test::Wire;  // beside the stores: calls of a sleeper, and credit

struct Stores : testing::Test {
    Stores() {
        attach(wanted);
        in.attach(1, kLayout, at_receiver, kUnexpected, Laps::short_, {});
    }
    void attach(const std::uint64_t& events) {
        const nhi::Link link{.block = at_receiver.data(),
                             .block_bytes = at_receiver.size(),
                             .wanted_events = &events};
        out.attach(1, kLayout, at_sender, link, Laps::short_);
    }
    void put(std::uint64_t tag) {
        ASSERT_TRUE(out.slot_free());
        out.prepare().word[0] = tag;
        ASSERT_EQ(out.put(to_receiver, 7), Status::ok);
    }
    std::vector<std::byte> at_sender = std::vector<std::byte>(kLayout.block_bytes());
    std::vector<std::byte> at_receiver = std::vector<std::byte>(kLayout.block_bytes());
    Wire to_receiver{at_receiver}, to_sender{at_sender};
    std::uint64_t wanted = 0;
    LineWriter out;
    LineReader in;
};

TEST_F(Stores, put__is_there_in_each_slot_of_each_lap) {
    EXPECT_TRUE(out.reachable());
    for (std::uint64_t i = 0; i < 3 * kLayout.slots; ++i) {
        put(100 + i);
        EXPECT_EQ(out.sent(), i + 1);
        ASSERT_TRUE(in.ready()) << i;
        const Line line = in.take();
        EXPECT_EQ(line.word[0], 100 + i);
        EXPECT_EQ(line.control, 7 | (i + 1) << 32);
        EXPECT_FALSE(in.ready());
        if (in.credit_due()) {
            ASSERT_EQ(in.return_credit(to_sender), Status::ok);
        }
    }
    EXPECT_EQ(to_receiver.transfers, 0u);
}

TEST_F(Stores, slots__are_known_without_a_look_until_they_end) {
    for (unsigned i = 0; i < kLayout.slots; ++i) {
        EXPECT_TRUE(out.slot_known());
        put(i);
    }
    EXPECT_FALSE(out.slot_known() || out.slot_free());
    for (unsigned i = 0; i < kLayout.slots / 2; ++i) (void)in.take();
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_FALSE(out.slot_known());
    EXPECT_TRUE(out.slot_free());
    EXPECT_TRUE(out.slot_known());
    for (unsigned i = 0; i < kLayout.slots / 2; ++i) put(i);
    EXPECT_FALSE(out.slot_free());
}

// A peer that says it has taken more than it was sent loses requests, and nobody else does.
TEST_F(Stores, slots__by_the_word_of_one_who_has_taken_nothing) {
    auto& credit = *reinterpret_cast<Credit*>(at_sender.data());
    for (unsigned i = 0; i < kLayout.slots; ++i) put(i);
    for (const std::uint64_t nonsense :
         {std::uint64_t{9}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
        credit.slots = nonsense;
        EXPECT_FALSE(out.slot_free()) << nonsense;
    }
    credit.slots = 1;
    EXPECT_TRUE(out.slot_free());
    put(1);
    EXPECT_FALSE(out.slot_free());
}

TEST_F(Stores, wake__where_the_peer_wants_it_and_nowhere_else) {
    put(1);
    wanted = ~kWakes;  // something else
    put(2);
    EXPECT_EQ(to_receiver.transfers, 0u);
    EXPECT_FALSE(out.asleep());
    wanted = kWakes;
    EXPECT_TRUE(out.asleep());
    put(3);
    EXPECT_EQ(to_receiver.transfers, 1u);
    EXPECT_EQ(to_receiver.parts, 0u) << "the line is there already";
    EXPECT_EQ(to_receiver.events, kWakes);
    wanted = 0;
    put(4);
    EXPECT_EQ(to_receiver.transfers, 1u);
}

// It must be asked always, until the network has found a word that says when.
TEST(StoresAlways, wake__until_the_network_knows_better) {
    static constexpr std::uint64_t always = nhi::Link::kAlways;
    std::vector<std::byte> near(kLayout.block_bytes()), far(kLayout.block_bytes());
    Wire wire(far);
    LineWriter out;
    std::uint64_t wanted = 0;
    out.attach(1, kLayout, near,
               {.block = far.data(), .block_bytes = far.size(), .wanted_events = &always},
               Laps::short_);
    const auto put = [&] { ASSERT_EQ(out.put(wire, 7), Status::ok); };
    EXPECT_FALSE(out.asleep()) << "that cannot be seen";
    put();
    put();
    EXPECT_EQ(wire.transfers, 2u);
    wire.current.wanted_events = &wanted;
    put();
    EXPECT_EQ(wire.transfers, 3u);
    put();
    EXPECT_EQ(wire.transfers, 3u) << "it does not sleep";
    wanted = kWakes;
    put();
    EXPECT_EQ(wire.transfers, 4u);
    EXPECT_TRUE(out.asleep());
}

TEST_F(Stores, write_ring__and_a_line_that_says_where) {
    std::vector<std::byte> data(900);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
    for (unsigned i = 0; i < 40; ++i) {
        ASSERT_TRUE(out.slot_free() && out.ring_free(to_receiver, data.size())) << i;
        out.write_ring(data.data(), data.size());
        out.send(to_receiver, out.slot(), 7);
        ASSERT_TRUE(in.ready());
        const std::byte* const at = in.ring(in.take(), data.size());
        ASSERT_NE(at, nullptr);
        EXPECT_EQ(std::memcmp(at, data.data(), data.size()), 0) << i;
        if (in.credit_due()) {
            ASSERT_EQ(in.return_credit(to_sender), Status::ok);
        }
    }
}

TEST_F(Stores, put__data_of_several_parts) {
    const std::byte one[3] = {std::byte{1}, std::byte{2}, std::byte{3}}, two[2] = {std::byte{4}};
    const LineWriter::Part parts[] = {{one, 3}, {nullptr, 0}, {two, 2}, {one + 2, 1}};
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_TRUE(out.slot_free() && out.ring_free(to_receiver, 6));
        ASSERT_EQ(out.put(to_receiver, 7, parts, 6), Status::ok);
        const std::byte* const at = in.ring(in.take(), 6);
        ASSERT_NE(at, nullptr);
        EXPECT_EQ(std::memcmp(at, one, 3), 0);
        EXPECT_EQ(std::memcmp(at + 3, two, 2), 0);
        EXPECT_EQ(at[5], one[2]);
    }
    EXPECT_EQ(to_receiver.transfers, 0u);
}

// Only what may wait does so on its way.
TEST(Transfers, put__waits_for_what_it_is_told_to) {
    using WaitsFor = LineWriter::WaitsFor;
    std::vector<std::byte> near(kLayout.block_bytes()), far(kLayout.block_bytes());
    Wire wire(far);
    LineWriter out;
    out.attach(1, kLayout, near, {}, Laps::by_transfers);
    const std::byte data[8]{};
    const LineWriter::Part part{data, sizeof data};
    for (const WaitsFor what : {WaitsFor::nothing, WaitsFor::data, WaitsFor::anything}) {
        ASSERT_EQ(out.put(wire, 7, what), Status::ok);
        EXPECT_EQ(wire.waits, what == WaitsFor::data);
        EXPECT_EQ(wire.lingers, what == WaitsFor::anything);
        if (what == WaitsFor::data) continue;
        ASSERT_TRUE(out.ring_free(wire, sizeof data));
        ASSERT_EQ(out.put(wire, 7, {&part, 1}, sizeof data, what), Status::ok);
        EXPECT_FALSE(wire.waits);
        EXPECT_EQ(wire.lingers, what == WaitsFor::anything);
    }
}

// A message longer than what there is of the ring gets more of it, wherever the last one ended.
TEST(Lap, ring__holds_no_more_than_there_is_memory_for) {
    constexpr Layout large{256, 256 * 1024};
    constexpr std::uint64_t none = 0;
    std::vector<std::byte> near(large.block_bytes()), far(large.block_bytes());
    Wire there(far), back(near);
    LineWriter out;
    LineReader in;
    out.attach(1, large, near,
               {.block = far.data(), .block_bytes = far.size(), .wanted_events = &none},
               Laps::short_);
    in.attach(1, large, far, kUnexpected, Laps::short_, {});
    const std::vector<std::byte> data(9000);
    const auto pass = [&](std::uint64_t bytes) {
        ASSERT_TRUE(out.slot_free() && out.ring_free(there, bytes));
        const LineWriter::Part part{data.data(), bytes};
        ASSERT_EQ(out.put(there, 7, {&part, 1}, bytes), Status::ok);
        ASSERT_NE(in.ring(in.take(), bytes), nullptr);
        ASSERT_EQ(in.return_credit(back), Status::ok);
    };
    for (unsigned i = 0; i < 10; ++i) pass(1000);
    EXPECT_EQ(there.provided_bytes(), 0u);
    pass(9000);
    EXPECT_EQ(large.ring_first_bytes() + there.provided_bytes(), 16u * 1024);
}

// --- what is counted ---

TEST_F(Stores, credit__is_due_for_half_of_the_slots) {
    for (unsigned i = 0; i < kLayout.slots; ++i) put(i);
    for (unsigned i = 1; i <= kLayout.slots / 2; ++i) {
        (void)in.take();
        EXPECT_EQ(in.credit_due(), i == kLayout.slots / 2) << i;
    }
    EXPECT_EQ(in.taken(), kLayout.slots / 2);
}

TEST_F(Stores, credit__is_due_for_half_of_the_ring) {
    const std::vector<std::byte> data(1024);
    const LineWriter::Part part{data.data(), data.size()};
    for (unsigned i = 1; i <= 2; ++i) {
        ASSERT_TRUE(out.ring_free(to_receiver, 1024));
        ASSERT_EQ(out.put(to_receiver, 7, {&part, 1}, 1024), Status::ok);
        ASSERT_NE(in.ring(in.take(), 1024), nullptr);
        EXPECT_EQ(in.credit_due(), i == 2);
    }
}

// A whole message in a line disposes of its line and its bytes; of others that is said later.
TEST_F(Stores, disposed__of_what_is_not_kept) {
    for (unsigned i = 0; i < 4; ++i) put(i);
    (void)in.take();
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_EQ(out.disposed(), 0u) << "it is kept";
    in.dispose(kLineBytes + 10);
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_EQ(out.disposed(), kLineBytes + 10);
    (void)in.advance_disposing(5);
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_EQ(out.disposed(), 2 * kLineBytes + 15);
    (void)in.advance_disposing(0);
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_EQ(out.disposed(), 3 * kLineBytes + 15);
    EXPECT_EQ(in.taken(), 3u);
}

TEST_F(Stores, advance_disposing__says_when_credit_may_be_due) {
    for (unsigned i = 0; i < kLayout.slots; ++i) put(i);
    for (unsigned i = 1; i <= kLayout.slots; ++i) {
        const bool may = in.advance_disposing(1);
        EXPECT_EQ(may, i % (kLayout.slots / 2) == 0) << i;
        EXPECT_TRUE(may || !in.credit_due());
        if (may && in.credit_due()) {
            ASSERT_EQ(in.return_credit(to_sender), Status::ok);
        }
    }
}

TEST_F(Stores, go_back__the_request_is_the_next_one_again) {
    const std::vector<std::byte> data(100, std::byte{9});
    const LineWriter::Part part{data.data(), data.size()};
    for (unsigned i = 0; i < kLayout.slots - 1; ++i) {
        put(i);
        (void)in.take();
        if (in.credit_due()) {
            ASSERT_EQ(in.return_credit(to_sender), Status::ok);
        }
    }
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    for (unsigned lap = 0; lap < 2; ++lap) {  // at the end of the slots, and at their begin
        ASSERT_TRUE(out.slot_free() && out.ring_free(to_receiver, 100));
        out.prepare().word[0] = 4711;
        ASSERT_EQ(out.put(to_receiver, 7, {&part, 1}, 100), Status::ok);
        const std::uint64_t taken = in.taken();
        for (unsigned i = 0; i < 3; ++i) {
            const LineReader::Place place = in.place();
            ASSERT_TRUE(in.ready());
            const Line line = in.take();
            EXPECT_EQ(line.word[0], 4711u);
            ASSERT_NE(in.ring(line, 100), nullptr);
            EXPECT_EQ(in.taken(), taken + 1);
            if (i == 2) break;
            in.go_back(place);
            EXPECT_EQ(in.taken(), taken);
        }
        in.dispose(kLineBytes);
    }
    ASSERT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_EQ(out.disposed(), 2 * kLineBytes) << "each once";
}

TEST_F(Stores, is_next__by_the_control_word_too) {
    put(1);
    put(2);
    EXPECT_TRUE(in.is_next(in.next()));
    EXPECT_TRUE(in.is_next(std::uint64_t{1} << 32 | 7));
    EXPECT_FALSE(in.is_next(std::uint64_t{2} << 32 | 7));
    EXPECT_FALSE(in.is_next(std::uint64_t{1}));
    (void)in.take();
    EXPECT_TRUE(in.is_next(std::uint64_t{2} << 32));
}

TEST_F(Stores, ring__begins_no_further_than_a_lap_away) {
    Line line{};
    line.word[kRingWord] = kLayout.ring_bytes;
    EXPECT_NE(in.ring(line, 64), nullptr);
    line.word[kRingWord] = 2 * kLayout.ring_bytes + 64 + 64;
    EXPECT_EQ(in.ring(line, 64), nullptr);
}

TEST_F(Stores, return_credit__that_is_refused_stays_due) {
    for (unsigned i = 0; i < kLayout.slots; ++i) put(i);
    for (unsigned i = 0; i < kLayout.slots / 2; ++i) (void)in.take();
    to_sender.refuse = true;
    EXPECT_EQ(in.return_credit(to_sender), Status::again);
    EXPECT_TRUE(in.credit_due());
    EXPECT_FALSE(out.slot_free());
    for (unsigned i = 0; i < kLayout.slots / 2; ++i) {
        ASSERT_TRUE(in.ready()) << "more can be taken meanwhile";
        (void)in.take();
    }
    to_sender.refuse = false;
    EXPECT_EQ(in.return_credit(to_sender), Status::ok);
    EXPECT_FALSE(in.credit_due());
    EXPECT_EQ(to_sender.events, kWakes) << "who waits for room may sleep";
    for (unsigned i = 0; i < kLayout.slots; ++i) put(i);
}

// Where the reader can store, too, no transfer is made.
TEST(StoresBack, return_credit__is_a_store) {
    std::vector<std::byte> near(kLayout.block_bytes()), far(kLayout.block_bytes());
    Wire there(far), back(near);
    static constexpr std::uint64_t none = 0;
    const auto link_to = [](std::vector<std::byte>& block) {
        return nhi::Link{
            .block = block.data(), .block_bytes = block.size(), .wanted_events = &none};
    };
    LineWriter out;
    LineReader in;
    out.attach(1, kLayout, near, link_to(far), Laps::short_);
    in.attach(1, kLayout, far, kUnexpected, Laps::short_, link_to(near));
    const std::vector<std::byte> data(256);
    for (unsigned i = 0; i < 1000; ++i) {
        ASSERT_TRUE(out.slot_free() && out.ring_free(there, data.size())) << i;
        (void)out.prepare();
        out.write_ring(data.data(), data.size());
        out.send(there, out.slot(), 7);
        ASSERT_TRUE(in.ready());
        ASSERT_NE(in.ring(in.take(), data.size()), nullptr);
        in.dispose(data.size() + kLineBytes);
        if (in.credit_due()) {
            ASSERT_EQ(in.return_credit(back), Status::ok);
        }
        EXPECT_FALSE(in.credit_due());
    }
    EXPECT_GT(out.disposed(), 900 * data.size());
    EXPECT_EQ(back.transfers, 0u);
}

}  // namespace
}  // namespace fci::gcs
