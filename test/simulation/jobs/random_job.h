// SPDX-License-Identifier: BSD-3-Clause
// RandomJob: one job of processes with random programs, from one seed, and what must be so of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/simulation/jobs/collectives.h"
#include "test/simulation/jobs/plan.h"

namespace fci::jobs {

class RandomJob {
public:
    /// `protocol`: instead of the one that the seed chooses.
    explicit RandomJob(std::uint64_t seed, const mp::Protocol* protocol = nullptr);

    /// What went wrong, or nothing.
    std::string run();
    [[nodiscard]] std::string describe() const { return plan_.describe(); }
    [[nodiscard]] std::uint64_t digest() const { return job_.digest(); }
    [[nodiscard]] std::size_t messages() const { return plan_.messages.size(); }
    /// Of all processes together.
    [[nodiscard]] Counters counters() const;

private:
    /// One side of a message.
    struct Operation {
        RandomJob* job = nullptr;
        std::size_t number = 0;  // of the message, or of the receive that was planned for it
        bool sends = false;
        std::vector<std::byte> buffer{};
        fci_icl_order order = 0;
        bool begun = false, done = false, given_up = false;
        int error = 0;
    };
    /// What a program does while it waits.
    enum class Manner : std::uint8_t {
        looks, looks_between_steps, blocks, descriptor, probes
    };

    void program(unsigned at);
    /// What each process is at, for people.
    [[nodiscard]] std::string present() const;
    void step(unsigned at, const Event& event);
    void send(unsigned at, std::size_t message);
    void post(unsigned at, std::size_t message);
    void probe_and_receive(unsigned at, std::size_t message);
    void look(unsigned at);
    void meet(unsigned at, std::size_t number);
    void take_part(unsigned at, std::size_t number);
    void rest(unsigned at, std::size_t number);
    /// After so many looks at that collective.
    void die_there(unsigned at, std::size_t number, unsigned looks);
    void meet_later(unsigned at, std::size_t number);
    void check_collective(unsigned at, std::size_t number, int answer);
    void await(unsigned at, const std::function<bool()>& is_done);
    void wait_once(unsigned at, Manner manner);
    bool progress(unsigned at);
    void finish(unsigned at);
    void check_accounts(unsigned at);
    [[nodiscard]] bool ends_clean() const;
    void check_calm(unsigned at, Nanoseconds began, Nanoseconds used) const;

    void completed(Operation& operation, const fci_icl_status& status);
    void received(Operation& operation, const fci_icl_status& status);
    [[nodiscard]] bool error_is_fair(const Operation& operation, int error) const;
    [[nodiscard]] fci_icl_completion completion(Operation& operation);

    /// True: the process is not there any more, and neither is its program to be.
    bool ends_here(unsigned at);
    void enter_fork_child(unsigned at);
    void give_up(unsigned at);
    [[nodiscard]] bool may_give_up() const;

    void check(bool holds, unsigned at, const char* what);
    void fail(const std::string& what) const { job_.cores().fail(what); }
    [[nodiscard]] bool failed() const { return job_.cores().failed(); }
    [[nodiscard]] fci_icl_context* context(unsigned at);
    [[nodiscard]] Nanoseconds now() const { return job_.world().now(); }
    [[nodiscard]] std::string text_of(const Operation& operation) const;

    Plan plan_;
    mutable Job job_;
    std::vector<Operation> sends_, receives_;  // by message
    Collectives collectives_;
    std::vector<bool> arrived_;                // by message
    std::vector<Prng> chance_;                 // by process
    std::vector<std::uint64_t> own_sleeps_;    // by process: on its descriptor
    std::vector<const Event*> present_;        // by process; nullptr: its end
    std::vector<bool> gone_;                   // by process: it has ended, in whichever way
    Nanoseconds death_;                        // when the victim dies
    bool died_ = false;                        // it has
    std::vector<unsigned> resting_;            // by collective: so many are here, to rest
};

}  // namespace fci::jobs
