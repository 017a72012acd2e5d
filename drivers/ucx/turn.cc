// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/turn.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "drivers/host/epoll.h"
#include "drivers/ucx/hello.h"
#include "fci_core/base/assert.h"

namespace fci::ucx {

namespace {

// TCP tells of arrivals and ends only, and a look at it costs as much as two short messages.
constexpr Nanoseconds kLookEvery = 100'000;
// How long TCP sleeps when something has come, so that it takes that in.
constexpr Nanoseconds kMoment = 1'000;
// How long a process sleeps at once that waits for a peer to come or to leave.
constexpr Nanoseconds kNap = 1'000'000;
static_assert(kMoment < kLookEvery && kLookEvery < kNap);

}  // namespace

// --- opening and closing ---

Turn::Turn(Peers& peers, ddi::Device& tcp, bool or_tcp)
    : peers_(peers), tcp_(tcp), or_tcp_(or_tcp) {
    tcp_.set_listener(this);
}

Turn::~Turn() { tcp_.set_listener(nullptr); }

Status Turn::open(const Library& library, Arrivals& arrivals, const ddi::Settings& settings,
                  std::string* error) {
    Status status;
    road_ = Road::open(library, arrivals, &status, error);
    if (road_ == nullptr) return status;
    arrivals_ = &arrivals;
    rendezvous_.emplace(*road_, arrivals);
    if (status = rendezvous_->open(error); status != Status::ok) return status;
    if (const std::size_t bytes = road_->address().size(); bytes > kAddressMost) {
        *error = "UCX's address of this process has " + std::to_string(bytes) + " bytes, " +
                 std::to_string(kAddressMost) + " can be told; UCX_NET_DEVICES names fewer devices";
        return Status::unsupported;
    }
    leaving_.emplace(peers_, *road_, tcp_, notices_);
    meeting_.emplace(peers_, *road_, tcp_, notices_, settings.block_bytes,
                     Nanoseconds{settings.silence_ms} * 1'000'000, or_tcp_);
    return open_descriptors(error);
}

Status Turn::open_descriptors(std::string* error) {
    epoll_ = host::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    bell_ = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    for (const int descriptor : {road_->fd(), bell_.get(), tcp_.wait_fd()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = descriptor;
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) continue;
        *error = host::system_text("no descriptor left");
        return Status::exhausted;
    }
    return Status::ok;
}

void Turn::close() noexcept {
    if (leaving_) leaving_->say_goodbye();
    leaving_.reset();
    meeting_.reset();
    road_.reset();  // UCX may call for what it has not done, and nobody is there later
}

/// The child may close the device, and its buffers are not those that UCX uses.
void Turn::abandon() noexcept {
    FCI_ASSERT(road_ != nullptr);
    leaving_.reset();
    road_->abandon();
    peers_.for_each([](nhi::PeerId, Peer& peer) {
        peer.way = nullptr;
        peer.is_fetching = false;
        peer.coming.clear();
    });
}

// --- what TCP tells ---

void Turn::begin_call(nhi::PeerId id) {
    FCI_ASSERT(peers_.state(id) == PeerState::known);
    peers_.make(id).is_called = true;
    ++calls_;
}

void Turn::end_call(nhi::PeerId id) noexcept {
    Peer* const peer = peers_.find(id);
    if (peer == nullptr || !std::exchange(peer->is_called, false)) return;
    FCI_ASSERT(calls_ != 0);
    --calls_;
}

void Turn::peer_attached(nhi::PeerId id) {
    end_call(id);
    meeting_->begin(id);
}

void Turn::peer_lost(nhi::PeerId id, Status why, const std::string& reason) {
    FCI_ASSERT(why != Status::ok);
    end_call(id);
    meeting_->end(id);
    leaving_->begin({id, why, reason}, tcp_.now());
}

// --- turns ---

unsigned Turn::poll(Nanoseconds now) noexcept {
    hush();
    unsigned work = road_->progress() + arrivals_->look();
    const bool is_due = now - tended_ >= kLookEvery || now < tended_;
    if (is_due || calls_ + by_tcp_ != 0 || meeting_->is_busy() || leaving_->is_busy()) {
        tended_ = now;
        work += tcp_.network().poll(now);
        tend(now);
    }
    for (; strangers_ != 0; --strangers_) {
        if (listener_ != nullptr) listener_->stranger_came();
    }
    return notices_.empty() ? work : work + tell();
}

void Turn::tend(Nanoseconds now) noexcept {
    meeting_->tend(now);
    leaving_->tend(now);
}

unsigned Turn::tell() noexcept {
    return notices_.tell(listener_, [&](const ddi::Notice& notice) {
        Peer& peer = *peers_.find(notice.id);
        if (notice.why == Status::ok) {
            FCI_ASSERT(peer.state == PeerState::joined && (peer.way == nullptr) == peer.is_by_tcp);
            peer.state = peer.end ? PeerState::ending : PeerState::attached;
            if (!peer.end) peer.give_up = 0;
            if (peer.is_by_tcp) ++by_tcp_;
            return true;
        }
        FCI_ASSERT(peer.state == PeerState::ending && !peer.end);
        peer.state = PeerState::lost;
        FCI_ASSERT(!peer.is_by_tcp || by_tcp_ != 0);
        if (peer.is_by_tcp) --by_tcp_;
        if (peer.way != nullptr) road_->close(std::exchange(peer.way, nullptr));
        return true;
    });
}

// --- sleeping ---

/// A caller that sleeps on fd() is rung if UCX has work already.
void Turn::watch() noexcept {
    if (is_rung_ || road_->arm()) return;
    const std::uint64_t one = 1;
    is_rung_ = write(bell_.get(), &one, sizeof one) == sizeof one;
}

void Turn::hush() noexcept {
    std::uint64_t count = 0;
    if (is_rung_) is_rung_ = read(bell_.get(), &count, sizeof count) < 0;
}

/// News of TCP end the sleep, and the next poll takes them in.
void Turn::sleep(Nanoseconds timeout) noexcept {
    const Nanoseconds begin = tcp_.now();
    for (;;) {
        hush();
        (void)road_->progress();
        (void)arrivals_->look();
        tend(tcp_.now());
        if (is_woken_ || !notices_.empty() || arrivals_->waits()) break;
        if (!road_->arm()) continue;
        Nanoseconds left = timeout < 0 ? INT64_MAX : timeout - (tcp_.now() - begin);
        if (left <= 0) break;
        // A meeting and a leaving end by time, too.
        if (meeting_->is_busy() || leaving_->is_busy()) left = std::min(left, kNap);
        epoll_event happened[3];
        const int count = host::wait_for(epoll_.get(), happened, left == INT64_MAX ? -1 : left);
        if (count < 0) break;  // a signal
        bool is_of_tcp = false;
        for (int i = 0; i < count; ++i) {
            is_of_tcp = is_of_tcp || happened[i].data.fd == tcp_.wait_fd();
        }
        if (!is_of_tcp) continue;
        tcp_.sleep(kMoment);
        tended_ = kLongAgo;
        break;
    }
    is_woken_ = false;
}

}  // namespace fci::ucx
