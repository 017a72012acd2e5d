// SPDX-License-Identifier: BSD-3-Clause
// A shortage of memory that a test makes: some calls of operator new fail, as the test wants it.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "fci_core/ddi/forwarding.h"
#include "fci_core/nhi/forwarding.h"

namespace fci::mp::test {

/// What operator new of this program heeds (shortage_test.cc).
struct Shortage {
    static inline bool in_force = false;    // else no call fails, and none is counted
    static inline unsigned long calls = 0;  // so far
    static inline unsigned long from = 0, until = 0;  // those that fail, by number
    static void plan(unsigned long first, unsigned long count) {
        calls = 0;
        from = first;
        until = first + count;
    }
    static bool refuses() noexcept {
        if (!in_force) return false;
        const unsigned long number = calls++;
        return number >= from && number < until;
    }
};

/// In its scope the shortage is in force, or is not.
class InForce {
public:
    explicit InForce(bool on = true) noexcept : before_(std::exchange(Shortage::in_force, on)) {}
    ~InForce() { Shortage::in_force = before_; }
    InForce(const InForce&) = delete;
    InForce& operator=(const InForce&) = delete;

private:
    bool before_;
};

/// A way for data that has all the memory it wants; the one whose buffers it fills has not.
class SparedData final : public nhi::DataWay, private nhi::DataTarget {
public:
    /// nullptr: the network has no such way, and nothing here is called.
    explicit SparedData(nhi::DataWay* inner) noexcept : inner_(inner) {}
    [[nodiscard]] bool is_there() const noexcept { return inner_ != nullptr; }

    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                std::uint32_t events) noexcept override {
        const InForce not_here(false);
        return inner_->send(id, data, from, events);
    }
    [[nodiscard]] bool has_taken(nhi::PeerId id) const noexcept override {
        const InForce not_here(false);
        return inner_->has_taken(id);
    }
    void give_back(nhi::PeerId id) noexcept override {
        const InForce not_here(false);
        inner_->give_back(id);
    }
    [[nodiscard]] bool waits() const noexcept override { return inner_->waits(); }
    void set_target(nhi::DataTarget* target) noexcept override {
        const InForce not_here(false);
        target_ = target;
        inner_->set_target(target != nullptr ? this : nullptr);
    }

private:
    [[nodiscard]] bool expects(nhi::PeerId from) const noexcept override {
        const InForce here;
        return target_->expects(from);
    }
    [[nodiscard]] bool is_early(nhi::PeerId from, const nhi::Data& data) const noexcept override {
        const InForce here;
        return target_->is_early(from, data);
    }
    [[nodiscard]] std::byte* locate(nhi::PeerId from, const nhi::Data& data) noexcept override {
        const InForce here;
        return target_->locate(from, data);
    }
    [[nodiscard]] bool arrived(nhi::PeerId from, const nhi::Data& data) noexcept override {
        const InForce here;
        return target_->arrived(from, data);
    }

    nhi::DataWay* const inner_;
    nhi::DataTarget* target_ = nullptr;
};

/// A network that has all the memory it wants. The shortage is that of its user. Of hints nothing
/// is spared: no test has both.
class SparedNetwork final : public nhi::Forwarding {
public:
    explicit SparedNetwork(nhi::NetworkInterface& inner) : Forwarding(inner), data_(inner.data()) {}

    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> memory) noexcept override {
        const InForce not_here(false);
        return inner().open_window(number, base, memory);
    }
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override {
        const InForce not_here(false);
        return inner().initiate_transfer(transfer);
    }
    unsigned poll(Nanoseconds now) noexcept override {
        const InForce not_here(false);
        return inner().poll(now);
    }
    std::byte* map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        const InForce not_here(false);
        return inner().map(id, address, bytes);
    }
    nhi::Link link(nhi::PeerId id) noexcept override {
        const InForce not_here(false);
        return inner().link(id);
    }
    Status provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        const InForce not_here(false);
        return inner().provide(id, address, bytes);
    }
    [[nodiscard]] nhi::DataWay* data() noexcept override {
        return data_.is_there() ? &data_ : nullptr;
    }
    Status copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override {
        const InForce not_here(false);
        return inner().copy(id, direction, remote, local, bytes);
    }

private:
    SparedData data_;
};

/// Likewise. What it tells its listener, the listener hears in the shortage.
class SparedDevice final : public ddi::Forwarding {
public:
    explicit SparedDevice(std::unique_ptr<ddi::Device> inner)
        : Forwarding(std::move(inner)), network_(Forwarding::inner().network()) {}

    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return network_; }
    Status connect(nhi::PeerId id) override {
        const InForce not_here(false);
        return inner().connect(id);
    }

private:
    void peer_attached(nhi::PeerId id) override {
        const InForce here;
        Forwarding::peer_attached(id);
    }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        const InForce here;
        Forwarding::peer_lost(id, why, reason);
    }

    SparedNetwork network_;
};

}  // namespace fci::mp::test
