// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/counter.h"

#include <memory>
#include <utility>

#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/fork.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

Counter::Counter(Domain& domain, void* context)
    : waiter_(domain.lock(), &fid, enter_fork_child), domain_(domain) {
    static fi_ops fid_operations = fid_ops(close, no_bind, control);
    static fi_ops_cntr operations{
        sizeof(fi_ops_cntr),
        read,
        read_errors,
        change<&Counter::value_, true>,
        change<&Counter::value_, false>,
        wait,
        change<&Counter::errors_, true>,
        change<&Counter::errors_, false>,
    };
    fid = {FI_CLASS_CNTR, context, &fid_operations};
    ops = &operations;
}

void Counter::enter_fork_child(fid_t object) noexcept {
    static fi_ops_cntr operations{sizeof(fi_ops_cntr), in_child, in_child, in_child,
                                  in_child,            in_child, in_child, in_child};
    of(object).ops = &operations;
}

int Counter::open(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter,
                  void* context) {
    const fi_cntr_attr wanted = attributes == nullptr ? fi_cntr_attr{} : *attributes;
    if (wanted.events != FI_CNTR_EVENTS_COMP || wanted.flags != 0) return -FI_ENOSYS;
    if (!Waiter::offers(wanted.wait_obj) || wanted.wait_set != nullptr) return -FI_ENOSYS;
    return no_throw([&] {
        Domain& owner = Domain::of(domain);
        Guard guard(owner.lock());
        std::unique_ptr<Counter> made(new Counter(owner, context));
        const int result = made->waiter_.open(wanted.wait_obj);
        if (result != 0) return result;
        ++owner.children;
        *counter = made.release();
        return 0;
    });
}

int Counter::close(fid_t object) {
    Counter* const counter = &of(object);
    Domain& domain = counter->domain_;
    Guard guard(domain.lock());
    if (counter->waiter_.users != 0) return -FI_EBUSY;
    --domain.children;
    domain.forget(counter->waiter_);
    delete counter;
    return 0;
}

int Counter::control(fid_t object, int command, void* argument) {
    Counter& counter = of(object);
    Guard guard(counter.domain_.lock());
    switch (command) {
        case FI_GETWAIT: {
            if (counter.waiter_.object() != FI_WAIT_FD) return -FI_ENODATA;
            const int descriptor = counter.waiter_.descriptor();
            if (descriptor < 0) return -FI_ENOSYS;
            *static_cast<int*>(argument) = descriptor;
            return 0;
        }
        case FI_GETWAITOBJ:
            *static_cast<fi_wait_obj*>(argument) = counter.waiter_.object();
            return 0;
        case FI_GETOPSFLAG: *static_cast<std::uint64_t*>(argument) = 0; return 0;
        default: return -FI_ENOSYS;
    }
}

std::uint64_t Counter::read(fid_cntr* fid) {
    Counter& counter = of(fid);
    Guard guard(counter.domain_.lock());
    counter.waiter_.disarm();
    counter.waiter_.progress();
    counter.seen_ = counter.value_ + counter.errors_;
    return counter.value_;
}

std::uint64_t Counter::read_errors(fid_cntr* fid) {
    Counter& counter = of(fid);
    Guard guard(counter.domain_.lock());
    counter.waiter_.disarm();
    counter.waiter_.progress();
    counter.seen_ = counter.value_ + counter.errors_;
    return counter.errors_;
}

bool Counter::try_wait() noexcept {
    const std::uint64_t seen = std::exchange(seen_, value_ + errors_);
    return seen == seen_ && waiter_.try_wait();
}

template <std::uint64_t Counter::*Field, bool kAdd>
int Counter::change(fid_cntr* fid, std::uint64_t by) {
    Counter& counter = of(fid);
    Guard guard(counter.domain_.lock());
    counter.*Field = by + (kAdd ? counter.*Field : 0);
    counter.waiter_.ring();
    return 0;
}

int Counter::wait(fid_cntr* fid, std::uint64_t threshold, int timeout) {
    Counter& counter = of(fid);
    const Deadline deadline(timeout);
    Guard guard(counter.domain_.lock());
    const std::uint64_t errors_before = counter.errors_;
    for (;;) {
        counter.waiter_.disarm();
        if (counter.value_ >= threshold) return 0;
        counter.waiter_.progress();
        if (counter.value_ >= threshold) return 0;
        if (counter.errors_ != errors_before) return -FI_EAVAIL;
        if (deadline.over()) return -FI_ETIMEDOUT;
        counter.waiter_.sleep(deadline.left_ns());
    }
}

}  // namespace fci::libfabric
