// SPDX-License-Identifier: BSD-3-Clause
// DataIn: data that the network brings into a buffer here: of a receive that has asked for them or
// was offered, or of a push, whose data follow its announcement unasked.
//
// A push goes into its receive where that is posted and has room. If not, its memory is charged as
// that of any unexpected message is, and a receive that comes later gets a copy; but before the
// first byte has come it gets the data themselves.
#pragma once

#include "fci_core/mp/arrived_pool.h"
#include "fci_core/mp/engine.h"

namespace fci::mp {

/// A message whose data come next of its kind.
struct Push : ListLink {
    std::uint64_t length = 0;
    std::uint32_t send = 0;      // the sender's order
    bool has_begun = false;      // some of it may be there
    bool is_dropped = false;     // nobody wants it any more
    Order* order = nullptr;      // its receive, once there is one
    Arrived* message = nullptr;  // whose memory it goes to; nullptr: into the receive's
};

class DataIn final : private nhi::DataTarget {
public:
    /// Both outlive it.
    DataIn(Engine& engine, ArrivedPool& pool) noexcept;
    ~DataIn() override;
    DataIn(const DataIn&) = delete;
    DataIn& operator=(const DataIn&) = delete;

    /// Data of the peer may come for this receive, until it ends.
    static void expect(Peer& peer, Order& order) noexcept;

    /// The next begin() will not fail; may throw.
    void reserve();
    /// The next push of this peer, for a receive that has room, or in this memory, or for a receive
    /// that gets a part of it out of this memory.
    void begin(Peer& peer, const AnnounceRecord& record, Order* order, Arrived* message) noexcept;
    /// A push that is not all here goes to this receive. True: without its message, which is free.
    [[nodiscard]] bool redirect(Arrived& message, Order& order) noexcept;
    /// Nobody wants it. The message is the push's.
    static void drop(Arrived& message) noexcept;
    /// What is not all here of this peer's never will be.
    void lose(Peer& peer) noexcept;

private:
    [[nodiscard]] Order* find(nhi::PeerId from, const nhi::Data& data) const noexcept;
    [[nodiscard]] Push* find_push(nhi::PeerId from, const nhi::Data& data) const noexcept;
    void end(Peer& peer, Push& push) noexcept;
    void free(Arrived& message, Peer& from) noexcept;

    // --- nhi::DataTarget ---
    [[nodiscard]] bool expects(nhi::PeerId from) const noexcept override;
    [[nodiscard]] bool is_early(nhi::PeerId from, const nhi::Data& data) const noexcept override;
    [[nodiscard]] std::byte* locate(nhi::PeerId from, const nhi::Data& data) noexcept override;
    [[nodiscard]] bool arrived(nhi::PeerId from, const nhi::Data& data) noexcept override;

    Engine& engine_;
    ArrivedPool& pool_;
    IntrusiveList<Push> free_;
};

}  // namespace fci::mp
