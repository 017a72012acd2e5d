// SPDX-License-Identifier: BSD-3-Clause
// KeyIndex: from an exact match key to the nodes that have it, oldest first (§2.6.2).
//
// A hash of keys whose entries are queues, so neither many nodes under one key nor many keys cost
// more than a step or two. Entries live in one array that grows by doubling: nothing is allocated
// at steady state. Without memory insert() says so, and the caller goes on without an index.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/nhi/types.h"

namespace fci::mp {

struct MatchKey {
    nhi::PeerId source;
    std::uint32_t space;
    std::uint64_t match;
    friend bool operator==(const MatchKey&, const MatchKey&) = default;
};

class KeyIndex {
public:
    using Entry = std::uint32_t;
    static constexpr Entry kNone = 0xffffffffu;

    KeyIndex() = default;
    KeyIndex(const KeyIndex&) = delete;
    KeyIndex& operator=(const KeyIndex&) = delete;
    ~KeyIndex();

    /// Behind all entries of the same key; kNone without memory.
    Entry insert(const MatchKey& key, void* node) noexcept;
    void erase(Entry entry) noexcept;
    /// Forgets all entries, keeps the memory; cheap when few are left.
    void clear() noexcept;

    /// The oldest entry of the key. Adds the entries that were looked at to *visits.
    [[nodiscard]] Entry first(const MatchKey& key, std::uint64_t* visits) const noexcept;
    /// The next younger entry of the same key.
    [[nodiscard]] Entry next(Entry entry) const noexcept {
        const Entry next = records_[entry].next;
        return records_[next].head ? kNone : next;
    }
    [[nodiscard]] void* node(Entry entry) const noexcept { return records_[entry].node; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

private:
    struct Record {
        MatchKey key;
        void* node;
        Entry next, previous;              // ring of the entries of one key; free list: next
        Entry chain_next, chain_previous;  // heads: the keys that share a bucket
        bool head;                         // oldest of its key
    };

    [[nodiscard]] std::size_t bucket(const MatchKey& key) const noexcept;
    [[nodiscard]] Entry allocate() noexcept;
    [[nodiscard]] bool grow_buckets() noexcept;
    void push_head(Entry entry) noexcept;
    void replace_in_chain(const Record& old, Entry by) noexcept;

    Record* records_ = nullptr;
    Entry* buckets_ = nullptr;
    std::size_t bucket_count_ = 0;  // power of two
    std::size_t keys_ = 0, size_ = 0;
    Entry capacity_ = 0, used_ = 0, free_ = kNone;
};

}  // namespace fci::mp
