// SPDX-License-Identifier: BSD-3-Clause
// A peer whose requests make no sense: nothing it says is used, and the connection is given up with
// a reason. Everything at the very edge of sense is taken.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

using Story = std::function<void(Forger&)>;

void expect(bool bad, const char* what, const Story& story) {
    SCOPED_TRACE(what);
    Forger forger;
    story(forger);
    EXPECT_EQ(forger.gave_up(), bad);
    if (bad) {
        // Whatever was under way with it has ended.
        for (const auto& [number, outcome] : forger.recorder.outcomes) {
            EXPECT_TRUE(outcome.error == kSuccess || outcome.error == kPeerLost) << number;
        }
    }
}
#define GOOD(what, ...) expect(false, what, [](Forger& f) { __VA_ARGS__; })
#define BAD(what, ...) expect(true, what, [](Forger& f) { __VA_ARGS__; })

constexpr std::uint8_t kSpace1 = 1 << kSpaceShift, kActive = kActiveSpace << kSpaceShift;

TEST(hostile, kind__that_does_not_exist) {
    BAD("none", f.say(Kind::none, HandleRecord{1}));
    BAD("beyond the last", f.say(static_cast<Kind>(14), HandleRecord{1}));
    BAD("far beyond", f.say(static_cast<Kind>(255), HandleRecord{1}));
}

