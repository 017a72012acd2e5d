// SPDX-License-Identifier: BSD-3-Clause
// IntrusiveList: a doubly linked list whose links live in its elements; nothing is allocated.
#pragma once

#include <type_traits>

#include "fci_core/base/assert.h"

namespace fci {

struct ListLink {
    ListLink* next = nullptr;
    ListLink* prev = nullptr;
    [[nodiscard]] bool linked() const noexcept { return next != nullptr; }
};

/// Elements derive from ListLink; an element is in one list at a time.
template <class T>
class IntrusiveList {
public:
    IntrusiveList() noexcept { head_.next = head_.prev = &head_; }
    IntrusiveList(const IntrusiveList&) = delete;
    IntrusiveList& operator=(const IntrusiveList&) = delete;

    [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
    [[nodiscard]] T& front() noexcept {
        FCI_ASSERT(!empty());
        return *static_cast<T*>(head_.next);
    }

    void push_back(T& element) noexcept {
        static_assert(std::is_base_of_v<ListLink, T>);
        ListLink& link = element;
        FCI_ASSERT(!link.linked());
        link.prev = head_.prev;
        link.next = &head_;
        head_.prev->next = &link;
        head_.prev = &link;
    }

    /// `by`, which is in no list, takes the place of `element`.
    static void replace(T& element, T& by) noexcept {
        ListLink& old = element;
        ListLink& link = by;
        FCI_ASSERT(old.linked() && !link.linked());
        link = old;
        link.prev->next = link.next->prev = &link;
        old.next = old.prev = nullptr;
    }

    static void remove(T& element) noexcept {
        ListLink& link = element;
        FCI_ASSERT(link.linked());
        FCI_ASSERT(link.prev->next == &link && link.next->prev == &link);
        link.prev->next = link.next;
        link.next->prev = link.prev;
        link.next = link.prev = nullptr;
    }

    T* pop_front() noexcept {
        if (empty()) return nullptr;
        T& first = front();
        remove(first);
        return &first;
    }

    /// `visit` may remove the element that it is given.
    template <class F>
    void for_each(F visit) {
        for (ListLink* link = head_.next; link != &head_;) {
            ListLink* after = link->next;
            visit(*static_cast<T*>(link));
            link = after;
        }
    }

private:
    ListLink head_;
};

}  // namespace fci
