// SPDX-License-Identifier: BSD-3-Clause
// The guard of every entry from C: a lock if the program asked for one, and no exception out.
#pragma once

#include <pthread.h>
#include <rdma/fi_errno.h>

#include <new>
#include <type_traits>

namespace fci::libfabric {

/// One per domain: its endpoints, queues and address vectors share state. FI_THREAD_DOMAIN promises
/// that the program does not come in twice, and then it costs one predictable branch.
class Lock {
public:
    /// A thread that sleeps, or may do so, and is told before the lock is let go: work that is left
    /// behind wakes it.
    class Sleeper {
    public:
        virtual void before_unlock() noexcept = 0;

        Sleeper* next = nullptr;

    protected:
        ~Sleeper() = default;
    };

    explicit Lock(bool needed) noexcept : needed_(needed) {}
    ~Lock() { pthread_mutex_destroy(&mutex_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    void lock() noexcept {
        if (needed_) [[unlikely]] pthread_mutex_lock(&mutex_);
    }
    void unlock() noexcept {
        if (needed_) [[unlikely]] let_go();
    }
    [[nodiscard]] bool needed() const noexcept { return needed_; }

    void add(Sleeper& sleeper) noexcept {
        sleeper.next = sleepers_;
        sleepers_ = &sleeper;
    }
    void remove(Sleeper& sleeper) noexcept {
        Sleeper** at = &sleepers_;
        while (*at != nullptr && *at != &sleeper) at = &(*at)->next;
        if (*at != nullptr) *at = sleeper.next;
    }

private:
    void let_go() noexcept {
        for (Sleeper* sleeper = sleepers_; sleeper != nullptr; sleeper = sleeper->next) {
            sleeper->before_unlock();
        }
        pthread_mutex_unlock(&mutex_);
    }

    Sleeper* sleepers_ = nullptr;
    const bool needed_;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Guard {
public:
    explicit Guard(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    Lock& lock_;
};

/// Runs what may allocate; what it throws becomes a negative error.
template <class F>
auto no_throw(F&& call) noexcept -> std::invoke_result_t<F> {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return -FI_ENOMEM;
    } catch (...) {
        return -FI_EOTHER;
    }
}

}  // namespace fci::libfabric
