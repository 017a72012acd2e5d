// SPDX-License-Identifier: BSD-3-Clause
// HandTcp: the TCP device below a ucx driver, as its test wants it: peers arrive and end when the
// test says so, the clock is the test's, and what is written to a peer lies in memory that the test
// reads, or is the block of another HandTcp.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/ucx/hello.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/notices.h"
#include "fci_core/nhi/bookkeeping.h"

namespace fci::ucx::test {

class HandTcp final : public ddi::Device, private nhi::Bookkeeping {
public:
    using Block = std::shared_ptr<std::vector<std::byte>>;
    struct Peer {
        ddi::Card card{};
        bool is_met = false;
        std::uint32_t tail_bytes = kTail;  // as it says
        unsigned connects = 0;
        // The block here, which the peer writes, and the one that the peer keeps.
        Block here = std::make_shared<std::vector<std::byte>>(kTail);
        Block there = std::make_shared<std::vector<std::byte>>(kTail);
    };

    explicit HandTcp(std::uint64_t incarnation = 1, std::span<std::byte> memory = {})
        : Bookkeeping(memory), memory_(memory) {
        own_.incarnation = incarnation;
        own_.port = static_cast<std::uint16_t>(incarnation);
        peers_[nhi::kSelf].card = own_;
        network_choice_.host = 0x0100007f;
    }

    // --- what the test does ---

    Peer& at(nhi::PeerId id) { return peers_[id]; }
    /// The driver hears in the next turn that the peer was met. A new one gets the next number.
    nhi::PeerId meet(nhi::PeerId id = nhi::kNoPeer) {
        if (id == nhi::kNoPeer) id = peers();
        peers_[id].is_met = true;
        notices_.add({id, Status::ok, {}});
        return id;
    }
    void lose(nhi::PeerId id, Status why, const std::string& reason) {
        notices_.add({id, why, reason});
    }
    /// The two are peers, `id` of each other; neither has met the other yet.
    static void link(HandTcp& one, HandTcp& other, nhi::PeerId id = 1) {
        Peer &its = one.peers_[id], &others = other.peers_[id];
        its.card = other.own_;
        others.card = one.own_;
        its.there = others.here;
        others.there = its.here;
    }
    void ring() { write_word(event_.get()); }
    /// As if a frame had come.
    void raise(std::uint32_t events) { (void)take_events(events); }
    bool may_be_woken() const { return may_wake(); }

    Nanoseconds time = 1'000'000'000, tick = 0;  // by which each look at the clock moves it
    Status connect_answer = Status::ok, add_answer = Status::ok, transfer_answer = Status::ok;
    unsigned strangers = 0;                      // of which the driver hears in the next turn
    unsigned polls = 0, transfers = 0, counted = 0;
    int lost_rank = -1;
    std::vector<Nanoseconds> sleeps{};
    nhi::Hints* its_hints = nullptr;
    nhi::DataWay* its_data = nullptr;
    bool is_busy = false;  // it has not sent all
    std::function<void()> in_poll{}, in_now{};   // called in each turn and each look at the clock
    bool has_event = true;
    ddi::PeerListener* listener() const { return listener_; }

    // --- ddi::Device ---
    const ddi::Card& card() const noexcept override { return own_; }
    nhi::NetworkInterface& network() noexcept override { return *this; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override {
        if (add_answer != Status::ok) return add_answer;
        for (const auto& [known, peer] : peers_) {
            *id = known;
            if (peer.card.incarnation == card.incarnation) return Status::ok;
        }
        *id = peers();
        peers_[*id].card = card;
        return Status::ok;
    }
    Status connect(nhi::PeerId id) override {
        ++at(id).connects;
        return connect_answer;
    }
    const ddi::Card* card_of(nhi::PeerId id) const noexcept override {
        return id < peers() ? &peers_.at(id).card : nullptr;
    }
    nhi::PeerId peers() const noexcept override {
        return static_cast<nhi::PeerId>(peers_.size());
    }
    std::uint64_t sizes(nhi::PeerId id) const noexcept override { return 1000 + id; }
    std::span<std::byte> block(nhi::PeerId id) noexcept override {
        Peer& peer = at(id);
        return peer.is_met ? std::span(*peer.here) : std::span<std::byte>{};
    }
    std::span<std::byte> communication_memory() noexcept override { return memory_; }
    MemoryUse memory() const noexcept override {
        MemoryUse use{};
        use.fixed = 11;
        use.known = 22;
        use.connected = 33;
        return use;
    }
    void sleep(Nanoseconds timeout) noexcept override {
        sleeps.push_back(timeout);
        std::uint64_t count;
        (void)!read(event_.get(), &count, sizeof count);
    }
    int wait_fd() const noexcept override { return has_event ? event_.get() : -1; }
    Nanoseconds now() const noexcept override {
        if (in_now) in_now();
        return const_cast<HandTcp*>(this)->time += tick;
    }
    void count_in(Counters&) noexcept override { ++counted; }
    ddi::About about(nhi::PeerId id) const noexcept override {
        const auto peer = peers_.find(id);
        const std::uint32_t tail = peer != peers_.end() ? peer->second.tail_bytes : 0;
        return {.way = "tcp", .pid = 40 + id, .rank = 7, .loss = -1, .tail_bytes = tail};
    }
    std::string describe(nhi::PeerId id) const override { return "peer " + std::to_string(id); }
    void set_listener(ddi::PeerListener* listener) noexcept override { listener_ = listener; }
    void tell_of_loss(int rank) noexcept override { lost_rank = rank; }

private:
    static void write_word(int fd) {
        const std::uint64_t one = 1;
        (void)!write(fd, &one, sizeof one);
    }

    // --- nhi::NetworkInterface ---
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override {
        if (transfer_answer != Status::ok) return transfer_answer;
        ++transfers;
        std::vector<std::byte>& block = *at(transfer.destination()).there;
        for (unsigned i = 0; i < transfer.parts(); ++i) {
            const nhi::Transfer::Part& part = transfer.part(i);
            if (part.address > block.size() || part.bytes > block.size() - part.address) {
                return Status::invalid;
            }
            std::memcpy(block.data() + part.address, part.from, part.bytes);
        }
        return Status::ok;
    }
    nhi::Link link(nhi::PeerId id) noexcept override {
        const Peer& peer = at(id);
        return {.block_bytes = peer.there->size() - peer.tail_bytes};
    }
    nhi::Hints* hints() noexcept override { return its_hints; }
    nhi::DataWay* data() noexcept override { return its_data; }
    bool is_idle() const noexcept override { return !is_busy; }
    unsigned poll(Nanoseconds) noexcept override {
        ++polls;
        if (in_poll) in_poll();
        const unsigned work = strangers;
        for (; strangers != 0; --strangers) listener_->stranger_came();
        return work + notices_.tell(listener_, [](const ddi::Notice&) { return true; });
    }
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }

    const std::span<std::byte> memory_;
    ddi::Card own_{};
    std::map<nhi::PeerId, Peer> peers_;
    ddi::Notices notices_;
    ddi::PeerListener* listener_ = nullptr;
    host::Descriptor event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

}  // namespace fci::ucx::test
