// SPDX-License-Identifier: BSD-3-Clause
// DataIn: data that the network brings into a buffer here: of a receive that has asked for them or
// was offered, or of a push, whose data follow its announcement unasked.
//
// If its receive is posted and has room, a push goes into it. Else its memory is charged as that of
// any unexpected message, and a receive that is posted later gets a copy, or, if no byte has come
// yet, the data themselves.
#pragma once

#include "fci_core/mp/arrived_pool.h"
#include "fci_core/mp/engine.h"

namespace fci::mp {

/// A push whose data are not all here.
struct Push : ListLink {
    std::uint64_t length = 0;
    std::uint32_t send = 0;      // the sender's order
    bool has_begun = false;      // some of the data may be here
    bool is_dropped = false;     // no receive is to get the data any more
    Order* order = nullptr;      // its receive, once there is one
    Arrived* message = nullptr;  // its memory gets the data; nullptr: the receive's does
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
    /// Begins the next push of this peer. If all of it fits, its data go to `order`; else to
    /// `message`, from which `order`, if given, gets its part.
    void begin(Peer& peer, const AnnounceRecord& record, Order* order, Arrived* message) noexcept;
    /// A push that is not all here goes to this receive. True: `message` is not needed, and freed.
    [[nodiscard]] bool redirect(Arrived& message, Order& order) noexcept;
    /// No receive is to get the push. Its data still go to `message`, which the push frees.
    static void drop(Arrived& message) noexcept;
    /// The peer is lost: the rest of its pushes never comes.
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
