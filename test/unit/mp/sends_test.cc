// SPDX-License-Identifier: BSD-3-Clause
// Sends: in what form each message goes out, edge by edge, and what is counted of it.
#include "fci_core/mp/sends.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "fci_core/mp/fast_path.h"
#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

/// A forger that listens to the messages of the process.
struct Listener : Forger {
    explicit Listener(const sim::WorldOptions& options = {},
                      const Limits& limits = Forger::limits())
        : Forger(kEnhancedMixed, options, limits) {}

    int send(std::uint32_t flags, std::span<const iovec> ranges, std::uint64_t match = 7) {
        return mp.send({there, 1, flags, match, kImmediateWord, ranges}, recorder.on(1), nullptr);
    }
    /// The kind and the flags of a message of so many bytes; none: it does not go out.
    Control form_of(std::uint64_t bytes, std::uint32_t flags = 0) {
        const iovec range{data.data(), bytes};
        const int result = send(flags, {&range, 1});
        EXPECT_GE(result, 0);
        turns();
        if (!in.ready()) return {Kind::none, 0, 0};
        last = in.take();
        recorder.outcomes.clear();
        return Control::of(last);
    }
    bool is_in_line(std::uint64_t bytes, std::uint32_t flags = 0) {
        const Control control = form_of(bytes, flags);
        EXPECT_EQ(control.kind, Kind::send);
        EXPECT_EQ(control.bytes, bytes);
        EXPECT_EQ(control.space(), 1u);
        return (control.flags & (kInRing | kInPool)) == 0;
    }
    [[nodiscard]] const Counters& counters() const { return mp.engine().counters; }

    static constexpr std::uint64_t kImmediateWord = 0x0123456789abcdef;
    gcs::Line last{};
};

TEST(sends, lengths__that_fit_into_the_line) {
    Listener f;
    EXPECT_TRUE(f.is_in_line(48));
    EXPECT_FALSE(f.is_in_line(49));
    EXPECT_TRUE(f.is_in_line(40, kSendImmediate));
    EXPECT_EQ(f.last.word[1], f.kImmediateWord);
    EXPECT_EQ(std::memcmp(f.last.word + 2, f.data.data(), 40), 0);
    EXPECT_FALSE(f.is_in_line(41, kSendImmediate));
    EXPECT_TRUE(f.is_in_line(40, kSendSynchronous));
    EXPECT_FALSE(f.is_in_line(41, kSendSynchronous));
    EXPECT_TRUE(f.is_in_line(32, kSendSynchronous | kSendImmediate));
    EXPECT_EQ(f.last.word[1], f.kImmediateWord);
    EXPECT_FALSE(f.is_in_line(33, kSendSynchronous | kSendImmediate));
    EXPECT_EQ(f.counters().sent_inline, 4u);
    EXPECT_EQ(f.counters().sent_eager, 4u);
}

TEST(sends, lengths__that_are_announced) {
    Listener f;
    EXPECT_EQ(f.form_of(f.own.eager_bytes).kind, Kind::send);
    EXPECT_EQ(f.form_of(f.own.eager_bytes + 1, kSendImmediate).kind, Kind::announce);
    const auto record = unpack<AnnounceRecord>(f.last);
    EXPECT_EQ(record.match, 7u);
    EXPECT_EQ(record.immediate, f.kImmediateWord);
    EXPECT_EQ(record.length, f.own.eager_bytes + 1);
    EXPECT_EQ(record.address, reinterpret_cast<std::uint64_t>(f.data.data()));
    EXPECT_EQ(record.receive, 0u);
    EXPECT_EQ(Control::of(f.last).flags, kImmediate | 1 << kSpaceShift);
    EXPECT_EQ(f.form_of(f.own.eager_bytes, kSendSynchronous).kind, Kind::send);
    EXPECT_EQ(Control::of(f.last).flags & kWantsTaken, kWantsTaken);
    EXPECT_EQ(f.counters().sent_announced, 1u);
}

