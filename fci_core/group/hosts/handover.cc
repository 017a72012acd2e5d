// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/handover.h"

#include "fci_core/base/assert.h"

namespace fci::group {

void Handover::begin(std::uint64_t match) noexcept {
    FCI_ASSERT(!is_busy());
    match_ = match;
    has_failed_ = false;
}

void Handover::send(nhi::PeerId to, std::span<const std::byte> data) {
    const iovec from{const_cast<std::byte*>(data.data()), data.size()};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status*) {
                                        auto& own = *static_cast<Handover*>(user);
                                        FCI_ASSERT(own.sending_ != 0);
                                        --own.sending_;
                                    },
                                    this, nullptr};
    const int answer = messages_.send(
        {to, mp::kGroupSpace, 0, match_, 0, {&from, data.empty() ? 0u : 1u}}, completion, nullptr);
    sending_ += answer == mp::kAccepted;
}

void Handover::receive(nhi::PeerId from, std::span<std::byte> to) {
    FCI_ASSERT(receiving_ == 0);
    const iovec place{to.data(), to.size()};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        auto& own = *static_cast<Handover*>(user);
                                        own.receiving_ = 0;
                                        own.has_failed_ = status->error != FCI_ICL_OK ||
                                                          status->received != own.wanted_;
                                    },
                                    this, nullptr};
    mp::Outcome outcome{};
    wanted_ = to.size();
    const int answer = messages_.receive({from, mp::kGroupSpace, match_, 0}, {&place, 1},
                                         completion, &receive_, &outcome);
    receiving_ = answer == mp::kAccepted;
    if (receiving_ == 0) {
        has_failed_ = answer < 0 || outcome.error != FCI_ICL_OK || outcome.received != wanted_;
    }
}

void Handover::discard(nhi::PeerId from) {
    mp::Outcome outcome{};
    (void)messages_.receive({from, mp::kGroupSpace, match_, 0}, {}, {}, nullptr, &outcome);
}

void Handover::give_up() noexcept {
    if (receiving_ != 0) (void)messages_.cancel(receive_);
}

}  // namespace fci::group
