// SPDX-License-Identifier: BSD-3-Clause
// Job: a few processes (api::Process) over a simulated network, on a simulated host.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/tap/fault/fault_device.h"
#include "fci_core/api/process.h"
#include "test/simulation/jobs/cores.h"

namespace fci::jobs {

struct JobOptions {
    unsigned processes = 2;
    sim::WorldOptions world{};
    CoreOptions host{};
    tap::FaultOptions faults{};
    std::string wait = "auto";  // as FCI_WAIT says it
    unsigned told_ranks = 0;    // what they are told of the host; 0: nothing
    unsigned told_cores = 0;    // 0: the truth
    const mp::Protocol* protocol = &mp::kEnhancedMixed;
    mp::Limits limits{};
};

class Job {
public:
    explicit Job(const JobOptions& options);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// Small blocks, so that limits are reached.
    static mp::Limits small_limits();

    [[nodiscard]] sim::World& world() noexcept { return world_; }
    [[nodiscard]] Cores& cores() noexcept { return *cores_; }
    [[nodiscard]] unsigned size() const noexcept { return options_.processes; }
    /// Ends with close().
    [[nodiscard]] api::Process& process(unsigned number) { return *ends_.at(number).process; }
    [[nodiscard]] bool is_open(unsigned number) const {
        return ends_.at(number).process != nullptr;
    }
    /// How `at` calls that process, and which process it calls so.
    [[nodiscard]] static nhi::PeerId id_of(unsigned at, unsigned process) noexcept;
    [[nodiscard]] static unsigned process_of(unsigned at, nhi::PeerId id) noexcept;

    /// The object goes, as in MPI_Finalize; what it counted is kept.
    void close(unsigned number);
    /// The process stops between two of its calls, as by kill -9: nobody hears of it but by that.
    void kill(unsigned number);
    [[nodiscard]] Counters counters(unsigned number) const;

    /// All programs side by side, one for each process; what went wrong, or nothing.
    std::string run(std::vector<std::function<void()>> programs, Nanoseconds most);
    /// Of all that happened: equal for equal runs.
    [[nodiscard]] std::uint64_t digest() const;

private:
    [[nodiscard]] bool has_work(unsigned number);

    struct End {
        std::unique_ptr<api::Process> process;
        const tap::FaultDevice* tap = nullptr;  // its device, while it is open
        ddi::Card card;
        Counters counters;
    };

    JobOptions options_;
    sim::World world_;
    std::unique_ptr<Cores> cores_;
    std::vector<std::function<void()>> programs_;
    std::vector<End> ends_;
};

}  // namespace fci::jobs
