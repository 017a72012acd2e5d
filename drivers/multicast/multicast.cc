// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/multicast/multicast.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "drivers/host/draw.h"
#include "drivers/host/place.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

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

/// A receiver need not look before all its lanes are full. The kernel charges its own room to a
/// socket's buffer, too.
std::size_t Multicast::window() noexcept {
    if (!why_not_.empty()) return 0;
    const std::size_t bursts = std::max<std::size_t>(sockets_.room() * 9 / 20 / kMost, 1);
    return (kLanes - 1) * bursts * kMost;
}

/// False: without the library strangers could read and forge hints, so none is sent.
bool Multicast::can_seal() noexcept try {
    if (!why_not_.empty()) return false;
    if (library_) return true;
    library_ = host::Libcrypto::open(&why_not_);
    if (library_) return true;
    log::hint_once(true,
                   "broadcasts go by TCP alone, as nothing goes by multicast that is not sealed\n"
                   "  cause    OpenSSL's library cannot be used: " + why_not_ + "\n"
                   "  remedy   install it on all hosts (Debian: libssl3); or say that it is not "
                   "wanted: FCI_MULTICAST=off");
    return false;
} catch (const std::bad_alloc&) {
    return false;
}

Status Multicast::draw(nhi::HintGroup* group) noexcept {
    if (!can_seal()) return Status::unsupported;
    std::uint64_t words[2];
    static_assert(sizeof words == sizeof group->key);
    do {
        if (!host::draw(&group->name) || !host::draw(&words[0]) || !host::draw(&words[1])) {
            return Status::unsupported;
        }
    } while (group->name == 0 || group->name == ~std::uint64_t{0});
    std::memcpy(group->key.data(), words, sizeof words);
    return Status::ok;
}

Status Multicast::join(const nhi::HintMember& member, nhi::HintListener& listener) noexcept try {
    if (!can_seal()) return Status::unsupported;
    if (!heard_) heard_ = std::make_unique<Burst>();
    if (!sealed_) sealed_ = std::make_unique<Burst>();
    if (!sockets_.can_hear()) {
        if (!sockets_.open_to_hear(&why_not_)) return Status::unsupported;
        is_quiet_ = false;
        watch_(sockets_.ear(kShortLane), kShortLane, true);
    }
    const std::uint64_t name = member.group.name;
    if (!seals_.try_emplace(name, *library_, member).second) return Status::invalid;
    const Status status = table_.join(name, listener);
    if (status != Status::ok) seals_.erase(name);
    return status;
} catch (const std::bad_alloc&) {
    return Status::exhausted;
}

std::uint64_t Multicast::heard(std::uint64_t name) const noexcept {
    const auto found = seals_.find(name);
    return found == seals_.end() ? 0 : found->second.latest();
}

/// Without groups no hint is heard, nor taken from the network.
void Multicast::leave(std::uint64_t name) noexcept {
    table_.leave(name);
    seals_.erase(name);
    FCI_ASSERT(table_.empty() == seals_.empty());
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
    const auto found = seals_.find(hint.name);
    if (found == seals_.end()) return Status::not_found;
    const std::span<const std::byte> sealed = seal(found->second, hint, bytes);
    if (sealed.empty()) return Status::unsupported;
    // A burst stays in one lane, so that a receiver knows where the next one is.
    const auto turn = static_cast<unsigned>(hint.offset / kMost % (kLanes - 1));
    return send(hint.total <= kShortMost ? kShortLane : 1 + turn, sealed);
} catch (const std::bad_alloc&) {
    return Status::again;
}

/// Seals the datagrams, one behind the other. Empty: the library failed.
std::span<const std::byte> Multicast::seal(Seal& seal, const nhi::Hint& hint,
                                           std::span<const std::byte> bytes) noexcept {
    nhi::Hint own = hint;
    own.rank = seal.rank();
    std::size_t done = 0, written = 0;
    do {
        const auto some = bytes.subspan(done, std::min(kPieceMost, bytes.size() - done));
        FCI_ASSERT(written + sizeof(Heading) + some.size() <= sealed_->size());
        if (!seal.close(place_.cookie, own, hint.offset + static_cast<std::uint32_t>(done), some,
                        sealed_->data() + written)) {
            return {};
        }
        written += sizeof(Heading) + some.size();
        done += some.size();
    } while (done != bytes.size());
    return {sealed_->data(), written};
}

