// SharedCopies: long messages that the kernel copies between the two processes: by the receiver
// alone, or by both, each from its end, piece by piece, until they meet (claims.h).
#pragma once

#include <cstdint>

#include "fci_core/mp/engine.h"

namespace fci::mp {

class SharedCopies {
public:
    explicit SharedCopies(Engine& engine) : engine_(engine) {}

    /// The kernel lets this process reach the peer's memory. Asked once.
    [[nodiscard]] bool may_copy(Peer& peer);
    /// Of a message that is long enough for two.
    [[nodiscard]] static bool is_worth_sharing(std::uint64_t bytes) noexcept;
    /// A receive gets a word from which both sides claim. False: none is free.
    [[nodiscard]] bool hold_claim(Order& order, Peer& peer) noexcept;
    static std::uint32_t shared_piece(std::uint64_t bytes) noexcept;
    static std::uint32_t pulled_piece(std::uint64_t bytes) noexcept;

    /// The receiver of the message begins. order.path says whether it copies alone.
    void receive(Order& order) noexcept;
    /// The sender helps, where it may. `claim`: as the receiver named its word.
    void send(Order& order, Peer& peer, std::uint16_t claim);
    /// One piece of one message for each peer. How many it were.
    unsigned push();
    /// The sender has copied its share. False: it fails its checks.
    [[nodiscard]] bool on_sent(Peer& peer, const gcs::Line& line);
    /// The receiver has copied its share of a message that is sent from here.
    void receiver_is_through(Order& order, Peer& peer);

    [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
    void sever() noexcept;

private:
    void join(Order& order) noexcept;
    bool copy_piece(Order& order, Peer& peer);
    void own_share_done(Order& order, Peer& peer);
    void failed(Order& order, Peer& peer, Status status);

    Engine& engine_;
    IntrusiveList<Order> copies_;  // with pieces left
    std::uint32_t pushes_ = 0;
};

}  // namespace fci::mp
