// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/connections.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::tcp {

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
// A closing process waits so long for a peer that takes nothing while its host answers, or twice
// the silence limit if that is longer. A silent host ends the wait earlier.
constexpr Nanoseconds kFarewell = 60 * kSecond;
// Two writes that are farther apart are no burst: the caller computes between them.
constexpr Nanoseconds kBurst = 20'000;
constexpr Nanoseconds kFarewellUntold = 3 * kSecond;

}  // namespace

void Connections::reserve(std::size_t more) {
    const std::size_t all = connected_.size() + more;
    for (std::vector<nhi::PeerId>* list : {&connected_, &waiting_, &busy_, &bursts_}) {
        if (list->capacity() < all) list->reserve(2 * all);
    }
}

void Connections::add(nhi::PeerId id, Stream stream) noexcept {
    FCI_ASSERT(connected_.capacity() > connected_.size() && id != nhi::kSelf);
    FCI_ASSERT(!peers_[id].peer->connection);
    set_quiet(false);
    streams_.forget(stream.get());
    peers_[id].peer->connection.emplace(streams_, std::move(stream),
                                       FrameDecoder(target_, id), *counters_, silence_);
    connected_.push_back(id);
}

void Connections::begin(nhi::PeerId id) noexcept {
    FCI_ASSERT(peers_[id].state() == PeerState::attached && peers_[id].peer->connection);
    streams_.watch(peers_[id].peer->connection->stream(), Streams::Source::peer, id, Streams::kIn);
}

void Connections::reserve(nhi::PeerId id, const nhi::Transfer& transfer) {
    peers_[id].peer->connection->reserve(transfer);
}

void Connections::write(nhi::PeerId id, const nhi::Transfer& transfer) noexcept {
    Connection& connection = *peers_[id].peer->connection;
    Connection::Marks& marks = connection.marks();
    bool goes_on = false;
    if (marks.is_in_burst) {
        const Nanoseconds now = streams_.now();
        goes_on = now - marks.written < kBurst;
        marks.written = now;
    } else {
        FCI_ASSERT(bursts_.size() < connected_.size());
        marks.is_in_burst = true;
        marks.written = flushed_;
        bursts_.push_back(id);
    }
    connection.write(transfer, goes_on);
    after_write(id);
}

void Connections::reserve_for_data(nhi::PeerId id) {
    peers_[id].peer->connection->reserve_for_data();
}

void Connections::write(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                        std::uint32_t events) noexcept {
    peers_[id].peer->connection->write(data, from, events);
    after_write(id);
}

void Connections::keep_data() noexcept {
    for (const nhi::PeerId id : connected_) peers_[id].peer->connection->keep_data();
}

/// The pulse is looked at until all has arrived; if bytes wait, flush() goes on with them.
void Connections::after_write(nhi::PeerId id) noexcept {
    Connection& connection = *peers_[id].peer->connection;
    Connection::Marks& marks = connection.marks();
    if (!marks.is_felt) {
        FCI_ASSERT(busy_.size() < connected_.size());
        marks.is_felt = true;
        busy_.push_back(id);
        if (due_ == 0) due_ = streams_.now() + Pulse::kLookEvery;
    }
    if (!connection.has_waiting()) return;
    if (!marks.is_waiting) {
        FCI_ASSERT(waiting_.size() < connected_.size());
        marks.is_waiting = true;
        waiting_.push_back(id);
    }
    watch_refused(id, connection);
}

/// A caller that sleeps wakes up when the kernel takes more.
void Connections::watch_refused(nhi::PeerId id, Connection& connection) noexcept {
    if (!connection.is_refused() || connection.marks().is_watched) return;
    connection.marks().is_watched = true;
    streams_.watch(connection.stream(), Streams::Source::peer, id, Streams::kIn | Streams::kOut);
}

void Connections::flush(Nanoseconds now) noexcept {
    flushed_ = now;
    for (const nhi::PeerId id : bursts_) {
        Connection& connection = *peers_[id].peer->connection;
        connection.push();
        connection.marks().is_in_burst = false;
    }
    bursts_.clear();
    std::erase_if(waiting_, [&](nhi::PeerId id) {
        Connection& connection = *peers_[id].peer->connection;
        if (!connection.flush()) {
            watch_refused(id, connection);
            return false;
        }
        connection.marks().is_waiting = false;
        if (std::exchange(connection.marks().is_watched, false)) begin(id);
        return true;
    });
}

void Connections::change_quiet(bool quiet) noexcept {
    is_quiet_ = quiet;
    for (const nhi::PeerId id : connected_) peers_[id].peer->connection->set_quiet(quiet);
}

