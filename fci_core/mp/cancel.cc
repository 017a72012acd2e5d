// Cancelling: an order is taken back if its match has not happened, here or at the other side.
#include "fci_core/mp/message_passing.h"

namespace fci::mp {

int MessagePassing::cancel(std::uint32_t handle) {
    Order* const order = orders_.find(handle);
    if (order == nullptr) return kNoEntry;
    lines_.reserve();
    switch (order->state) {
        case OrderState::queued:
            finish_later(*order, kCanceled);
            break;
        case OrderState::announced:
            tell(*peers_[order->peer], Kind::unsend, handle);
            break;
        case OrderState::posted:
            if (order->offered) {
                order->state = OrderState::withdrawing;
                tell(*peers_[order->pattern.source], Kind::withdraw, handle);
            } else {
                posted_.remove(*order);
                order->peer = order->pattern.source;
                finish_later(*order, kCanceled);
            }
            break;
        case OrderState::withdrawing:
        case OrderState::moving:
        case OrderState::finished:
            break;  // its completion is on the way
    }
    return kSuccess;
}

}  // namespace fci::mp
