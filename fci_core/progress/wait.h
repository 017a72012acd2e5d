// SPDX-License-Identifier: BSD-3-Clause
// Wait: somebody waits for what no receive of its own stands for, a flag in shared memory. Who
// waits tells what for, so that its process sleeps over it, and is woken (§2.7.4).
#pragma once

#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/base/intrusive_list.h"
#include "fci_core/base/status.h"

namespace fci::progress {

/// One is stepped until it is over (api::Process::step).
class Wait : public ListLink {
public:
    Wait() noexcept = default;
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    virtual ~Wait() { FCI_ASSERT(!linked()); }

    /// There is nothing to wait for any more. Loads only.
    [[nodiscard]] virtual bool is_over() noexcept = 0;
    /// Somebody who is waited for was last seen on this core, where the caller is, and must have it
    /// to go on.
    [[nodiscard]] virtual bool needs(unsigned core) noexcept = 0;
    /// From now on, or no longer, whoever may end this by a flag raises gcs::kWakeEvent here.
    virtual void want_wake(bool wanted) noexcept = 0;
    /// Whoever may end it is able to raise that event.
    [[nodiscard]] virtual bool may_be_woken() const noexcept = 0;

    /// It is ended by the network's own work, which is to be done in each turn of it.
    [[nodiscard]] virtual bool is_for_network() const noexcept { return false; }

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
    turn,   // not for a while: who steps makes progress in between
};

/// Those of a process that take long.
class Waits {
public:
    ~Waits() { forget(); }

    [[nodiscard]] bool empty() const noexcept { return waits_.empty(); }
    /// To be asked once more before a sleep, after the wake event was switched on.
    [[nodiscard]] bool any_over() noexcept {
        bool over = false;
        waits_.for_each([&](Wait& wait) { over = over || wait.is_over(); });
        return over;
    }
    /// False: it is one of them already.
    bool add(Wait& wait) noexcept {
        if (wait.linked()) return false;
        waits_.push_back(wait);
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
        waits_.for_each([](Wait& wait) { IntrusiveList<Wait>::remove(wait); });
    }

private:
    IntrusiveList<Wait> waits_;
};

}  // namespace fci::progress
