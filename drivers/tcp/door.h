// SPDX-License-Identifier: BSD-3-Clause
// Door: the listening socket, and callers that have not yet said their hello. Any program that
// reaches this host may call, as often as it likes: a bounded number of callers stands here, each
// for a bounded time, and one that says nothing makes room for the next. No caller hears a word
// from here. While callers guess which process they call, few are let in at a time, so no caller
// can try numbers fast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/tcp/guesses.h"
#include "drivers/tcp/hello.h"
#include "drivers/tcp/streams.h"
#include "fci_core/base/port_range.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"

namespace fci::tcp {

/// A caller whose hello is here.
struct Visitor {
    Stream stream;
    Hello hello;
};

class Door {
public:
    /// Callers that stand here at most, and no more than an eighth of all descriptors, as the
    /// others are the program's. More callers wait in the kernel's queue.
    static constexpr std::size_t kCallersMost = 256, kCallersLeast = 4;

    explicit Door(Streams& streams) noexcept : streams_(streams) {}

    /// Listens at the place of `card`. If the card has no port, it gets one of `ports`.
    Status open(ddi::Card* card, PortRange ports, std::string* error);
    /// In a child of fork(), which must not keep its parent's callers.
    void close() noexcept;

    /// Takes in the callers that wait in the kernel's queue.
    void answer(Nanoseconds now) noexcept;
    /// Reads from a caller's stream. Returns the caller once its hello is whole.
    std::optional<Visitor> hear(int stream) noexcept;
    /// Sends late callers away, and opens the door after a rest.
    void tend(Nanoseconds now) noexcept;
    /// When to tend next; 0: never.
    [[nodiscard]] Nanoseconds due() const noexcept;
    [[nodiscard]] bool is_empty() const noexcept { return callers_.empty(); }
    /// Counts a caller whose hello was none for this process.
    void note_stranger() noexcept { ++strangers_; }
    /// Counts a caller that named another process or job. True, once: the user should hear of it.
    [[nodiscard]] bool note_guess(Nanoseconds now) noexcept { return guesses_.add(now); }
    /// Strangers since the last call of this, also callers that left without a hello.
    unsigned take_strangers() noexcept;

private:
    struct Caller {
        Stream stream;
        HelloReader reader;
        Nanoseconds came = 0;
    };

    int listen_at(ddi::Card* card) noexcept;
    [[nodiscard]] bool make_room(Nanoseconds now) noexcept;
    void set_open(bool open) noexcept;
    void rest(Nanoseconds until) noexcept;

    Streams& streams_;
    Stream listening_;
    std::vector<Caller> callers_;  // in the order in which they came
    std::size_t callers_most_ = kCallersMost;
    bool is_open_ = true;          // the listening socket is watched
    Nanoseconds rest_until_ = 0;   // before then it is not
    unsigned strangers_ = 0;
    Guesses guesses_;
};

}  // namespace fci::tcp
