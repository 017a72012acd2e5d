// SPDX-License-Identifier: BSD-3-Clause
// ActiveMessages: a handler at the receiver runs when the message arrives; nothing is matched. A
// long one brings its header with the announcement, and the handler says where the data goes.
#pragma once

#include <array>
#include <span>

#include "fci_core/mp/engine.h"
#include "fci_core/mp/rendezvous.h"

namespace fci::mp {

using ReceiveTarget = ::fci_icl_am_landing;
using ActiveHandler = ::fci_icl_am_fn;

class ActiveMessages {
public:
    ActiveMessages(Engine& engine, Rendezvous& rendezvous)
        : engine_(engine), rendezvous_(rendezvous) {}

    /// The last one is the core's own.
    static constexpr std::uint8_t kOfGroups = 255;

    void set_handler(std::uint8_t id, ActiveHandler handler, void* user) noexcept {
        handlers_[id] = {handler, user};
    }
    /// The match word of a message for this handler.
    static std::uint64_t match_of(std::uint32_t id, std::size_t header_bytes) noexcept {
        return id | std::uint64_t{header_bytes} << 8;
    }

    /// Header and data lie together. `send`: the order that wants `taken`, or 0. False: it fails
    /// its checks.
    [[nodiscard]] bool take(Peer& peer, std::uint64_t match, std::span<const std::byte> message,
                            std::uint32_t send);
    /// A long message was announced. False: it fails its checks, or there is no memory though the
    /// handler was called.
    [[nodiscard]] bool take_announced(Peer& peer, const AnnounceRecord& record,
                                      std::span<const std::byte> header);

private:
    struct Handler {
        ActiveHandler call = nullptr;
        void* user = nullptr;
    };

    Engine& engine_;
    Rendezvous& rendezvous_;
    std::array<Handler, 256> handlers_{};
};

}  // namespace fci::mp
