// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/outstanding.h"

#include "fci_core/base/assert.h"
#include "fci_core/base/result.h"

namespace fci::group {

namespace {

void tell(const Collective& it, int answer) noexcept {
    if (it.completion.done == nullptr) return;
    fci_icl_status status{};
    status.error = answer == FCI_ICL_DONE ? FCI_ICL_OK : answer;
    status.length = status.received = it.bytes;
    it.completion.done(it.completion.user, it.completion.owner, &status);
}

}  // namespace

int Outstanding::start(Group& group, Collective& it) noexcept {
    it.next = nullptr;
    FCI_ASSERT(group.first == nullptr || group.linked());
    if (group.first == nullptr) {
        const int answer = group.call(it, 1);
        if (answer != FCI_ICL_EAGAIN) return answer;
        group.first = &it;
        groups_.push_back(group);
        return FCI_ICL_OK;
    }
    Collective* last = group.first;
    while (last->next != nullptr) last = last->next;
    last->next = &it;
    return FCI_ICL_OK;
}

/// A caller that is told may leave the group, or start another one.
int Outstanding::advance(int work) noexcept {
    int ended = 0;
    IntrusiveList<Group> later;
    is_due_ = false;
    while (Group* const group = groups_.pop_front()) {
        FCI_ASSERT(group->first != nullptr && !group->is_left);
        Collective& it = *group->first;
        const int answer = group->call(it, 1);
        if (answer == FCI_ICL_EAGAIN) {
            later.push_back(*group);
            continue;
        }
        group->sleep_only_over(nullptr);
        group->first = it.next;
        if (group->first != nullptr) {
            later.push_back(*group);
            is_due_ = true;
        }
        ++ended;
        tell(it, answer);
    }
    while (Group* const group = later.pop_front()) groups_.push_back(*group);
    return work < 0 ? work : work + ended;
}

bool Outstanding::add_parts(progress::Waits& to) noexcept {
    bool is_new = false;
    groups_.for_each([&](Group& group) {
        FCI_ASSERT(group.first != nullptr);
        progress::Wait* const waiting = group.waiting(*group.first);
        group.sleep_only_over(waiting);
        if (waiting != nullptr) is_new = to.add(*waiting) || is_new;
    });
    return is_new;
}

void Outstanding::drop(Group& group) noexcept {
    group.first = nullptr;
    if (group.linked()) IntrusiveList<Group>::remove(group);
}

}  // namespace fci::group
