// SPDX-License-Identifier: BSD-3-Clause
// Own: the card and the settings of this process, and the hellos that it says.
#pragma once

#include <unistd.h>

#include "drivers/tcp/hello.h"
#include "fci_core/ddi/device.h"

namespace fci::tcp {

struct Own {
    ddi::Settings settings;
    ddi::Card card;

    /// Of the memory for a peer: its block, and the tail behind it.
    [[nodiscard]] std::size_t peer_bytes() const noexcept {
        return settings.block_bytes + settings.network.tail_bytes;
    }
    /// Only a process to which the launcher gave the card can name this one.
    [[nodiscard]] bool is_named_by(const Hello& hello) const noexcept {
        return hello.to.incarnation == card.incarnation;
    }
    [[nodiscard]] Hello hello_to(const ddi::Card& to, Verdict verdict) const noexcept {
        return {Hello::kMagic,
                settings.job,
                settings.layout_digest,
                settings.sizes,
                settings.block_bytes,
                card,
                to,
                static_cast<std::uint32_t>(getpid()),
                verdict,
                settings.rank,
                settings.network.tail_bytes};
    }
    /// For a caller that differs. A caller that has the card hears the settings, so that its user
    /// learns the difference. A caller that typed the place hears nothing that it has not said:
    /// only the number of the job keeps strangers out there.
    [[nodiscard]] Hello refusal_of(const Hello& hello) const noexcept {
        if (hello.magic == Hello::kMagic && is_named_by(hello)) {
            return hello_to(hello.from, Verdict::mismatch);
        }
        Hello bare{};
        bare.magic = Hello::kMagic;
        bare.verdict = Verdict::mismatch;
        return bare;
    }
};

}  // namespace fci::tcp
