// SPDX-License-Identifier: BSD-3-Clause
// Always-on invariants. Never reachable from received bytes: those are checked and counted.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace fci {

[[noreturn, gnu::cold, gnu::noinline]] inline void broken_invariant(const char* what,
                                                                    const char* file, int line) {
    std::fprintf(stderr, "fci: broken invariant: %s (%s:%d); please report this\n", what, file,
                 line);
    std::abort();
}

}  // namespace fci

#define FCI_ASSERT(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 \
                                        : ::fci::broken_invariant(#condition, __FILE__, __LINE__))
