// SPDX-License-Identifier: BSD-3-Clause
// ForkChild: that this process has become a child of fork(), and the caller that is told of it.
#pragma once

#include <optional>

#include "fci_core/base/assert.h"
#include "fci_core/base/fork_watch.h"

namespace fci::api {

class ForkChild {
public:
    /// From here on enter(user) is called in each child. May throw bad_alloc.
    void watch(void (*enter)(void* user) noexcept, void* user) {
        FCI_ASSERT(!watch_);
        watch_.emplace(enter, user);
    }
    /// The process begins to end.
    void unwatch() noexcept { watch_.reset(); }

    /// Told in that child, by tell().
    void on_fork(void (*in_child)(void* user), void* user) noexcept {
        user_ = user;
        in_child_ = in_child;
    }
    void set() noexcept { is_here_ = true; }
    void tell() noexcept {
        FCI_ASSERT(is_here_);
        if (in_child_ != nullptr) in_child_(user_);
    }
    /// This is that child.
    [[nodiscard]] bool is_here() const noexcept { return is_here_; }

private:
    bool is_here_ = false;
    void (*in_child_)(void* user) = nullptr;
    void* user_ = nullptr;
    std::optional<ForkWatch> watch_;
};

}  // namespace fci::api
