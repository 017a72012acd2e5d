// SPDX-License-Identifier: BSD-3-Clause
// Peers: the state of every process that this one has dealt with, by id, and the list of the
// active.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fci_core/base/memory_use.h"
#include "fci_core/base/peer_rows.h"
#include "fci_core/ddi/device.h"
#include "fci_core/mp/limits.h"
#include "fci_core/mp/peer.h"
#include "fci_core/mp/protocol.h"
#include "fci_core/mp/work.h"

namespace fci::mp {

class Peers {
public:
    Peers(ddi::Device& device, const Protocol& protocol, const Limits& limits, Work& work);

    /// Ranks below have an entry.
    [[nodiscard]] nhi::PeerId size() const noexcept { return size_; }
    /// The peer with an id below size(); nobody_, which is not present, if nothing is known of it.
    [[nodiscard]] Peer& operator[](nhi::PeerId id) const noexcept { return *by_id_[id]; }
    /// As operator[], for any id.
    [[nodiscard]] Peer& find(nhi::PeerId id) const noexcept {
        return id < size_ ? *by_id_[id] : *nobody_;
    }
    /// Makes the peer known. nullptr: the device has no such peer. May throw bad_alloc, and nothing
    /// has happened then; a known peer becomes active without allocating.
    Peer* make(nhi::PeerId id);

    /// Attached and not lost, most recently used first.
    [[nodiscard]] const std::vector<Peer*>& active() const noexcept { return active_; }
    /// The first active peer, or nobody_, which never sends anything.
    [[nodiscard]] Peer& first() const noexcept { return *first_; }
    /// The peer is to be met: it counts as expected until it is active, or lost.
    void expect(Peer& peer) noexcept;
    void activate(Peer& peer, bool same_host) noexcept;
    void deactivate(Peer& peer) noexcept;
    /// The active peer `at` (> 0) has sent something: it is looked at earlier from now on.
    void prefer(std::size_t at) noexcept;
    template <class F>
    void for_each(F visit) const {
        for (const auto& peer : made_) visit(*peer);
    }

    /// From now on no memory of peers is touched, and operations with any fail.
    void sever() noexcept;
    [[nodiscard]] bool severed() const noexcept { return severed_; }

    /// Operations with the peer fail from now on, for that reason. May throw bad_alloc.
    void set_reason(nhi::PeerId id, const std::string& reason) { reasons_[id] = reason; }
    /// As set_reason(), with the peer's description in front; without memory nothing is set.
    void explain(nhi::PeerId id, const char* what) noexcept;
    /// Why operations with the peer fail; empty: they do not. If it is set, the peer's last
    /// requests may still be unread.
    [[nodiscard]] const char* reason(nhi::PeerId id) const noexcept;

    /// Operations with the peer fail, and its last request has been read.
    [[nodiscard]] bool is_lost(nhi::PeerId id) const noexcept { return find(id).lost; }

    /// The rows that fci_info --job reads.
    [[nodiscard]] const PeerRows& rows() const noexcept { return rows_; }

    /// Without the process itself.
    [[nodiscard]] std::size_t connected() const noexcept;
    /// Processes of this host that were met so far, with this one.
    [[nodiscard]] unsigned on_this_host() const noexcept { return on_this_host_; }
    /// Peers that were asked for and not met so far.
    [[nodiscard]] unsigned expected() const noexcept { return expected_; }
    /// Active peers that sleep until a request wakes them, as far as their memory shows it.
    [[nodiscard]] unsigned sleeping() const noexcept;
    void add_memory(MemoryUse& use) const noexcept;

private:
    void show(Peer& peer, PeerRow::State state) noexcept;
    void order() noexcept;
    void expect_no_more(Peer& peer) noexcept;

    ddi::Device& device_;
    const Protocol& protocol_;
    const Limits& limits_;
    Work& work_;
    PeerRows rows_;
    PeerRow own_row_{};  // of the process itself, and of nobody_
    const std::unique_ptr<Peer> nobody_;  // not present, never has a request
    Peer* first_;
    nhi::PeerId size_ = 0;
    std::vector<Peer*> by_id_;          // nobody_ where nothing is known
    std::map<nhi::PeerId, std::string> reasons_;  // of those that were lost
    std::vector<Peer*> active_;
    std::vector<std::unique_ptr<Peer>> made_;  // all but nobody_
    unsigned on_this_host_ = 1, expected_ = 0;
    bool severed_ = false;
};

}  // namespace fci::mp
