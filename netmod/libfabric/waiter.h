// Waiter: the endpoints whose progress feeds a completion queue or a counter, and how threads
// sleep until they have something (house wait policy below, descriptors for programs that poll).
//
// A waiter is armed while somebody sleeps on its descriptor, or may do so after fi_trywait().
// Another thread may come in meanwhile (FI_THREAD_SAFE), take what the descriptor of an endpoint
// told of, and leave work behind. So whoever lets go of the lock arms the endpoints of all armed
// waiters again, and rings where one of them has work. What is pushed to a queue rings by itself.
#pragma once

#include <pthread.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <vector>

#include "netmod/libfabric/guard.h"

namespace fci::libfabric {

class Endpoint;

/// Monotonic milliseconds that are left of a libfabric timeout; negative means for ever.
class Deadline {
public:
    explicit Deadline(int timeout_ms) noexcept;
    [[nodiscard]] std::int64_t left_ns() const noexcept;  // -1: for ever
    [[nodiscard]] bool over() const noexcept { return left_ns() == 0; }

private:
    std::int64_t end_ns_;  // -1: for ever
};

class Waiter {
public:
    explicit Waiter(Lock& lock) noexcept : lock_(lock) {}
    ~Waiter();  // under the lock
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    /// Which wait objects can be had.
    static bool offers(fi_wait_obj object) noexcept;
    /// 0 or a negative error. Descriptors are made at once for FI_WAIT_FD, else when first needed.
    int open(fi_wait_obj object);

    /// Under the lock, all of these:
    void add(Endpoint& endpoint);
    void remove(Endpoint& endpoint) noexcept;
    void enabled(Endpoint& endpoint) noexcept;  // its descriptor is there now
    void progress() noexcept;
    [[nodiscard]] const std::vector<Endpoint*>& endpoints() const noexcept { return endpoints_; }
    /// Neither is there a lock to take, nor somebody to be told that nobody sleeps any more.
    [[nodiscard]] bool quick() const noexcept { return quick_; }
    /// For this thread, or who it tells. False: there is work, do not sleep. True: the descriptor
    /// tells of all that comes.
    bool try_wait() noexcept;
    void disarm() noexcept {
        if (armed_) [[unlikely]] drain();
    }
    /// Something for whoever sleeps here was written, perhaps by another queue's progress.
    void wake() noexcept {
        if (armed_) [[unlikely]] ring();
    }
    [[nodiscard]] int descriptor() noexcept;
    [[nodiscard]] fi_wait_obj object() const noexcept { return object_; }

    /// Gives the lock and the processor away until something may have come, `left_ns` is over or
    /// ring() was called. -1: for ever.
    void sleep(std::int64_t left_ns) noexcept;
    /// Ends sleeps from outside.
    void ring() noexcept;

private:
    friend class Lock;

    int make_descriptors() noexcept;
    void watch(Endpoint& endpoint, bool on) noexcept;
    bool arm() noexcept;
    void stay_armed() noexcept;
    void link() noexcept;
    void unlink() noexcept;
    void drain() noexcept;
    void let_endpoints_go() noexcept;
    void silence() noexcept;
    void poll(std::int64_t left_ns, bool all_have_descriptors) const noexcept;

    Lock& lock_;
    std::vector<Endpoint*> endpoints_;
    bool armed_ = false;
    bool rung_ = false;            // and the bell was not silenced since
    bool tried_ = false;           // by try_wait(), until that thread reads
    bool several_try_ = false;     // threads, one before the other had read
    pthread_t trier_{};
    unsigned sleepers_ = 0;        // threads in sleep()
    unsigned unwoken_ = 0;         // of these, that have not noticed the last ring yet
    std::uint64_t rings_ = 0;
    Waiter* next_armed_ = nullptr;
    bool quick_ = !lock_.needed();
    fi_wait_obj object_ = FI_WAIT_NONE;
    int bell_ = -1;   // eventfd
    int epoll_ = -1;  // bell_ and the descriptors of all endpoints
};

}  // namespace fci::libfabric
