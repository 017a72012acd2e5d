// SPDX-License-Identifier: BSD-3-Clause
// ForkWatch: tells an object that it is in a child of fork(), which must not use the memory and the
// descriptors that its parent shares with others. The calls of the parent then need not ask in
// which process they are.
#pragma once

namespace fci {

class ForkWatch {
public:
    /// From here on `in_child(user)` is called in each child, by its one thread, before fork()
    /// returns. It neither makes nor ends one of these. May throw bad_alloc.
    ForkWatch(void (*in_child)(void* user) noexcept, void* user);
    ~ForkWatch();
    ForkWatch(const ForkWatch&) = delete;
    ForkWatch& operator=(const ForkWatch&) = delete;

private:
    static void before_fork();
    static void in_parent();
    static void in_the_child();

    void (*in_child_)(void* user) noexcept;
    void* user_;
    ForkWatch* next_;
    ForkWatch** here_;  // the pointer to this one
};

}  // namespace fci
