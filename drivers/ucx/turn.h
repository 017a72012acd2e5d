// SPDX-License-Identifier: BSD-3-Clause
// Turn: the work of a device in each poll, and its sleep. UCX is looked at each time, TCP as seldom
// as its news allow.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drivers/host/descriptor.h"
#include "drivers/ucx/leaving.h"
#include "drivers/ucx/meeting.h"
#include "drivers/ucx/peers.h"
#include "drivers/ucx/rendezvous.h"
#include "drivers/ucx/road.h"
#include "fci_core/ddi/device.h"
#include "fci_core/ddi/notices.h"

namespace fci::ucx {

/// Hears of frames and data that come by UCX, from inside a turn, a sleep or the end.
class Arrivals : public Road::Listener, public Rendezvous::Listener {
public:
    /// Begins to bring data that were kept. Returns how many.
    virtual unsigned look() noexcept = 0;
    /// Data wait until their owner has looked at its requests (nhi::DataWay::waits).
    [[nodiscard]] virtual bool waits() const noexcept = 0;
};

class Turn final : private ddi::PeerListener {
public:
    /// Both outlive it; it hears the TCP device. `or_tcp`: as Meeting has it.
    Turn(Peers& peers, ddi::Device& tcp, bool or_tcp = false);
    ~Turn() override;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Opens UCX. `arrivals` outlives close().
    Status open(const Library& library, Arrivals& arrivals, const ddi::Settings& settings,
                std::string* error);
    /// All that was sent arrives, as far as that takes no longer than a second.
    void close() noexcept;
    /// In a child of fork(): leaves all to the parent.
    void abandon() noexcept;

    [[nodiscard]] Road& road() const noexcept { return *road_; }
    [[nodiscard]] Rendezvous& rendezvous() noexcept { return *rendezvous_; }
    [[nodiscard]] ddi::Device& tcp() const noexcept { return tcp_; }
    /// TCP's network, by which some peers go; nullptr: all go by UCX.
    [[nodiscard]] nhi::NetworkInterface* beside() const noexcept {
        return or_tcp_ ? &tcp_.network() : nullptr;
    }
    void set_listener(ddi::PeerListener* listener) noexcept { listener_ = listener; }
    /// This process calls the peer, by TCP.
    void begin_call(nhi::PeerId id);

    /// NetworkInterface::poll.
    unsigned poll(Nanoseconds now) noexcept;
    /// Device::sleep.
    void sleep(Nanoseconds timeout) noexcept;
    /// A caller will sleep on fd(), and looks once more before.
    void watch() noexcept;
    /// An event has come: the sleep must end.
    void wake() noexcept { is_woken_ = true; }
    [[nodiscard]] int fd() const noexcept { return epoll_.get(); }

private:
    Status open_descriptors(std::string* error);
    void end_call(nhi::PeerId id) noexcept;
    void tend(Nanoseconds now) noexcept;
    unsigned tell() noexcept;
    void hush() noexcept;

    // --- ddi::PeerListener, of TCP ---
    void peer_attached(nhi::PeerId id) override;
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override;
    void stranger_came() noexcept override { ++strangers_; }

    static constexpr Nanoseconds kLongAgo = -1'000'000'000;

    Peers& peers_;
    ddi::Device& tcp_;
    const bool or_tcp_;
    ddi::Notices notices_;
    ddi::PeerListener* listener_ = nullptr;
    Arrivals* arrivals_ = nullptr;
    std::optional<Rendezvous> rendezvous_;
    std::unique_ptr<Road> road_;
    std::optional<Meeting> meeting_;
    std::optional<Leaving> leaving_;
    host::Descriptor epoll_, bell_;
    bool is_rung_ = false;    // the bell, for a sleeper on fd()
    bool is_woken_ = false;   // an event has come that ends a sleep
    unsigned strangers_ = 0;  // that the listener has not heard of
    unsigned calls_ = 0;      // of this process, to peers that TCP has not met yet
    unsigned by_tcp_ = 0;     // peers that are attached, and go by TCP
    Nanoseconds tended_ = kLongAgo;
};

}  // namespace fci::ucx
