// SPDX-License-Identifier: BSD-3-Clause
// Patience: when a step that failed is to be tried again, and when to give up. It is told the time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fci_core/base/prng.h"
#include "fci_core/base/status.h"

namespace fci::ddi {

class Patience {
public:
    /// Tries until `limit` from now. The pauses between begin with about `first` and double up to
    /// `most`.
    void begin(Nanoseconds now, Nanoseconds limit, Nanoseconds first, Nanoseconds most) noexcept {
        give_up_ = now + limit;
        pause_ = first;
        most_ = most;
        due_ = 0;
    }
    /// Tries until `limit` from now, with pauses as long as before.
    void renew(Nanoseconds now, Nanoseconds limit) noexcept { give_up_ = now + limit; }
    /// Tries once more after a pause of random length: processes that failed together do not come
    /// together again.
    void again_later(Nanoseconds now, Prng& prng) noexcept {
        const auto half = static_cast<std::uint64_t>(pause_ / 2);
        due_ = now + pause_ / 2 + static_cast<Nanoseconds>(prng.below(2 * half + 1));
        pause_ = std::min(2 * pause_, most_);
    }
    void again_at(Nanoseconds when) noexcept { due_ = when; }
    void tried() noexcept { due_ = 0; }

    [[nodiscard]] bool is_over(Nanoseconds now) const noexcept { return now >= give_up_; }
    [[nodiscard]] bool is_due(Nanoseconds now) const noexcept { return due_ != 0 && now >= due_; }
    /// When the next try is due; 0: none is.
    [[nodiscard]] Nanoseconds due() const noexcept { return due_; }
    [[nodiscard]] Nanoseconds give_up() const noexcept { return give_up_; }

private:
    Nanoseconds give_up_ = 0, due_ = 0, pause_ = 0, most_ = 0;
};

}  // namespace fci::ddi
