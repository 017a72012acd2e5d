// SPDX-License-Identifier: BSD-3-Clause
// Outbox: the requests that this process writes besides its messages: answers, offers, withdrawals.
// One that finds no free slot at its peer waits, in order, and before all messages.
//
// An operation that must not fail half way calls reserve() before it changes anything: that may
// throw, and then one put() or tell() does not.
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
    /// As reserve(); false: there is no memory.
    [[nodiscard]] bool try_reserve() noexcept { return !free_.empty() || grow(); }
    /// Keeps the reserved line from other code that reserves and writes before keep_no_more().
    [[nodiscard]] WaitingLine& keep() noexcept { return take(); }
    void keep_no_more(WaitingLine& kept) noexcept { give(kept); }

    /// Writes to the peer, or does nothing if it is lost.
    void put(Peer& peer, const gcs::Line& line) noexcept;
    /// Writes a request that carries a handle (HandleRecord).
    void tell(Peer& peer, Kind kind, std::uint64_t handle, std::uint8_t flags = 0) noexcept;

    /// Writes the requests that wait, while there are slots. False: some still wait.
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
