// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/match/key_index.h"

#include <bit>
#include <cstdlib>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::mp {

namespace {
constexpr std::size_t kFirstBuckets = 64;
constexpr std::uint32_t kFirstRecords = 64;
}  // namespace

KeyIndex::~KeyIndex() {
    std::free(records_);
    std::free(buckets_);
}

std::size_t KeyIndex::bucket(const MatchKey& key) const noexcept {
    const std::uint64_t who = static_cast<std::uint64_t>(key.source) << 32 | key.space;
    std::uint64_t x = (key.match ^ std::rotl(who * 0x9e3779b97f4a7c15ull, 29));
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return (x ^ x >> 32) & (bucket_count_ - 1);
}

KeyIndex::Entry KeyIndex::first(const MatchKey& key, std::uint64_t* visits) const noexcept {
    if (keys_ == 0) return kNone;
    Entry entry = buckets_[bucket(key)];
    while (entry != kNone) {
        ++*visits;
        if (records_[entry].key == key) return entry;
        entry = records_[entry].chain_next;
    }
    return kNone;
}

KeyIndex::Entry KeyIndex::allocate() noexcept {
    if (free_ != kNone) return std::exchange(free_, records_[free_].next);
    if (used_ == capacity_) {
        const Entry wanted = capacity_ == 0 ? kFirstRecords : capacity_ * 2;
        if (wanted < capacity_) return kNone;
        void* grown = std::realloc(records_, wanted * sizeof(Record));
        if (grown == nullptr) return kNone;
        records_ = static_cast<Record*>(grown);
        capacity_ = wanted;
    }
    FCI_ASSERT(used_ < capacity_);
    return used_++;
}

bool KeyIndex::grow_buckets() noexcept {
    const std::size_t old_count = bucket_count_;
    const std::size_t count = old_count == 0 ? kFirstBuckets : old_count * 2;
    auto* grown = static_cast<Entry*>(std::malloc(count * sizeof(Entry)));
    if (grown == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) grown[i] = kNone;
    Entry* const old = std::exchange(buckets_, grown);
    bucket_count_ = count;
    FCI_ASSERT(std::has_single_bit(bucket_count_));
    for (std::size_t i = 0; i < old_count; ++i) {
        for (Entry entry = old[i]; entry != kNone;) {
            const Entry next = records_[entry].chain_next;
            push_head(entry);
            entry = next;
        }
    }
    std::free(old);
    return true;
}

void KeyIndex::push_head(Entry entry) noexcept {
    Entry& first = buckets_[bucket(records_[entry].key)];
    records_[entry].chain_previous = kNone;
    records_[entry].chain_next = first;
    if (first != kNone) records_[first].chain_previous = entry;
    first = entry;
}

KeyIndex::Entry KeyIndex::insert(const MatchKey& key, void* node) noexcept {
    if (keys_ >= bucket_count_ && !grow_buckets()) return kNone;
    const Entry entry = allocate();
    if (entry == kNone) return kNone;
    std::uint64_t visits = 0;
    const Entry head = first(key, &visits);
    FCI_ASSERT(node != nullptr && (head == kNone || records_[head].head));
    Record& record = records_[entry];
    record.key = key;
    record.node = node;
    record.head = head == kNone;
    if (record.head) {
        record.next = record.previous = entry;
        push_head(entry);
        ++keys_;
    } else {
        const Entry tail = records_[head].previous;
        record.next = head;
        record.previous = tail;
        records_[tail].next = entry;
        records_[head].previous = entry;
    }
    ++size_;
    return entry;
}

void KeyIndex::replace_in_chain(const Record& old, Entry by) noexcept {
    // `by` stands where `old` stood, or is what followed it.
    if (old.chain_previous == kNone) {
        buckets_[bucket(old.key)] = by;
    } else {
        records_[old.chain_previous].chain_next = by;
    }
}

void KeyIndex::erase(Entry entry) noexcept {
    FCI_ASSERT(entry < used_ && size_ != 0);
    Record& record = records_[entry];
    const Entry next = record.next;
    FCI_ASSERT(next < used_ && records_[next].previous == entry);
    if (record.head && next == entry) {
        replace_in_chain(record, record.chain_next);
        if (record.chain_next != kNone) {
            records_[record.chain_next].chain_previous = record.chain_previous;
        }
        --keys_;
    } else {
        if (record.head) {
            Record& heir = records_[next];
            FCI_ASSERT(!heir.head);
            heir.head = true;
            heir.chain_next = record.chain_next;
            heir.chain_previous = record.chain_previous;
            replace_in_chain(record, next);
            if (heir.chain_next != kNone) records_[heir.chain_next].chain_previous = next;
        }
        records_[next].previous = record.previous;
        records_[record.previous].next = next;
    }
    record.next = free_;
    free_ = entry;
    --size_;
}

void KeyIndex::clear() noexcept {
    for (std::size_t i = 0; keys_ != 0 && i < bucket_count_; ++i) {
        while (buckets_[i] != kNone) erase(buckets_[i]);
    }
    FCI_ASSERT(keys_ == 0 && size_ == 0);
}

}  // namespace fci::mp
