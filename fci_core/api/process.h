// Process: the composition root. Its members, in order, are the layer diagram; they are built from
// the bottom up and torn down in reverse. Nothing here is global: N ranks can be N objects.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "fci_core/api/final_report.h"
#include "fci_core/api/icl.h"
#include "fci_core/base/counters.h"
#include "fci_core/base/parameters.h"
#include "fci_core/base/report_page.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/driver.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/progress/wait_policy.h"

namespace fci::api {

/// What a caller asks for; empty or 0 leaves it to the environment, then to the default.
struct Wishes {
    std::string driver, protocol, user_agent;
    std::uint64_t job = 0;
    std::uint32_t local_ranks = 0;
    ddi::Card card{};
};

class Process {
public:
    static std::unique_ptr<Process> make(std::unique_ptr<ddi::Device> device, const char* driver,
                                         const mp::Protocol& protocol, const mp::Limits& limits,
                                         const progress::WaitPolicy& policy);
    ~Process();
    static void operator delete(void* process) noexcept;

    [[nodiscard]] ddi::Device& device() noexcept { return *device_; }
    [[nodiscard]] mp::MessagePassing& messages() noexcept { return messages_; }
    [[nodiscard]] const char* driver() const noexcept { return driver_; }

    /// From now on fci_info --job finds it. `job`: the cookie.
    void show(std::uint64_t job);
    Status add_peer(const ddi::Card& card, nhi::Rank* rank);

    /// One bounded turn; where there are more ranks than cores, a long idle caller loses its core
    /// for a moment.
    unsigned progress();
    /// Turns until something happened or the time is over (< 0: none).
    unsigned wait(Nanoseconds timeout);
    /// Before sleeping on the device's descriptor: false when there is work.
    bool arm();
    /// Writes out what was accepted; false when time ran out.
    bool drain(Nanoseconds timeout);

    void set_handler(std::uint32_t id, fci_icl_am_fn handler, void* user);
    [[nodiscard]] std::uint64_t counter(unsigned i);
    /// So many processes, with this one, are its job, and their cards are added before others.
    void set_job_size(nhi::Rank size) noexcept { job_size_ = size; }
    void set_final_report(FinalReport report) noexcept { final_report_ = std::move(report); }
    [[nodiscard]] std::string wait_policy() const;
    [[nodiscard]] unsigned cores() const noexcept { return policy_.cores(); }
    /// "0.1.0, driver shm, protocol enhanced-mixed, wait spin (2 local ranks on 2 cores)".
    [[nodiscard]] std::string summary() const;

private:
    Process(std::unique_ptr<ddi::Device> device, const char* driver, const mp::Protocol& protocol,
            const mp::Limits& limits, const progress::WaitPolicy& policy);
    static void* operator new(std::size_t bytes);

    unsigned idle();
    unsigned poll_network();
    void look_for_strangers();
    void follow(const progress::WaitStep& step, Nanoseconds most);
    void sleep(Nanoseconds timeout);
    void disarm() noexcept;
    void update_report() noexcept;

    ReportPage report_;  // its place is where this object ends
    const char* driver_;
    std::unique_ptr<ddi::Device> device_;
    progress::WaitPolicy policy_;
    unsigned idle_poll_every_;
    unsigned empty_turns_ = 0;
    unsigned until_poll_;
    Nanoseconds report_due_ = 0;
    nhi::Rank job_size_ = 0;
    unsigned reports_waiting_ = 0;  // in a row, with a receive from any source posted
    bool armed_ = false;
    FinalReport final_report_;
    struct Handler {
        fci_icl_am_fn call = nullptr;
        void* user = nullptr;
    };
    std::array<Handler, FCI_ICL_AM_HANDLERS> handlers_{};
    // Last: it ends with the counters, and these begin the report page.
    mp::MessagePassing messages_;
};

/// A process over the driver that fits the wishes and the environment. nullptr with *status and
/// *error, a text for the user.
std::unique_ptr<Process> open_process(const Wishes& wishes, Status* status, std::string* error);

int code_of(Status status) noexcept;

/// Sizes by the number of processes of the job on this host (0: unknown).
mp::Limits limits_for(const Parameters& parameters, std::uint32_t local_ranks);

}  // namespace fci::api
