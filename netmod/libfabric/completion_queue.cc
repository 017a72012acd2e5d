// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/completion_queue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/fork.h"
#include "netmod/libfabric/log.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

namespace {

// Small enough to stay in the first-level cache; one that is too small doubles.
constexpr std::size_t kFirstCapacity = 128;
// Some of what is at hand comes with each call of a program that does nothing but send: it must
// look now and then as well, others wait for that.
constexpr unsigned kLookEvery = 16;

}  // namespace

CompletionQueue::CompletionQueue(Domain& domain, const fi_cq_attr& attributes, void* context)
    : waiter_(domain.lock(), &fid, enter_fork_child),
      domain_(domain),
      format_(attributes.format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attributes.format),
      wait_condition_(attributes.wait_cond) {
    static fi_ops fid_operations = fid_ops(close, no_bind, control);
    static fi_ops_cq by_format[] = {
        operations<fi_cq_entry>(), operations<fi_cq_msg_entry>(),
        operations<fi_cq_data_entry>(), operations<fi_cq_tagged_entry>()};
    fid = {FI_CLASS_CQ, context, &fid_operations};
    ops = &by_format[format_ - FI_CQ_FORMAT_CONTEXT];
    ring_ = static_cast<CompletionEntry*>(
        std::aligned_alloc(64, kFirstCapacity * sizeof(CompletionEntry)));
    if (ring_ == nullptr) throw std::bad_alloc();
    capacity_ = kFirstCapacity;
}

CompletionQueue::~CompletionQueue() {
    while (used_ != 0) drop_first();
    std::free(ring_);
}

template <class Entry>
fi_ops_cq CompletionQueue::operations() noexcept {
    return {sizeof(fi_ops_cq), read<Entry>, read_from<Entry>, read_error,
            blocking_read,     blocking_read_from, signal,    error_text};
}

void CompletionQueue::enter_fork_child(fid_t object) noexcept {
    static fi_ops_cq operations{sizeof(fi_ops_cq), in_child, in_child, in_child,
                                in_child,          in_child, in_child, error_text};
    of(object).ops = &operations;
}

int CompletionQueue::open(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue,
                          void* context) {
    const fi_cq_attr wanted = attributes == nullptr ? fi_cq_attr{} : *attributes;
    if (wanted.format > FI_CQ_FORMAT_TAGGED) return -FI_ENOSYS;
    if (!Waiter::offers(wanted.wait_obj) || wanted.wait_set != nullptr) return -FI_ENOSYS;
    return no_throw([&] {
        Domain& owner = Domain::of(domain);
        Guard guard(owner.lock());
        std::unique_ptr<CompletionQueue> made(new CompletionQueue(owner, wanted, context));
        const int result = made->waiter_.open(wanted.wait_obj);
        if (result != 0) return result;
        ++owner.children;
        *queue = made.release();
        return 0;
    });
}

int CompletionQueue::close(fid_t object) {
    CompletionQueue* const queue = &of(object);
    Domain& domain = queue->domain_;
    Guard guard(domain.lock());
    if (queue->waiter_.users != 0) return -FI_EBUSY;
    --domain.children;
    delete queue;
    return 0;
}

int CompletionQueue::control(fid_t object, int command, void* argument) {
    CompletionQueue& queue = of(object);
    Guard guard(queue.domain_.lock());
    switch (command) {
        case FI_GETWAIT: {
            if (queue.waiter_.object() != FI_WAIT_FD) return -FI_ENODATA;
            const int descriptor = queue.waiter_.descriptor();
            if (descriptor < 0) return -FI_ENOSYS;
            *static_cast<int*>(argument) = descriptor;
            return 0;
        }
        case FI_GETWAITOBJ:
            *static_cast<fi_wait_obj*>(argument) = queue.waiter_.object();
            return 0;
        default: return -FI_ENOSYS;
    }
}

void CompletionQueue::grow() noexcept {
    auto* const ring = static_cast<CompletionEntry*>(
        std::aligned_alloc(64, 2 * capacity_ * sizeof(CompletionEntry)));
    if (ring == nullptr) {
        // A completion that is lost leaves the program waiting for ever.
        FCI_WARN(FI_LOG_CQ, "no memory for %zu completions\n", 2 * capacity_);
        std::abort();
    }
    for (std::size_t i = 0; i < used_; ++i) ring[i] = ring_[(first_ + i) & (capacity_ - 1)];
    std::free(ring_);
    ring_ = ring;
    capacity_ *= 2;
    first_ = 0;
}

