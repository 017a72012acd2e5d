// SPDX-License-Identifier: BSD-3-Clause
// Exchange: the stage of a collective in which processes of different hosts tell each other, step
// by step (steps.h), what they bring (§2.6.12). All goes on in progress; nothing waits here.
//
// A process goes through all its steps in any case: one that lacks something says so instead.
#pragma once

#include "fci_core/group/hosts/messenger.h"
#include "fci_core/group/hosts/network_wait.h"
#include "fci_core/group/hosts/steps.h"

namespace fci::group {

class Exchange final : public NetworkWait {
public:
    Exchange(Messenger& messenger, Share& share) noexcept : messenger_(messenger), share_(share) {}

    /// Of host `self`, which brings the share. `ignores_input`: it waits for nobody, and what comes
    /// is thrown away.
    void begin(const Steps& steps, unsigned self, bool ignores_input) noexcept;
    /// False: not through all steps yet; a turn may bring the next. `leaders`: ranks, by host;
    /// `peers`: by rank. May throw bad_alloc, and goes on from there when it is called again.
    [[nodiscard]] bool advance(const unsigned* leaders, const nhi::PeerId* peers,
                               const Reduction& reduction);

    /// No other host can have heard of this one in this collective: none but those below it in a
    /// tree can wait for what it does with what it waits for.
    [[nodiscard]] bool only_receives() const noexcept { return at_ == 0 && !steps_[0].sends; }

private:
    [[nodiscard]] bool is_over() noexcept override { return !messenger_.is_busy(); }

    void take_in(const Step& step, unsigned rank, const Reduction& reduction) noexcept;

    Messenger& messenger_;
    Share& share_;
    Steps steps_;
    unsigned self_ = 0, at_ = 0;
    bool ignores_input_ = false;
    bool has_received_ = false, has_sent_ = false;  // in this step; begun at least
};

}  // namespace fci::group
