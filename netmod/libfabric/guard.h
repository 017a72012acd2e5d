// What every entry from C needs: a lock where the program asked for one, and no exception out.
#pragma once

#include <pthread.h>
#include <rdma/fi_errno.h>

#include <new>
#include <type_traits>

namespace fci::libfabric {

class Waiter;

/// One per domain: its endpoints, queues and address vectors share state. FI_THREAD_DOMAIN promises
/// that the program does not come in twice, and then it costs one predictable branch.
class Lock {
public:
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

private:
    friend class Waiter;
    /// Not before all who sleep are sure to be woken (waiter.h).
    void let_go() noexcept;

    Waiter* armed_ = nullptr;  // the first of them
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
