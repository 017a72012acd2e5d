// SPDX-License-Identifier: BSD-3-Clause
// Door: where others call, and those who have not yet said who they are. Whoever reaches this host
// may knock, as often as he likes: a bounded number stands here, each for a bounded time, and one
// who says nothing makes room for the next. Nobody hears a word from here. While callers guess whom
// they call, few are let in at a time: so fast and no faster can anybody try numbers.
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

/// Who has said who he is.
struct Visitor {
    Stream stream;
    Hello hello;
};

class Door {
public:
    /// Callers that stand here, of those an eighth of all descriptors at most: the others are the
    /// program's. More wait in the kernel's queue.
    static constexpr std::size_t kCallersMost = 256, kCallersLeast = 4;

    explicit Door(Streams& streams) noexcept : streams_(streams) {}

    /// At the place of `card`, which gets its port if it has none, one of `ports`.
    Status open(ddi::Card* card, PortRange ports, std::string* error);
    /// In a child of fork(), which must not keep its parent's callers.
    void close() noexcept;

    /// Somebody calls.
    void answer(Nanoseconds now) noexcept;
    /// He at this stream has said something, or left.
    std::optional<Visitor> hear(int stream) noexcept;
    /// What is due by time.
    void tend(Nanoseconds now) noexcept;
    /// When that is; 0: nothing.
    [[nodiscard]] Nanoseconds due() const noexcept;
    [[nodiscard]] bool is_empty() const noexcept { return callers_.empty(); }
    /// One whose hello was none for this process.
    void note_stranger() noexcept { ++strangers_; }
    /// One that named another process, or a wrong job. True, once: the user should hear of it.
    [[nodiscard]] bool note_guess(Nanoseconds now) noexcept { return guesses_.add(now); }
    /// How many there were, and others who left without a hello, since this was asked last.
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
    std::vector<Caller> callers_;  // who came first stands first
    std::size_t callers_most_ = kCallersMost;
    bool is_open_ = true;          // the kernel says when somebody calls
    Nanoseconds rest_until_ = 0;   // before then it does not
    unsigned strangers_ = 0;
    Guesses guesses_;
};

}  // namespace fci::tcp
