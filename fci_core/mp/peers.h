// SPDX-License-Identifier: BSD-3-Clause
// Peers: all processes that this one has had to do with, by id, and those that are active.
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
    /// Of an id below size(). One that is not present where nothing is known of it.
    [[nodiscard]] Peer& operator[](nhi::PeerId id) const noexcept { return *by_id_[id]; }
    /// The same of any id.
    [[nodiscard]] Peer& find(nhi::PeerId id) const noexcept {
        return id < size_ ? *by_id_[id] : *nobody_;
    }
    /// From now on it is known. nullptr: the device has no such peer. May throw bad_alloc, and
    /// nothing has happened then; whoever is known becomes active without more.
    Peer* make(nhi::PeerId id);

    /// Attached and not lost, most recently used first.
    [[nodiscard]] const std::vector<Peer*>& active() const noexcept { return active_; }
    /// Of these, or one that never sends anything.
    [[nodiscard]] Peer& first() const noexcept { return *first_; }
    /// It is to be met; until it is active, or lost.
    void expect(Peer& peer) noexcept;
    void activate(Peer& peer, bool same_host) noexcept;
    void deactivate(Peer& peer) noexcept;
    /// The active peer `at` (> 0) has sent something: it is looked at earlier from now on.
    void prefer(std::size_t at) noexcept;
    template <class F>
    void for_each(F visit) const {
        for (const auto& peer : made_) visit(*peer);
    }

    /// No memory of theirs is touched any more, and operations with any fail.
    void sever() noexcept;
    [[nodiscard]] bool severed() const noexcept { return severed_; }

    /// Why operations with it fail from now on. May throw bad_alloc.
    void set_reason(nhi::PeerId id, const std::string& reason) { reasons_[id] = reason; }
    /// The same, beginning with what is known of the peer; if there is memory for it.
    void explain(nhi::PeerId id, const char* what) noexcept;
    /// Empty while they do not, but what it wrote before it went may not be heard yet.
    [[nodiscard]] const char* reason(nhi::PeerId id) const noexcept;

    /// They do, and there is nothing more to hear of it.
    [[nodiscard]] bool is_lost(nhi::PeerId id) const noexcept { return find(id).lost; }

    /// What is shown of them.
    [[nodiscard]] const PeerRows& rows() const noexcept { return rows_; }

    /// Without the process itself.
    [[nodiscard]] std::size_t connected() const noexcept;
    /// Processes of this host that were met so far, with this one.
    [[nodiscard]] unsigned on_this_host() const noexcept { return on_this_host_; }
    /// Those that were asked for and not met so far.
    [[nodiscard]] unsigned expected() const noexcept { return expected_; }
    /// Those that sleep until a request wakes them, as far as can be seen without asking.
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
    PeerRow own_row_{};  // of the process itself, and of nobody
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