// One range, two, and more go out by ways of their own; each may have a header before it.
TEST(sends, ranges__with_and_without_a_header_arrive_in_order) {
    for (const bool stores : {false, true}) {
        Pair p(kEnhancedMixed, {.mapped = true, .stores = stores});
        p.attach();
        std::vector<std::byte> heard;
        const auto handler = [](void* to, nhi::PeerId, const void* header, std::size_t header_bytes,
                                const void* data, std::uint64_t bytes, ReceiveTarget*) {
            const auto add = [&](const void* from, std::size_t size) {
                const auto* const at = static_cast<const std::byte*>(from);
                static_cast<std::vector<std::byte>*>(to)->insert(
                    static_cast<std::vector<std::byte>*>(to)->end(), at, at + size);
            };
            add(header, header_bytes);
            add(data, bytes);
        };
        p.ends[1]->active_messages().set_handler(9, handler, &heard);
        auto all = pattern(3000);
        for (const std::size_t header : {0, 5, 64}) {
            for (const std::size_t bytes : {12, 100, 2000}) {
                for (std::size_t ranges = 1; ranges <= 4; ++ranges) {
                    std::vector<iovec> parts;
                    for (std::size_t i = 0; i < ranges; ++i) {
                        const std::size_t at = bytes * i / ranges, end = bytes * (i + 1) / ranges;
                        parts.push_back({all.data() + header + at, end - at});
                    }
                    heard.clear();
                    EXPECT_EQ(p.ends[0]->send(
                                  active_message(p.there[0], 9, 0, {all.data(), header}, parts),
                                  Completion{}, nullptr),
                              kDone);
                    p.settle();
                    ASSERT_EQ(heard.size(), header + bytes) << header << ' ' << ranges;
                    EXPECT_TRUE(std::equal(heard.begin(), heard.end(), all.begin()))
                        << header << ' ' << bytes << ' ' << ranges;
                }
            }
        }
    }
}

TEST(sends, begun__counts_each_once_whatever_its_form) {
    Listener f;
    std::uint64_t number = 0;
    EXPECT_EQ(f.mp.engine().begun(), number);
    for (const std::uint64_t bytes : {8, 8, 100, 8, 100, 20'000, 100, 20'000}) {
        (void)f.form_of(bytes);
        EXPECT_EQ(f.mp.engine().begun(), ++number) << bytes;
    }
    f.mp.engine().begin_in_wait();
    (void)f.form_of(8);
    EXPECT_EQ(f.mp.engine().begun(), number) << "the caller waits with it";
}

// By the fast ways, too, and nothing that was refused.
TEST(sends, begun__whichever_way_it_takes) {
    for (const bool stores : {false, true}) {
        Pair p(kEnhancedMixed, {.mapped = true, .stores = stores});
        p.attach();
        Engine& engine = p.ends[0]->engine();
        std::vector<std::byte> data(500);
        ASSERT_EQ(p.send(0, 0, 7, data, 0), kDone);  // then the fast ways are open
        p.both();
        const auto sends = [&](std::uint64_t bytes) {
            const nhi::PeerId to = p.there[0];
            return fast::send_line(engine, to, 0, 0, 7, 0, data.data(), bytes) ||
                   fast::send_eager(engine, to, 0, 0, 7, 0, data.data(), bytes) ||
                   fast::send_far(engine, to, 0, 0, 7, 0, data.data(), bytes);
        };
        std::uint64_t number = engine.begun(), refused = 0;
        for (const std::uint64_t bytes : {8, 500, 8, 500}) {
            ASSERT_TRUE(sends(bytes)) << bytes;
            EXPECT_EQ(engine.begun(), ++number) << bytes;
        }
        const iovec range{data.data(), data.size()};
        const SendArguments buffered{p.there[0], 0, kSendBuffered, 7, 0, {&range, 1}};
        for (int i = 0; i < 10'000 && refused == 0; ++i) {
            const int answer = p.ends[0]->send(buffered, {}, nullptr);
            refused += answer < 0;
            number += answer >= 0;
            EXPECT_EQ(engine.begun(), number);
        }
        EXPECT_EQ(refused, 1u);
        EXPECT_EQ(p.send(0, 0, 7, data, 1), kAccepted) << "it waits for room";
        EXPECT_EQ(engine.begun(), ++number);
        p.both();
        EXPECT_EQ(engine.begun(), number);
    }
}

TEST(sends, turn__says_how_many_messages_came) {
    Pair p;
    p.attach();
    std::vector<std::byte> data(8);
    for (const int count : {1, 3}) {
        for (int i = 0; i < count; ++i) EXPECT_EQ(p.send(0, 0, 7, data, i), kDone);
        p.turns(0);
        EXPECT_EQ(p.ends[1]->turn(), count);
        EXPECT_EQ(p.ends[1]->turn(), 0);
    }
}

// Active messages are handled as they come: they use up no memory for what waits.
TEST(sends, active__as_many_as_one_likes) {
    unsigned handled = 0;
    Pair p;
    p.attach();
    p.ends[1]->active_messages().set_handler(
        9,
        [](void* count, nhi::PeerId, const void*, std::size_t, const void*, std::uint64_t,
           ReceiveTarget*) { ++*static_cast<unsigned*>(count); },
        &handled);
    auto data = pattern(1000);
    const iovec range{data.data(), data.size()};
    for (unsigned i = 0; i < 500; ++i) {
        EXPECT_EQ(p.ends[0]->send(active_message(p.there[0], 9, 0, {}, {&range, 1}), Completion{},
                                  nullptr),
                  kDone)
            << i;
        p.settle();
    }
    EXPECT_EQ(handled, 500u);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_announced, 0u);
}

