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
    MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits);
    ~MessagePassing();

    /// kDone, kAccepted with *handle, or an error. `handle` may be nullptr.
    int send(const SendArguments& send, const Completion& completion, std::uint32_t* handle);
    /// Likewise; kDone with *outcome.
    int receive(const Pattern& pattern, std::span<const iovec> to, const Completion& completion,
                std::uint32_t* handle, Outcome* outcome);
    int cancel(std::uint32_t handle);
    /// Of a source that is lost: why none can come. It meets nobody.
    int probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed);
    int receive_claimed(Arrived& message, std::span<const iovec> to, const Completion& completion,
                        std::uint32_t* handle, Outcome* outcome);

    [[nodiscard]] Engine& engine() noexcept { return engine_; }
    [[nodiscard]] const Engine& engine() const noexcept { return engine_; }
    [[nodiscard]] Receives& receives() noexcept { return receives_; }
    [[nodiscard]] Meetings& meetings() noexcept { return meetings_; }
    [[nodiscard]] ActiveMessages& active_messages() noexcept { return active_; }

    /// A receive from any source is among the oldest that are posted.
    [[nodiscard]] bool waits_for_anybody() const noexcept;
    /// Somebody waits for what a message brings, or since this was last asked has probed for one,
    /// or tried to send to a peer that is not connected yet: all of that wakes who sleeps. A
    /// receive of whatever comes from anybody is a mailbox: nobody need stand at it.
    [[nodiscard]] bool is_waited_for() noexcept;
    /// Somebody is there to wait for. Until then, as in MPI_Init, whoever makes progress here waits
    /// for something else.
    [[nodiscard]] bool is_in_use() const noexcept;

    /// One bounded turn over requests and data; not over the network interface's own work. What was
    /// done, or an error: out of memory. A request that needs more than there is stays where it is,
    /// and the next turn tries it again; other peers are not held up.
    int turn() noexcept;
    /// The parts of a turn: what the peer sent that sent last, where Engine::arrival() has found
    /// something, and all other things, where Engine::is_more_due().
    int take_arrivals(Peer& peer, const gcs::Line& line) noexcept;
    int take_more() noexcept;
    /// Something would be done by the next turn, or there is room now for what was refused last.
    [[nodiscard]] bool ready() noexcept;
    /// Nothing that could be written to a peer now is still to be written.
    [[nodiscard]] bool drained() const noexcept;
    /// What is held here, the object itself not counted; looks at every connected peer.
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
    // Last, so that an owner can put the object where they can be seen (api/process.cc).
    Counters counters_;
};

}  // namespace fci::mp
