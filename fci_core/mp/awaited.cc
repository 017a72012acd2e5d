// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/awaited.h"

#include <utility>

#include "fci_core/base/assert.h"

namespace fci::mp {

namespace {

/// Among the oldest that are posted: this is asked now and then, however many there are.
template <class Question>
bool any_of_oldest(const PostedList& posted, Question question) noexcept {
    constexpr unsigned kLookedAt = 64;
    unsigned looked = 0;
    for (const PostedNode* node = posted.oldest(); node != nullptr && looked++ < kLookedAt;
         node = posted.after(*node)) {
        if (question(node->pattern)) return true;
    }
    return false;
}

}  // namespace

bool Awaited::is_over() noexcept {
    return engine_.arrival().is_here || engine_.is_more_due() || sends_.can_send_refused();
}

bool Awaited::is_wanted() noexcept {
    FCI_ASSERT(engine_.orders.used() >= engine_.posted.size());
    const bool asked = std::exchange(engine_.asked_in_vain, false);
    return asked || engine_.orders.used() > engine_.posted.size() ||
           any_of_oldest(engine_.posted, [](const Pattern& wanted) {
               return wanted.source != kAnySource || ~wanted.ignore != 0;
           });
}

bool Awaited::is_from_anybody() const noexcept {
    return any_of_oldest(engine_.posted,
                         [](const Pattern& wanted) { return wanted.source == kAnySource; });
}

}  // namespace fci::mp