TEST(sends, synchronous__ends_by_the_word_of_its_receiver_alone) {
    Listener f;
    const iovec range{f.data.data(), 8};
    EXPECT_EQ(f.send(kSendSynchronous, {&range, 1}), kAccepted);
    const auto handle = static_cast<std::uint32_t>(f.hear().word[1]);
    f.turns();
    EXPECT_FALSE(f.recorder.has(1));
    f.say(Kind::taken, HandleRecord{handle});
    ASSERT_TRUE(f.recorder.has(1));
    EXPECT_EQ(f.recorder.error(1), kSuccess);
    EXPECT_EQ(f.mp.engine().orders.used(), 0u);
    f.say(Kind::taken, HandleRecord{handle});
    EXPECT_FALSE(f.gave_up());
}

TEST(sends, cancel__asks_the_receiver_to_forget_what_was_announced) {
    Listener f;
    const iovec range{f.data.data(), f.data.size()};
    std::uint32_t handle = 0;
    EXPECT_EQ(f.mp.send({f.there, 0, 0, 7, 0, {&range, 1}}, f.recorder.on(1), &handle), kAccepted);
    EXPECT_EQ(unpack<AnnounceRecord>(f.hear()).send, handle);
    EXPECT_EQ(f.mp.cancel(handle), kSuccess);
    const gcs::Line line = f.hear();
    EXPECT_EQ(Control::of(line).kind, Kind::unsend);
    EXPECT_EQ(unpack<HandleRecord>(line).handle, handle);
    EXPECT_FALSE(f.recorder.has(1)) << "it may have been matched";
    f.say(Kind::unsent, HandleRecord{handle});
    EXPECT_EQ(f.recorder.error(1), kCanceled);
    EXPECT_EQ(f.mp.cancel(handle), kNoEntry);
}

// Those that wait for a slot go out in order, and one that is taken back leaves the others alone.
TEST(sends, cancel__of_one_that_waits_for_room) {
    Pair p;
    p.attach();
    auto data = pattern(8);
    std::vector<std::uint32_t> handles(100);
    std::vector<int> waiting;
    for (int i = 0; i < 100; ++i) {
        std::uint32_t& handle = handles[static_cast<std::size_t>(i)];
        if (p.send(0, 0, static_cast<std::uint64_t>(i), data, i, &handle) == kAccepted) {
            waiting.push_back(i);
        }
    }
    ASSERT_GT(waiting.size(), 10u);
    const int taken_back = waiting[5];
    EXPECT_EQ(p.ends[0]->cancel(handles[static_cast<std::size_t>(taken_back)]), kSuccess);
    EXPECT_FALSE(p.recorder.has(taken_back)) << "only a turn tells";
    p.settle();
    for (const int each : waiting) {
        EXPECT_EQ(p.recorder.error(each), each == taken_back ? kCanceled : kSuccess);
    }
    std::uint64_t expected = 0;
    p.ends[1]->engine().arrived.for_each([&](ArrivedNode& node) {
        if (expected == static_cast<std::uint64_t>(taken_back)) ++expected;
        EXPECT_EQ(node.envelope.match, expected++);
    });
    EXPECT_EQ(expected, 100u);
}

/// So many as get through, and one that does not.
int send_until_refused(Listener& f, std::size_t bytes) {
    const iovec range{f.data.data(), bytes};
    int sent = 0;
    while (f.send(kSendBuffered, {&range, 1}) == kDone && sent < 1000) ++sent;
    EXPECT_LT(sent, 1000);
    EXPECT_FALSE(f.mp.ready());
    f.turns();
    return sent;
}

