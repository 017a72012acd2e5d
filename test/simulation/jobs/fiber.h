// SPDX-License-Identifier: BSD-3-Clause
// Fiber: a program with a stack of its own, which runs only while somebody resumes it. So a process
// can stop in the middle of a call, and which one goes on is nobody's choice but the caller's.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace fci::jobs {

class Fiber {
public:
    explicit Fiber(std::function<void()> program);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Runs it until it pauses or is over; not from inside a fiber.
    void resume();
    /// Called by its program: resume() returns.
    void pause();
    [[nodiscard]] bool is_over() const noexcept { return over_; }

private:
    static constexpr std::size_t kStackBytes = 256 * 1024;

    static void enter(unsigned high, unsigned low);
    void run();

    std::function<void()> program_;
    std::unique_ptr<std::byte[]> stack_;
    ucontext_t own_{}, callers_{};
    // What the address sanitizer knows of the stack that is left meanwhile.
    const void* callers_stack_ = nullptr;
    std::size_t callers_bytes_ = 0;
    bool over_ = false;
};

}  // namespace fci::jobs
