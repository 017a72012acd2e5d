// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/fork_watch.h"

#include <pthread.h>

#include <mutex>
#include <new>

#include "fci_core/base/assert.h"

namespace fci {

namespace {

// The handlers of pthread_atfork take no argument, so this list cannot belong to anybody.
constinit std::mutex list_lock;
constinit ForkWatch* first = nullptr;
constinit bool watching = false;

}  // namespace

void ForkWatch::before_fork() {
    list_lock.lock();
}
void ForkWatch::in_parent() {
    list_lock.unlock();
}
void ForkWatch::in_the_child() {
    for (const ForkWatch* watch = first; watch != nullptr; watch = watch->next_) {
        watch->in_child_(watch->user_);
    }
    list_lock.unlock();
}

ForkWatch::ForkWatch(void (*in_child)(void* user) noexcept, void* user)
    : in_child_(in_child), user_(user) {
    const std::scoped_lock guard(list_lock);
    if (!watching && pthread_atfork(before_fork, in_parent, in_the_child) != 0) {
        throw std::bad_alloc();
    }
    watching = true;
    next_ = first;
    here_ = &first;
    if (first != nullptr) first->here_ = &next_;
    first = this;
}

ForkWatch::~ForkWatch() {
    const std::scoped_lock guard(list_lock);
    FCI_ASSERT(*here_ == this && (next_ == nullptr || next_->here_ == &next_));
    *here_ = next_;
    if (next_ != nullptr) next_->here_ = here_;
}

}  // namespace fci
