// SPDX-License-Identifier: BSD-3-Clause
// Outbox: the requests that this process writes besides its messages: answers, offers, withdrawals.
// One that finds no free slot at its peer waits, in order, and before all messages.
//
// What must not fail half way reserves before it changes anything: reserve() may throw, and then
// one put() or tell() may not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/base/intrusive_list.h"
#include "fci_core/mp/peer.h"
#include "fci_core/mp/work.h"

namespace fci::mp {

class Outbox {
public:
    Outbox(nhi::NetworkInterface& network, Work& work) : network_(network), work_(work) {}
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;
    ~Outbox();

    /// The next request will not fail.
    void reserve() {
        if (!try_reserve()) [[unlikely]] throw std::bad_alloc();
    }
    /// The same; false: there is no memory.
    [[nodiscard]] bool try_reserve() noexcept { return !free_.empty() || grow(); }
    /// Keeps what was reserved from whoever reserves and writes in between; until keep_no_more().
    [[nodiscard]] WaitingLine& keep() noexcept { return take(); }
    void keep_no_more(WaitingLine& kept) noexcept { give(kept); }

    /// To a peer that is not lost; for others nothing happens.
    void put(Peer& peer, const gcs::Line& line) noexcept;
    /// One that names an order, or whatever `handle` stands for in this kind.
    void tell(Peer& peer, Kind kind, std::uint64_t handle, std::uint8_t flags = 0) noexcept;

    /// Writes what waits, as far as there are slots. False: some of it still waits.
    bool push(Peer& peer) noexcept;
    void forget(Peer& peer) noexcept;
    [[nodiscard]] std::size_t memory() const noexcept {  // bytes
        return lines_ * sizeof(WaitingLine);
    }

private:
    static constexpr std::size_t kKeep = 16;

    [[nodiscard]] WaitingLine& take() noexcept;
    void give(WaitingLine& line) noexcept;
    bool grow() noexcept;

    nhi::NetworkInterface& network_;
    Work& work_;
    IntrusiveList<WaitingLine> free_;
    std::size_t free_lines_ = 0, lines_ = 0;  // lines_: all
};

}  // namespace fci::mp
