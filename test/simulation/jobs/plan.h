// SPDX-License-Identifier: BSD-3-Clause
// Plan: what the seed chooses for one job: its host, its network, its messages, and the program of
// each process.
//
// No program waits for what can only happen after its wait: all events of a job have a place in one
// order, each process goes through its own in that order, and waits for nothing that lies behind.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "test/simulation/jobs/job.h"

namespace fci::jobs {

inline constexpr unsigned kNobody = ~0u;
inline constexpr std::size_t kNoCollective = ~std::size_t{0};
inline constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::max();

struct Event {
    enum class Kind : std::uint8_t {
        send, post, wait_for_send, wait_for_receive, probe_and_receive, compute, look, collective
    };
    std::uint64_t place;  // in the order of all
    Kind kind;
    std::size_t message = 0;  // or collective
    Nanoseconds span = 0;  // compute
};

struct Message {
    unsigned from = 0, to = 0;
    std::uint64_t bytes = 0;
    bool any = false;  // its receive takes what anybody sends with this mark
    bool synchronous = false;
};

struct Collective {
    enum class Kind : std::uint8_t { form, barrier, broadcast, gather, reduce };
    Kind kind = Kind::form;
    std::vector<unsigned> members{};  // of the group that forms: processes, by rank
    unsigned root = 0;  // a process, or FCI_ICL_GROUP_ALL
    std::size_t bytes = 0;
    bool starts = false;  // it goes on in progress
    std::size_t long_bytes = 0;  // instead, where its group takes so many; 0: it does not
    unsigned odd = kNobody;      // the process that has another length, this one:
    std::size_t odd_bytes = 0;
    unsigned late = kNobody;     // the process that computes for so long before it comes
    Nanoseconds late_by = 0;
    Nanoseconds rest = 0;        // so long all processes do nothing, once all are here
};

struct Plan {
    explicit Plan(std::uint64_t seed, const mp::Protocol* protocol = nullptr);

    [[nodiscard]] std::string describe() const;
    [[nodiscard]] bool oversubscribed() const noexcept {
        return job.processes > job.host.cores;
    }
    /// Who waits for long must leave the cores to others.
    [[nodiscard]] bool must_be_calm() const noexcept {
        return oversubscribed() && told_truth && (job.wait == "auto" || job.wait == "sleep");
    }

    JobOptions job;
    std::vector<Message> messages;
    std::vector<Collective> collectives;  // of all processes, in this order
    std::vector<std::vector<Event>> programs;  // by process
    std::vector<bool> shared;                  // by process: as several threads use it
    bool told_truth = true;                    // of the host
    Nanoseconds look = 0;                      // what a caller does between two looks, at most
    Nanoseconds long_wait = 0;                 // of all for one that computes; 0: there is none
    unsigned victim = kNobody;
    bool forks = false;  // it ends as a child of fork(); else it dies
    Nanoseconds death = 0;  // kNoTime: in that collective, after so many looks, or behind it
    std::size_t death_in = kNoCollective;
    unsigned death_looks = 0;

private:
    void choose_host(Prng& prng);
    void choose_network(Prng& prng);
    void choose_limits(Prng& prng);
    void choose_many(Prng prng);
    void choose_groups(Prng prng);
    void choose_hints(Prng prng);
    void choose_messages(Prng& prng);
    void choose_collectives(Prng prng);
    void add_group(Prng& prng);
    void add_row(Prng& prng);
    void choose_rests(Prng& prng);
    void choose_death(Prng& prng);
    void choose_programs(Prng& prng);
    void add_receive(Prng& prng, std::size_t message, std::uint64_t sent);

    bool has_groups_ = false;
    std::vector<unsigned> members_;          // of the last group
    std::vector<std::uint64_t> any_posted_;  // by process: the place of its last such receive
};

}  // namespace fci::jobs
