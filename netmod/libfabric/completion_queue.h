// SPDX-License-Identifier: BSD-3-Clause
// CompletionQueue: a ring that grows. The size asked for is a hint: programs ask for 100 entries
// and have thousands of operations open, so nothing is ever dropped and nothing waits for room.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "netmod/libfabric/sheet.h"
#include "netmod/libfabric/waiter.h"

namespace fci::libfabric {

class Domain;

/// The members that an error entry has beyond the others.
struct Failure {
    int error = 0;        // FI_E..., positive
    int icl_code = 0;     // FCI_ICL_E..., negative
    std::size_t excess = 0;
    char reason[kErrorTextMost] = "";
};

/// One cache line; begins as every fi_cq_*_entry does.
struct CompletionEntry {
    void* context;
    std::uint64_t flags;
    std::size_t length;
    void* buffer;
    std::uint64_t data;
    std::uint64_t tag;
    fi_addr_t source;
    Failure* failure;  // nullptr: it went well
};
static_assert(sizeof(CompletionEntry) == 64);
static_assert(offsetof(CompletionEntry, tag) == offsetof(fi_cq_tagged_entry, tag));
static_assert(offsetof(CompletionEntry, data) == offsetof(fi_cq_data_entry, data));
static_assert(offsetof(CompletionEntry, length) == offsetof(fi_cq_msg_entry, len));

class CompletionQueue final : public fid_cq {
public:
    static int open(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context);
    ~CompletionQueue();

    [[nodiscard]] static CompletionQueue& of(fid_cq* queue) noexcept {
        return *static_cast<CompletionQueue*>(queue);
    }
    [[nodiscard]] static CompletionQueue& of(fid_t object) noexcept {
        return of(reinterpret_cast<fid_cq*>(object));
    }

    /// Under the lock.
    void push(const CompletionEntry& entry) noexcept {
        if (entry.failure == nullptr && entry.buffer == nullptr &&
            give(entry.context, entry.flags, entry.length, entry.data, entry.tag)) {
            return;
        }
        if (used_ == capacity_) [[unlikely]] grow();
        ring_[(first_ + used_++) & (capacity_ - 1)] = entry;
        waiter_.wake();
    }
    /// Directly to the call that reads, if there is one with room left. Word by word: a copy of
    /// what was just put together in words of other sizes would wait for these.
    bool give(void* context, std::uint64_t flags, std::size_t length, std::uint64_t data,
              std::uint64_t tag) noexcept {
        if (reader_left_ == 0 || used_ != 0) return false;
        if (reader_step_ == sizeof(fi_cq_tagged_entry)) [[likely]] {
            auto& entry = *reinterpret_cast<fi_cq_tagged_entry*>(reader_);
            entry.op_context = context;
            entry.flags = flags;
            entry.len = length;
            entry.buf = nullptr;
            entry.data = data;
            entry.tag = tag;
        } else {
            give_shorter({context, flags, length, nullptr, data, tag, 0, nullptr});
        }
        reader_ += reader_step_;
        --reader_left_;
        return true;
    }
    /// `entry.failure` is made here.
    void push_failure(CompletionEntry entry, const Failure& failure) noexcept;

    [[nodiscard]] bool empty() const noexcept { return used_ == 0; }
    [[nodiscard]] Waiter& waiter() noexcept { return waiter_; }
    [[nodiscard]] Domain& domain() noexcept { return domain_; }

private:
    CompletionQueue(Domain& domain, const fi_cq_attr& attributes, void* context);

    template <class Entry>
    ssize_t take(void* to, std::size_t count, fi_addr_t* sources) noexcept;
    ssize_t take_any(void* to, std::size_t count, fi_addr_t* sources) noexcept;
    template <class Entry>
    ssize_t look(void* to, std::size_t count) noexcept;
    template <class Entry>
    ssize_t read_any_way(void* to, std::size_t count, fi_addr_t* sources) noexcept;
    template <class Entry>
    static fi_ops_cq operations() noexcept;
    template <class Entry>
    static ssize_t read(fid_cq* queue, void* to, std::size_t count);
    template <class Entry>
    static ssize_t read_from(fid_cq* queue, void* to, std::size_t count, fi_addr_t* sources);
    static ssize_t blocking_read(fid_cq* queue, void* to, std::size_t count, const void* condition,
                                 int timeout);
    static ssize_t blocking_read_from(fid_cq* queue, void* to, std::size_t count,
                                      fi_addr_t* sources, const void* condition, int timeout);
    static ssize_t read_error(fid_cq* queue, fi_cq_err_entry* to, std::uint64_t flags);
    static int signal(fid_cq* queue);
    static const char* error_text(fid_cq* queue, int provider_error, const void* data, char* text,
                                  std::size_t bytes);
    static int close(fid_t object);
    static void enter_fork_child(fid_t object) noexcept;
    static int control(fid_t object, int command, void* argument);

    void give_shorter(CompletionEntry entry) noexcept;
    void grow() noexcept;
    void drop_first() noexcept;

    // The members that reading and writing touch come first.
    CompletionEntry* ring_ = nullptr;
    std::size_t capacity_ = 0;  // a power of two
    std::size_t first_ = 0;
    std::size_t used_ = 0;
    // Where the call that reads has room left, while it makes progress: what completes meanwhile
    // goes there, and never sees the ring.
    char* reader_ = nullptr;
    std::size_t reader_left_ = 0;  // entries
    std::size_t reader_step_ = 0;  // bytes of one
    bool left_nothing_ = false;   // the last read gave less than it had room for
    unsigned taken_at_hand_ = 0;  // reads that gave what was there without a look
    Waiter waiter_;
    Domain& domain_;
    fi_cq_format format_;
    fi_cq_wait_cond wait_condition_;
    bool signalled_ = false;
    Failure last_failure_;  // the one that was read last: its text lives until the next
};

}  // namespace fci::libfabric