void CompletionQueue::push_failure(CompletionEntry entry, const Failure& failure) noexcept {
    entry.failure = new (std::nothrow) Failure(failure);
    if (entry.failure == nullptr) {
        FCI_WARN(FI_LOG_CQ, "no memory for an error entry\n");
        std::abort();
    }
    push(entry);
}

void CompletionQueue::drop_first() noexcept {
    delete ring_[first_].failure;
    first_ = (first_ + 1) & (capacity_ - 1);
    if (--used_ == 0) first_ = 0;
}

template <class Entry>
ssize_t CompletionQueue::take(void* to, std::size_t count, fi_addr_t* sources) noexcept {
    auto* out = static_cast<char*>(to);
    std::size_t taken = 0;
    const std::size_t most = std::min(count, used_);
    for (; taken < most; ++taken) {
        const CompletionEntry& entry = ring_[(first_ + taken) & (capacity_ - 1)];
        if (entry.failure != nullptr) [[unlikely]] {
            if (taken == 0) return -FI_EAVAIL;
            break;
        }
        std::memcpy(out, &entry, sizeof(Entry));
        out += sizeof(Entry);
        if (sources != nullptr) *sources++ = entry.source;
    }
    left_nothing_ = taken < count && ++taken_at_hand_ % kLookEvery != 0;
    used_ -= taken;
    // An empty ring starts anew, so that a queue that is kept short lives in a few cache lines.
    first_ = used_ == 0 ? 0 : (first_ + taken) & (capacity_ - 1);
    return static_cast<ssize_t>(taken);
}

ssize_t CompletionQueue::take_any(void* to, std::size_t count, fi_addr_t* sources) noexcept {
    switch (format_) {
        case FI_CQ_FORMAT_MSG: return take<fi_cq_msg_entry>(to, count, sources);
        case FI_CQ_FORMAT_DATA: return take<fi_cq_data_entry>(to, count, sources);
        case FI_CQ_FORMAT_TAGGED: return take<fi_cq_tagged_entry>(to, count, sources);
        default: return take<fi_cq_entry>(to, count, sources);
    }
}

template <class Entry>
[[gnu::noinline]] ssize_t CompletionQueue::read_any_way(void* to, std::size_t count,
                                                        fi_addr_t* sources) noexcept {
    Guard guard(domain_.lock());
    waiter_.disarm();
    if (used_ == 0 || count == 0) {
        // Programs read until nothing is left; to look right after they were given less than they
        // asked for is not worth the time.
        if (std::exchange(left_nothing_, false)) return -FI_EAGAIN;
        if (sources == nullptr) {
            if (const ssize_t given = look<Entry>(to, count)) return given;
        } else {
            waiter_.progress();
        }
        if (used_ == 0) return -FI_EAGAIN;
    }
    return take<Entry>(to, count, sources);
}

/// Progress; what completes by it is given at once. How many.
template <class Entry>
[[gnu::always_inline]] inline ssize_t CompletionQueue::look(void* to, std::size_t count) noexcept {
    reader_ = static_cast<char*>(to);
    reader_left_ = count;
    reader_step_ = sizeof(Entry);
    for (Channel* const channel : waiter_.channels()) channel->progress();
    const std::size_t left = std::exchange(reader_left_, 0);
    left_nothing_ = left != 0 && left != count;
    return static_cast<ssize_t>(count - left);
}

void CompletionQueue::give_shorter(CompletionEntry entry) noexcept {
    std::memcpy(reader_, &entry, reader_step_);
}

template <class Entry>
ssize_t CompletionQueue::read_from(fid_cq* fid, void* to, std::size_t count, fi_addr_t* sources) {
    return of(fid).read_any_way<Entry>(to, count, sources);
}

