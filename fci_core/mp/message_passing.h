// SPDX-License-Identifier: BSD-3-Clause
// MessagePassing: tagged and active messages between processes (§2.6), by one engine whose protocol
// is a policy. Used by one thread; driven by turn().
//
// It puts the objects of this room together, hands each request to the one that knows its kind, and
// takes the turns. Short messages go by fast_path.h, which stands on engine() as the objects do.
#pragma once

#include <cstdint>
#include <span>

#include "fci_core/mp/active_messages.h"
#include "fci_core/mp/asks.h"
#include "fci_core/mp/awaited.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/meetings.h"
#include "fci_core/mp/move/shared_copies.h"
#include "fci_core/mp/move/streams.h"
#include "fci_core/mp/offers.h"
#include "fci_core/mp/receives.h"
#include "fci_core/mp/rendezvous.h"
#include "fci_core/mp/sends.h"

namespace fci::mp {

class MessagePassing final {
public:
    /// Its work is counted in `counters`, which outlive it.
    MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits,
                   Counters& counters);
    /// Where nobody else sees them.
    MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits);
    ~MessagePassing();

    /// kDone, kAccepted with *handle, or an error. `handle` may be nullptr.
    int send(const SendArguments& send, const Completion& completion, std::uint32_t* handle);
    /// As send(), but kDone with *outcome.
    int receive(const Pattern& pattern, std::span<const iovec> to, const Completion& completion,
                std::uint32_t* handle, Outcome* outcome);
    int cancel(std::uint32_t handle);
    /// If the source is lost: why no message can come. Connects to no peer.
    int probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed);
    int receive_claimed(Arrived& message, std::span<const iovec> to, const Completion& completion,
                        std::uint32_t* handle, Outcome* outcome);

    [[nodiscard]] Engine& engine() noexcept { return engine_; }
    [[nodiscard]] const Engine& engine() const noexcept { return engine_; }
    [[nodiscard]] Receives& receives() noexcept { return receives_; }
    [[nodiscard]] Meetings& meetings() noexcept { return meetings_; }
    [[nodiscard]] ActiveMessages& active_messages() noexcept { return active_; }

    /// All that callers wait for, as one of the waits of the process.
    [[nodiscard]] Awaited& awaited() noexcept { return awaited_; }
    /// A peer is active, or an operation was begun. Before that, as in MPI_Init, a caller that
    /// makes progress here waits for something else.
    [[nodiscard]] bool is_in_use() const noexcept;

    /// One bounded turn over requests and data; not over the network interface's own work. Returns
    /// the work done, or kNoMemory. A request that needs more memory than there is stays where it
    /// is, and the next turn tries it again; other peers are not held up.
    int turn() noexcept;
    /// The parts of a turn: take_arrivals() if Engine::arrival() has found a request of the peer
    /// that sent last, take_more() if Engine::is_more_due().
    int take_arrivals(Peer& peer, const gcs::Line& line) noexcept;
    int take_more() noexcept;
    /// The next turn would do something, or there is room now for the send that was refused last.
    [[nodiscard]] bool ready() noexcept { return awaited_.is_over(); }
    /// All that could be written to peers has been written.
    [[nodiscard]] bool drained() const noexcept;
    /// The memory held here, without the object itself; looks at every connected peer.
    [[nodiscard]] MemoryUse memory() const noexcept;

private:
    bool dispatch(Peer& peer, const gcs::Line& line);
    bool take_request(Peer& peer);
    bool take_one(Peer& peer);
    bool take_other(Peer& peer);
    unsigned drain(Peer& peer, unsigned most);
    int take_rest(Peer& peer);
    int go_on();
    bool push(Peer& peer);
    bool hear_out(Peer& peer);

    Engine engine_;
    Streams streams_;
    SharedCopies copies_;
    SelfCopies own_copies_;
    Rendezvous rendezvous_;
    Asks asks_;
    Offers offers_;
    ActiveMessages active_;
    Sends sends_;
    Receives receives_;
    Meetings meetings_;
    Awaited awaited_;
    Counters own_counters_;  // of one that nobody shows
};

}  // namespace fci::mp
