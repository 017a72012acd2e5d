// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/event_queue.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "netmod/libfabric/fabric.h"
#include "netmod/libfabric/stubs.h"
#include "netmod/libfabric/waiter.h"

namespace fci::libfabric {

EventQueue::EventQueue(Fabric& fabric, const fi_eq_attr& attributes, void* context)
    : fabric_(fabric),
      writable_((attributes.flags & FI_WRITE) != 0),
      wait_object_(attributes.wait_obj) {
    static fi_ops fid_operations = fid_ops(close, no_bind, control);
    static fi_ops_eq operations{sizeof(fi_ops_eq), read,          read_error,
                                write,             blocking_read, error_text};
    fid = {FI_CLASS_EQ, context, &fid_operations};
    ops = &operations;
    bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
}

EventQueue::~EventQueue() {
    if (bell_ >= 0) ::close(bell_);
}

int EventQueue::open(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** queue, void* context) {
    const fi_eq_attr wanted = attributes == nullptr ? fi_eq_attr{} : *attributes;
    if (!Waiter::offers(wanted.wait_obj) || wanted.wait_set != nullptr) return -FI_ENOSYS;
    return no_throw([&] {
        Fabric& owner = Fabric::of(fabric);
        std::unique_ptr<EventQueue> made(new EventQueue(owner, wanted, context));
        if (made->bell_ < 0) return -FI_EMFILE;
        owner.use(+1);
        *queue = made.release();
        return 0;
    });
}

int EventQueue::close(fid_t object) {
    EventQueue* const queue = &of(object);
    {
        Guard guard(queue->lock_);
        if (queue->users_ != 0) return -FI_EBUSY;
    }
    queue->fabric_.use(-1);
    delete queue;
    return 0;
}

int EventQueue::control(fid_t object, int command, void* argument) {
    EventQueue& queue = of(object);
    switch (command) {
        case FI_GETWAIT:
            if (queue.wait_object_ != FI_WAIT_FD) return -FI_ENODATA;
            *static_cast<int*>(argument) = queue.bell_;
            return 0;
        case FI_GETWAITOBJ: *static_cast<fi_wait_obj*>(argument) = queue.wait_object_; return 0;
        default: return -FI_ENOSYS;
    }
}

void EventQueue::use(int by) noexcept {
    Guard guard(lock_);
    users_ += by;
}

bool EventQueue::empty() noexcept {
    Guard guard(lock_);
    return events_.empty();
}

void EventQueue::put(std::uint32_t event, const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const char*>(data);
    Guard guard(lock_);
    events_.push_back({event, {from, from + bytes}});
    eventfd_write(bell_, 1);
}

void EventQueue::remove_first() noexcept {
    events_.pop_front();
    eventfd_t one;
    eventfd_read(bell_, &one);
}

ssize_t EventQueue::read(fid_eq* fid, std::uint32_t* event, void* to, std::size_t bytes,
                         std::uint64_t flags) {
    EventQueue& queue = of(fid);
    Guard guard(queue.lock_);
    if (queue.events_.empty()) return -FI_EAGAIN;
    const Event& first = queue.events_.front();
    if (bytes < first.data.size()) return -FI_ETOOSMALL;
    *event = first.kind;
    if (!first.data.empty()) std::memcpy(to, first.data.data(), first.data.size());
    const auto length = static_cast<ssize_t>(first.data.size());
    if ((flags & FI_PEEK) == 0) queue.remove_first();
    return length;
}

/// Nothing that is done here can fail later.
ssize_t EventQueue::read_error(fid_eq*, fi_eq_err_entry*, std::uint64_t) {
    return -FI_EAGAIN;
}

ssize_t EventQueue::write(fid_eq* fid, std::uint32_t event, const void* data, std::size_t bytes,
                          std::uint64_t) {
    EventQueue& queue = of(fid);
    if (!queue.writable_) return -FI_EINVAL;
    return no_throw([&]() -> ssize_t {
        queue.put(event, data, bytes);
        return static_cast<ssize_t>(bytes);
    });
}

ssize_t EventQueue::blocking_read(fid_eq* fid, std::uint32_t* event, void* to, std::size_t bytes,
                                  int timeout, std::uint64_t flags) {
    const Deadline deadline(timeout);
    for (;;) {
        const ssize_t result = read(fid, event, to, bytes, flags);
        if (result != -FI_EAGAIN || deadline.over()) return result;
        const std::int64_t left = deadline.left_ns();
        pollfd descriptor{of(fid).bell_, POLLIN, 0};
        // Rounded up: waking early would spin through the last millisecond.
        poll(&descriptor, 1, left < 0 ? -1 : static_cast<int>((left + 999'999) / 1'000'000));
    }
}

const char* EventQueue::error_text(fid_eq*, int provider_error, const void*, char* text,
                                   std::size_t bytes) {
    const char* const said = fi_strerror(provider_error);
    if (text != nullptr && bytes != 0) std::snprintf(text, bytes, "%s", said);
    return said;
}

}  // namespace fci::libfabric
