// SPDX-License-Identifier: BSD-3-Clause
// Wait: what a process waits for: a flag in shared memory, the messages of its receives, or
// collectives that go on by themselves. Each is registered in Waits, so that the process sleeps
// over it and is woken (§2.7.4).
#pragma once

#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/base/intrusive_list.h"
#include "fci_core/base/status.h"

namespace fci::progress {

class Waits;

/// One is stepped until it is over (IdleLoop::step), or stands as long as its process does.
class Wait : public ListLink {
public:
    Wait() noexcept = default;
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    virtual ~Wait() { FCI_ASSERT(!linked()); }

    /// There is nothing to wait for any more. Loads only.
    [[nodiscard]] virtual bool is_over() noexcept = 0;
    /// A process that is waited for was last seen on this core, where the caller is, and must have
    /// it to go on.
    [[nodiscard]] virtual bool needs(unsigned core) noexcept = 0;
    /// From now on, or no longer, the process that may end this by a flag raises gcs::kWakeEvent
    /// here.
    virtual void want_wake(bool wanted) noexcept = 0;
    /// The process that may end it is able to raise that event.
    [[nodiscard]] virtual bool may_be_woken() const noexcept = 0;

    /// It is ended by the network's own work, which is to be done in each turn of it.
    [[nodiscard]] virtual bool is_for_network() const noexcept { return false; }

    /// Of one that stands: the caller waits for it just now.
    [[nodiscard]] virtual bool is_wanted() noexcept { return true; }
    /// Of one that stands, before a sleep: adds the waits that it is made of. True: one was new.
    virtual bool add_parts(Waits& to) noexcept {
        (void)to;
        return false;
    }

    /// Since when, and how often the core was given away meanwhile.
    [[nodiscard]] Nanoseconds since() const noexcept { return since_; }
    [[nodiscard]] unsigned yields() const noexcept { return yields_; }
    void begin(Nanoseconds now) noexcept { since_ = now, yields_ = 0; }
    void count_yield() noexcept { ++yields_; }

private:
    Nanoseconds since_ = 0;
    unsigned yields_ = 0;
};

/// How a step of it ended.
enum class Step : std::uint8_t {
    over,
    again,  // not yet: the next step may follow at once
    turn,   // not for a while: the caller makes progress in between
};

/// Those of a process: some stand as long as it does, others are added when they are slept over.
class Waits {
public:
    ~Waits() { forget(); }

    /// It stands from now on.
    void enlist(Wait& wait) noexcept { standing_.push_back(wait); }
    /// The caller waits for something that wakes it when it sleeps.
    [[nodiscard]] bool any_wanted() noexcept {
        bool wanted = !empty();
        standing_.for_each([&](Wait& wait) { wanted = wanted || wait.is_wanted(); });
        return wanted;
    }

    /// None is slept over: no flag wakes this process.
    [[nodiscard]] bool empty() const noexcept { return slept_over_.empty(); }
    /// Before a sleep. True: a process that may end one of these was told only now that it has to
    /// raise an event. `over`: one more; may be nullptr.
    [[nodiscard]] bool prepare(Wait* over) noexcept {
        bool is_new = over != nullptr && add(*over);
        standing_.for_each([&](Wait& wait) { is_new = wait.add_parts(*this) || is_new; });
        return is_new;
    }
    /// To be asked once more before a sleep, after the wake event was switched on.
    [[nodiscard]] bool any_over() noexcept {
        bool over = false;
        const auto look = [&](Wait& wait) { over = over || wait.is_over(); };
        standing_.for_each(look);
        slept_over_.for_each(look);
        return over;
    }
    /// Each of them ends by an event.
    [[nodiscard]] bool may_be_woken() noexcept {
        bool may = true;
        slept_over_.for_each([&](const Wait& wait) { may = may && wait.may_be_woken(); });
        return may;
    }

    /// False: it is slept over already.
    bool add(Wait& wait) noexcept {
        if (wait.linked()) return false;
        slept_over_.push_back(wait);
        wait.want_wake(true);
        return true;
    }
    static void remove(Wait& wait) noexcept {
        if (!wait.linked()) return;
        IntrusiveList<Wait>::remove(wait);
        wait.want_wake(false);
    }
    /// All, and nothing that is waited for is touched any more.
    void forget() noexcept {
        const auto drop = [](Wait& wait) { IntrusiveList<Wait>::remove(wait); };
        standing_.for_each(drop);
        slept_over_.for_each(drop);
    }

private:
    IntrusiveList<Wait> standing_;
    IntrusiveList<Wait> slept_over_;
};

}  // namespace fci::progress
