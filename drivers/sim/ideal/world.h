// SPDX-License-Identifier: BSD-3-Clause
// World: N processes in one, on an ideal network with virtual time and seeded chance (ch. 3.3).
//
// Nothing here reads a clock or draws from anything but the seed, so a run is repeated bit by bit.
// Time moves when a device polls, sleeps, or step() is called; where there is a Scheduler, only
// when that one says so, by step() and run_until(). Transfers of one process to one destination
// are applied in order, those of different pairs independently. A world outlives its devices, and
// memory that a process shared stays until the world ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drivers/sim/ideal/scheduler.h"
#include "fci_core/base/prng.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"
#include "fci_core/nhi/hints.h"
#include "fci_core/nhi/network_interface.h"
#include "fci_core/nhi/types.h"

namespace fci::sim {

struct HintOptions {
    bool work = false;  // NetworkInterface::hints()
    unsigned lost_percent = 0, twice_percent = 0, late_percent = 0;
    Nanoseconds late_max = 5'000'000;
    std::uint64_t deaf = 0;     // a bit for each process that no hint reaches
    Nanoseconds deaf_from = 0, deaf_until = INT64_MAX;  // in that time
    std::uint64_t without = 0;  // a bit for each process without hints()
    std::uint64_t unheard = 0;  // a bit for each process that can join no group
    std::size_t room = 256;  // pieces that wait at a process, as in a socket of 212 992 bytes
};

struct WorldOptions {
    std::uint64_t seed = 1;
    Nanoseconds delay_min = 100, delay_max = 2000;
    unsigned long_delay_percent = 0;
    Nanoseconds long_delay_max = 200'000;
    unsigned split_percent = 50;  // transfers that readers can see half written
    unsigned again_percent = 0;   // transfers that are answered with Status::again
    Nanoseconds attach_delay_max = 5000;
    unsigned per_host = 0;     // so many processes, in the order in which they open, share a host;
                               // 0: all. Within a host:
    bool mapped = false;       // map() works
    bool stores = false;       // blocks are written by stores, which take no time
    bool kernel_copy = false;  // copy() works
    bool copy_faults = false;  // ... but finds no memory at either address
    unsigned refused_percent = 0;  // ... and for so many only 0 to 29 times, in either direction
    // Between hosts:
    bool direct = false;       // NetworkInterface::data() works
    HintOptions hints{};
};

class Station;

class World {
public:
    explicit World(const WorldOptions& options);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// The next process: number 0, 1, ... at 127.0.0.1, port number + 1 unless settings want
    /// another. nullptr and a reason when that port is taken. Settings::seed is not used: chance
    /// belongs to the world.
    std::unique_ptr<ddi::Device> open(const ddi::Settings& settings, std::string* reason = nullptr);

    [[nodiscard]] Nanoseconds now() const noexcept { return now_; }
    /// On to the next thing that happens; false when nothing is on its way.
    bool step() noexcept;
    void run_until(Nanoseconds when) noexcept;
    [[nodiscard]] bool idle() const noexcept { return actions_.empty(); }
    /// When the next thing happens; kNever: nothing is on its way.
    [[nodiscard]] Nanoseconds next_time() const noexcept {
        return actions_.empty() ? kNever : actions_.front().time;
    }
    static constexpr Nanoseconds kNever = INT64_MAX;
    /// Nothing that this process sent is on its way any more.
    [[nodiscard]] bool is_idle(unsigned process) const noexcept;

    /// Before the first call of a process. nullptr: nobody.
    void set_scheduler(Scheduler* scheduler) noexcept { scheduler_ = scheduler; }
    /// An unmasked event, an arrival or a departure has come, which ends a sleep of the process.
    /// Data alone do not, as a driver whose peers store them here would not see them either.
    [[nodiscard]] bool is_woken(unsigned process) const noexcept;
    /// Something that may end it is on its way.
    [[nodiscard]] bool will_be_woken(unsigned process) const noexcept;

    /// After so many more calls copy() of the process is unsupported in that direction, for ever.
    void refuse_copies(unsigned process, nhi::NetworkInterface::Direction direction,
                       unsigned calls = 0) noexcept;

    /// The process stops, as by kill -9: what it had sent arrives up to some point.
    void kill(unsigned process) noexcept;
    void kill_at(unsigned process, Nanoseconds when) noexcept;

    struct Statistics {
        std::uint64_t transfers, parts, bytes, events;  // accepted, counted once per destination
        std::uint64_t again;                            // refused by chance
        std::uint64_t dropped;                          // writes to no window, no process
        std::uint64_t hints, hints_lost;                // pieces, counted once per destination
    };
    [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }
    /// Of everything that was applied so far, with its time and place: equal for equal runs. Not
    /// of the bytes, as those may hold addresses, which the system chooses anew for every run.
    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

    /// An action that happens at a given time.
    struct Action {
        enum class Kind : std::uint8_t {
            write, data, raise, push, hint, attach, notice_attached, notice_lost, die
        };
        Kind kind;
        bool has_waited = false;            // for its reader, or behind what did
        Status why = Status::ok;            // notice_lost
        unsigned from = 0, to = 0;          // process numbers
        Nanoseconds time = 0;
        std::uint64_t order = 0;            // of issue, among actions of one time
        std::uint64_t address = 0;          // write: LcsAddress; data: its name;
                                            // notices: the peer
        std::uint64_t offset = 0, bytes = 0;  // write: offset in the part, and length
        std::uint64_t skip = 0;             // write: the part's place in the payload
        std::uint32_t events = 0;
        std::shared_ptr<std::vector<std::byte>> payload{};
        const std::byte* borrowed = nullptr;  // data, where there is no payload
        std::string reason{};               // notice_lost
        nhi::Hint hint{};
        decltype(nhi::HintGroup::key) key{};  // of the hint's group
        [[nodiscard]] bool later_than(const Action& other) const noexcept {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

private:
    friend class Station;
    friend class StationData;
    friend class StationHints;

    void schedule(Nanoseconds time, Action action) noexcept;
    void apply(Action& action) noexcept;
    void apply_write(const Action& action) noexcept;
    void apply_attach(const Action& action) noexcept;
    void mark(std::uint64_t word) noexcept;
    [[nodiscard]] Nanoseconds draw_delay() noexcept;
    /// When the next action of the pair may happen: never before the one issued last.
    [[nodiscard]] Nanoseconds pair_time(unsigned from, unsigned to, Nanoseconds delay) noexcept;
    void tell_lost(Station& to, nhi::PeerId id, Nanoseconds after, Status why,
                   const std::string& reason) noexcept;
    void depart(Station& leaving, Status why, const char* how) noexcept;
    void turn(Nanoseconds now) noexcept;
    void pass(unsigned process, Call call) noexcept {
        if (scheduler_ != nullptr) scheduler_->pass(process, call);
    }
    [[nodiscard]] bool share_host(unsigned one, unsigned other) const noexcept {
        return options_.per_host == 0 || one / options_.per_host == other / options_.per_host;
    }
    [[nodiscard]] Station* at(const ddi::Card& card) noexcept;

    WorldOptions options_;
    Prng prng_;
    Scheduler* scheduler_ = nullptr;
    Nanoseconds now_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t digest_ = 0;
    unsigned quiet_turns_ = 0;
    Statistics statistics_{};
    std::vector<Action> actions_;  // heap, the earliest first
    std::vector<std::unique_ptr<Station>> stations_;
};

}  // namespace fci::sim
