// SPDX-License-Identifier: BSD-3-Clause
// Own: what this process is to others.
#pragma once

#include <unistd.h>

#include "drivers/tcp/hello.h"
#include "fci_core/ddi/device.h"

namespace fci::tcp {

struct Own {
    ddi::Settings settings;
    ddi::Card card;

    /// As only those can to whom the launcher gave the card.
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
                settings.rank};
    }
    /// For a caller that differs: with what both must have in common where it has the card, so that
    /// its user hears what that is. One that typed the place gets nothing that it has not said: of
    /// those the number of the job keeps out whoever does not know it.
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
