// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/gathering.h"

#include <cstring>

#include "fci_core/base/assert.h"

namespace fci::group {

namespace {

/// Each block was written by one member, and is zero at the others.
void unite(void* bytes, const void* in, void* inout) {
    const auto* const from = static_cast<const std::byte*>(in);
    auto* const to = static_cast<std::byte*>(inout);
    for (std::size_t i = 0; i < *static_cast<const std::size_t*>(bytes); ++i) to[i] |= from[i];
}

}  // namespace

std::size_t Gathering::longest(const Run& run) noexcept {
    const Parts& parts = run.levels().parts;
    const std::size_t members = parts.of.size();
    return parts.count() == members ? 0 : run.longest() / members;
}

int Gathering::call(Run& run, Collective& it, unsigned looks) noexcept {
    FCI_ASSERT(it.bytes <= longest(run));
    const std::size_t members = run.levels().parts.of.size();
    std::size_t united = it.bytes * members;
    if (run.ended() != 0 && united != 0) {
        std::memset(blocks_, 0, united);
        std::memcpy(blocks_ + run.levels().self * it.bytes, it.own, it.bytes);
    }
    Collective all{};
    all.kind = FCI_ICL_REDUCE;
    all.root = it.root;
    all.own = blocks_;
    all.data = it.data;
    all.bytes = united;
    all.reduction = {unite, &united};
    const int answer = run.call(all, looks);
    it.bytes = all.bytes / members;
    return answer;
}

}  // namespace fci::group