TEST(hostile, send__more_than_it_can_hold) {
    GOOD("a full line", f.say(Kind::send, HandleRecord{7}, kSpace1, 48));
    BAD("more than a line", f.say(Kind::send, HandleRecord{7}, kSpace1, 49));
    GOOD("with a word", f.say(Kind::send, HandleRecord{7}, kImmediate, 40));
    BAD("more, with a word", f.say(Kind::send, HandleRecord{7}, kImmediate, 41));
    GOOD("with two", f.say(Kind::send, HandleRecord{7}, kImmediate | kWantsTaken, 32));
    BAD("more, with two", f.say(Kind::send, HandleRecord{7}, kImmediate | kWantsTaken, 33));
    GOOD("ring", f.say_with(Kind::send, HandleRecord{7}, kInRing, 4096 + kHeaderMost));
    BAD("more ring", f.say_with(Kind::send, HandleRecord{7}, kInRing, 4097 + kHeaderMost));
    for (const bool in_ring : {false, true}) {  // the same, for a receive that is posted
        SCOPED_TRACE(in_ring);
        Forger f;
        f.posted(7, 100'000, kAnySource);
        if (in_ring) f.say_with(Kind::send, HandleRecord{7}, kInRing, 4097 + kHeaderMost);
        if (!in_ring) f.say(Kind::send, HandleRecord{7}, 0, 49);
        EXPECT_TRUE(f.gave_up());
        EXPECT_EQ(f.to[0], std::byte{});
    }
    for (const std::uint16_t bytes : {std::uint16_t{40}, std::uint16_t{41}}) {  // with a word
        SCOPED_TRACE(bytes);
        Forger f;
        f.posted(7, 100'000, kAnySource);
        f.say(Kind::send, HandleRecord{7}, kImmediate, bytes);
        EXPECT_EQ(f.gave_up(), bytes > 40);
        EXPECT_EQ(f.recorder.error(2), bytes > 40 ? kPeerLost : kSuccess);
    }
}

TEST(hostile, announce__of_nothing) {
    const AnnounceRecord fine{7, 0, 5000, 0, 3, 0, 0};
    const auto with = [&](auto change) {
        AnnounceRecord record = fine;
        change(record);
        return record;
    };
    expect(false, "fine", [&](Forger& f) { f.say(Kind::announce, fine); });
    expect(true, "no send", [&](Forger& f) {
        f.say(Kind::announce, with([](auto& record) { record.send = 0; }));
    });
    expect(true, "a header too long", [&](Forger& f) {
        f.say(Kind::announce, fine, 0, kHeaderMost + 1);
    });
    expect(true, "an offer that is not there", [&](Forger& f) {
        f.say(Kind::announce, with([](auto& record) { record.receive = 77; }));
    });
    expect(true, "a receive that was not offered", [&](Forger& f) {
        const std::uint32_t handle = f.posted(7, 100, f.there);
        f.say(Kind::announce, with([&](auto& record) { record.receive = handle; }));
    });
    expect(true, "another offer than the oldest", [&](Forger& f) {
        const std::uint32_t handle = f.posted(7, 50'000, f.there);
        f.say(Kind::announce, with([&](auto& record) { record.receive = handle + 1; }));
    });
    expect(false, "the offer", [&](Forger& f) {
        const std::uint32_t handle = f.posted(7, 50'000, f.there);
        EXPECT_EQ(Control::of(f.hear()).kind, Kind::offer);
        f.say(Kind::announce, with([&](auto& record) { record.receive = handle; }));
    });
}

TEST(hostile, announce__that_says_that_data_follows_where_none_can) {
    const AnnounceRecord record{7, 0, 5000, 0, 3, 0, 0};
    expect(true, "not that way", [&](Forger& f) { f.say(Kind::announce, record, kFollows); });
}

TEST(hostile, active__without_a_handler_or_with_a_header_too_long) {
    const auto match = [](std::uint64_t id, std::uint64_t header) {
        return HandleRecord{id | header << 8};
    };
    const auto say = [&](std::uint64_t id, std::uint64_t header, int handled) {
        return [=](Forger& f) {
            f.say(Kind::send, match(id, header), kActive, 20);
            EXPECT_EQ(f.handled, handled);
        };
    };
    expect(false, "all header", say(5, 20, 1));
    expect(true, "more header than message", say(5, 21, 0));
    expect(true, "nobody's", say(6, 8, 0));
    const auto announce = [&](std::uint64_t id, std::uint64_t header, std::uint8_t flags,
                              int handled) {
        return [=](Forger& f) {
            const AnnounceRecord record{id | header << 8, 0, 5000, 0, 3, 0, 0};
            if ((flags & kInRing) != 0) f.say_with(Kind::announce, record, flags, 1024);
            if ((flags & kInRing) == 0) f.say(Kind::announce, record, flags, 1024);
            EXPECT_EQ(f.handled, handled);
        };
    };
    expect(false, "announced", announce(5, 1024, kActive | kInRing, 1));
    expect(true, "another header", announce(5, 1023, kActive | kInRing, 0));
    expect(true, "a header that is nowhere", announce(5, 1024, kActive, 0));
    expect(true, "announced to nobody", announce(6, 1024, kActive | kInRing, 0));
}

TEST(hostile, request__for_a_send_that_does_not_wait) {
    const auto request = [](auto change, bool again = false) {
        return [=](Forger& f) {
            ClearToSendRecord record{f.announced(), 9, 0, f.data.size(), 4096, 0, 0, 0};
            change(record);
            f.say(Kind::clear_to_send, record);
            if (again) f.say(Kind::clear_to_send, record);
        };
    };
    expect(false, "fine", request([](auto&) {}));
    expect(false, "less", request([](auto& r) { r.bytes = 1; }));
    expect(true, "nothing", request([](auto& r) { r.bytes = 0; }));
    expect(true, "more than there is", request([](auto& r) { ++r.bytes; }));
    expect(true, "in pieces of nothing", request([](auto& r) { r.piece_bytes = 0; }));
    expect(true, "a way that needs no sender", request([](auto& r) { r.path = 1; }));
    expect(true, "no such way", request([](auto& r) { r.path = 3; }));
    expect(true, "a claim word that is none", request([](auto& r) { r.claim = 63; }));
    expect(true, "of no send", request([](auto& r) { r.send = 0; }));
    expect(true, "of another send", request([](auto& r) { r.send += 1u << 20; }));
    expect(true, "twice", request([](auto&) {}, true));
    BAD("of a receive", f.say(Kind::clear_to_send,
                              ClearToSendRecord{f.posted(7, 100, f.there), 9, 0, 1, 1, 0, 0, 0}));
}

TEST(hostile, offer__that_cannot_be_kept) {
    const auto offer = [](auto change, std::uint8_t flags = 0) {
        return [=](Forger& f) {
            OfferRecord record{7, 0, 0, 5000, 9, 0, 4096, 0, 0, 0};
            change(record);
            f.say(Kind::offer, record, flags);
        };
    };
    expect(false, "fine", offer([](auto&) {}));
    expect(false, "of the other space", offer([](auto&) {}, kSpace1));
    expect(true, "of what is not matched", offer([](auto&) {}, kActive));
    expect(true, "in pieces of nothing", offer([](auto& r) { r.piece_bytes = 0; }));
    expect(true, "of no receive", offer([](auto& r) { r.receive = 0; }));
    expect(true, "no such way", offer([](auto& r) { r.path = 1; }));
    expect(true, "a claim word that is none", offer([](auto& r) { r.claim = 63; }));
    // More of them than are kept, or older than what is remembered, are declined and nothing else.
    expect(false, "many", [](Forger& f) {
        for (std::uint32_t i = 0; i < 3 * Peer::kOffersMost; ++i) {
            f.say(Kind::offer, OfferRecord{100 + i, 0, 0, 5000, 9 + i, 0, 4096, 0, 0, 0});
        }
        EXPECT_EQ(Control::of(f.hear()).kind, Kind::decline);
        f.turns();
        EXPECT_FALSE(f.in.ready());  // once for an epoch
    });
    expect(false, "old", offer([](auto& r) { r.seen = 0u - Peer::kSentNotes; }));
}

TEST(hostile, piece__of_what_nobody_waits_for) {
    const auto piece = [](std::uint16_t bytes, int times, std::uint32_t other = 0) {
        return [=](Forger& f) {
            const std::uint32_t receive = f.asked(10'000);
            for (int i = 0; i < times; ++i) {
                f.say_with(Kind::piece, HandleRecord{receive + other}, kInRing, bytes);
            }
        };
    };
    expect(false, "all of it", piece(5000, 2));
    expect(true, "and more", piece(5000, 3));
    expect(true, "more than is left", piece(6000, 2));
    expect(true, "of another", piece(5000, 1, 1u << 20));
    expect(true, "longer than a piece may be", [](Forger& f) {
        const std::uint32_t receive = f.asked(20'000);
        f.say_with(Kind::piece, HandleRecord{receive}, kInRing, 16'385);
    });
    BAD("of a receive that has no message",
        f.say_with(Kind::piece, HandleRecord{f.posted(7, 100, f.there)}, kInRing, 10));
}

TEST(hostile, piece__somewhere_in_the_pool) {
    constexpr std::uint64_t kPiece = gcs::Layout::kPieceBytes;
    const auto piece = [](std::uint64_t offset, std::uint16_t bytes) {
        return [=](Forger& f) {
            f.say(Kind::piece, PieceRecord{f.asked(40'000), offset}, kInPool, bytes);
        };
    };
    expect(false, "the first", piece(0, kPiece));
    expect(false, "the last", piece(3 * kPiece, kPiece));
    expect(true, "behind it", piece(4 * kPiece, 1));
    expect(true, "far behind it", piece(0 - kPiece, 1));
    expect(true, "between two", piece(64, 1));
    expect(false, "two side by side", piece(2 * kPiece, 2 * kPiece));
    expect(true, "longer than two pieces", piece(0, 2 * kPiece + 1));
    expect(true, "in the last and behind it", piece(3 * kPiece, kPiece + 1));
    expect(true, "more than is left", [](Forger& f) {
        f.say(Kind::piece, PieceRecord{f.asked(5'000), 0}, kInPool, 5'001);
    });
    expect(true, "of a peer that has no pool", [](Forger& f) {
        ASSERT_EQ(f.bad->network().close_window(gcs::Layout::kPoolWindow), Status::ok);
        f.say(Kind::piece, PieceRecord{f.asked(20'000), 0}, kInPool, 1);
    });
}

TEST(hostile, send__in_the_pool) {
    constexpr std::uint64_t kPiece = gcs::Layout::kPieceBytes;
    const auto send = [](std::uint64_t offset, std::uint16_t bytes) {
        return [=](Forger& f) {
            f.say(Kind::send, AnnounceRecord{7, offset, 0, 0, 0, 0, 0}, kInPool, bytes);
        };
    };
    const auto most = static_cast<std::uint16_t>(Forger::limits().eager_bytes + kHeaderMost);
    expect(false, "as long as may be", send(2 * kPiece, most));
    expect(true, "and longer", send(2 * kPiece, most + 1));
    expect(true, "behind its end", send(4 * kPiece, 100));
    expect(true, "between two", send(8, 100));
}

TEST(hostile, answers__to_what_was_not_asked) {
    BAD("shared copy that is none", f.say(Kind::sent, HandleRecord{f.asked(10'000)}, kAll));
    GOOD("sent, of nothing", f.say(Kind::sent, HandleRecord{77}, kAll));
    GOOD("taken", f.say(Kind::taken, HandleRecord{f.announced()});
         EXPECT_EQ(f.recorder.error(1), kSuccess));
    GOOD("taken, of nothing", f.say(Kind::taken, HandleRecord{77}));
    GOOD("taken, but it failed", f.say(Kind::taken, HandleRecord{f.announced()}, kFailed);
         EXPECT_EQ(f.recorder.error(1), kFault));
    BAD("taken, while its data goes through the ring", const std::uint32_t send = f.announced();
        f.say(Kind::clear_to_send, ClearToSendRecord{send, 9, 0, 100'000, 4096, 0, 0, 0});
        f.say(Kind::taken, HandleRecord{send}));
    GOOD("unsent", f.say(Kind::unsent, HandleRecord{f.announced()});
         EXPECT_EQ(f.recorder.error(1), kCanceled));
    BAD("unsent, of nothing", f.say(Kind::unsent, HandleRecord{77}));
    BAD("unsent, of what moves", const std::uint32_t send = f.announced();
        f.say(Kind::clear_to_send, ClearToSendRecord{send, 9, 0, 100'000, 4096, 0, 0, 0});
        f.say(Kind::unsent, HandleRecord{send}));
    GOOD("withdrawn, of nothing", f.say(Kind::withdrawn, HandleRecord{77}));
    GOOD("withdrawn, of what was not taken back",
         f.say(Kind::withdrawn, HandleRecord{f.posted(7, 100, f.there)});
         EXPECT_FALSE(f.recorder.has(2)));
    GOOD("decline", f.say(Kind::decline, HandleRecord{0}));
    GOOD("withdraw, of nothing", f.say(Kind::withdraw, HandleRecord{77});
         EXPECT_EQ(Control::of(f.hear()).kind, Kind::withdrawn));
    GOOD("unsend, of nothing", f.say(Kind::unsend, HandleRecord{77}); f.turns();
         EXPECT_FALSE(f.in.ready()));
}

/// A send of the process whose data both would copy, were they let.
std::uint32_t shared_send(Forger& f) {
    const std::uint32_t send = f.announced();
    const auto path = static_cast<std::uint8_t>(Path::shared);
    f.say(Kind::clear_to_send, ClearToSendRecord{send, 9, 0, 100'000, 65'536, 0, path, 0});
    return send;
}

TEST(hostile, taken__by_who_is_refused) {
    GOOD("in the middle", f.say(Kind::taken, HandleRecord{shared_send(f)}, kRefused);
         const Control refused = Control::of(f.hear()); EXPECT_EQ(refused.kind, Kind::sent);
         EXPECT_EQ(refused.flags, kRefused); EXPECT_EQ(Control::of(f.hear()).kind, Kind::piece));
    GOOD("who has failed", f.say(Kind::taken, HandleRecord{shared_send(f)}, kFailed);
         EXPECT_EQ(f.recorder.error(1), kFault));
    BAD("twice", const std::uint32_t send = shared_send(f);
        f.say(Kind::taken, HandleRecord{send}, kRefused);
        f.say(Kind::taken, HandleRecord{send}, kRefused));
    BAD("before its data was asked for",
        f.say(Kind::taken, HandleRecord{f.announced()}, kRefused));
    const auto write = [](Forger& f, std::uint32_t send, std::uint8_t flags) {
        const gcs::Line line = pack(Control{Kind::taken, flags, 0}, HandleRecord{send});
        EXPECT_EQ(f.out.put(f.bad->network(), line), Status::ok);
    };
    for (const std::uint8_t flags : {std::uint8_t{0}, kAll, kRefused}) {
        Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true});
        const std::uint32_t send = f.announced();
        const ClearToSendRecord record{send,
                                       9,
                                       reinterpret_cast<std::uint64_t>(f.to.data()),
                                       100'000,
                                       32'768,
                                       0,
                                       static_cast<std::uint8_t>(Path::shared),
                                       0};
        EXPECT_EQ(f.out.put(f.bad->network(), pack(Control{Kind::clear_to_send, 0, 0}, record)),
                  Status::ok);
        write(f, send, kRefused);  // so the process copies all of it, and this one nothing
        write(f, send, flags);
        while (!f.world.idle()) f.device->network().poll(0);  // so that it hears all at once
        f.turns();
        EXPECT_TRUE(f.gave_up()) << unsigned{flags};
    }
}

TEST(hostile, sent__by_who_is_refused) {
    const auto sent = [](bool bad, std::initializer_list<std::uint8_t> all_flags, int error) {
        Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true});
        f.world.refuse_copies(0, nhi::NetworkInterface::Direction::read, 1);
        f.mp.engine().peers[f.there].path.set_policy(CopyPath::Policy::shared);
        f.posted(7, 100'000, kAnySource);
        const auto address = reinterpret_cast<std::uint64_t>(f.data.data());
        f.say(Kind::announce, AnnounceRecord{7, 0, 100'000, address, 3, 0, 0});
        const gcs::Line asked = f.hear();
        EXPECT_EQ(unpack<ClearToSendRecord>(asked).path, static_cast<std::uint8_t>(Path::shared));
        const gcs::Line refused = f.hear();
        EXPECT_EQ(Control::of(refused).kind, Kind::taken);
        EXPECT_EQ(Control::of(refused).flags, kRefused);
        for (const std::uint8_t flags : all_flags) {
            f.say(Kind::sent, HandleRecord{unpack<ClearToSendRecord>(asked).receive}, flags);
        }
        EXPECT_EQ(f.gave_up(), bad);
        EXPECT_EQ(f.recorder.has(2) ? f.recorder.error(2) : kAccepted + 1, error);
    };
    constexpr int kNotYet = kAccepted + 1;
    sent(false, {0}, kNotYet);
    sent(false, {0, kAll}, kSuccess);
    sent(false, {kFailed}, kFault);
    sent(false, {kRefused}, kNotYet);
    sent(true, {kRefused, kRefused}, kPeerLost);
    sent(true, {kRefused, kAll}, kPeerLost);
}

// It has said that it copies nothing of the message, and all of it is copied here.
TEST(hostile, sent__by_who_copies_nothing) {
    for (const std::uint8_t flags : {std::uint8_t{0}, kAll, kRefused}) {
        Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true});
        f.mp.engine().peers[f.there].path.set_policy(CopyPath::Policy::shared);
        const HandleRecord receive{f.posted(7, 100'000, kAnySource)};
        const auto address = reinterpret_cast<std::uint64_t>(f.data.data());
        for (const gcs::Line& line :
             {pack(Control{Kind::announce, 0, 0}, AnnounceRecord{7, 0, 100'000, address, 3, 0, 0}),
              pack(Control{Kind::sent, kRefused, 0}, receive),
              pack(Control{Kind::sent, flags, 0}, receive)}) {
            EXPECT_EQ(f.out.put(f.bad->network(), line), Status::ok);
        }
        while (!f.world.idle()) f.device->network().poll(0);  // so that it hears all at once
        f.turns();
        EXPECT_TRUE(f.gave_up()) << unsigned{flags};
        EXPECT_EQ(f.recorder.error(2), kPeerLost) << unsigned{flags};
    }
}

// It writes one more request while each is handled, past all credit; it is not heard for ever.
TEST(hostile, goodbye__of_one_who_goes_on_writing) {
    struct Endless : Forger {
        std::uint64_t sent = out.sent();
        void write() {
            gcs::Line line = pack(Control{Kind::send, kActive, 20}, HandleRecord{6 | 20 << 8});
            line.control = (line.control & 0xffff'ffffu) | (sent + 1) << 32;
            const nhi::LcsAddress at = gcs::Layout::slot(sent++ & (limits().layout.slots - 1));
            std::memcpy(device->block(there).data() + static_cast<std::uint64_t>(at), &line,
                        sizeof line);
        }
    } f;
    f.mp.active_messages().set_handler(
        6,
        [](void* self, nhi::PeerId, const void*, std::size_t, const void*, std::uint64_t,
           ReceiveTarget* target) {
            auto& writer = *static_cast<Endless*>(self);
            if (++writer.handled < 10'000) writer.write();
            *target = {};
        },
        &f);
    f.write();
    f.mp.meetings().peer_lost(f.there, Status::not_found, "said goodbye");
    f.mp.turn();
    EXPECT_EQ(f.handled, static_cast<int>(f.limits().layout.slots)) << "what its block holds";
    f.turns();
    EXPECT_EQ(f.handled, static_cast<int>(f.limits().layout.slots)) << "after it was lost";
}

}  // namespace
}  // namespace fci::mp::test
