// Own: what this process is to others.
#pragma once

#include <unistd.h>

#include "drivers/tcp/hello.h"
#include "fci_core/ddi/device.h"

namespace fci::tcp {

struct Own {
    ddi::Settings settings;
    ddi::Card card;

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
};

}  // namespace fci::tcp
