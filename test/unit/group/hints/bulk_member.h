// SPDX-License-Identifier: BSD-3-Clause
// A member of long broadcasts among ends that are driven by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <vector>

#include "fci_core/group/hints/bulk_member.h"
#include "test/unit/group/hints/bulk.h"

namespace fci::group::test {

/// From where, how much is wanted, and what hints have brought.
using Words = std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>;

inline const std::vector<std::uint32_t> kHosts{1, 2, 3};

/// The member is end 1; the others do by hand what roots do.
struct Member : Ends {
    Member() : Ends(3) {
        member = std::make_unique<BulkMember>(messages(1), hints(1),
                                              nhi::HintMember{{kName, {}}, 1, kHosts}, kGroupKey);
    }
    [[nodiscard]] std::uint64_t match() const { return match_of(kGroupKey, number, true); }
    void begin(std::size_t bytes, std::uint64_t its_number = 0, unsigned its_root = 0) {
        number = its_number != 0 ? its_number : number + 1;
        root = its_root;
        data = pattern(bytes, static_cast<unsigned>(number));
        place.assign(bytes, std::byte{0});
        member->begin(peers(1)[root], number, match(), place);
        member->be_patient(bytes);
        begun = world.now();
    }
    /// That piece, by a hint.
    bool bring(std::size_t piece) {
        const auto part = std::span(data).subspan(piece * kPiece);
        return hints(1).bring({kName, number, static_cast<std::uint32_t>(piece * kPiece),
                               static_cast<std::uint32_t>(data.size()), 0},
                              part.first(std::min(part.size(), kPiece)));
    }
    void bring(std::size_t first, std::size_t end) {
        for (std::size_t piece = first; piece < end; ++piece) EXPECT_TRUE(bring(piece));
    }
    /// By a message.
    void answer(std::size_t at, std::size_t bytes) {
        send(root, 1, match(), std::span(data).subspan(at, bytes));
        settle();
    }
    void look(unsigned times = 1) {
        for (; times != 0; --times) EXPECT_FALSE(member->advance());
    }
    /// Hints were looked for in between.
    void look_anew() {
        ++hints(1).looked;
        look();
    }
    [[nodiscard]] std::uint64_t asked() { return counters(1).hints_lacked; }
    /// Since it was asked last.
    Words said() {
        settle();
        Words all;
        for (const Noted& one : notes(root)) {
            const auto note = one.as<LongProgress>();
            EXPECT_EQ(one.from, 1u);
            EXPECT_EQ(note.key, kGroupKey);
            EXPECT_EQ(note.number, number);
            all.emplace_back(note.at, note.wanted, note.heard);
        }
        notes(root).clear();
        return all;
    }
    void ends() {
        EXPECT_TRUE(member->advance());
        EXPECT_FALSE(member->has_lost());
        EXPECT_EQ(place, data);
    }
    /// After its patience it asks for that much of the rest, at the second look.
    void asks_after(Nanoseconds since, Nanoseconds patience) {
        const std::uint64_t before = asked();
        world.run_until(since + patience - 1);
        look(2);
        world.run_until(since + patience);
        look();
        EXPECT_EQ(asked(), before) << "not yet, after " << patience;
        look();
        EXPECT_EQ(asked(), before + 1) << "after " << patience;
    }

    std::uint64_t number = 0;
    unsigned root = 0;
    Nanoseconds begun = 0;
    Bytes data, place;
    std::unique_ptr<BulkMember> member;
};

}  // namespace fci::group::test
