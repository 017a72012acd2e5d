#include "drivers/multicast/multicast.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::multicast {

namespace {

constexpr std::size_t kStashMost = 6 * (nhi::Hints::kMost / nhi::Hints::kPieceMost);  // 380 KB
constexpr unsigned kReadsMost = 16;  // in one look: there is other work
constexpr std::size_t kPieces = nhi::Hints::kMost / nhi::Hints::kPieceMost;
static_assert(kPieces * kDatagramMost <= 65'507, "a burst is one datagram to begin with");

bool is_for_now(int error) noexcept {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS ||
           error == ENOMEM;
}

}  // namespace

Multicast::Multicast(const Place& place, std::uint32_t own, Watch watch)
    : place_(place), watch_(std::move(watch)), sockets_(place, own) {}

void Multicast::change_quiet(bool quiet) noexcept {
    FCI_ASSERT(can_hear());
    is_quiet_ = quiet;
    watch_(sockets_.ear(kShortLane), kShortLane, !quiet);
}

void Multicast::watch_long(bool on) noexcept {
    if (std::exchange(long_is_watched_, on) == on) return;
    for (unsigned lane = 1; lane < kLanes; ++lane) watch_(sockets_.ear(lane), lane, on);
}

void Multicast::set_watched(bool watched) noexcept {
    if (!can_hear()) return;
    if (watched) set_quiet(false);
    watch_long(watched && table_.expects_long());
}

/// A receiver need not look before all lanes of it are full: what waits there is charged for
/// the kernel's own room, too.
std::size_t Multicast::window() noexcept {
    if (!why_not_.empty()) return 0;
    const std::size_t bursts = std::max<std::size_t>(sockets_.room() * 9 / 20 / kMost, 1);
    return (kLanes - 1) * bursts * kMost;
}

Status Multicast::join(std::uint64_t name, nhi::HintListener& listener) noexcept try {
    if (!why_not_.empty()) return Status::unsupported;
    if (!sockets_.can_hear()) {
        if (!heard_) heard_ = std::make_unique<Heard>();
        if (!sockets_.open_to_hear(&why_not_)) return Status::unsupported;
        is_quiet_ = false;
        watch_(sockets_.ear(kShortLane), kShortLane, true);
    }
    return table_.join(name, listener);
} catch (const std::bad_alloc&) {
    return Status::exhausted;
}

/// Of a job without groups nothing is heard, nor taken from the network.
void Multicast::leave(std::uint64_t name) noexcept {
    table_.leave(name);
    if (!table_.empty() || !sockets_.can_hear()) return;
    watch_(sockets_.ear(kShortLane), kShortLane, false);
    watch_long(false);
    sockets_.close_ears();
    stash_.clear();
}

void Multicast::close() noexcept {
    sockets_.close();
    why_not_ = "it was closed";
}

// --- out ---

Status Multicast::hint(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept try {
    const bool fits = hint.offset <= hint.total && bytes.size() <= hint.total - hint.offset;
    if (!fits || bytes.size() > kMost) return Status::invalid;
    if (!why_not_.empty() || !sockets_.open_to_send(&why_not_)) return Status::unsupported;
    if (can_segment_ || bytes.size() <= kPieceMost) {
        const Status status = send_burst(hint, bytes);
        if (status != Status::unsupported) return status;
        can_segment_ = false;  // this kernel, or this interface, does not
    }
    nhi::Hint piece = hint;
    for (std::size_t done = 0; done < bytes.size(); done += kPieceMost) {
        const auto some = bytes.subspan(done, std::min(kPieceMost, bytes.size() - done));
        const Status status = send_burst(piece, some);
        if (status != Status::ok) return done == 0 ? status : Status::ok;  // the rest is lost
        piece.offset += static_cast<std::uint32_t>(some.size());
    }
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::again;
}

/// In one system call. A burst stays in one lane, so that a receiver knows where the next one is.
Status Multicast::send_burst(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept {
    std::array<Heading, kPieces> headings;
    std::array<iovec, 2 * kPieces> ranges;
    std::size_t pieces = 0, done = 0;
    do {
        const auto some = bytes.subspan(done, std::min(kPieceMost, bytes.size() - done));
        const auto offset = hint.offset + static_cast<std::uint32_t>(done);
        headings[pieces] = heading_of(place_.cookie, hint, offset, some);
        ranges[2 * pieces] = {&headings[pieces], sizeof(Heading)};
        ranges[2 * pieces + 1] = {const_cast<std::byte*>(some.data()), some.size()};
        ++pieces;
        done += some.size();
    } while (done != bytes.size());
    FCI_ASSERT(pieces <= kPieces);
    const auto turn = static_cast<unsigned>(hint.offset / kMost % (kLanes - 1));
    const unsigned lane = hint.total <= kShortMost ? kShortLane : 1 + turn;
    const ssize_t sent = sockets_.send(lane, {ranges.data(), 2 * pieces},
                                       pieces > 1 ? kDatagramMost : 0);
    if (sent >= 0) {
        counters_->hints_sent += pieces;
        return Status::ok;
    }
    if (is_for_now(static_cast<int>(-sent))) return Status::again;
    if (pieces > 1) return Status::unsupported;
    return Status::ok;  // it is lost, like one that a switch drops
}

// --- in ---

unsigned Multicast::look(unsigned lane) noexcept {
    unsigned expected = 0;
    // Whoever is told of a hint may leave the last group, or expect nothing long any more; then
    // what is here may be for the next one who does.
    for (unsigned i = 0; i < kReadsMost && sockets_.can_hear(); ++i) {
        if (lane != kShortLane && !table_.expects_long()) break;
        std::size_t segment = 0;
        const ssize_t got = sockets_.receive(lane, *heard_, &segment);
        if (got < 0) break;
        std::span<const std::byte> rest(heard_->data(), static_cast<std::size_t>(got));
        do {
            const std::size_t bytes = std::min(rest.size(), segment);
            expected += take(rest.first(bytes));
            rest = rest.subspan(bytes);
        } while (!rest.empty());
        if (static_cast<std::size_t>(got) < kPieceMost) break;  // the last of what it belongs to
    }
    return expected;
}

unsigned Multicast::look_for_long() noexcept {
    ++looks_;
    unsigned expected = stash_is_due_ ? take_stash() : 0;
    for (unsigned lane = 1; lane < kLanes; ++lane) expected += look(lane);
    return expected;
}

/// Whether it was expected.
bool Multicast::take(std::span<const std::byte> datagram) noexcept {
    const auto read = read_datagram(place_.cookie, datagram);
    if (!read) {
        ++counters_->hints_refused;
        return false;
    }
    return place(read->hint, read->data);
}

bool Multicast::place(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept {
    const nhi::IndexTable::Place place = table_.find(hint, bytes.size());
    if (place.listener == nullptr) {
        if (place.is_ahead && hint.total > kShortMost) {
            stash(hint, bytes);
        } else {
            ++counters_->hints_stray;
        }
        return false;
    }
    ++counters_->hints_heard;
    FCI_ASSERT(bytes.size() <= kPieceMost);
    if (!bytes.empty()) std::memcpy(place.at, bytes.data(), bytes.size());
    nhi::Hint told = hint;
    told.number = place.number;
    place.listener->arrived(told, bytes.size());
    return true;
}

void Multicast::stash(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept try {
    FCI_ASSERT(stash_.size() <= kStashMost && bytes.size() <= kPieceMost);
    if (stash_.size() == kStashMost) {
        stash_.pop_front();
        ++counters_->hints_stray;
    }
    stash_.push_back({hint, {bytes.begin(), bytes.end()}});
} catch (const std::bad_alloc&) {  // it is lost
    ++counters_->hints_stray;
}

/// What is expected now; what is still ahead goes back.
unsigned Multicast::take_stash() noexcept {
    stash_is_due_ = false;
    unsigned expected = 0;
    for (std::size_t left = stash_.size(); left != 0; --left) {
        const Stashed one = std::move(stash_.front());
        stash_.pop_front();
        expected += place(one.hint, one.bytes);
    }
    return expected;
}

}  // namespace fci::multicast
