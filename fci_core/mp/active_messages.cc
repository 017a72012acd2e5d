// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/active_messages.h"

#include <new>
#include <utility>

namespace fci::mp {

namespace {
std::uint8_t handler_of(std::uint64_t match) noexcept {
    return match & 0xff;
}
std::uint64_t header_bytes_of(std::uint64_t match) noexcept {
    return match >> 8 & 0xffff;
}
}  // namespace

bool ActiveMessages::take(Peer& peer, std::uint64_t match, std::span<const std::byte> message,
                          std::uint32_t send) {
    const Handler& handler = handlers_[handler_of(match)];
    const std::uint64_t header_bytes = header_bytes_of(match);
    if (header_bytes > message.size() || handler.call == nullptr) return false;
    // `taken` goes first: the handler may use up the reserved line.
    if (send != 0) engine_.outbox.tell(peer, Kind::taken, send);
    ReceiveTarget none{};
    handler.call(handler.user, peer.id, message.data(), header_bytes, message.data() + header_bytes,
                 message.size() - header_bytes, &none);
    return true;
}

bool ActiveMessages::take_announced(Peer& peer, const AnnounceRecord& record,
                                    std::span<const std::byte> header) {
    const Handler& handler = handlers_[handler_of(record.match)];
    if (header.size() != header_bytes_of(record.match) || handler.call == nullptr) return false;
    Order* const order = engine_.orders.take();
    if (order == nullptr) throw std::bad_alloc();
    // The handler is called once, and must not use up the line that is needed after it.
    WaitingLine& kept = engine_.outbox.keep();
    ReceiveTarget target{};
    handler.call(handler.user, peer.id, header.data(), header.size(), nullptr, record.length,
                 &target);
    engine_.outbox.keep_no_more(kept);
    const std::span<const iovec> to(target.iov, target.iov_count);
    std::unique_ptr<OrderExtras> extras;
    if (to.size() > 1 && (extras = Orders::extras_for(to)) == nullptr) {
        engine_.orders.give_back_plain(*order);
        engine_.peers.explain(peer.id, " sent a message for which there is no memory");
        return false;
    }
    engine_.orders.land(*order, to, target.completion, std::move(extras));
    order->match = record.match;
    order->length = record.length;
    rendezvous_.begin_receive(*order, peer, record.send, record.address);
    return true;
}

}  // namespace fci::mp
