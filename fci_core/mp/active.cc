// Active messages: a handler at the receiver runs when the message arrives; nothing is matched.
// A long one brings its header with the announcement, and the handler says where the data goes.
#include <new>
#include <utility>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {
/// The match word of an active message.
std::uint32_t handler_of(std::uint64_t match) noexcept { return match & 0xff; }
std::uint64_t header_bytes_of(std::uint64_t match) noexcept { return match >> 8 & 0xffff; }
}  // namespace

int MessagePassing::send_active(nhi::Rank peer, std::uint32_t id, std::uint32_t flags,
                                std::span<const std::byte> header, std::span<const iovec> data,
                                const Completion& completion, std::uint32_t* handle) {
    const std::uint64_t match = id | std::uint64_t{header.size()} << 8;
    return send({peer, kActiveSpace, flags, match, 0, data, header}, completion, handle);
}

void MessagePassing::set_handler(std::uint32_t id, ActiveHandler handler, void* user) {
    handlers_[id] = {handler, user};
}

void MessagePassing::on_active(Peer& peer, Control control, std::uint64_t match,
                               const std::byte* data, std::uint32_t send) {
    const Handler& handler = handlers_[handler_of(match)];
    const std::uint64_t header_bytes = header_bytes_of(match);
    if (header_bytes > control.bytes || handler.call == nullptr) return bad_request(peer);
    // First: what the handler does may need the line that is reserved.
    if ((control.flags & kWantsTaken) != 0) tell(peer, Kind::taken, send);
    ReceiveTarget none;
    handler.call(handler.user, peer.rank, data, header_bytes, data + header_bytes,
                 control.bytes - header_bytes, &none);
}

void MessagePassing::on_active_announce(Peer& peer, const AnnounceRecord& record,
                                        const std::byte* header, std::uint64_t header_bytes) {
    const Handler& handler = handlers_[handler_of(record.match)];
    if (header_bytes != header_bytes_of(record.match) || handler.call == nullptr) {
        return bad_request(peer);
    }
    Order* const order = orders_.take();
    if (order == nullptr) throw std::bad_alloc();
    // The handler is called once. What it does must not use up what is needed after it.
    WaitingLine& kept = lines_.take();
    ReceiveTarget target;
    handler.call(handler.user, peer.rank, header, header_bytes, nullptr, record.length, &target);
    lines_.give_back(kept);
    std::unique_ptr<OrderExtras> extras;
    if (target.to.size() > 1 && (extras = extras_for(target.to)) == nullptr) {
        orders_.give_back(*order);
        explain(peer, " sent a message for which there is no memory");
        return fail_peer(peer, true);
    }
    land(*order, target.to, target.completion, std::move(extras));
    order->match = record.match;
    order->length = record.length;
    begin_long(*order, peer, record.send, record.address);
}

}  // namespace fci::mp
