// SPDX-License-Identifier: BSD-3-Clause
// SharedCopies: long messages that the kernel copies between the two processes: by the receiver
// alone, or by both, each from its end, piece by piece, until they meet (claims.h).
//
// The kernel may permit the one direction and refuse the other (a container's seccomp profile), and
// may do so from some moment on. Each side asks before its first copy of a peer, the sender whether
// it may write, the receiver whether it may read, and remembers a refusal. A sender that may not
// write leaves all of it to the receiver, a receiver that may not read asks for a stream. If a copy
// is refused in the middle of a message:
//
//   of a receiver alone (pull)  it asks the sender for a stream of all of it
//   of one side (shared)        it says so (kRefused), claims no more and waits; the other one
//                               copies all of it again, alone, and says that (kAll)
//   then of the other, too      it says so, and the sender streams all of it
//
// The side that is refused holds a piece that it claimed and has not copied, so the message is not
// complete yet: `sent` and `taken` without kAll, which the other side wrote before it heard of the
// refusal, mean nothing to the refused side. All pieces are copied again, also those that the other
// side had copied. That happens once for each peer, to the messages
// that are under way just then.
#pragma once

#include <cstdint>

#include "fci_core/mp/engine.h"
#include "fci_core/mp/move/streams.h"

namespace fci::mp {

class SharedCopies {
public:
    using Direction = nhi::NetworkInterface::Direction;

    SharedCopies(Engine& engine, Streams& streams) : engine_(engine), streams_(streams) {}

    /// The kernel lets this process read or write the peer's memory, as far as is known. The kernel
    /// is asked once for each direction.
    [[nodiscard]] bool may_copy(Peer& peer, Direction direction);
    /// True: the message is long enough for both sides to copy.
    [[nodiscard]] static bool is_worth_sharing(std::uint64_t bytes) noexcept;
    /// Gives a receive a word from which both sides claim. False: none is free.
    [[nodiscard]] bool hold_claim(Order& order, Peer& peer) noexcept;
    static std::uint32_t shared_piece(std::uint64_t bytes) noexcept;
    static std::uint32_t pulled_piece(std::uint64_t bytes) noexcept;

    /// The receiver of the message begins. order.path says whether it copies alone.
    void receive(Order& order) noexcept;
    /// The sender helps, if it may. `claim`: the name of the receiver's word.
    void send(Order& order, Peer& peer, std::uint16_t claim);
    /// Copies one piece of one message for each peer; returns how many pieces.
    unsigned push();
    /// The sender has copied its share, or copies no more. False: it fails its checks.
    [[nodiscard]] bool on_sent(Peer& peer, const gcs::Line& line);
    /// The receiver of a message from here has copied its share, or copies no more. False: as
    /// above.
    [[nodiscard]] bool on_taken(Order& order, Peer& peer, std::uint8_t flags);

    [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
    void sever() noexcept;

private:
    void join(Order& order) noexcept;
    bool copy_piece(Order& order, Peer& peer);
    void own_share_done(Order& order, Peer& peer);
    void forbid(Peer& peer, Direction direction) noexcept;
    void refused(Order& order, Peer& peer);
    [[nodiscard]] bool other_refused(Order& order, Peer& peer);
    void go_on_by_stream(Order& order, Peer& peer) noexcept;
    void failed(Order& order, Peer& peer, Status status);

    Engine& engine_;
    Streams& streams_;
    IntrusiveList<Order> copies_;  // with pieces left
    std::uint32_t pushes_ = 0;
};

}  // namespace fci::mp
