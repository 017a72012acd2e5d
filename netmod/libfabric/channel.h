// SPDX-License-Identifier: BSD-3-Clause
// Channel: an endpoint's context of the core, as queues and counters see it: they make progress by
// it and sleep on it. Under the domain's lock.
#pragma once

#include <cstdint>
#include <utility>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/guard.h"

namespace fci::libfabric {

class Channel {
public:
    /// `resume`: what was left for after progress.
    Channel(Lock& lock, void (*resume)(void* owner) noexcept, void* owner) noexcept
        : lock_(lock), resume_(resume), owner_(owner) {}

    /// nullptr: not enabled yet, or a child of fork(), which has no use of its parent's.
    [[nodiscard]] fci_icl_context* icl() const noexcept { return icl_; }
    [[nodiscard]] fci_icl_context* parents_icl() const noexcept { return parents_icl_; }
    void open(fci_icl_context* icl) noexcept {
        icl_ = icl;
        if (lock_.needed()) fci_icl_share(icl);
    }
    void close() noexcept {
        if (icl_ != nullptr) fci_icl_close(icl_, FCI_ICL_LINGER);  // operations end in it
        icl_ = nullptr;
    }
    /// The core's memory stays untouched, and is never freed: it belongs to the parent.
    void enter_fork_child() noexcept { parents_icl_ = std::exchange(icl_, nullptr); }

    void progress() noexcept {
        if (icl_ == nullptr) [[unlikely]] return;
        fci_icl_progress(icl_);
        if (stalled_) [[unlikely]] resume();
    }
    /// Work is left for after progress.
    void stall() noexcept { stalled_ = true; }
    bool arm() noexcept { return icl_ == nullptr || fci_icl_arm(icl_) == FCI_ICL_OK; }
    void disarm() noexcept {
        if (icl_ != nullptr) fci_icl_disarm(icl_);
    }
    /// False: not possible, the caller sleeps by itself.
    bool wait(std::int64_t timeout_ns) noexcept {
        if (icl_ == nullptr) return false;
        // Operations that wait for a peer have to see whether it is still there.
        if (stalled_ && (timeout_ns < 0 || timeout_ns > kLookEveryNs)) timeout_ns = kLookEveryNs;
        fci_icl_wait(icl_, timeout_ns);
        if (stalled_) resume();
        return true;
    }
    [[nodiscard]] int wait_descriptor() const noexcept {
        return icl_ == nullptr ? -1 : fci_icl_wait_fd(icl_);
    }

    /// A call of the program, under the lock.
    template <class Call>
    ssize_t guarded(Call call) noexcept {
        if (!lock_.needed()) [[likely]] return call();
        const Call copy = call;  // so that only this way needs it in memory
        return locked(copy);
    }
    [[nodiscard]] Lock& lock() noexcept { return lock_; }

private:
    static constexpr std::int64_t kLookEveryNs = 50'000'000;

    [[gnu::noinline]] void resume() noexcept {
        if (std::exchange(resuming_, true)) return;  // it may make progress
        stalled_ = false;
        resume_(owner_);
        resuming_ = false;
    }
    template <class Call>
    [[gnu::noinline]] ssize_t locked(const Call& call) noexcept {
        Guard guard(lock_);
        return call();
    }

    fci_icl_context* icl_ = nullptr;
    Lock& lock_;
    bool stalled_ = false;
    bool resuming_ = false;
    fci_icl_context* parents_icl_ = nullptr;
    void (*resume_)(void* owner) noexcept;
    void* owner_;
};

}  // namespace fci::libfabric
