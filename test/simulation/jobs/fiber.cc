// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/jobs/fiber.h"

#include <cstdint>
#include <utility>

#include "fci_core/base/assert.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace fci::jobs {

namespace {

// The address sanitizer must be told of each change of stacks. `kept`: what it keeps of the one
// that is left, nullptr for one that is left for ever.
#ifdef __SANITIZE_ADDRESS__
void leave(void** kept, const void* stack, std::size_t bytes) {
    __sanitizer_start_switch_fiber(kept, stack, bytes);
}
void arrive(void* kept, const void** left, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(kept, left, bytes);
}
#else
void leave(void**, const void*, std::size_t) {}
void arrive(void*, const void**, std::size_t*) {}
#endif

}  // namespace

Fiber::Fiber(std::function<void()> program)
    : program_(std::move(program)), stack_(new std::byte[kStackBytes]) {
    FCI_ASSERT(getcontext(&own_) == 0);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStackBytes;
    own_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);  // makecontext() hands on ints
    makecontext(&own_, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
}

void Fiber::enter(unsigned high, unsigned low) {
    reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low)->run();
}

void Fiber::run() {
    arrive(nullptr, &callers_stack_, &callers_bytes_);
    program_();
    over_ = true;
    leave(nullptr, callers_stack_, callers_bytes_);
    setcontext(&callers_);
}

void Fiber::resume() {
    FCI_ASSERT(!over_);
    void* kept = nullptr;
    leave(&kept, stack_.get(), kStackBytes);
    swapcontext(&callers_, &own_);
    arrive(kept, nullptr, nullptr);
}

void Fiber::pause() {
    FCI_ASSERT(!over_);
    void* kept = nullptr;
    leave(&kept, callers_stack_, callers_bytes_);
    swapcontext(&own_, &callers_);
    arrive(kept, &callers_stack_, &callers_bytes_);
}

}  // namespace fci::jobs
