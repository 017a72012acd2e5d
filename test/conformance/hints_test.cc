// SPDX-License-Identifier: BSD-3-Clause
// The contract of hints (nhi/hints.h), once for all drivers that have them. Whatever is lost on the
// way is sent again here until it is heard.
#include <arpa/inet.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "fci_core/base/prng.h"
#include "fci_core/nhi/hints.h"
#include "test/conformance/nhi.h"

namespace fci::conformance {
namespace {

using nhi::Hint;

constexpr std::uint64_t kName = 0x1234'5678'9abc'def0;

std::vector<std::byte> bytes_of(std::size_t count, std::uint64_t seed) {
    std::vector<std::byte> bytes(count);
    Prng prng(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    return bytes;
}

/// What one device was told.
struct Told final : nhi::HintListener {
    struct Piece {
        Hint hint;
        std::size_t bytes;
    };
    std::vector<Piece> pieces;

    void arrived(const Hint& hint, std::size_t bytes) noexcept override {
        pieces.push_back({hint, bytes});
    }
    [[nodiscard]] bool has(std::uint64_t number) const {
        return std::ranges::any_of(
            pieces, [&](const Piece& piece) { return piece.hint.number == number; });
    }
    /// All bytes of the number, in pieces.
    [[nodiscard]] bool has_all(std::uint64_t number, std::size_t total) const {
        std::map<std::size_t, std::size_t> parts;
        for (const Piece& piece : pieces) {
            if (piece.hint.number == number) parts[piece.hint.offset] = piece.bytes;
        }
        std::size_t end = 0;
        for (const auto& [offset, bytes] : parts) {
            if (offset == end) end += bytes;
        }
        return !parts.empty() && end == total;
    }
};

class Hints : public Nhi {
protected:
    nhi::Hints& hints(unsigned i) { return *network(i).hints(); }
    /// Its rank is its number; `key` is told to all members.
    Status join(unsigned i, std::uint64_t name, nhi::HintListener& listener, unsigned key = 1) {
        std::vector<std::uint32_t> hosts;
        for (unsigned at = 0; at < world_->devices(); ++at) {
            hosts.push_back(device(at).card().host);
        }
        nhi::HintMember member{{name, {}}, static_cast<std::uint16_t>(i), hosts};
        member.group.key[3] = static_cast<std::byte>(key);
        return hints(i).join(member, listener);
    }
    void open_joined(unsigned count) {
        open(count);
        told_.resize(count);
        for (unsigned i = 0; i < count; ++i) {
            ASSERT_NE(network(i).hints(), nullptr);
            ASSERT_EQ(join(i, kName, told_[i]), Status::ok);
        }
    }
    static Hint hint_of(std::uint64_t number, std::span<const std::byte> all) {
        return {kName, number, 0, static_cast<std::uint32_t>(all.size()), 99};
    }
    /// All of it, once.
    void send(unsigned from, const Hint& hint, std::span<const std::byte> all) {
        for (std::size_t done = 0; done == 0 || done < all.size();) {
            const std::size_t some = std::min(all.size() - done, nhi::Hints::kMost);
            Hint part = hint;
            part.offset = static_cast<std::uint32_t>(done);
            const Status status = hints(from).hint(part, all.subspan(done, some));
            if (status != Status::again) {
                ASSERT_EQ(status, Status::ok);
                done += some;
                if (some == 0) return;
            }
            world_->turn();
        }
    }
    /// Until it is heard.
    bool send_until(unsigned from, const Hint& hint, std::span<const std::byte> all,
                    const std::function<bool()>& heard) {
        for (unsigned times = 0; times < 200; ++times) {
            send(from, hint, all);
            for (unsigned turns = 0; turns < 2000; ++turns) {
                if (heard()) return true;
                world_->turn();
            }
        }
        return false;
    }

    std::deque<Told> told_;
};

INSTANTIATE_TEST_SUITE_P(Drivers, Hints,
                         testing::ValuesIn(hint_makers().begin(), hint_makers().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Hints, hint__goes_where_each_receiver_says) {
    open_joined(3);
    const std::vector<std::byte> all = bytes_of(1000, 1);
    std::vector<std::byte> memory[3];
    for (unsigned i = 0; i < 3; ++i) {
        memory[i].resize(2000 + i);
        ASSERT_EQ(hints(i).expect(kName, 5, std::span(memory[i]).subspan(10 * i, 1000 + i)),
                  Status::ok);
    }
    ASSERT_TRUE(
        send_until(0, hint_of(5, all), all, [&] { return told_[1].has(5) && told_[2].has(5); }));
    for (unsigned i = 1; i < 3; ++i) {
        EXPECT_EQ(std::memcmp(memory[i].data() + 10 * i, all.data(), all.size()), 0);
        const Told::Piece& piece = told_[i].pieces.front();
        EXPECT_EQ(piece.hint.name, kName);
        EXPECT_EQ(piece.hint.rank, 0u) << "as the network knows it";
        EXPECT_EQ(piece.hint.total, 1000u);
        EXPECT_EQ(piece.bytes, 1000u);
        EXPECT_EQ(memory[i][10 * i + 1000], std::byte{0}) << "written behind its end";
    }
}

TEST_P(Hints, hint__of_no_bytes) {
    open_joined(2);
    ASSERT_EQ(hints(1).expect(kName, 1, {}), Status::ok);
    ASSERT_TRUE(send_until(0, hint_of(1, {}), {}, [&] { return told_[1].has(1); }));
    EXPECT_EQ(told_[1].pieces.front().bytes, 0u);
}

TEST_P(Hints, hint__long_ones_come_in_pieces) {
    open_joined(2);
    const std::vector<std::byte> all = bytes_of(2 * nhi::Hints::kMost + 777, 2);
    std::vector<std::byte> memory(all.size());
    ASSERT_EQ(hints(1).expect(kName, 3, memory), Status::ok);
    ASSERT_TRUE(send_until(0, hint_of(3, all), all,
                           [&] { return told_[1].has_all(3, all.size()); }));
    EXPECT_EQ(memory, all);
    for (const Told::Piece& piece : told_[1].pieces) {
        EXPECT_LE(piece.bytes, nhi::Hints::kPieceMost);
        EXPECT_EQ(piece.hint.total, all.size());
    }
}

/// What is not expected, any more, yet, or in that length, is neither written nor told.
TEST_P(Hints, expect__nothing_else_is_written) {
    open_joined(2);
    const std::vector<std::byte> all = bytes_of(64, 3);
    std::vector<std::byte> memory(64), other(64);
    const auto is_untouched = [&](std::uint64_t number) {
        send(0, hint_of(number, all), all);
        world_->settle();
        return std::ranges::count(memory, std::byte{0}) == 64 && !told_[1].has(number);
    };
    ASSERT_EQ(hints(1).expect(kName, 20, memory), Status::ok);
    for (const std::uint64_t number : {4u, 19u, 21u, 36u}) EXPECT_TRUE(is_untouched(number));
    hints(1).withdraw(kName, 4);  // of the same index, and not it
    ASSERT_EQ(hints(1).expect(kName, 20, std::span(memory).first(63)), Status::ok);
    EXPECT_TRUE(is_untouched(20)) << "too short for it";
    hints(1).withdraw(kName, 20);
    EXPECT_TRUE(is_untouched(20)) << "withdrawn";
    ASSERT_EQ(hints(1).expect(kName, 20, memory), Status::ok);
    ASSERT_EQ(hints(1).expect(kName, 36, other), Status::ok);
    EXPECT_TRUE(is_untouched(20)) << "its index is another number's";
    hints(1).leave(kName);
    EXPECT_TRUE(is_untouched(36));
    EXPECT_EQ(hints(1).expect(kName, 36, memory), Status::not_found);
    ASSERT_EQ(join(1, kName, told_[1]), Status::ok);
    EXPECT_TRUE(is_untouched(36)) << "expected before it left";
}

TEST_P(Hints, join__groups_hear_their_own) {
    open_joined(3);
    Told others;
    ASSERT_EQ(join(1, kName, others), Status::invalid);
    ASSERT_EQ(join(1, kName + 1, others), Status::ok);
    ASSERT_EQ(join(0, kName + 1, told_[0]), Status::ok);
    const std::vector<std::byte> all = bytes_of(64, 4);
    std::vector<std::byte> memory(64), other(64);
    ASSERT_EQ(hints(1).expect(kName, 2, memory), Status::ok);
    ASSERT_EQ(hints(1).expect(kName + 1, 2, other), Status::ok);
    Hint hint = hint_of(2, all);
    hint.name = kName + 1;
    ASSERT_TRUE(send_until(0, hint, all, [&] { return others.has(2); }));
    EXPECT_EQ(other, all);
    EXPECT_EQ(memory, std::vector<std::byte>(64));
    EXPECT_TRUE(told_[1].pieces.empty());
    EXPECT_TRUE(told_[2].pieces.empty());
}

TEST_P(Hints, join__another_job_hears_nothing) {
    open_joined(2);
    ddi::Settings settings = usual_settings();
    ++settings.job;
    world_->open(settings);
    Told stranger;
    ASSERT_EQ(join(2, kName, stranger), Status::ok);
    const std::vector<std::byte> all = bytes_of(64, 5);
    std::vector<std::byte> memory(64), other(64);
    ASSERT_EQ(hints(1).expect(kName, 2, memory), Status::ok);
    ASSERT_EQ(hints(2).expect(kName, 2, other), Status::ok);
    ASSERT_TRUE(send_until(0, hint_of(2, all), all, [&] { return told_[1].has(2); }));
    world_->settle();
    EXPECT_TRUE(stranger.pieces.empty());
    EXPECT_EQ(other, std::vector<std::byte>(64));
}

/// That the name is the same is not enough, nor that the key is: of those whom member 1 knows, 0
/// has another key, 2 is not where it sends from, and 3 is none.
TEST_P(Hints, join__who_has_another_key_or_place_is_not_heard) {
    open(4);
    told_.resize(4);
    const std::uint32_t known[] = {device(0).card().host, device(1).card().host,
                                   htonl(0x7f00'00fe)};
    nhi::HintMember member{{kName, {}}, 1, known};
    member.group.key[3] = std::byte{1};
    ASSERT_EQ(hints(1).join(member, told_[1]), Status::ok);
    ASSERT_EQ(join(0, kName, told_[0], 2), Status::ok);
    ASSERT_EQ(join(2, kName, told_[2]), Status::ok);
    ASSERT_EQ(join(3, kName, told_[3]), Status::ok);
    const std::vector<std::byte> all = bytes_of(64, 5);
    std::vector<std::byte> memory(64);
    ASSERT_EQ(hints(1).expect(kName, 2, memory), Status::ok);
    for (const unsigned from : {0u, 2u, 3u}) {
        for (unsigned times = 0; times < 20; ++times) send(from, hint_of(2, all), all);
        world_->settle();
    }
    EXPECT_TRUE(told_[1].pieces.empty());
    EXPECT_EQ(memory, std::vector<std::byte>(64));
    EXPECT_EQ(hints(1).heard(kName), 0u);
}

/// So that a member knows whether it hears the others at all.
TEST_P(Hints, heard__also_what_came_early_or_late) {
    open_joined(2);
    const std::vector<std::byte> all = bytes_of(64, 8);
    EXPECT_EQ(hints(1).heard(kName), 0u);
    hints(1).withdraw(kName, 9);
    for (const std::uint64_t number : {5u, 40u}) {
        ASSERT_TRUE(send_until(0, hint_of(number, all), all,
                               [&] { return hints(1).heard(kName) == number; }));
    }
    EXPECT_TRUE(told_[1].pieces.empty());
    EXPECT_EQ(hints(1).heard(kName + 1), 0u) << "it is no group";
}

TEST_P(Hints, draw__no_two_groups_are_the_same) {
    open(2);
    std::set<std::uint64_t> names;
    std::set<decltype(nhi::HintGroup::key)> keys;
    for (unsigned i = 0; i < 100; ++i) {
        nhi::HintGroup group{};
        ASSERT_EQ(hints(i % 2).draw(&group), Status::ok);
        EXPECT_NE(group.name, 0u);
        EXPECT_NE(group.name, ~std::uint64_t{0});
        names.insert(group.name);
        keys.insert(group.key);
    }
    EXPECT_EQ(names.size(), 100u);
    EXPECT_EQ(keys.size(), 100u);
}

TEST_P(Hints, hint__wrong_arguments) {
    open_joined(1);
    const std::vector<std::byte> all = bytes_of(nhi::Hints::kMost + 1, 6);
    Hint hint = hint_of(1, all);
    EXPECT_EQ(hints(0).hint(hint, all), Status::invalid);
    hint.offset = 2;
    EXPECT_EQ(hints(0).hint(hint, std::span(all).first(nhi::Hints::kMost)), Status::invalid);
    hint.offset = hint.total + 1;
    EXPECT_EQ(hints(0).hint(hint, {}), Status::invalid);
    hint = {kName + 1, 1, 0, 0, 0};
    EXPECT_EQ(hints(0).hint(hint, {}), Status::not_found) << "it was not joined";
}

/// Numbers above what travels of them.
TEST_P(Hints, hint__numbers_have_64_bits) {
    open_joined(2);
    const std::vector<std::byte> all = bytes_of(64, 7);
    std::vector<std::byte> memory(64);
    const std::uint64_t number = (1ull << 32) + 3;
    ASSERT_EQ(hints(1).expect(kName, number, memory), Status::ok);
    ASSERT_TRUE(send_until(0, hint_of(number, all), all, [&] { return told_[1].has(number); }));
    EXPECT_EQ(memory, all);
}

/// The listener may do anything with the table while it is told.
TEST_P(Hints, arrived__may_expect_and_leave) {
    open_joined(2);
    struct Mover final : nhi::HintListener {
        nhi::Hints* hints = nullptr;
        std::vector<std::byte> memory = std::vector<std::byte>(64);
        std::uint64_t last = 0;
        void arrived(const Hint& hint, std::size_t) noexcept override {
            last = hint.number;
            hints->withdraw(kName + 1, last);
            if (last == 40) return hints->leave(kName + 1);
            (void)hints->expect(kName + 1, last + 1, memory);
        }
    } mover;
    mover.hints = &hints(1);
    ASSERT_EQ(join(0, kName + 1, told_[0]), Status::ok);
    ASSERT_EQ(join(1, kName + 1, mover), Status::ok);
    ASSERT_EQ(hints(1).expect(kName + 1, 1, mover.memory), Status::ok);
    for (std::uint64_t number = 1; number <= 40; ++number) {
        const std::vector<std::byte> all = bytes_of(64, number);
        Hint hint = hint_of(number, all);
        hint.name = kName + 1;
        ASSERT_TRUE(send_until(0, hint, all, [&] { return mover.last == number; }));
        ASSERT_EQ(mover.memory, all);
    }
    EXPECT_EQ(hints(1).expect(kName + 1, 41, mover.memory), Status::not_found);
}

}  // namespace
}  // namespace fci::conformance
