// SPDX-License-Identifier: BSD-3-Clause
// Counter: how many operations of an endpoint are done, and how many failed.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstdint>

#include "netmod/libfabric/waiter.h"

namespace fci::libfabric {

class Domain;

class Counter final : public fid_cntr {
public:
    static int open(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter,
                    void* context);

    [[nodiscard]] static Counter& of(fid_cntr* counter) noexcept {
        return *static_cast<Counter*>(counter);
    }
    [[nodiscard]] static Counter& of(fid_t object) noexcept {
        return of(reinterpret_cast<fid_cntr*>(object));
    }

    /// Under the lock.
    void count(bool well) noexcept {
        ++(well ? value_ : errors_);
        waiter_.wake();
    }
    [[nodiscard]] Waiter& waiter() noexcept { return waiter_; }
    /// As the waiter's; and what another thread's progress counted since the program looked last is
    /// news, of which the descriptor does not tell any more.
    bool try_wait() noexcept;
    [[nodiscard]] Domain& domain() noexcept { return domain_; }

private:
    Counter(Domain& domain, void* context);

    static int close(fid_t object);
    static void enter_fork_child(fid_t object) noexcept;
    static int control(fid_t object, int command, void* argument);
    static std::uint64_t read(fid_cntr* counter);
    static std::uint64_t read_errors(fid_cntr* counter);
    template <std::uint64_t Counter::*Field, bool kAdd>
    static int change(fid_cntr* counter, std::uint64_t by);
    static int wait(fid_cntr* counter, std::uint64_t threshold, int timeout);

    std::uint64_t value_ = 0;
    std::uint64_t errors_ = 0;
    std::uint64_t seen_ = 0;  // their sum, as the program knows it
    Waiter waiter_;
    Domain& domain_;
};

}  // namespace fci::libfabric
