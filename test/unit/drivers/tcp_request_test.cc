// SPDX-License-Identifier: BSD-3-Clause
// Requests on a stream: what they have in common with the one before is not said again.
#include "drivers/tcp/last_request.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/seed.h"

namespace fci::tcp::test {
namespace {

using Line = std::array<std::uint64_t, kLineBytes / sizeof(std::uint64_t)>;

/// As a connection writes it.
std::size_t request(Stream* stream, LastRequest* last, const nhi::Transfer& transfer) {
    EXPECT_TRUE(LastRequest::is_one(transfer));
    std::array<std::byte, kRequestHeadsMost> heads;
    const std::size_t bytes = last->say(transfer, heads.data());
    EXPECT_LE(bytes, heads.size());
    append(stream, heads.data(), bytes);
    for (unsigned i = 0; i + 1 < transfer.parts(); ++i) {
        append(stream, transfer.part(i).from, transfer.part(i).bytes);
    }
    return bytes;
}

void raw_request(Stream* stream, RequestHead head, std::size_t words) {
    head.kind = FrameKind::request;
    append(stream, &head, sizeof head);
    stream->resize(stream->size() + 8 * words, std::byte{0});
}

TEST(last_request, say__so_much_of_a_message_goes_over_the_wire) {
    LastRequest last;
    Stream stream;
    Line line{};
    const std::array<std::byte, 64> data{};
    for (unsigned i = 0; i < 10; ++i) {
        line[1] = i + 1;
        line[7] = (i + 1ull) << 32;
        nhi::Transfer short_one(kWriter);
        short_one.put(nhi::LcsAddress{64 * (i + 1)}, line.data(), sizeof line).raise(0);
        const std::size_t bytes = request(&stream, &last, short_one);
        EXPECT_EQ(bytes, i == 0 ? 32u : 24u) << "its data and the control word change";
    }
    for (unsigned i = 0; i < 10; ++i) {
        line[6] = 64 * (i + 1);
        line[7] = (i + 11ull) << 32;
        nhi::Transfer longer(kWriter);
        longer.put(nhi::LcsAddress{8192 + 64 * i}, data.data(), data.size());
        longer.put(nhi::LcsAddress{64 * (i + 11)}, line.data(), sizeof line);
        const std::size_t bytes = request(&stream, &last, longer);
        EXPECT_EQ(bytes, i == 0 ? 32u : 24u) << "where its data are, too";
    }
}

TEST(last_request, is_one__only_what_such_a_frame_can_say) {
    const Line line{};
    const auto put = [&](nhi::Transfer transfer, std::uint64_t to, std::size_t bytes) {
        return transfer.put(nhi::LcsAddress{to}, line.data(), bytes);
    };
    const nhi::Transfer none(kWriter);
    EXPECT_TRUE(LastRequest::is_one(put(none, 64, 64)));
    EXPECT_TRUE(LastRequest::is_one(put(put(none, 4096, 9), 64, 64)));
    EXPECT_TRUE(LastRequest::is_one(put(put(put(none, 4096, 9), 4105, 64), 64, 64)));
    EXPECT_FALSE(LastRequest::is_one(none));
    EXPECT_FALSE(LastRequest::is_one(put(none, 64, 56)));
    EXPECT_FALSE(LastRequest::is_one(put(put(put(none, 4096, 9), 4106, 9), 64, 64)));
    EXPECT_FALSE(LastRequest::is_one(put(put(none, 0, 64), 64, 8)));
    EXPECT_TRUE(LastRequest::is_one(put(none, 64, 64).raise(7)));
    EXPECT_FALSE(LastRequest::is_one(put(none, 64, 64).raise(8)));
}

/// As far as the head can say how long its data are; they are not looked at.
TEST(last_request, is_one__data_of_so_many_bytes) {
    const Line line{};
    const auto with_data = [&](std::size_t first, std::size_t second) {
        nhi::Transfer transfer(kWriter);
        transfer.put(nhi::LcsAddress{4096}, line.data(), first);
        transfer.put(nhi::LcsAddress{4096 + first}, line.data(), second);
        return LastRequest::is_one(transfer.put(nhi::LcsAddress{64}, line.data(), sizeof line));
    };
    EXPECT_TRUE(with_data(UINT32_MAX, 0));
    EXPECT_FALSE(with_data(UINT32_MAX + 1ull, 0));
    EXPECT_TRUE(with_data(UINT32_MAX - 9ull, 9));
    EXPECT_FALSE(with_data(UINT32_MAX - 9ull, 10));
}

/// Data follow on at whole lines, and so does one line upon the other.
TEST(last_request, say__addresses_that_follow_on_are_not_said) {
    for (const std::size_t bytes : {1, 63, 64, 65, 128, 129}) {
        const std::uint64_t next = (bytes + 63) / 64 * 64;
        for (const std::uint64_t to : {next - 64, next, next + 64}) {
            LastRequest last;
            Stream stream;
            const Line line{};
            const std::array<std::byte, 200> data{};
            nhi::Transfer first(kWriter), second(kWriter);
            first.put(nhi::LcsAddress{8192}, data.data(), bytes);
            first.put(nhi::LcsAddress{64}, line.data(), sizeof line);
            second.put(nhi::LcsAddress{8192 + to}, data.data(), bytes);
            second.put(nhi::LcsAddress{128}, line.data(), sizeof line);
            EXPECT_EQ(request(&stream, &last, first), sizeof(RequestHead) + 16);
            EXPECT_EQ(request(&stream, &last, second), sizeof(RequestHead) + (to != next ? 8 : 0));
            EXPECT_EQ(last.data_at(), 8192 + to);
            EXPECT_EQ(last.line_at(), 128u);
        }
    }
}

TEST(last_request, hear__any_cut_gives_the_same_memory) {
    for (const std::uint64_t seed : seeds(300)) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        LastRequest last;
        std::vector<std::byte> expected(kBytes);
        Stream stream;
        Line line{};
        std::uint32_t events = 0;
        std::uint64_t slot = 0, ring = 16'384;
        constexpr unsigned kTransfers = 80;
        for (unsigned i = 0; i < kTransfers; ++i) {
            for (std::uint64_t& word : line) {
                if (prng.chance(30)) word = prng.next();
            }
            // They mostly follow on; some lie nowhere, in part or whole.
            slot = prng.chance(85) ? (slot + 64) % 8192 : prng.below(2 * kBytes);
            nhi::Transfer transfer(kWriter);
            const auto parts = static_cast<unsigned>(prng.below(4));
            std::vector<std::byte> data[3];
            for (unsigned p = 0; p < parts; ++p) {
                data[p] = random_bytes(prng, prng.below(prng.chance(10) ? 9'000 : 100));
                transfer.put(nhi::LcsAddress{ring}, data[p].data(), data[p].size());
                if (ring + data[p].size() <= kBytes) {
                    std::ranges::copy(data[p], expected.begin() + static_cast<long>(ring));
                }
                ring += data[p].size();
            }
            ring = prng.chance(85) && ring < kBytes - 40'000 ? (ring + 63) & ~63ull : 16'384;
            transfer.put(nhi::LcsAddress{slot}, line.data(), sizeof line);
            if (slot + sizeof line <= kBytes) {
                std::memcpy(expected.data() + slot, line.data(), sizeof line);
            }
            if (prng.chance(30)) {
                const auto event = static_cast<nhi::EventId>(prng.below(8));
                transfer.raise(event);
                events |= 1u << event;
            }
            (void)request(&stream, &last, transfer);
        }
        const std::size_t most = 1 + prng.below(prng.chance(50) ? 40 : 100'000);
        ASSERT_TRUE(feed(decoder, stream, most, &prng, [] {}));
        EXPECT_EQ(memory.transfers, kTransfers);
        EXPECT_EQ(memory.events, events);
        EXPECT_EQ(std::memcmp(memory.words.data(), expected.data(), kBytes), 0);
    }
}

TEST(last_request, hear__what_no_peer_sends_is_refused) {
    const auto refused = [](const RequestHead& head, std::size_t words) {
        Stream stream;
        raw_request(&stream, head, words);
        stream.resize(stream.size() + 2 * kBytes, std::byte{0});
        Memory memory;
        FrameDecoder decoder(memory, kWriter);
        const bool well = feed(decoder, stream);
        return !well && memory.transfers == 0;
    };
    constexpr std::uint8_t both = RequestHead::kDataMove | RequestHead::kLineMoves;
    EXPECT_TRUE(refused({{}, 0, both + 1, 0, 8}, 3));
    EXPECT_TRUE(refused({{}, 0, RequestHead::kDataMove, 0, 0}, 1)) << "there are none to move";
    EXPECT_TRUE(refused({{}, 0, 0, 0, kBytes + 1}, 0)) << "more than any place has";
    Stream stream;
    raw_request(&stream, {{}, 0, RequestHead::kLineMoves, 0, 0}, 0);
    const std::uint64_t nowhere = 2 * kBytes + 1;
    append(&stream, &nowhere, sizeof nowhere);
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    EXPECT_FALSE(feed(decoder, stream));
    EXPECT_EQ(memory.transfers, 0u);
}

/// The last word of a request's line comes after its data.
TEST(last_request, hear__its_line_comes_last) {
    Prng prng(seeded(1));
    Memory memory;
    FrameDecoder decoder(memory, kWriter);
    LastRequest last;
    for (std::uint64_t round = 1; round <= 200; ++round) {
        const Line line{0, round, 0, 0, 0, 0, 0, round};
        const std::vector<std::uint64_t> data(prng.between(1, 700), round);
        nhi::Transfer transfer(kWriter);
        transfer.put(nhi::LcsAddress{4096}, data.data(), 8 * data.size());
        transfer.put(nhi::LcsAddress{64}, line.data(), sizeof line);
        Stream stream;
        (void)request(&stream, &last, transfer);
        ASSERT_TRUE(feed(decoder, stream, 100, &prng, [&] {
            if (memory.words[15] != round) return;
            EXPECT_EQ(memory.words[9], round);
            for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(memory.words[512 + i], round);
        }));
        ASSERT_EQ(memory.words[15], round);
    }
}

}  // namespace
}  // namespace fci::tcp::test
