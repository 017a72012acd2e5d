// SPDX-License-Identifier: BSD-3-Clause
// StoreWatch: a copy of the block that a peer keeps for this process, to be written in its place,
// and what was written there since it was last asked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/nhi/link.h"

namespace fci::tap {

class StoreWatch {
public:
    explicit StoreWatch(const nhi::Link& watched)
        : watched_(watched), copy_(lines(watched.block_bytes)), known_(copy_.size()) {
        FCI_ASSERT(watched.block != nullptr);
    }

    /// The link for the owner, whose stores go to a copy of the block.
    [[nodiscard]] nhi::Link link() noexcept {
        static constexpr std::uint64_t always = nhi::Link::kAlways;
        nhi::Link link = watched_;
        link.block = reinterpret_cast<std::byte*>(copy_.data());
        link.wanted_events = &always;
        return link;
    }

    using Line = std::array<std::uint64_t, 8>;
    static_assert(sizeof(Line) == 64, "a line of the core's");
    struct Store {
        std::size_t number;  // of the line
        Line line;
        Line before;  // of its words only those that differ were stored: others have other writers
    };
    /// The last line first: what a request announces lies behind it (gcs::Layout).
    using Stores = std::vector<Store>;
    [[nodiscard]] Stores take() {
        Stores stores;
        // Mostly nothing was stored, and a caller that waits asks millions of times.
        const std::size_t bytes = copy_.size() * sizeof(Line);
        if (std::memcmp(copy_.data(), known_.data(), bytes) == 0) return stores;
        for (std::size_t i = copy_.size(); i-- != 0;) {
            if (copy_[i] == known_[i]) continue;
            stores.push_back({i, copy_[i], known_[i]});
            known_[i] = copy_[i];
        }
        return stores;
    }
    /// The last word of each line last, as its owner wrote it.
    void apply(const Stores& stores) const noexcept {
        auto* const block = reinterpret_cast<Line*>(watched_.block);
        for (const Store& store : stores) {
            FCI_ASSERT(store.number < known_.size());
            Line& line = block[store.number];
            for (std::size_t word = 0; word < line.size(); ++word) {
                if (store.line[word] == store.before[word]) continue;
                flag::store_release(line[word], store.line[word]);
            }
        }
    }

private:
    static std::size_t lines(std::size_t bytes) { return bytes / sizeof(Line); }

    nhi::Link watched_;
    std::vector<Line> copy_, known_;
};

}  // namespace fci::tap
