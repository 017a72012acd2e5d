// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/message_passing.h"

namespace fci::mp {

MessagePassing::MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits,
                               Counters& counters)
    : engine_(device, protocol, limits, counters),
      streams_(engine_),
      copies_(engine_, streams_),
      own_copies_(engine_),
      rendezvous_(engine_, streams_, copies_, own_copies_),
      asks_(engine_),
      offers_(engine_, rendezvous_, asks_),
      active_(engine_, rendezvous_),
      sends_(engine_, rendezvous_, own_copies_),
      receives_(engine_, rendezvous_, asks_, offers_, active_),
      meetings_(engine_, copies_, receives_),
      awaited_(engine_, sends_) {}

MessagePassing::MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits)
    : MessagePassing(device, protocol, limits, own_counters_) {}

MessagePassing::~MessagePassing() {
    engine_.peers.for_each([this](Peer& peer) { engine_.outbox.forget(peer); });
}

int MessagePassing::send(const SendArguments& send, const Completion& completion,
                         std::uint32_t* handle) {
    Peer* to = nullptr;
    if (const int why = meetings_.reach(send.peer, &to); why != kSuccess) return why;
    const int answer = sends_.send(*to, send, completion, handle);
    if (answer >= 0) engine_.begin();
    return answer;
}

int MessagePassing::receive(const Pattern& pattern, std::span<const iovec> to,
                            const Completion& completion, std::uint32_t* handle, Outcome* outcome) {
    engine_.outbox.reserve();  // for the request to its source
    if (ArrivedNode* const node = engine_.arrived.find(pattern)) {
        return receives_.take_arrived(static_cast<Arrived&>(*node), to, completion, handle,
                                      outcome);
    }
    Peer* source = nullptr;
    if (pattern.source != kAnySource) {
        source = &engine_.peers.find(pattern.source);
        if (!source->present) [[unlikely]] {
            const int why = meetings_.reach(pattern.source, &source);
            if (why != kSuccess) return why;
        }
    }
    return receives_.receive(source, pattern, to, completion, handle);
}

int MessagePassing::probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed) {
    const int answer = receives_.probe(pattern, outcome, claimed);
    if (answer != kNoMessage || pattern.source == kAnySource) return answer;
    const Peer& source = engine_.peers.find(pattern.source);
    return source.lost ? source.departure.failure : answer;
}

int MessagePassing::cancel(std::uint32_t handle) {
    Order* const order = engine_.orders.find(handle);
    if (order == nullptr) return kNoEntry;
    engine_.outbox.reserve();
    switch (order->state) {
        case OrderState::queued:
        case OrderState::unasked:
        case OrderState::announced:
            sends_.cancel(*order);
            break;
        case OrderState::posted:
            receives_.cancel(*order);
            break;
        case OrderState::withdrawing:
        case OrderState::moving:
        case OrderState::finished:
            break;  // its completion is on the way
    }
    return kSuccess;
}

int MessagePassing::receive_claimed(Arrived& message, std::span<const iovec> to,
                                    const Completion& completion, std::uint32_t* handle,
                                    Outcome* outcome) {
    engine_.outbox.reserve();
    return receives_.take_arrived(message, to, completion, handle, outcome);
}

// --- what is left to do ---

bool MessagePassing::is_in_use() const noexcept {
    return !engine_.peers.active().empty() || engine_.orders.used() != 0 || engine_.asked_in_vain;
}

bool MessagePassing::drained() const noexcept {
    bool drained = copies_.empty();
    engine_.peers.for_each(
        [&](const Peer& peer) { drained = drained && (peer.lost || peer.is_written()); });
    return drained;
}

MemoryUse MessagePassing::memory() const noexcept {
    MemoryUse use;
    use.fixed =
        engine_.limits.eager_most() + kHeaderMost + engine_.orders.memory() + engine_.pool.memory();
    use.connected = engine_.outbox.memory();
    use.unexpected = receives_.memory();
    engine_.peers.add_memory(use);
    return use;
}

}  // namespace fci::mp
