#include "fci_core/api/fork.h"

#include <pthread.h>

#include <mutex>
#include <new>

#include "fci_core/api/process.h"

namespace fci::api {

namespace {

// The handlers of pthread_atfork take no argument, so this list cannot belong to anybody.
constinit std::mutex list_lock;
constinit ForkWatch* first = nullptr;
constinit bool watching = false;

void before() { list_lock.lock(); }
void in_parent() { list_lock.unlock(); }
void in_the_child() {
    for (ForkWatch* watch = first; watch != nullptr; watch = watch->next()) {
        watch->process().enter_fork_child();
    }
    list_lock.unlock();
}

}  // namespace

ForkWatch::ForkWatch(Process& process) : process_(process) {
    const std::scoped_lock guard(list_lock);
    if (!watching && pthread_atfork(before, in_parent, in_the_child) != 0) throw std::bad_alloc();
    watching = true;
    next_ = first;
    here_ = &first;
    if (first != nullptr) first->here_ = &next_;
    first = this;
}

ForkWatch::~ForkWatch() {
    const std::scoped_lock guard(list_lock);
    *here_ = next_;
    if (next_ != nullptr) next_->here_ = here_;
}

}  // namespace fci::api
