// SPDX-License-Identifier: BSD-3-Clause
// Gathering: one over hosts, of few bytes (§2.6.12). It is a reduction: each member brings the
// blocks of all with its own filled in, and they are united.
#pragma once

#include <cstddef>

#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/run.h"
#include "fci_core/group/table/reduction.h"

namespace fci::group {

class Gathering {
public:
    /// Of what each brings. 0: where each is alone on its host, messages of the MPI above are as
    /// fast to all, and faster to one.
    [[nodiscard]] static std::size_t longest(const Run& run) noexcept;

    /// A collective of this run, called as all of them are. The lengths are longest() at most.
    [[nodiscard]] int call(Run& run, Collective& it, unsigned looks) noexcept;

private:
    alignas(64) std::byte blocks_[Entry::kLong]{};  // in the collective that is under way
};

}  // namespace fci::group