/// As read_any_way() does, in the order of what is likely.
template <class Entry>
ssize_t CompletionQueue::read(fid_cq* fid, void* to, std::size_t count) {
    CompletionQueue& queue = of(fid);
    if (!queue.waiter_.quick() || queue.used_ != 0) [[unlikely]] {
        return queue.read_any_way<Entry>(to, count, nullptr);
    }
    if (std::exchange(queue.left_nothing_, false)) return -FI_EAGAIN;
    const ssize_t given = queue.look<Entry>(to, count);
    if (given != 0) [[likely]] return given;
    return queue.used_ == 0 ? -FI_EAGAIN : queue.take<Entry>(to, count, nullptr);
}

ssize_t CompletionQueue::blocking_read(fid_cq* fid, void* to, std::size_t count,
                                       const void* condition, int timeout) {
    return blocking_read_from(fid, to, count, nullptr, condition, timeout);
}

ssize_t CompletionQueue::blocking_read_from(fid_cq* fid, void* to, std::size_t count,
                                            fi_addr_t* sources, const void* condition,
                                            int timeout) {
    CompletionQueue& queue = of(fid);
    if (count == 0) return -FI_EINVAL;
    std::size_t enough = 1;
    if (queue.wait_condition_ == FI_CQ_COND_THRESHOLD && condition != nullptr) {
        // By the manual a pointer-sized number, passed by value.
        enough = std::clamp<std::size_t>(reinterpret_cast<std::size_t>(condition), 1, count);
    }
    const Deadline deadline(timeout);
    Guard guard(queue.domain_.lock());
    for (;;) {
        queue.waiter_.disarm();
        if (queue.used_ < enough) queue.waiter_.progress();
        const bool stop = std::exchange(queue.signalled_, false) || deadline.over();
        const bool failed = queue.used_ != 0 && queue.ring_[queue.first_].failure != nullptr;
        if (queue.used_ >= enough || failed || (stop && queue.used_ != 0)) {
            return queue.take_any(to, count, sources);
        }
        if (stop) return -FI_EAGAIN;
        queue.waiter_.sleep(deadline.left_ns());
    }
}

ssize_t CompletionQueue::read_error(fid_cq* fid, fi_cq_err_entry* to, std::uint64_t) {
    CompletionQueue& queue = of(fid);
    Guard guard(queue.domain_.lock());
    if (queue.used_ == 0) queue.waiter_.progress();
    if (queue.used_ == 0 || queue.ring_[queue.first_].failure == nullptr) return -FI_EAGAIN;
    const CompletionEntry& entry = queue.ring_[queue.first_];
    queue.last_failure_ = *entry.failure;
    const Failure& failure = queue.last_failure_;
    to->op_context = entry.context;
    to->flags = entry.flags;
    to->len = entry.length;
    to->buf = entry.buffer;
    to->data = entry.data;
    to->tag = entry.tag;
    to->olen = failure.excess;
    to->err = failure.error;
    to->prov_errno = failure.icl_code;
    const std::size_t text_bytes = std::strlen(failure.reason) + (failure.reason[0] != '\0');
    const bool has_size_field = queue.domain_.api_version() >= FI_VERSION(1, 5);
    if (has_size_field && to->err_data_size != 0 && to->err_data != nullptr) {
        to->err_data_size = std::min(to->err_data_size, text_bytes);
        std::memcpy(to->err_data, failure.reason, to->err_data_size);
    } else {
        to->err_data = text_bytes == 0 ? nullptr : queue.last_failure_.reason;
        if (has_size_field) to->err_data_size = text_bytes;
    }
    queue.drop_first();
    return 1;
}

int CompletionQueue::signal(fid_cq* fid) {
    CompletionQueue& queue = of(fid);
    Guard guard(queue.domain_.lock());
    queue.signalled_ = true;
    queue.waiter_.ring();
    return 0;
}

const char* CompletionQueue::error_text(fid_cq* fid, int provider_error, const void*, char* text,
                                        std::size_t bytes) {
    const CompletionQueue& queue = of(fid);
    // Programs hand in the number only, or the number and the data; both belong to the entry that
    // was read last.
    const Failure& last = queue.last_failure_;
    const char* const said = last.icl_code == provider_error && last.reason[0] != '\0'
                                 ? last.reason
                                 : fci_icl_strerror(provider_error);
    if (text != nullptr && bytes != 0) std::snprintf(text, bytes, "%s", said);
    return said;
}

}  // namespace fci::libfabric
