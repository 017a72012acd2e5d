// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/handshake.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "fci_core/base/prng.h"

namespace fci::shm {
namespace {

ddi::Settings settings_of(std::uint64_t job) {
    ddi::Settings settings;
    settings.block_bytes = 4096;
    settings.layout_digest = 0xabc;
    settings.job = job;
    return settings;
}

ddi::Card card_of(std::uint16_t port, std::uint64_t incarnation) {
    ddi::Card card;
    card.port = port;
    card.host = 0x0100007f;
    card.incarnation = incarnation;
    return card;
}

struct Handshake : testing::Test {
    ddi::Settings settings = settings_of(1);
    ddi::Card own = card_of(10, 100), other = card_of(20, 200);
    Hello hello = make_hello(settings, other, 100, &settings);
    Hello copy{};

    Objection check(std::size_t length = sizeof(Hello)) {
        return check_hello(&hello, length, settings, own, &copy);
    }
};

TEST_F(Handshake, check_hello__fits) {
    EXPECT_EQ(check(), Objection::none);
    EXPECT_EQ(std::memcmp(&hello, &copy, sizeof hello), 0);
    hello.expects = 0;  // whoever is there
    EXPECT_EQ(check(), Objection::none);
}

TEST_F(Handshake, check_hello__each_difference) {
    hello.job = 2;
    EXPECT_EQ(check(), Objection::job);
    hello.job = 1;
    hello.layout_digest = 0xdef;
    EXPECT_EQ(check(), Objection::layout);
    hello.layout_digest = 0xabc;
    hello.expects = 101;
    EXPECT_EQ(check(), Objection::replaced);
    hello.expects = 100;
    hello.card.incarnation = 0;
    EXPECT_EQ(check(), Objection::malformed);
    hello.card = other;
    hello.header_bytes += 64;
    EXPECT_EQ(check(), Objection::malformed);
    hello.header_bytes -= 64;
    hello.block_bytes = 0;
    EXPECT_EQ(check(), Objection::malformed);
    hello.block_bytes = nhi::kPairLimit + 1;
    EXPECT_EQ(check(), Objection::malformed);
    hello.block_bytes = nhi::kPairLimit;  // need not be as large as the own one
    EXPECT_EQ(check(), Objection::none);
}

TEST_F(Handshake, check_hello__another_version_of_any_length) {
    hello.prologue.version = kVersion + 1;
    EXPECT_EQ(check(), Objection::version);
    std::vector<std::byte> longer(sizeof hello + 40);
    hello.prologue.bytes = static_cast<std::uint16_t>(longer.size());
    std::memcpy(longer.data(), &hello, sizeof hello);
    EXPECT_EQ(check_hello(longer.data(), longer.size(), settings, own, &copy), Objection::version);
}

TEST_F(Handshake, check_hello__cut_at_every_length) {
    for (std::size_t length = 0; length < sizeof hello; ++length) {
        const std::vector<std::byte> cut(reinterpret_cast<const std::byte*>(&hello),
                                         reinterpret_cast<const std::byte*>(&hello) + length);
        EXPECT_EQ(check_hello(cut.data(), length, settings, own, &copy), Objection::malformed);
    }
}

TEST_F(Handshake, check_hello__every_damaged_bit_of_what_must_agree) {
    const std::size_t agreed_bytes = offsetof(Hello, header_bytes) + sizeof hello.header_bytes;
    for (std::size_t bit = 0; bit < 8 * agreed_bytes; ++bit) {
        if (bit / 8 >= offsetof(Hello, card) && bit / 8 < offsetof(Hello, expects)) continue;
        Hello damaged = hello;
        reinterpret_cast<unsigned char*>(&damaged)[bit / 8] ^= 1u << bit % 8;
        EXPECT_NE(check_hello(&damaged, sizeof damaged, settings, own, &copy), Objection::none)
            << bit;
    }
}

TEST_F(Handshake, objection_text__names_both_values_and_a_remedy) {
    Refusal refusal = make_refusal(settings_of(2), Objection::layout);
    refusal.layout_digest = 0x123456;
    const auto text = [&](Objection objection) {
        refusal.objection = objection;
        return objection_text(refusal, settings, "pid 42 at 127.0.0.1:7");
    };
    EXPECT_NE(text(Objection::layout).find("0x123456"), std::string::npos);
    EXPECT_NE(text(Objection::layout).find("0xabc"), std::string::npos);
    EXPECT_NE(text(Objection::layout).find("FCI_"), std::string::npos);
    refusal.version = 9;
    EXPECT_NE(text(Objection::version).find("version 9"), std::string::npos);
    EXPECT_NE(text(Objection::job).find("FCI_JOB"), std::string::npos);
    for (std::uint32_t any = 0; any < 300; ++any) {  // also those that do not exist
        EXPECT_NE(text(static_cast<Objection>(any)).find("pid 42"), std::string::npos);
    }
}

TEST_F(Handshake, make_hello__says_all_of_its_sender) {
    settings.sizes = 0x1234;
    settings.rank = 7;
    hello = make_hello(settings, other, 100, &settings, 9);
    EXPECT_EQ(hello.prologue.magic, kHandshakeMagic);
    EXPECT_EQ(hello.prologue.version, kVersion);
    EXPECT_EQ(hello.prologue.kind, Kind::hello);
    EXPECT_EQ(hello.prologue.bytes, sizeof hello);
    EXPECT_EQ(hello.card.incarnation, other.incarnation);
    EXPECT_EQ(hello.expects, 100u);
    EXPECT_EQ(hello.block_bytes, 4096u);
    EXPECT_EQ(hello.sizes, 0x1234u);
    EXPECT_EQ(hello.guard_address, reinterpret_cast<std::uint64_t>(&settings));
    EXPECT_EQ(hello.tries, 9u);
    EXPECT_EQ(hello.rank, 7);
}

TEST_F(Handshake, check_hello__card_without_a_port_or_another_record) {
    hello.card.port = 0;
    EXPECT_EQ(check(), Objection::malformed);
    hello.card.port = 1;
    hello.prologue.kind = Kind::bye;
    EXPECT_EQ(check(), Objection::malformed);
    hello.prologue.kind = Kind::hello;
    hello.prologue.magic ^= 1;
    EXPECT_EQ(check(), Objection::malformed);
}

TEST_F(Handshake, read_prologue__wants_all_of_it_and_no_other_length) {
    Word word = make_word(Kind::bye);
    Prologue prologue{};
    EXPECT_TRUE(read_prologue(&word, sizeof word, &prologue));
    EXPECT_EQ(prologue.kind, Kind::bye);
    EXPECT_FALSE(read_prologue(&word, sizeof word - 1, &prologue));
    EXPECT_FALSE(read_prologue(&word, sizeof word + 1, &prologue));
    word.prologue.bytes = sizeof word - 1;
    EXPECT_FALSE(read_prologue(&word, sizeof word - 1, &prologue));
}

TEST_F(Handshake, check_hello__longer_than_it_is) {
    std::vector<std::byte> longer(sizeof hello + 8);
    hello.prologue.bytes = static_cast<std::uint16_t>(longer.size());
    std::memcpy(longer.data(), &hello, sizeof hello);
    EXPECT_EQ(check_hello(longer.data(), longer.size(), settings, own, &copy),
              Objection::malformed);
}

TEST_F(Handshake, make_refusal__tells_a_stranger_nothing) {
    for (const Objection objection : {Objection::job, Objection::layout, Objection::user}) {
        const Refusal refusal = make_refusal(settings, objection);
        EXPECT_EQ(refusal.objection, objection);
        EXPECT_EQ(refusal.version, kVersion);
        EXPECT_EQ(refusal.layout_digest, objection == Objection::user ? 0u : 0xabcu);
    }
}

TEST_F(Handshake, objection_status__of_each) {
    EXPECT_EQ(objection_status(Objection::replaced), Status::unreachable);
    EXPECT_EQ(objection_status(Objection::resources), Status::exhausted);
    for (const Objection objection : {Objection::malformed, Objection::version, Objection::job,
                                      Objection::layout, Objection::user}) {
        EXPECT_EQ(objection_status(objection), Status::mismatch);
    }
}

TEST_F(Handshake, read_refusal__tolerates_more_and_not_less) {
    Refusal refusal = make_refusal(settings, Objection::job), read{};
    EXPECT_TRUE(read_refusal(&refusal, sizeof refusal, &read));
    EXPECT_EQ(read.objection, Objection::job);
    EXPECT_FALSE(read_refusal(&refusal, sizeof refusal - 1, &read));
    EXPECT_FALSE(read_refusal(&hello, sizeof hello, &read));
    std::vector<std::byte> longer(sizeof refusal + 8);
    refusal.prologue.bytes = static_cast<std::uint16_t>(longer.size());
    std::memcpy(longer.data(), &refusal, sizeof refusal);
    EXPECT_TRUE(read_refusal(longer.data(), longer.size(), &read));
}

}  // namespace
}  // namespace fci::shm
