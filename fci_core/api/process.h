// SPDX-License-Identifier: BSD-3-Clause
// Process: the composition root. Its members, in order, are the layer diagram; they are built from
// the bottom up and torn down in reverse. Nothing here is global: N ranks can be N objects.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fci_core/api/final_report.h"
#include "fci_core/api/icl.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/counters.h"
#include "fci_core/base/fork_watch.h"
#include "fci_core/base/parameters.h"
#include "fci_core/base/report_page.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/driver.h"
#include "fci_core/group/groups.h"
#include "fci_core/mp/fast_path.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/progress/busy_polls.h"
#include "fci_core/progress/host.h"
#include "fci_core/progress/surroundings.h"
#include "fci_core/progress/wait.h"
#include "fci_core/progress/wait_policy.h"

namespace fci::api {

/// What a caller asks for; empty or 0 leaves it to the environment, then to the default.
struct OpenOptions {
    std::string driver, protocol, launch, user_agent;
    std::uint64_t job = 0;
    std::uint32_t job_ranks = 0, local_ranks = 0;
    ddi::Card card{};
};

/// What a process is told of its job.
struct JobPlace {
    nhi::PeerId ranks = 0;        // with this one; their cards are added before others
    nhi::PeerId local_ranks = 0;  // of them, on this host
    int local_rank = -1;          // which of these it is; -1: unknown
    std::string why_driver{};     // it has this one, for the user; may be empty
};

class Process {
public:
    /// `host` outlives it.
    static std::unique_ptr<Process> make(std::unique_ptr<ddi::Device> device, const char* driver,
                                         const mp::Protocol& protocol, const mp::Limits& limits,
                                         const progress::WaitPolicy& policy, progress::Host& host);
    ~Process();
    static void operator delete(void* process) noexcept;

    [[nodiscard]] ddi::Device& device() noexcept { return *device_; }
    [[nodiscard]] mp::MessagePassing& messages() noexcept { return messages_; }
    [[nodiscard]] const char* driver() const noexcept { return driver_; }

    /// From now on fci_info --job finds it. `job`: the cookie.
    void show(std::uint64_t job);
    Status add_peer(const ddi::Card& card, nhi::PeerId* id);

    /// One bounded turn: what was done, or an error. Where there are more ranks than cores, a long
    /// idle caller loses its core for a moment.
    int progress() noexcept {
        const mp::Engine::Arrival first = messages_.engine().arrival();
        if (first.is_here) {
            return alert_ != 0 ? take_alerted(first.peer, first.line)
                               : messages_.take_arrivals(first.peer, first.line);
        }
        first.peer.in.look_ahead();
        return messages_.engine().is_more_due() ? take_due() : count_idle();
    }
    /// The shortest path of a receive that is waited for: the message, if it is here or, where
    /// each rank has a core and the same peer sent last, in a moment. False: nothing happened.
    [[gnu::always_inline]] bool take_awaited(const mp::Pattern& pattern, void* data,
                                             std::uint64_t bytes, mp::Outcome* outcome) noexcept {
        const mp::Engine::Arrival first = messages_.engine().arrival();
        if (!first.is_here && (oversubscribed_ || pattern.source != first.peer.id ||
                               !mp::fast::comes_in_a_moment(messages_.engine(), first))) {
            return false;
        }
        // The turn must do more than this path knows; progress() does it.
        if ((alert_ & kLookUp) != 0 || wake_ != Wake::off) [[unlikely]] return false;
        if (!mp::fast::take_awaited(messages_.engine(), first, pattern, data, bytes, outcome)) {
            return false;
        }
        if (alert_ != 0) [[unlikely]] worked();
        return true;
    }
    /// Turns until something happened or the time is over (< 0: none).
    int wait(Nanoseconds timeout);
    /// A turn that counts as none: it is in no row of empty ones, over which a caller falls asleep.
    int turn_apart();
    /// Something was begun that only a turn finds to be over: of those planned the next one is the
    /// last, and one that finds work is not without more.
    void look_at_each_turn() noexcept {
        alert_ |= kAlways;
        planned_ -= until_idle_ - 1;
        until_idle_ = 1;
    }
    /// One step of a wait, to be repeated until it is over. Where cores are short it gives the core
    /// to whom it waits for, and after some time sleeps.
    progress::Step step(progress::Wait& wait) noexcept;
    /// Other threads wait while this one is in progress().
    void share() noexcept { shared_ = true; }
    [[nodiscard]] unsigned looks() const noexcept { return policy_.looks(shared_); }
    /// What progress may do when nothing happens: FCI_ICL_MAY_SLEEP and the like.
    void set_idle(int idle) noexcept { idle_ = idle; }
    /// Before sleeping on the device's descriptor: false when there is work. The next turn ends it,
    /// unless other threads share this object: then it lasts until disarm().
    bool arm() {
        if (!begin_sleep()) return false;
        others_sleep_ = shared_;
        return true;
    }
    /// Nobody sleeps on the descriptor any more.
    void disarm() noexcept {
        if (std::exchange(others_sleep_, false)) end_sleep();
    }
    /// Writes out what was accepted; false when time ran out (< 0: that of set_linger).
    bool drain(Nanoseconds timeout);
    [[nodiscard]] group::Groups& groups() noexcept { return *groups_; }
    /// In a child of fork(): no memory that was shared is touched any more, and what needs a peer
    /// fails. Progress and waiting answer with this.
    void enter_fork_child() noexcept;
    /// Told in that child, after that.
    void on_fork(void (*in_child)(void* user), void* user) noexcept {
        in_child_user_ = user;
        in_child_ = in_child;
    }
    static constexpr int kOfParent = FCI_ICL_EUNREACHABLE;
    [[nodiscard]] bool in_fork_child() const noexcept { return in_fork_child_; }

