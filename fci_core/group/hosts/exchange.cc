// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/exchange.h"

#include "fci_core/base/assert.h"

namespace fci::group {

void Exchange::begin(const Steps& steps, unsigned self, bool ignores_input) noexcept {
    FCI_ASSERT(!messenger_.is_busy());
    steps_ = steps;
    self_ = self;
    ignores_input_ = ignores_input;
    at_ = 0;
    has_received_ = has_sent_ = false;
    Wait::begin(0);
}

void Exchange::take_in(const Step& step, unsigned rank, const Reduction& reduction) noexcept {
    std::size_t bytes = 0;
    if (!messenger_.accept(rank, &bytes)) return;
    if (step.takes) return share_.take(bytes);
    share_.combine(bytes, step.host < self_, reduction);
}

bool Exchange::advance(const unsigned* leaders, const nhi::PeerId* peers,
                       const Reduction& reduction) {
    for (; at_ < steps_.count(); ++at_, has_received_ = has_sent_ = false, Wait::begin(0)) {
        const Step& step = steps_[at_];
        FCI_ASSERT(step.host != self_);
        const unsigned rank = leaders[step.host];
        const nhi::PeerId other = peers[rank];
        // The receive first, so that what comes finds it.
        if (step.receives && !has_received_) {
            ignores_input_ ? messenger_.discard(other) : messenger_.receive(other);
            has_received_ = true;
        }
        if (step.sends && !has_sent_) {
            messenger_.send(other);
            has_sent_ = true;
        }
        if (messenger_.is_busy()) {
            if (since() == 0) Wait::begin(messenger_.engine().device.now());
            return false;
        }
        if (step.sends && messenger_.has_missed()) share_.fail(FCI_ICL_EPEER, rank);
        if (step.receives && !ignores_input_) take_in(step, rank, reduction);
    }
    return true;
}

}  // namespace fci::group
