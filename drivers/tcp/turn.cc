// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/turn.h"

#include <algorithm>
#include <array>

#include "fci_core/base/assert.h"

namespace fci::tcp {

namespace {

// If there are so few peers, all are read without asking the kernel first which have something.
constexpr std::size_t kReadAtOnce = 2;
constexpr unsigned kLookEvery = 64;  // turns, for all others
// After a hint more are to be expected: for so long the sockets are read without asking the kernel.
constexpr Nanoseconds kHintsLately = 10'000'000;

}  // namespace

unsigned Turn::poll(Nanoseconds now) noexcept {
    const std::size_t peers = connections_.size();
    const bool few = peers != 0 && peers <= kReadAtOnce && !meeting_.is_busy();
    const bool looks = !few || ++turns_ % kLookEvery == 0;
    connections_.look_again();
    if (!few) connections_.set_quiet(false);
    if (few && looks && !is_watched_) connections_.set_quiet(true);
    unsigned work = 0;
    if (hints_ != nullptr && !is_watched_) {
        const bool looks_itself = few || now - heard_hint_ < kHintsLately;
        hints_->set_quiet(looks_itself);
        if (looks_itself) work = hear(multicast::Multicast::kShortLane, now);
    }
    if (hints_ != nullptr) work += hints_->look_for_long();
    work += looks ? look(now, false) : connections_.read_all();
    connections_.flush(now);
    tend(now);
    return work + tell();
}

/// `sleeps`: hints stay in their sockets, as listeners hear of them in poll() only; they end the
/// sleep.
unsigned Turn::look(Nanoseconds now, bool sleeps) noexcept {
    unsigned work = 0;
    std::array<Streams::Event, Streams::kEventsMost> events;
    const std::size_t count = streams_.look(events);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t detail = events[i].detail;
        switch (events[i].source) {
            case Streams::Source::door: meeting_.door().answer(now); break;
            case Streams::Source::caller: meeting_.hear(static_cast<int>(detail), now); break;
            case Streams::Source::peer:
                FCI_ASSERT(detail < peers_.size());
                if (peers_[detail].state() == PeerState::connecting) meeting_.go_on(detail, now);
                if (peers_[detail].state() == PeerState::attached) {
                    work += connections_.read(detail);
                }
                break;
            case Streams::Source::hints:
                if (!sleeps && hints_ != nullptr) work += hear(detail, now);
                is_woken_ = is_woken_ || sleeps;
                break;
        }
    }
    return work;
}

unsigned Turn::hear(unsigned lane, Nanoseconds now) noexcept {
    const unsigned heard = hints_->look(lane);
    if (heard != 0) heard_hint_ = now;
    return heard;
}

/// Does what is due by time, and sets the timer, so that a caller that sleeps, or watches
/// Device::wait_fd(), comes back for the rest.
void Turn::tend(Nanoseconds now) noexcept {
    meeting_.tend(now);
    connections_.tend(now);
    const Nanoseconds one = meeting_.due(), other = connections_.due();
    streams_.ring_at(one == 0 || other == 0 ? one + other : std::min(one, other));
    for (unsigned i = meeting_.door().take_strangers(); i != 0; --i) {
        if (listener_ != nullptr) listener_->stranger_came();
    }
}

unsigned Turn::tell() noexcept {
    return notices_.tell(listener_, [&](const ddi::Notice& notice) {
        Peer& peer = *peers_[notice.id].peer;
        if (notice.why == Status::ok) {
            FCI_ASSERT(peer.state == PeerState::joined);
            peer.state = PeerState::attached;
            connections_.begin(notice.id);
        } else {
            FCI_ASSERT(peer.state == PeerState::ending);
            peer.state = PeerState::lost;
        }
        return true;
    });
}

void Turn::sleep(Nanoseconds timeout) noexcept {
    const Nanoseconds begin = streams_.now();
    const Nanoseconds end = timeout < 0 ? INT64_MAX : begin + timeout;
    connections_.flush(begin);
    end_quiet();
    if (connections_.waits()) return;  // the caller may have looked at what they wait for
    while (!is_woken_ && notices_.empty()) {
        Nanoseconds now = streams_.now();
        if (now >= end) break;
        tend(now);
        if (!streams_.wait(timeout < 0 ? -1 : end - now)) break;
        now = streams_.now();
        (void)look(now, true);
        connections_.flush(now);
        tend(now);
    }
    is_woken_ = false;
}

}  // namespace fci::tcp
