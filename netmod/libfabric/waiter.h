// SPDX-License-Identifier: BSD-3-Clause
// Waiter: the channels whose progress feeds a completion queue or a counter, and how threads
// sleep until they have something (house wait policy below, descriptors for programs that poll).
//
// A waiter is armed while somebody sleeps on its descriptor, or may do so after fi_trywait().
// Another thread may come in meanwhile (FI_THREAD_SAFE), take what the descriptor of a channel
// told of, and leave work behind. So the thread that lets go of the lock arms the channels of all
// armed waiters again, and rings if one of them has work. An entry pushed to a queue rings by
// itself.
#pragma once

#include <pthread.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <vector>

#include "netmod/libfabric/channel.h"
#include "netmod/libfabric/guard.h"

namespace fci::libfabric {

/// Monotonic milliseconds that are left of a libfabric timeout; negative means for ever.
class Deadline {
public:
    explicit Deadline(int timeout_ms) noexcept;
    [[nodiscard]] std::int64_t left_ns() const noexcept;  // -1: for ever
    [[nodiscard]] bool over() const noexcept { return left_ns() == 0; }

private:
    std::int64_t end_ns_;  // -1: for ever
};

class Waiter final : private Lock::Sleeper {
public:
    /// `enter_fork_child`: what becomes of the queue or counter that it belongs to in a child.
    Waiter(Lock& lock, fid_t owner, void (*enter_fork_child)(fid_t owner) noexcept) noexcept
        : lock_(lock), owner_(owner), enter_fork_child_(enter_fork_child) {}
    ~Waiter();  // under the lock
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    /// Which wait objects can be had.
    static bool offers(fi_wait_obj object) noexcept;
    /// 0 or a negative error. Descriptors are made at once for FI_WAIT_FD, else when first needed.
    int open(fi_wait_obj object);

    /// Under the lock, all of these:
    void add(Channel& channel);
    void remove(Channel& channel) noexcept;
    /// The channel is open, and its descriptor is there now.
    void watch(Channel& channel) noexcept { set_watched(channel, true); }
    void enter_fork_child() noexcept { enter_fork_child_(owner_); }
    unsigned users = 0;  // objects bound to its owner
    void progress() noexcept;
    [[nodiscard]] const std::vector<Channel*>& channels() const noexcept { return channels_; }
    /// There is no lock to take, and no waiter to disarm.
    [[nodiscard]] bool quick() const noexcept { return quick_; }
    /// For this thread, or one that it tells. False: there is work, do not sleep. True: the
    /// descriptor tells of all that comes.
    bool try_wait() noexcept;
    void disarm() noexcept {
        if (armed_) [[unlikely]] drain();
    }
    /// An entry for a thread that sleeps here was written, perhaps by another queue's progress.
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
    int make_descriptors() noexcept;
    void set_watched(const Channel& channel, bool on) noexcept;
    bool arm() noexcept;
    void before_unlock() noexcept override;
    void drain() noexcept;
    void let_channels_go() noexcept;
    void silence() noexcept;
    void poll(std::int64_t left_ns, bool all_have_descriptors) const noexcept;

    Lock& lock_;
    const fid_t owner_;
    void (*const enter_fork_child_)(fid_t owner) noexcept;
    std::vector<Channel*> channels_;
    bool armed_ = false;
    bool rung_ = false;            // and the bell was not silenced since
    bool tried_ = false;           // by try_wait(), until that thread reads
    bool several_try_ = false;     // threads, one before the other had read
    pthread_t trier_{};
    unsigned sleepers_ = 0;        // threads in sleep()
    unsigned unwoken_ = 0;         // of these, that have not noticed the last ring yet
    std::uint64_t rings_ = 0;
    bool quick_ = !lock_.needed();
    fi_wait_obj object_ = FI_WAIT_NONE;
    int bell_ = -1;   // eventfd
    int epoll_ = -1;  // bell_ and the descriptors of all channels
};

}  // namespace fci::libfabric
