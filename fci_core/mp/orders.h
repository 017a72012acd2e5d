// SPDX-License-Identifier: BSD-3-Clause
// Orders: all operations that are not finished, by handle, and how they end (§2.6.10).
#pragma once

#include <memory>
#include <span>

#include "fci_core/base/handle_pool.h"
#include "fci_core/mp/order.h"
#include "fci_core/mp/peers.h"
#include "fci_core/mp/work.h"

namespace fci::mp {

class Orders {
public:
    Orders(Peers& peers, Work& work, const Limits& limits)
        : peers_(peers), work_(work), fast_path_(limits.fast_path) {}

    /// nullptr: there are too many. May throw bad_alloc.
    [[nodiscard]] Order* take() { return pool_.take(); }
    /// nullptr also where take() would have to allocate.
    [[nodiscard]] Order* take_free() noexcept { return pool_.take_free(); }
    /// A receive into `to`. nullptr without memory, and nothing has happened.
    [[nodiscard]] Order* take_receive(std::span<const iovec> to, const Completion& completion);
    /// For a receive into several ranges. nullptr: there is no memory.
    static std::unique_ptr<OrderExtras> extras_for(std::span<const iovec> to) noexcept;
    /// `order` was just taken, and receives there. `extras`: for several ranges.
    void land(Order& order, std::span<const iovec> to, const Completion& completion,
              std::unique_ptr<OrderExtras> extras) const noexcept;
    /// Gives back an order that holds no memory. It stays as it is until it is taken again.
    void give_back_plain(Order& order) noexcept { pool_.give_back(order); }

    [[nodiscard]] Order* find(std::uint32_t handle) noexcept { return pool_.find(handle); }
    /// The order that the peer names, if it may name it.
    [[nodiscard]] Order* find(std::uint64_t handle, const Peer& from, bool is_send) noexcept;

    /// The next turn calls the completion. Only then the order ends.
    void finish_later(Order& order, int error) noexcept;
    /// For a send that has just begun. If all of it has gone, it ends without its completion being
    /// called. False: it goes on.
    [[nodiscard]] bool end_at_once(Order& order) noexcept;
    /// Calls the completion, which may do anything, and ends the order.
    void finish(Order& order, const Outcome& outcome);
    /// Finishes all orders that were to be finished later; returns how many there were.
    unsigned tell_finished();
    [[nodiscard]] bool any_to_tell() const noexcept { return !finished_.empty(); }

    /// Puts the order into a list of orders that go on in later turns, or takes it out of its list.
    static void link(Order& order, IntrusiveList<Order>& list) noexcept;
    static void unlink(Order& order) noexcept;
    /// `by` goes on in its place.
    static void replace(Order& order, Order& by) noexcept;
    /// Frees the word from which both sides claim.
    void release_claim(Order& order) noexcept;

    /// No announced message is still here, for which a receiver could ask later.
    [[nodiscard]] bool sends_taken() noexcept;
    template <class F>
    void for_each(F visit) {
        pool_.for_each(visit);
    }
    [[nodiscard]] std::size_t used() const noexcept { return pool_.used(); }
    [[nodiscard]] std::size_t memory() const noexcept { return pool_.memory(); }  // bytes
    /// Frees memory that a flood of orders took. Called between turns. False: there was nothing.
    bool trim() noexcept { return pool_.trim(); }

private:
    void end(Order& order) noexcept;

    Peers& peers_;
    Work& work_;
    const bool fast_path_;
    HandlePool<Order> pool_;
    IntrusiveList<Order> finished_;
};

}  // namespace fci::mp
