// SPDX-License-Identifier: BSD-3-Clause
// Simulation: one random program of a few processes over a simulated network, from one seed.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "drivers/sim/stream/stream_world.h"
#include "drivers/tap/fault/fault_device.h"
#include "fci_core/base/prng.h"
#include "fci_core/mp/message_passing.h"
#include "test/simulation/bell.h"
#include "test/simulation/knocker.h"
#include "test/simulation/one_run.h"
#include "test/simulation/places.h"
#include "test/simulation/reference.h"

namespace fci::simulation {

inline constexpr std::uint32_t kHandler = 7;  // of active messages

sim::WorldOptions world_options(std::uint64_t seed, Network network);
sim::StreamOptions stream_options(std::uint64_t seed);
tap::FaultOptions faults(std::uint64_t seed);

template <class T, std::size_t N>
const T& one_of(Prng& prng, const T (&choices)[N]) {
    return choices[prng.below(N)];
}

class Simulation {
public:
    /// `protocol`: instead of the one that the seed chooses.
    explicit Simulation(std::uint64_t seed, Network network = Network::simulated,
                        const mp::Protocol* protocol = nullptr);
    ~Simulation();

    /// What went wrong, or nothing.
    std::string run();
    /// The choices that the seed made for this run, for people.
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] std::uint64_t digest() const;
    [[nodiscard]] std::size_t messages() const { return reference_.messages.size(); }
    /// Of all processes together.
    [[nodiscard]] Counters counters() const;

private:
    struct Endpoint {
        std::unique_ptr<tap::FaultDevice> device;
        std::unique_ptr<mp::MessagePassing> mp;
        ddi::Card card;
        unsigned left = 0;  // operations still to start
        void close() {
            mp.reset();
            device.reset();
        }
    };
    /// What a completion carries back.
    struct Ticket {
        Simulation* simulation;
        std::size_t number;
    };

    void choose();
    [[nodiscard]] bool shares_memory() const;
    void find_places();
    void let_strangers_call(const ddi::Settings& settings);
    [[nodiscard]] std::unique_ptr<ddi::Device> open(unsigned process,
                                                    const ddi::Settings& settings);
    void choose_limits();
    void choose_meeting();
    /// As limits_, but for how large things are, which every process decides for itself.
    [[nodiscard]] mp::Limits limits_of(unsigned process) const;
    void fail(const std::string& what);
    [[nodiscard]] bool failed() const { return !failure_.empty(); }

    // Calls into the core, one of each kind of operation.
    void act(unsigned at);
    void act(unsigned at, std::uint64_t kind);
    void send(unsigned at);
    void send_active(unsigned at);
    void receive(unsigned at);
    void probe(unsigned at, bool everything);
    void take_claimed(unsigned at, const Receive& like, std::size_t message, mp::Arrived* claimed);
    void cancel(unsigned at);

    // What the core answers.
    void send_completed(std::size_t message, const mp::Outcome* outcome);
    void receive_completed(std::size_t receive, const mp::Outcome* outcome);
    void handle(unsigned at, nhi::PeerId source, const void* header, std::size_t header_bytes,
                const void* data, std::uint64_t bytes, mp::ReceiveTarget* landing);
    void note(std::uint64_t word);
    void check_data(std::size_t message, const std::byte* data, std::uint64_t bytes);
    [[nodiscard]] unsigned partner_of(const Receive& receive, const mp::Outcome& outcome) const;
    void check_outcome(const Receive& receive, const mp::Outcome& outcome);

    void turn(unsigned at);
    [[nodiscard]] Nanoseconds now() const;
    Nanoseconds read_clock();
    [[nodiscard]] Nanoseconds next_ring() const;
    void step() {
        (void)world_.step();
        (void)streams_.step();
    }
    void run_until(Nanoseconds when);
    [[nodiscard]] bool idle() const { return world_.idle() && streams_.idle(); }
    void bury();
    void turn_others();
    [[nodiscard]] bool dead(unsigned process) const { return reference_.killed == process; }
    [[nodiscard]] bool lost_is_fair(unsigned at, unsigned other);
    [[nodiscard]] bool has_met(unsigned at, unsigned other);
    [[nodiscard]] bool strangers(unsigned at, unsigned other) const;
    [[nodiscard]] bool rest();
    void meet();
    void take_all(unsigned at);
    void finish();
    void check_mourning();

    [[nodiscard]] nhi::PeerId id_of(unsigned at, unsigned process);
    [[nodiscard]] unsigned process_of(unsigned at, nhi::PeerId id) const;
    [[nodiscard]] std::uint64_t some_length();
    [[nodiscard]] unsigned some_process();
    [[nodiscard]] mp::Pattern some_pattern(unsigned at);
    [[nodiscard]] mp::Pattern in_ranks(unsigned at, mp::Pattern pattern);
    std::size_t new_message(unsigned at, bool active);
    [[nodiscard]] mp::Completion completion(std::size_t number, bool of_send);

    std::uint64_t seed_;
    Network network_;
    bool fast_path_;  // short messages may go by mp/fast_path.h
    Prng prng_;
    sim::WorldOptions world_options_;
    tap::FaultOptions faults_;
    mp::Limits limits_;
    const mp::Protocol* protocol_ = nullptr;
    unsigned processes_ = 0, operations_ = 0, tags_ = 0;
    unsigned any_percent_ = 0, long_percent_ = 0, act_percent_ = 0, burst_percent_ = 0;
    std::uint64_t weights_[5] = {};  // of sends, active messages, receives, probes, cancels
    unsigned partner_ = Reference::kNobody;  // of a burst
    unsigned victim_ = Reference::kNobody;
    unsigned parted_from_ = Reference::kNobody;  // the victim, which lives on
    bool silently_ = false;
    Nanoseconds death_ = 0;
    bool falls_silent_ = false;  // a host, before its process closes
    bool calls_cross_ = false;   // when all meet at once
    unsigned knock_percent_ = 0;
    Moment moment_ = 0, died_ = kNever;
    bool warm_ = false, leaves_ = false, finishing_ = false;
    sim::World world_;
    sim::StreamWorld streams_;
    Reference reference_;
    std::optional<Knocker> knocker_{};
    std::uint64_t course_ = 0;  // of all completions, with their times
    // Where memory is shared.
    std::optional<Places> places_;
    std::deque<Bell> bells_;  // by process
    Prng clock_;
    std::uint64_t read_most_ = 1;  // of time, for a look at a clock
    std::deque<Ticket> tickets_;
    std::vector<iovec> landing_ranges_;  // valid until the handler is left
    std::vector<Endpoint> ends_;
    std::string failure_;
};

}  // namespace fci::simulation
