// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/self_copies.h"

#include <algorithm>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/mp/move/transfer.h"
#include "fci_core/mp/sends.h"

namespace fci::mp {

bool SelfCopies::send(Peer& self, const SendArguments& send, std::uint64_t bytes) noexcept {
    FCI_ASSERT(self.id == nhi::kSelf);
    const bool is_under_way = self.out.sent() != self.in.taken() || !self.pending.empty() ||
                              !self.unasked.empty();
    if (is_under_way || send.space == kActiveSpace) return false;
    PostedNode* const node = engine_.posted.take({self.id, send.space, send.match});
    if (node == nullptr) return false;
    Order& order = static_cast<Order&>(*node);
    ++engine_.counters.received_expected;
    ++engine_.counters.sent_eager;
    engine_.counters.self_bytes += bytes;
    self.row->bytes_sent += bytes;
    self.row->bytes_received += bytes;
    order.peer = self.id;
    order.match = send.match;
    order.immediate = send.immediate;
    order.has_immediate = (send.flags & kSendImmediate) != 0;
    order.length = bytes;
    order.limit();
    std::uint64_t done = 0;
    for (const iovec& range : send.data) {
        const std::uint64_t n = std::min<std::uint64_t>(range.iov_len, order.wanted - done);
        if (n != 0) std::memmove(order.data + done, range.iov_base, n);
        done += n;
    }
    engine_.orders.finish_later(order, order.error);
    self.out.wake_sleeper(engine_.network);  // another thread may wait for this receive
    return true;
}

bool SelfCopies::receive(Order& order, Peer& self, std::uint32_t send) noexcept {
    Order* const from = engine_.orders.find(send, self, true);
    if (from == nullptr || from->state != OrderState::announced) return false;
    FCI_ASSERT(order.wanted <= from->length);
    std::memmove(order.data, from->data, order.wanted);
    engine_.counters.self_bytes += order.wanted;
    engine_.orders.finish_later(*from, kSuccess);
    end_transfer(engine_, order);
    return true;
}

}  // namespace fci::mp
