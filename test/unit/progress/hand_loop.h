// SPDX-License-Identifier: BSD-3-Clause
// HandLoop: the waiting loop of a process in virtual time, whose device, host and work a test sets.
#pragma once

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fci_core/progress/idle_loop.h"
#include "test/unit/progress/hand_wait.h"

namespace fci::progress {

/// A network that brings nothing.
class HandNetwork : public nhi::NetworkInterface {
public:
    unsigned polls = 0, poll_every = 1'000'000, work = 0, configured = 0;
    Nanoseconds busy_every = kBusyPollEvery;
    bool is_masked = false;

    Status open_window(nhi::WindowNumber, nhi::LcsAddress,
                       std::span<std::byte>) noexcept override {
        return Status::unsupported;
    }
    Status close_window(nhi::WindowNumber) noexcept override { return Status::unsupported; }
    Status initiate_transfer(const nhi::Transfer&) noexcept override {
        return Status::unsupported;
    }
    Status configure_event(nhi::EventId, nhi::EventSignal) noexcept override {
        ++configured;
        return Status::ok;
    }
    Status mask_event_interrupt(nhi::EventId, bool masked) noexcept override {
        is_masked = masked;
        return Status::ok;
    }
    nhi::Link link(nhi::PeerId) noexcept override { return {}; }
    [[nodiscard]] unsigned idle_poll_every() const noexcept override { return poll_every; }
    [[nodiscard]] Nanoseconds busy_poll_every() const noexcept override { return busy_every; }
    unsigned poll(Nanoseconds) noexcept override {
        ++polls;
        return std::exchange(work, 0);
    }
    [[nodiscard]] std::uint32_t event_count(nhi::EventId) const noexcept override { return 0; }
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override {
        return nullptr;
    }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }
};

class HandDevice final : public ddi::Device {
public:
    HandNetwork hand_network;
    Nanoseconds time = 1;
    Nanoseconds wakes_after = -1;    // what a sleep takes at most; < 0: until its timeout
    std::vector<Nanoseconds> sleeps;  // how long each might last

    [[nodiscard]] const ddi::Card& card() const noexcept override { return card_; }
    nhi::NetworkInterface& network() noexcept override { return hand_network; }
    Status add_peer(const ddi::Card&, nhi::PeerId*) override { return Status::unsupported; }
    Status connect(nhi::PeerId) override { return Status::unsupported; }
    [[nodiscard]] const ddi::Card* card_of(nhi::PeerId) const noexcept override { return nullptr; }
    [[nodiscard]] nhi::PeerId peers() const noexcept override { return 1; }
    [[nodiscard]] std::uint64_t sizes(nhi::PeerId) const noexcept override { return 0; }
    std::span<std::byte> block(nhi::PeerId) noexcept override { return {}; }
    std::span<std::byte> communication_memory() noexcept override { return {}; }
    void sleep(Nanoseconds timeout) noexcept override {
        sleeps.push_back(timeout);
        time += wakes_after < 0 ? timeout : std::min(timeout, wakes_after);
    }
    [[nodiscard]] int wait_fd() const noexcept override { return -1; }
    [[nodiscard]] Nanoseconds now() const noexcept override { return time; }
    [[nodiscard]] std::string describe(nhi::PeerId) const override { return {}; }
    void set_listener(ddi::PeerListener*) noexcept override {}

private:
    ddi::Card card_{};
};

struct HandHost final : Host {
    explicit HandHost(HandDevice& its) : device(its) {}
    void give_core_away() noexcept override {
        ++yields;
        device.time += others;
    }
    unsigned core() noexcept override { return 0; }
    Nanoseconds used_time() noexcept override { return used; }
    Losses losses() noexcept override { return {-1, 0}; }
    void set_slice(Nanoseconds its) noexcept override { slice = its; }
    void take_place(int, unsigned, unsigned) noexcept override {}

    HandDevice& device;
    unsigned yields = 0;
    Nanoseconds others = 3'000;  // what a yield takes
    Nanoseconds used = 0, slice = -1;
};

struct HandWorker final : Worker {
    explicit HandWorker(HandDevice& its) : device(its) {}
    int turn() override {
        ++turns;
        device.time += 100;
        if (lacks_memory) throw std::bad_alloc();
        return turns >= works_from ? 1 : 0;
    }
    int advance(int work) noexcept override { return work + std::exchange(ended, 0); }
    [[nodiscard]] Signs signs() const noexcept override {
        return {begun, expected, is_in_use, goes_on};
    }
    [[nodiscard]] unsigned sleeping() const noexcept override {
        ++looks_for_sleepers;
        return asleep;
    }
    unsigned polled(Nanoseconds, unsigned) override { return met; }

    HandDevice& device;
    unsigned turns = 0, works_from = ~0u;
    int ended = 0;
    std::uint64_t begun = 0;
    unsigned expected = 0, asleep = 0, met = 1;
    mutable unsigned looks_for_sleepers = 0;
    bool lacks_memory = false;
    bool is_in_use = true, goes_on = false;
};

struct HandLoop {
    HandLoop(std::string_view mode, unsigned local_ranks, unsigned cores)
        : loop(device, host, worker, CoreShare(mode, local_ranks, cores), 0, counters) {
        loop.sleeper().waits().enlist(messages);
        (void)ask();  // the first turn only plans
    }
    ~HandLoop() { loop.sleeper().waits().forget(); }

    /// A nonblocking call that finds nothing, a little later. What the loop found.
    int ask(Nanoseconds later = 100) {
        device.time += later;
        return loop.empty_turn();
    }
    /// Until it has slept so often; false: it does not.
    bool ask_until_sleeps(std::size_t many) {
        for (int i = 0; i < 1'000'000 && device.sleeps.size() < many; ++i) (void)ask();
        return device.sleeps.size() >= many;
    }
    /// A turn that found a message.
    void find() {
        if (loop.alert().any()) loop.found(worker.goes_on);
        loop.look_up_if_due();
    }

    HandDevice device;
    HandHost host{device};
    HandWorker worker{device};
    Counters counters;
    HandWait messages;  // stands, and is wanted
    IdleLoop loop;
};

}  // namespace fci::progress