unsigned Connections::read(nhi::PeerId id) noexcept {
    Connection& connection = *peers_[id].peer->connection;
    const Connection::Reading reading = connection.read();
    if (connection.waits()) waits_ = true;
    switch (reading) {
        case Connection::Reading::nothing: return 0;
        case Connection::Reading::some: return 1;
        case Connection::Reading::goodbye: end(id, ddi::closed(id, name_of(peers_, id))); break;
        case Connection::Reading::end: {
            const Connection::End how = connection.how_it_ended();
            peers_[id].peer->loss = how.loss;
            end(id, ddi::died(id, name_of(peers_, id), how.why));
            break;
        }
        case Connection::Reading::nonsense:
            end(id, ddi::died(id, name_of(peers_, id),
                              "it sent what is no frame: its memory is damaged, or something "
                              "between changes what is sent"));
            break;
    }
    return 1;
}

unsigned Connections::read_all() noexcept {
    unsigned work = 0;
    for (std::size_t i = connected_.size(); i-- > 0;) {
        const nhi::PeerId id = connected_[i];
        if (peers_[id].state() == PeerState::attached) work += read(id);
    }
    return work;
}

void Connections::tend(Nanoseconds now) noexcept {
    if (due_ == 0 || now < due_) return;
    for (std::size_t i = busy_.size(); i-- > 0;) {
        const nhi::PeerId id = busy_[i];
        FCI_ASSERT(peers_[id].state() == PeerState::attached);
        Connection& connection = *peers_[id].peer->connection;
        const Connection::Beat beat = connection.feel(now);
        if (beat == Connection::Beat::silent) {
            end(id, ddi::died(id, name_of(peers_, id),
                              "its host has not answered for " +
                                  std::to_string((silence_ + kSecond / 2) / kSecond) +
                                  " s (FCI_SILENCE_MS); is it down, or cut off?"));
        } else if (beat == Connection::Beat::idle) {
            connection.marks().is_felt = false;
            busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    due_ = busy_.empty() ? 0 : now + Pulse::kLookEvery;
}

void Connections::end(nhi::PeerId id, ddi::Notice notice) noexcept try {
    FCI_ASSERT(peers_[id].state() == PeerState::attached && id != nhi::kSelf);
    for (std::vector<nhi::PeerId>* list : {&connected_, &waiting_, &busy_, &bursts_}) {
        std::erase(*list, id);
    }
    peers_[id].peer->state = PeerState::ending;
    peers_[id].peer->connection.reset();
    streams_.ring();  // this may be outside of poll()
    notices_.add(std::move(notice));
} catch (const std::bad_alloc&) {
    // The listener never hears of the peer's end, but transfers to it return Status::lost.
}

void Connections::tell_of_loss(int rank) noexcept {
    for (const nhi::PeerId id : connected_) {
        // A peer that has just come has heard nothing of this process.
        if (peers_[id].state() != PeerState::attached) continue;
        peers_[id].peer->connection->say(loss_of(rank));
        after_write(id);
    }
}

// --- closing ---

void Connections::say_goodbye() noexcept {
    for (const nhi::PeerId id : connected_) peers_[id].peer->connection->say(kGoodbye);
    const Nanoseconds began = streams_.now();
    const Nanoseconds most = std::max(kFarewell, 2 * silence_);
    Nanoseconds look_at = began + Pulse::kLookEvery;
    bool told = false;
    for (Nanoseconds now = began; now < began + most; now = streams_.now()) {
        const bool looks = now >= look_at;
        if (looks) look_at = now + Pulse::kLookEvery;
        std::erase_if(connected_, [&](nhi::PeerId id) {
            Connection& connection = *peers_[id].peer->connection;
            if (connection.flush()) streams_.end(connection.stream(), false);
            // Bytes left unread would make the kernel throw away those that are unsent.
            return connection.read() >= Connection::Reading::goodbye || connection.has_arrived() ||
                   (looks && connection.feel(now) == Connection::Beat::silent);
        });
        if (connected_.empty()) return;
        if (!told && now >= began + kFarewellUntold) {
            told = true;
            log::line(true, "closing waits for " + name_of(peers_, connected_.front()) +
                                ", which does not take what was sent to it");
        }
        const bool is_short = now < began + kSecond / 100;
        streams_.pause(is_short ? 100'000 : 1'000'000);
    }
}

void Connections::close() noexcept {
    for (const nhi::PeerId id : connected_) peers_[id].peer->connection->close();
    for (std::vector<nhi::PeerId>* list : {&connected_, &waiting_, &busy_, &bursts_}) {
        list->clear();
    }
    due_ = 0;
}

}  // namespace fci::tcp
