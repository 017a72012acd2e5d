// SPDX-License-Identifier: BSD-3-Clause
// StreamHost: one process's system in a StreamWorld.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "drivers/sim/stream/link.h"
#include "drivers/tcp/streams.h"

namespace fci::sim {

class StreamWorld;

/// The stream or the listening socket of a number.
struct Slot {
    bool is_used = false;
    std::shared_ptr<Link> link{};  // none: the place where the process listens, or was dropped
    unsigned side = 0;
    bool is_watched = false;
    tcp::Streams::Event name{};
    unsigned interests = 0;
};

/// The streams of a process by number. A new one gets the lowest free number, as descriptors do.
class Slots {
public:
    [[nodiscard]] int add(std::shared_ptr<Link> link, unsigned side);
    [[nodiscard]] Slot& at(int stream) noexcept;
    [[nodiscard]] std::span<const Slot> all() const noexcept { return slots_; }

private:
    std::vector<Slot> slots_;
};

class StreamHost final : public tcp::Streams {
public:
    StreamHost(StreamWorld& world, unsigned process) : world_(world), process_(process) {}
    ~StreamHost() override;

    Status open(std::string*) override { return Status::ok; }
    void close() noexcept override {}
    int listen(ddi::Card* card) noexcept override;
    int accept(int listening) noexcept override;
    int call(const ddi::Card& from, const ddi::Card& to) noexcept override;
    int outcome(int stream) noexcept override;
    void tune(int) noexcept override {}
    ssize_t send(int stream, std::span<const iovec> ranges, bool lingers) noexcept override;
    ssize_t receive(int stream, std::span<const iovec> ranges) noexcept override;
    void cork(int stream, bool on) noexcept override;
    void tell_from(int stream, int bytes) noexcept override;
    std::size_t under_way(int stream) noexcept override;
    bool sign(int stream, tcp::Pulse::Sign* sign) noexcept override;
    void end(int stream, bool wholly) noexcept override;
    void close(int stream) noexcept override;
    void watch(int stream, Source source, std::uint32_t detail,
               unsigned interests) noexcept override;
    void forget(int stream) noexcept override;
    std::size_t look(std::span<Event, kEventsMost> events) noexcept override;
    bool wait(Nanoseconds timeout) noexcept override;
    void ring() noexcept override { is_rung_ = true; }
    void ring_at(Nanoseconds when) noexcept override { rings_at_ = when; }
    [[nodiscard]] int fd() const noexcept override { return -1; }
    [[nodiscard]] Nanoseconds now() noexcept override;
    void pause(Nanoseconds time) noexcept override;

    // --- for the world ---
    /// A call got here. False: the process does not listen.
    [[nodiscard]] bool take_call(const std::shared_ptr<Link>& link);
    /// The time of the host's timer; 0: none.
    [[nodiscard]] Nanoseconds rings_at() const noexcept { return rings_at_; }
    /// All that it has, as when the process ends.
    void drop_all() noexcept;

private:
    [[nodiscard]] bool has_something(const Slot& slot) noexcept;

    StreamWorld& world_;
    const unsigned process_;
    Slots slots_;
    std::deque<std::shared_ptr<Link>> backlog_;
    ddi::Card place_{};  // where it listens
    bool is_rung_ = false;
    Nanoseconds rings_at_ = 0;
};

}  // namespace fci::sim
