// SPDX-License-Identifier: BSD-3-Clause
// The root of long broadcasts among ends that are driven by hand.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "fci_core/group/hints/bulk_root.h"
#include "test/unit/group/hints/bulk.h"

namespace fci::group::test {

using Offsets = std::vector<std::size_t>;

/// The root is end 0; what the other ends say is said by hand.
struct Root : Ends {
    explicit Root(unsigned ends, std::size_t room = 2 * kOne)
        : Ends(ends), root(messages(0), hints(0), kName, peers(0), 0) {
        hints(0).room = room;
    }
    [[nodiscard]] std::uint64_t match() const { return match_of(kGroupKey, number, true); }
    void begin(std::size_t bytes, std::uint64_t its_number = 0) {
        number = its_number != 0 ? its_number : number + 1;
        data = pattern(bytes, static_cast<unsigned>(number));
        hints(0).hinted.clear();
        root.begin(number, match(), data);
    }
    void report(unsigned member, std::uint64_t its_number, std::size_t at, std::size_t wanted,
                std::uint64_t heard) {
        root.on_progress(peers(0)[member],
                         {kGroupKey, its_number, static_cast<std::uint32_t>(at),
                          static_cast<std::uint32_t>(wanted), heard});
    }
    void has(unsigned member, std::size_t at, std::size_t heard) {
        report(member, number, at, 0, heard);
    }
    void has_all(unsigned member) { has(member, data.size(), data.size()); }
    void asks(unsigned member, std::size_t at, std::size_t wanted, std::uint64_t heard = 1) {
        report(member, number, at, wanted, heard);
    }
    /// Of all hints so far.
    Offsets look() {
        EXPECT_FALSE(root.advance());
        return hints(0).offsets();
    }
    /// The data of the next message to that member.
    std::optional<Bytes> taken(unsigned member) {
        auto message = take(member, 0, match());
        if (!message) return {};
        EXPECT_FALSE(message->is_nothing);
        return message->data;
    }
    Bytes part(std::size_t at, std::size_t bytes) const {
        return {data.begin() + static_cast<std::ptrdiff_t>(at),
                data.begin() + static_cast<std::ptrdiff_t>(at + bytes)};
    }
    /// One of which each member lacked so much.
    void lose(std::size_t bytes, const std::vector<std::size_t>& unheard) {
        begin(bytes);
        EXPECT_FALSE(root.advance());
        for (unsigned i = 0; i < unheard.size(); ++i) has(i + 1, bytes, bytes - unheard[i]);
        EXPECT_TRUE(root.advance());
        EXPECT_FALSE(root.has_lost());
    }

    std::uint64_t number = 0;
    Bytes data;
    BulkRoot root;
};

}  // namespace fci::group::test