/// The process sees it once it looks.
void return_credit(Listener& f) {
    EXPECT_EQ(f.in.return_credit(f.bad->network()), Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
}

// It needs a line, its place in the ring and memory at its receiver, and all of that.
TEST(sends, refused__is_ready_where_there_is_memory_for_it) {
    Listener f;
    const int sent = send_until_refused(f, 4096);
    EXPECT_LT(static_cast<std::uint64_t>(sent) * 4096, f.own.layout.ring_bytes);
    for (int i = 0; i < sent; ++i) EXPECT_NE(f.in.ring(f.hear(), 4096), nullptr);
    return_credit(f);
    EXPECT_FALSE(f.mp.ready()) << "all of it waits for its receive";
    f.in.dispose(kSlotCharge + 4096);
    return_credit(f);
    EXPECT_TRUE(f.mp.ready());
    EXPECT_FALSE(f.mp.ready()) << "what cannot go out all the same keeps nobody awake";
    const iovec range{f.data.data(), 4096};
    EXPECT_EQ(f.send(kSendBuffered, {&range, 1}), kDone);
    EXPECT_FALSE(f.mp.ready());
}

TEST(sends, refused__is_ready_where_there_is_room_in_the_ring) {
    Limits limits = Forger::limits();
    limits.unexpected_bytes = 1 << 20;
    Listener f({}, limits);
    const int sent = send_until_refused(f, 4096);
    EXPECT_LT(sent, static_cast<int>(limits.layout.slots));
    std::vector<gcs::Line> lines;
    for (int i = 0; i < sent; ++i) lines.push_back(f.hear());
    return_credit(f);
    EXPECT_FALSE(f.mp.ready());
    for (const gcs::Line& line : lines) EXPECT_NE(f.in.ring(line, 4096), nullptr);
    return_credit(f);
    EXPECT_TRUE(f.mp.ready());
}

TEST(sends, refused__is_ready_where_there_is_a_slot) {
    Listener f;
    EXPECT_EQ(send_until_refused(f, 8), static_cast<int>(f.own.layout.slots));
    (void)f.hear();
    EXPECT_FALSE(f.mp.ready());
    return_credit(f);
    EXPECT_TRUE(f.mp.ready());
}

TEST(sends, refused__is_ready_when_its_peer_is_lost) {
    Listener f;
    send_until_refused(f, 4096);
    EXPECT_FALSE(f.mp.ready());
    f.say(Kind::none, HandleRecord{1});
    EXPECT_TRUE(f.gave_up());
    EXPECT_TRUE(f.mp.ready());
    EXPECT_FALSE(f.mp.ready());
    EXPECT_EQ(f.send(kSendBuffered, {}), kPeerLost);
}

// Waiting is counted where it is done, for all and for that peer.
TEST(sends, waits__are_counted) {
    Listener f;
    const iovec range{f.data.data(), 8};
    const PeerRow& row = *f.mp.engine().peers[f.there].row;
    for (unsigned i = 0; i < f.own.layout.slots; ++i) EXPECT_EQ(f.send(0, {&range, 1}), kDone);
    EXPECT_EQ(f.counters().credit_waits, 0u);
    EXPECT_EQ(f.send(kSendBuffered, {&range, 1}), kAgain);
    EXPECT_EQ(f.counters().credit_waits, 1u);
    EXPECT_EQ(row.waits, 1u);
}

// A peer says that it received what a row says was sent to it, whatever way it went.
TEST(sends, rows__say_what_went_by_every_way) {
    struct Way {
        const char* name;
        sim::WorldOptions options;
        CopyPath::Policy policy;
    };
    const Way ways[] = {{"transfers", {}, CopyPath::Policy::ring},
                        {"stores", {.mapped = true, .stores = true}, CopyPath::Policy::ring},
                        {"pull", {.mapped = true, .kernel_copy = true}, CopyPath::Policy::pull},
                        {"shared", {.mapped = true, .kernel_copy = true}, CopyPath::Policy::shared},
                        {"direct", direct_options(), CopyPath::Policy::measure}};
    for (const Way& way : ways) {
        SCOPED_TRACE(way.name);
        Limits limits = small_limits();
        limits.copy = way.policy;
        Pair p(kEnhancedMixed, way.options, limits);
        p.attach();
        const PeerRow& from = *p.ends[0]->engine().peers[p.there[0]].row;
        const PeerRow& at = *p.ends[1]->engine().peers[p.there[1]].row;
        std::uint64_t all = 0;
        for (const std::size_t bytes : {0, 1, 8, 48, 49, 4000, 20'000, 100'000}) {
            for (const bool posted : {true, false}) {
                SCOPED_TRACE(bytes);
                auto data = pattern(bytes);
                std::vector<std::byte> to(bytes);
                p.recorder.outcomes.clear();
                if (posted) p.receive(1, 7, to, 1);
                p.send(0, 0, 7, data, 2);
                p.settle();
                if (!posted) p.receive(1, 7, to, 1);
                p.settle();
                EXPECT_EQ(p.recorder.error(1), kSuccess);
                all += bytes;
                ASSERT_EQ(from.bytes_sent, all);
                ASSERT_EQ(at.bytes_received, all);
            }
        }
        EXPECT_EQ(from.bytes_received, 0u);
        EXPECT_EQ(at.bytes_sent, 0u);
    }
}

}  // namespace
}  // namespace fci::mp::test
