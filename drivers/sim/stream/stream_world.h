// SPDX-License-Identifier: BSD-3-Clause
// StreamWorld: N processes in one, between which streams of bytes go, with virtual time and seeded
// chance: the same driver that runs over the kernel's TCP (tcp::Streams) runs over this, and a run
// is repeated bit by bit. All that TCP may do happens here often: bytes are taken and arrive in
// pieces cut anywhere, reads and writes fail for now, windows close, connections stall, calls find
// no descriptor or are hung up, bytes under way are lost when one end goes with unread bytes, and
// two processes can be parted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drivers/sim/stream/link.h"
#include "drivers/tcp/streams.h"
#include "fci_core/base/prng.h"

namespace fci::sim {

struct StreamOptions {
    std::uint64_t seed = 1;
    Nanoseconds call_most = 500;     // until a call gets there
    Nanoseconds delay_most = 5'000;  // until some of the bytes under way arrive
    unsigned stall_per_mille = 0;    // of these delays
    Nanoseconds stall_most = 0;
    unsigned piece_bits = 12;        // of the number of bytes that arrive at once, at most
    std::size_t room_least = 256, room_most = 65536;  // of a pipe, drawn for each; so is its window
    Nanoseconds silence_most = 10'000'000'000;  // until a system gives up
    unsigned short_percent = 0;   // calls that take a part, or nothing for now
    unsigned hang_up_percent = 0;  // calls hung up before the listener answers, 3 for a caller
    unsigned shortage_percent = 0;  // calls and answers for which there is no descriptor
};

class StreamHost;

/// It outlives its processes.
class StreamWorld {
public:
    explicit StreamWorld(const StreamOptions& options) : options_(options), prng_(options.seed) {}
    ~StreamWorld();
    StreamWorld(const StreamWorld&) = delete;
    StreamWorld& operator=(const StreamWorld&) = delete;

    /// For process number 0, 1, ...
    std::unique_ptr<tcp::Streams> add_process();

    [[nodiscard]] Nanoseconds now() const noexcept { return now_; }
    /// On to the next thing that happens; false where nothing does before next_ring().
    bool step() noexcept;
    void run_until(Nanoseconds when) noexcept;
    [[nodiscard]] bool idle() const noexcept {
        return actions_.empty() || next_action() > std::max(next_ring(), now_);
    }
    /// When some process wants to be called, at the earliest.
    [[nodiscard]] Nanoseconds next_ring() const noexcept;
    static constexpr Nanoseconds kNever = INT64_MAX;

    /// Called while a process pauses, to run the others.
    void set_meanwhile(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

    /// As by kill -9: its system closes what it had.
    void kill(unsigned process) noexcept;
    /// Breaks the links between two processes, in their sight or without a word. They may connect
    /// anew, unless `silently`.
    void part(unsigned one, unsigned other, bool silently) noexcept;

    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

private:
    friend class StreamHost;

    struct Action {
        enum class Kind : std::uint8_t { connect, arrive, uncork, reset, time_out };
        Kind kind;
        unsigned side = 0;  // whose end; of arrive and uncork: into which
        Nanoseconds time = 0;
        std::uint64_t order = 0;
        std::shared_ptr<Link> link{};
        [[nodiscard]] bool later_than(const Action& other) const noexcept {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    // Actions that are due.
    [[nodiscard]] Nanoseconds next_action() const noexcept {
        return actions_.empty() ? kNever : actions_.front().time;
    }
    void schedule(Nanoseconds after, Action::Kind kind, const std::shared_ptr<Link>& link,
                  unsigned side);
    void apply(const Action& action);
    void connect(const std::shared_ptr<Link>& link);
    void arrive(const std::shared_ptr<Link>& link, unsigned side);
    /// Something may arrive at that end: some time it does.
    void move(const std::shared_ptr<Link>& link, unsigned side);
    void close(const std::shared_ptr<Link>& link, unsigned side);
    void abort(const std::shared_ptr<Link>& link, unsigned side);
    /// A process calls its system.
    void enter() noexcept;
    [[nodiscard]] Nanoseconds draw(Nanoseconds most) noexcept {
        return static_cast<Nanoseconds>(prng_.below(static_cast<std::uint64_t>(most) + 1));
    }
    [[nodiscard]] bool chance(unsigned percent) noexcept { return prng_.chance(percent); }
    void mark(std::uint64_t word) noexcept;
    [[nodiscard]] bool is_cut(unsigned one, unsigned other) const noexcept;

    const StreamOptions options_;
    Prng prng_;
    Nanoseconds now_ = 1;
    std::uint64_t issued_ = 0, digest_ = 0;
    std::vector<Action> actions_;     // heap, the earliest first
    std::vector<StreamHost*> hosts_;  // by process; nullptr: it is gone
    std::map<std::pair<std::uint32_t, std::uint16_t>, unsigned> listeners_;  // by place
    std::vector<std::weak_ptr<Link>> links_;
    std::vector<std::pair<unsigned, unsigned>> cut_;
    std::vector<unsigned> hung_up_;  // times, by caller
    std::function<void()> meanwhile_ = [] {};
};

}  // namespace fci::sim
