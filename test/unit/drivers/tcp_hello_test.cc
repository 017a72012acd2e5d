// SPDX-License-Identifier: BSD-3-Clause
// The hello of a connection: how it is said and heard, and what is said to whom.
#include "drivers/tcp/hello.h"

#include "drivers/tcp/own.h"
#include "drivers/tcp/peers.h"
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

struct TcpHello : testing::Test {
    TcpHello() {
        hello.pid = 4711;
        hello.rank = -2;
    }
    /// So much of it, from there on.
    void bring(std::size_t at, std::size_t bytes) {
        const auto* const from = reinterpret_cast<const std::byte*>(&hello) + at;
        one.here.insert(one.here.end(), from, from + bytes);
    }

    HandStreams system;
    tcp::Stream stream{system, system.add({})};
    HandStreams::One& one = system.at(1);
    Hello hello{};
};

TEST_F(TcpHello, say__all_or_nothing) {
    EXPECT_EQ(say(stream, hello), 0);
    EXPECT_EQ(one.sent.size(), sizeof hello);
    one.room = sizeof hello - 1;
    EXPECT_EQ(say(stream, hello), ENOBUFS) << "it is a shortage";
    one.room = 0;
    one.refusal = EPIPE;
    EXPECT_EQ(say(stream, hello), EPIPE);
}

TEST_F(TcpHello, hear__as_it_comes_and_nothing_behind_it) {
    using Heard = HelloReader::Heard;
    HelloReader reader;
    EXPECT_EQ(reader.hear(stream), Heard::part);
    one.at_its_end = EINTR;
    EXPECT_EQ(reader.hear(stream), Heard::part);
    system.bring(1, hello, 50);
    EXPECT_EQ(reader.hear(stream), Heard::part);
    bring(50, sizeof hello - 51);
    EXPECT_EQ(reader.hear(stream), Heard::part);
    bring(sizeof hello - 1, 1);
    system.bring(1, std::uint64_t{5});
    EXPECT_EQ(reader.hear(stream), Heard::all);
    EXPECT_EQ(std::memcmp(&reader.hello(), &hello, sizeof hello), 0);
    EXPECT_EQ(one.here.size(), sizeof(std::uint64_t)) << "what follows is a frame";
}

TEST_F(TcpHello, hear__the_end_of_it) {
    for (const int error : {0, ECONNRESET, EBADF}) {
        HelloReader reader;
        system.bring(1, hello, 50);
        EXPECT_EQ(reader.hear(stream), HelloReader::Heard::part);
        one.at_its_end = error;
        EXPECT_EQ(reader.hear(stream), HelloReader::Heard::closed) << error;
    }
}

/// The upper two bytes of the magic are the version.
TEST_F(TcpHello, is_of_another_version__where_the_rest_is_the_same) {
    hello.magic = Hello::kMagic;
    EXPECT_FALSE(hello.is_of_another_version());
    for (unsigned bit = 0; bit < 64; ++bit) {
        hello.magic = Hello::kMagic ^ 1ull << bit;
        EXPECT_EQ(hello.is_of_another_version(), bit >= 48) << bit;
    }
}

TEST_F(TcpHello, is_bare__a_refusal_without_a_place) {
    hello.verdict = Verdict::mismatch;
    EXPECT_TRUE(hello.is_bare());
    hello.from.port = 1;
    EXPECT_FALSE(hello.is_bare());
    hello.from.port = 0;
    hello.verdict = Verdict::gone;
    EXPECT_FALSE(hello.is_bare());
}

Own own_of(std::uint64_t incarnation) {
    Own own;
    own.settings = hand_settings();
    own.card = card_of(incarnation);
    return own;
}

/// The values that both must agree on are told only to callers that have the card.
TEST_F(TcpHello, refusal__says_as_much_as_the_caller_knows) {
    const Own own = own_of(50);
    hello.magic = Hello::kMagic;
    hello.to.incarnation = 50;
    hello.from = card_of(9);
    EXPECT_TRUE(own.is_named_by(hello));
    const Hello full = own.refusal_of(hello);
    EXPECT_EQ(full.verdict, Verdict::mismatch);
    EXPECT_EQ(full.job, 77u);
    EXPECT_EQ(full.layout_digest, 0x1234u);
    EXPECT_EQ(full.from.incarnation, 50u);
    EXPECT_EQ(full.to.incarnation, 9u);
    EXPECT_FALSE(full.is_bare());
    Hello bare{};
    bare.magic = Hello::kMagic;
    bare.verdict = Verdict::mismatch;
    const auto is_bare = [&] {
        const Hello said = own.refusal_of(hello);
        return std::memcmp(&said, &bare, sizeof said) == 0;
    };
    EXPECT_FALSE(is_bare());
    hello.to.incarnation = 51;
    EXPECT_TRUE(is_bare());
    EXPECT_FALSE(own.is_named_by(hello));
    hello.to.incarnation = 50;
    hello.magic += 1ull << 48;
    EXPECT_TRUE(is_bare()) << "another version reads no more of it";
}

TEST_F(TcpHello, settings__are_what_both_must_have) {
    hello.job = 5;
    hello.layout_digest = 6;
    EXPECT_EQ(hello.settings().job, 5u);
    EXPECT_EQ(hello.settings().layout_digest, 6u);
}

TEST(tcp_pages, span__is_zeroed_and_moves) {
    Pages some(5000);
    ASSERT_EQ(some.span().size(), 5000u);
    EXPECT_EQ(std::ranges::count(some.span(), std::byte{0}), 5000);
    std::byte* const at = some.span().data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 4096, 0u);
    at[4999] = std::byte{1};
    Pages moved(std::move(some));
    EXPECT_EQ(moved.span().data(), at);
    EXPECT_TRUE(some.span().empty());
    Pages other;
    EXPECT_TRUE(other.span().empty());
    other = std::move(moved);
    EXPECT_EQ(other.span()[4999], std::byte{1});
    EXPECT_TRUE(Pages(0).span().empty());
    EXPECT_THROW(Pages(~std::size_t{0} / 2), std::bad_alloc);
}

TEST(tcp_stream, close__once) {
    HandStreams system;
    {
        tcp::Stream one(system, system.add({}));
        tcp::Stream other(system, system.add({}));
        EXPECT_TRUE(one);
        other = std::move(one);
        EXPECT_FALSE(one);
        EXPECT_EQ(other.get(), 1);
        EXPECT_FALSE(system.all.at(2).is_open);
        EXPECT_TRUE(system.all.at(1).is_open);
        auto& same = other;
        other = std::move(same);
        EXPECT_TRUE(system.all.at(1).is_open);
        const tcp::Stream third(std::move(other));
        EXPECT_EQ(third.get(), 1);
        EXPECT_FALSE(tcp::Stream());
        const tcp::Stream zero(system, 0);
        EXPECT_TRUE(zero) << "a descriptor like any other";
        system.all[0] = {};
    }
    EXPECT_FALSE(system.all.at(1).is_open);
    EXPECT_FALSE(system.all.at(0).is_open);
}

TEST(tcp_stream, is_shortage__what_passes) {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM, EAGAIN, EINTR}) {
        EXPECT_TRUE(is_shortage(error)) << error;
    }
    for (const int error : {0, ECONNREFUSED, EPIPE, ETIMEDOUT, EADDRINUSE, EACCES}) {
        EXPECT_FALSE(is_shortage(error)) << error;
    }
}

}  // namespace
}  // namespace fci::tcp::test
