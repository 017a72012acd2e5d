// Children of fork(): they have none of the shared memory of their parent's contexts, so these must
// not touch it. The calls of the parent need not ask in which process they are.
#pragma once

namespace fci::api {

class Process;

/// Place of an open context in the list of all; from here on a child of fork() is told. May throw.
class ForkWatch {
public:
    explicit ForkWatch(Process& process);
    ~ForkWatch();
    ForkWatch(const ForkWatch&) = delete;
    ForkWatch& operator=(const ForkWatch&) = delete;

    [[nodiscard]] Process& process() const noexcept { return process_; }
    [[nodiscard]] ForkWatch* next() const noexcept { return next_; }

private:
    Process& process_;
    ForkWatch* next_;
    ForkWatch** here_;  // what points to this one
};

}  // namespace fci::api
