// SPDX-License-Identifier: BSD-3-Clause
// IndexTable: where hints go here (§2.5.2, fig. 2.19). Every driver with hints has one. Any process
// may have sent the hints that are looked up in it.
#pragma once

#include <array>
#include <new>
#include <unordered_map>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/hints.h"

namespace fci::nhi {

class IndexTable {
public:
    Status join(std::uint64_t name, HintListener& listener) noexcept try {
        const bool is_new = groups_.try_emplace(name, Group{&listener, {}, 0}).second;
        return is_new ? Status::ok : Status::invalid;
    } catch (const std::bad_alloc&) {
        return Status::exhausted;
    }
    void leave(std::uint64_t name) noexcept {
        const auto found = groups_.find(name);
        if (found == groups_.end()) return;
        for (Entry& entry : found->second.entries) clear(entry);
        groups_.erase(found);
    }
    [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
    /// A long hint is expected.
    [[nodiscard]] bool expects_long() const noexcept { return long_ != 0; }

    Status expect(std::uint64_t name, std::uint64_t number, std::span<std::byte> to) noexcept {
        const auto found = groups_.find(name);
        if (found == groups_.end()) return Status::not_found;
        Entry& entry = found->second.entries[number % kIndices];
        clear(entry);
        entry = {number, to, true};
        long_ += entry.is_long();
        FCI_ASSERT(expects_long() || to.size() <= Hints::kShortMost);
        return Status::ok;
    }
    void withdraw(std::uint64_t name, std::uint64_t number) noexcept {
        const auto found = groups_.find(name);
        if (found == groups_.end()) return;
        Entry& entry = found->second.entries[number % kIndices];
        if (entry.number == number) clear(entry);
        found->second.past = number;
    }

    /// The number is not far behind the last one withdrawn, so the hint may be late. An older one
    /// is most likely a replay, and need not be opened.
    [[nodiscard]] bool is_recent(std::uint64_t name, std::uint64_t number) const noexcept {
        const auto found = groups_.find(name);
        return found != groups_.end() && number + kLateMost > found->second.past;
    }

    struct Place {
        std::byte* at = nullptr;
        HintListener* listener = nullptr;  // nullptr: these bytes go nowhere
        bool is_ahead = false;             // its number comes after all withdrawn ones
    };
    [[nodiscard]] Place find(const Hint& hint, std::size_t bytes) const noexcept {
        const auto found = groups_.find(hint.name);
        if (found == groups_.end()) return {};
        const Entry& entry = found->second.entries[hint.number % kIndices];
        const bool is_it = entry.is_expected && entry.number == hint.number;
        const bool fits = hint.total <= entry.to.size() && hint.offset <= hint.total &&
                          bytes <= hint.total - hint.offset;
        if (!is_it || !fits) return {nullptr, nullptr, !is_it && hint.number > found->second.past};
        FCI_ASSERT(found->second.listener != nullptr);
        return {entry.to.data() + hint.offset, found->second.listener};
    }

private:
    static constexpr unsigned kIndices = Hints::kIndices;
    static constexpr std::uint64_t kLateMost = 64;  // numbers

    struct Entry {
        std::uint64_t number = 0;
        std::span<std::byte> to{};
        bool is_expected = false;

        [[nodiscard]] bool is_long() const noexcept {
            return is_expected && to.size() > Hints::kShortMost;
        }
    };
    struct Group {
        HintListener* listener;
        std::array<Entry, kIndices> entries;  // by index
        std::uint64_t past = 0;               // the last number withdrawn
    };
    void clear(Entry& entry) noexcept {
        long_ -= entry.is_long();
        entry = {};
    }

    std::unordered_map<std::uint64_t, Group> groups_;  // by name
    std::size_t long_ = 0;  // entries
};

}  // namespace fci::nhi
