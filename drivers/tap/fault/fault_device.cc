// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tap/fault/fault_device.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

namespace fci::tap {

namespace {

std::uint16_t port_of(const FaultOptions& options, const ddi::Card& card) {
    return htons(static_cast<std::uint16_t>(ntohs(card.port) - ntohs(options.first_port)));
}

/// Every process has faults of its own.
FaultOptions of_process(FaultOptions options, const ddi::Card& card) {
    options.seed = (Prng(options.seed).next() ^ card.host) + port_of(options, card);
    return options;
}

}  // namespace

FaultDevice::FaultDevice(std::unique_ptr<ddi::Device> inner, const FaultOptions& options)
    : Forwarding(std::move(inner)), options_(options),
      network_(Forwarding::inner(), *this, of_process(options, card())) {}

FaultDevice::~FaultDevice() {
    set_listener(nullptr);
    network_.flush();
}

bool FaultDevice::refuses(const FaultOptions& options, const ddi::Card& one,
                          const ddi::Card& other) noexcept {
    const auto place = [&](const ddi::Card& card) {
        return static_cast<std::uint64_t>(card.host) << 16 | port_of(options, card);
    };
    const std::uint64_t low = std::min(place(one), place(other));
    const std::uint64_t high = std::max(place(one), place(other));
    if (low == high) return false;
    return Prng(options.seed ^ low * 0x9e3779b97f4a7c15ull ^ high).chance(options.refuse_percent);
}

Status FaultDevice::connect(nhi::PeerId id) {
    const ddi::Card* const its = card_of(id);
    if (its == nullptr || !refuses(options_, card(), *its)) return inner().connect(id);
    network_.refuse(id);
    return Status::ok;
}

void FaultDevice::sleep(Nanoseconds timeout) noexcept {
    network_.take_all_stores();
    const Nanoseconds due = network_.due();
    if (due != FaultInterface::kNever) {
        const Nanoseconds left = std::max<Nanoseconds>(due - now(), 0);
        timeout = timeout < 0 ? left : std::min(timeout, left);
    }
    inner().sleep(timeout);
}

void FaultDevice::peer_lost(nhi::PeerId id, Status why, const std::string& reason) {
    network_.forget(id);
    Forwarding::peer_lost(id, why, reason);
}

}  // namespace fci::tap