    [[nodiscard]] std::uint64_t counter(unsigned i);
    void set_place(JobPlace place) noexcept {
        FCI_ASSERT(place.local_ranks <= place.ranks);
        place_ = std::move(place);
    }
    [[nodiscard]] const char* why_driver() const noexcept { return place_.why_driver.c_str(); }
    void set_linger(Nanoseconds most) noexcept { linger_ = most; }
    void set_final_report(FinalReport report) noexcept { final_report_ = std::move(report); }
    [[nodiscard]] const progress::WaitPolicy& policy() const noexcept { return policy_; }
    /// "0.2.0, driver shm (all 2 ranks on this host), protocol enhanced-mixed, wait spin (2 local
    /// ranks on 2 cores)".
    [[nodiscard]] std::string summary() const;
    /// Both as they were in the beginning, for callers in C.
    struct Texts {
        std::string wait_policy, summary;
    };
    void keep_texts() { kept_ = {policy_.describe(), summary()}; }
    [[nodiscard]] const Texts& kept() const noexcept { return kept_; }

private:
    Process(std::unique_ptr<ddi::Device> device, const char* driver, const mp::Protocol& protocol,
            const mp::Limits& limits, const progress::WaitPolicy& policy, progress::Host& host);
    static void* operator new(std::size_t bytes);

    int take_alerted(mp::Peer& peer, const gcs::Line& line) noexcept;
    int take_due() noexcept;
    int idle() noexcept;
    int count_idle() noexcept { return --until_idle_ != 0 ? 0 : idle(); }
    void worked() noexcept;
    void plan_idle() noexcept;
    unsigned poll_network();
    bool give_core_to_others(progress::Wait& wait);
    void sleep_over(progress::Wait& wait);
    void look_up() noexcept;
    void look_for_strangers();
    bool went_on() noexcept;
    void follow(const progress::WaitStep& step, Nanoseconds most);
    bool sleep(Nanoseconds timeout, progress::Wait* over = nullptr);
    bool begin_sleep(progress::Wait* over = nullptr);
    void end_sleep() noexcept;
    void update_report() noexcept;

    ReportPage report_;  // its place is where this object ends
    const char* driver_;
    std::unique_ptr<ddi::Device> device_;
    progress::WaitPolicy policy_;
    unsigned until_idle_ = 1;   // empty turns in which there is nothing to do but to count them
    unsigned planned_ = 1;      // what that was in the beginning
    unsigned row_ = ~0u;        // empty turns in a row after which the policy is asked; ~0u: never
    unsigned empty_turns_ = 0;  // in a row, those not counted that are left of planned_
    unsigned until_poll_;
    std::uint64_t sends_ = 0;   // of this caller, at the last idle turn
    progress::BusyPolls busy_polls_;
    Nanoseconds report_due_ = 0;
    Nanoseconds linger_ = 0;
    JobPlace place_;
    bool placed_ = false;
    unsigned reports_waiting_ = 0;  // in a row, with a receive from any source posted
    // Whether requests wake this process. Armed: before a sleep, until the next turn. Left on:
    // between two sleeps of one wait. To switch it on makes all other cores pass a barrier, and
    // that takes as long as the hypervisor keeps one of them.
    enum class Wake : std::uint8_t { off, left_on, armed };
    Wake wake_ = Wake::off;
    bool others_sleep_ = false;  // another thread, by arm(): no turn of this one switches it off
    bool oversubscribed_ = false;  // the wait policy asks to hear of every row of empty turns
    // Non-zero: the next turn that finds work must also do what these bits say.
    std::uint8_t alert_ = 0;
    static constexpr std::uint8_t kAlways = 1;  // worked(): requests wake it, or cores are short
    static constexpr std::uint8_t kLookUp = mp::Engine::kCreditReturned;  // look_up()
    bool in_fork_child_ = false;
    void (*in_child_)(void* user) = nullptr;
    void* in_child_user_ = nullptr;
    progress::Host& host_;
    std::optional<ForkWatch> fork_watch_;  // until it begins to end
    bool shared_ = false;
    int idle_ = FCI_ICL_MAY_SLEEP;
    FinalReport final_report_;
    Texts kept_;
    std::optional<group::Groups> groups_;
    progress::Waits waits_;  // before the groups, whose waits they are, end
    // Last: it ends with the counters, and these begin the report page.
    mp::MessagePassing messages_;
};

/// Whether what the environment says of FCI can be used, as far as that is known before anything is
/// opened; if not, *status and *error, a text for the user.
bool check_environment(Status* status, std::string* error);
/// A process over the driver that fits the options and the environment. nullptr with *status and
/// *error, likewise.
std::unique_ptr<Process> open_process(const OpenOptions& options, Status* status,
                                      std::string* error);

int code_of(Status status) noexcept;

/// What sizes go by.
struct Machine {
    unsigned cores;
    progress::Caches caches;
};
/// Sizes by the number of processes of the job on this host (0: unknown), and by the host.
mp::Limits limits_for(const Parameters& parameters, const mp::Protocol& protocol,
                      std::uint32_t local_ranks, const Machine& machine);

}  // namespace fci::api