/// Sends all datagrams in one system call, if this kernel and this interface can.
Status Multicast::send(unsigned lane, std::span<const std::byte> sealed) noexcept {
    if (can_segment_ || sealed.size() <= kDatagramMost) {
        const Status status = send_at_once(lane, sealed);
        if (status != Status::unsupported) return status;
    }
    for (std::size_t done = 0; done < sealed.size(); done += kDatagramMost) {
        const auto some = sealed.subspan(done, std::min(kDatagramMost, sealed.size() - done));
        const Status status = send_at_once(lane, some);
        if (status != Status::ok) return done == 0 ? status : Status::ok;  // the rest is lost
        can_segment_ = false;
    }
    return Status::ok;
}

Status Multicast::send_at_once(unsigned lane, std::span<const std::byte> sealed) noexcept {
    const bool is_burst = sealed.size() > kDatagramMost;
    const ssize_t sent = sockets_.send(lane, sealed, is_burst ? kDatagramMost : 0);
    if (sent >= 0) {
        counters_->hints_sent += (sealed.size() + kDatagramMost - 1) / kDatagramMost;
        return Status::ok;
    }
    if (is_for_now(static_cast<int>(-sent))) return Status::again;
    // EPERM is from a firewall of this host, and says nothing about bursts.
    if (is_burst && sent != -EPERM) return Status::unsupported;
    return Status::ok;  // it is lost, like one that a switch drops
}

// --- in ---

unsigned Multicast::look(unsigned lane) noexcept {
    unsigned expected = 0;
    // A listener that is told of a hint may leave the last group, or expect no long hint any more;
    // then the datagrams left here may be for the next one that does.
    for (unsigned i = 0; i < kReadsMost && sockets_.can_hear(); ++i) {
        if (lane != kShortLane && !table_.expects_long()) break;
        Sockets::Received got{};
        if (sockets_.receive(lane, *heard_, &got) != 0) break;
        std::span<std::byte> rest = got.bytes;
        do {
            const std::size_t bytes = std::min(rest.size(), got.segment);
            expected += take(rest.first(bytes), got.source);
            rest = rest.subspan(bytes);
        } while (!rest.empty());
        if (got.bytes.size() < kPieceMost) break;  // the last piece of a hint
    }
    return expected;
}

unsigned Multicast::look_for_long() noexcept {
    ++looks_;
    unsigned expected = stash_is_due_ ? take_stash() : 0;
    for (unsigned lane = 1; lane < kLanes; ++lane) expected += look(lane);
    return expected;
}

/// Returns whether the datagram was expected.
bool Multicast::take(std::span<std::byte> datagram, std::uint32_t source) noexcept {
    const auto read = read_datagram(place_.cookie, datagram);
    if (!read) {
        ++counters_->hints_refused;
        return false;
    }
    const nhi::Hint hint = read->heading.hint();
    const auto found = seals_.find(hint.name);
    if (found == seals_.end() || !table_.is_recent(hint.name, hint.number)) {
        ++counters_->hints_stray;
        return false;
    }
    if (!found->second.open(*read, source)) {
        refuse(source);
        return false;
    }
    return place(hint, read->data);
}

/// The datagram names a group of this process, but no member of that group has sent it.
void Multicast::refuse(std::uint32_t source) noexcept try {
    ++counters_->hints_forged;
    if (std::exchange(has_told_of_forgeries_, true)) return;
    log::line(true, "somebody at " + host::address_text(source) +
                        " forges broadcasts of this job, or changes them on their way; such "
                        "datagrams are dropped, and all data are right\n"
                        "  remedy   look who sends UDP to 239.255.0.0/16 there (SECURITY.md); "
                        "FCI_STATS=on counts them (hints_forged)");
} catch (const std::bad_alloc&) {  // then it is only counted
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
    place.listener->arrived(hint, bytes.size());
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

/// Takes the kept pieces that are expected now; those still ahead stay kept.
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
