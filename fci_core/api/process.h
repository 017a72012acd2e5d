// SPDX-License-Identifier: BSD-3-Clause
// Process: the composition root. Its members, in order, are the layer diagram; they are built from
// the bottom up and torn down in reverse. Nothing here is global: N ranks can be N objects.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "fci_core/api/duties.h"
#include "fci_core/api/final_report.h"
#include "fci_core/api/fork_child.h"
#include "fci_core/api/icl.h"
#include "fci_core/api/job_place.h"
#include "fci_core/api/shown.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/parameters.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/driver.h"
#include "fci_core/group/groups.h"
#include "fci_core/mp/fast_path.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/progress/core_share.h"
#include "fci_core/progress/host.h"
#include "fci_core/progress/idle_loop.h"
#include "fci_core/progress/surroundings.h"

namespace fci::api {

/// The options of a caller; empty or 0 leaves it to the environment, then to the default.
struct OpenOptions {
    std::string driver, protocol, launch, user_agent;
    std::uint64_t job = 0;
    std::uint32_t job_ranks = 0, local_ranks = 0;
    ddi::Card card{};
};

class Process {
public:
    /// `host` outlives it. `core`: whether this process shares its core, as far as is known.
    static std::unique_ptr<Process> make(std::unique_ptr<ddi::Device> device, const char* driver,
                                         const mp::Protocol& protocol, const mp::Limits& limits,
                                         const progress::CoreShare& core, progress::Host& host,
                                         JobPlace place = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] ddi::Device& device() noexcept { return *device_; }
    [[nodiscard]] mp::MessagePassing& messages() noexcept { return messages_; }
    [[nodiscard]] group::Groups& groups() noexcept { return groups_; }
    /// How it waits.
    [[nodiscard]] progress::IdleLoop& loop() noexcept { return loop_; }
    [[nodiscard]] const char* driver() const noexcept { return driver_; }
    [[nodiscard]] const JobPlace& place() const noexcept { return place_; }

    /// From now on fci_info --job finds it. `job`: the cookie.
    void show(std::uint64_t job);
    Status add_peer(const ddi::Card& card, nhi::PeerId* id);

    /// One bounded turn: what was done, or an error. Where there are more ranks than cores, a long
    /// idle caller loses its core for a moment.
    int progress() noexcept {
        const mp::Engine::Arrival first = messages_.engine().arrival();
        if (first.is_here) {
            return loop_.alert().any() ? take_alerted(first.peer, first.line)
                                      : messages_.take_arrivals(first.peer, first.line);
        }
        first.peer.in.look_ahead();
        return messages_.engine().is_more_due() ? take_due() : loop_.empty_turn();
    }
    /// The shortest path of a receive that is waited for: the message, if it is here or, where
    /// each rank has a core and the same peer sent last, in a moment. False: nothing happened.
    [[gnu::always_inline]] bool take_awaited(const mp::Pattern& pattern, void* data,
                                             std::uint64_t bytes, mp::Outcome* outcome) noexcept {
        const mp::Engine::Arrival first = messages_.engine().arrival();
        if (!first.is_here && (loop_.is_crowded() || pattern.source != first.peer.id ||
                               !mp::fast::comes_in_a_moment(messages_.engine(), first))) {
            return false;
        }
        // The turn must do more than this path knows; progress() does it.
        if (loop_.needs_turn()) [[unlikely]] return false;
        if (!mp::fast::take_awaited(messages_.engine(), first, pattern, data, bytes, outcome)) {
            return false;
        }
        if (loop_.alert().any()) [[unlikely]] loop_.found(groups_.outstanding().any());
        return true;
    }
    /// Writes out what was accepted; false when time ran out (< 0: that of set_linger).
    bool drain(Nanoseconds timeout);

    [[nodiscard]] ForkChild& fork() noexcept { return fork_; }
    /// In a child of fork(): no memory that was shared is touched any more, and what needs a peer
    /// fails. Progress and waiting answer with this.
    void enter_fork_child() noexcept;
    static constexpr int kOfParent = FCI_ICL_EUNREACHABLE;

    void set_linger(Nanoseconds most) noexcept {
        FCI_ASSERT(most >= 0);
        linger_ = most;
    }
    void set_final_report(FinalReport report) noexcept { final_report_ = std::move(report); }
    /// As they were in the beginning, for callers in C: "spin (2 local ranks on 2 cores)", and
    /// "0.2.0, driver shm (all 2 ranks on this host), protocol enhanced-mixed, wait spin (...)".
    struct Texts {
        std::string wait_policy, summary;
    };
    [[nodiscard]] const Texts& kept() const noexcept { return kept_; }

private:
    Process(std::unique_ptr<ddi::Device> device, const char* driver, const mp::Protocol& protocol,
            const mp::Limits& limits, const progress::CoreShare& core, progress::Host& host,
            JobPlace place);

    int take_alerted(mp::Peer& peer, const gcs::Line& line) noexcept;
    int take_due() noexcept;

    Shown shown_;  // first: it has the counters of all others
    const char* driver_;
    const JobPlace place_;
    std::unique_ptr<ddi::Device> device_;
    mp::MessagePassing messages_;
    group::Groups groups_;
    Duties duties_;
    progress::IdleLoop loop_;
    ForkChild fork_;
    Nanoseconds linger_ = 0;
    FinalReport final_report_;
    const Texts kept_;
};

/// Whether what the environment says of FCI can be used, as far as that is known before anything is
/// opened; if not, *status and *error, a text for the user.
bool check_environment(Status* status, std::string* error);
/// A process over the driver that fits the options and the environment. nullptr with *status and
/// *error, likewise.
std::unique_ptr<Process> open_process(const OpenOptions& options, Status* status,
                                      std::string* error);

int code_of(Status status) noexcept;

/// Sizes go by these.
struct Machine {
    unsigned cores;
    progress::Caches caches;
};
/// Sizes by the number of processes of the job on this host (0: unknown), and by the host.
mp::Limits limits_for(const Parameters& parameters, const mp::Protocol& protocol,
                      std::uint32_t local_ranks, const Machine& machine);

}  // namespace fci::api
