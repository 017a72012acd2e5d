// Waiter: the endpoints whose progress feeds a completion queue or a counter, and how a thread
// sleeps until they have something (house wait policy below, descriptors for programs that poll).
#pragma once

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
    ~Waiter();
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
    /// False: there is work, do not sleep. True: the descriptor tells of all that comes.
    bool arm() noexcept;
    void disarm() noexcept {
        if (armed_) [[unlikely]] drain();
    }
    /// Something for whoever sleeps here was written, perhaps by another queue's progress.
    void wake() noexcept {
        if (armed_) [[unlikely]] ring();
    }
    [[nodiscard]] int descriptor() noexcept;
    [[nodiscard]] fi_wait_obj object() const noexcept { return object_; }

    /// Not under the lock: gives the processor away until something may have come, `left_ns` is
    /// over or ring() was called. -1: for ever.
    void sleep(std::int64_t left_ns) noexcept;
    /// Ends a sleep from outside.
    void ring() noexcept;

private:
    int make_descriptors() noexcept;
    void watch(Endpoint& endpoint, bool on) noexcept;
    void drain() noexcept;

    Lock& lock_;
    std::vector<Endpoint*> endpoints_;
    bool armed_ = false;
    bool quick_ = !lock_.needed();
    fi_wait_obj object_ = FI_WAIT_NONE;
    int bell_ = -1;   // eventfd
    int epoll_ = -1;  // bell_ and the descriptors of all endpoints
};

}  // namespace fci::libfabric
