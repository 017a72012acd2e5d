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

std::size_t Gathering::longest(const Levels& levels) noexcept {
    const std::size_t members = levels.parts().of.size();
    return levels.parts().count() == members ? 0 : levels.longest() / members;
}

int Gathering::call(Levels& levels, unsigned self, Collective& it, unsigned looks) noexcept {
    FCI_ASSERT(it.bytes <= longest(levels));
    const std::size_t members = levels.parts().of.size();
    std::size_t all = it.bytes * members, united = all;
    if (levels.ended() != 0 && all != 0) {
        std::memset(blocks_, 0, all);
        std::memcpy(blocks_ + self * it.bytes, it.own, it.bytes);
    }
    const int answer = levels.reduce(it.root, blocks_, it.data, &all, {unite, &united}, looks);
    it.bytes = all / members;
    return answer;
}

}  // namespace fci::group
