// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/door.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "drivers/host/descriptor.h"
#include "drivers/host/place.h"
#include "fci_core/base/assert.h"

namespace fci::tcp {

namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kHelloLimit = 5'000 * kMillisecond;
// So long no caller is sent away for the next one, however many call.
constexpr Nanoseconds kHelloLeast = 50 * kMillisecond;
// The rest after a caller was sent away, so that strangers cost a few percent of the time at most.
constexpr Nanoseconds kRestFromStrangers = 5 * kMillisecond;
// While callers guess, kAtOnce are heard in each kRestFromGuesses: at 3200 a second a full queue of
// the kernel is empty before a true caller in it has lost patience.
constexpr unsigned kAtOnce = 32;
constexpr Nanoseconds kRestFromGuesses = 10 * kMillisecond;
constexpr Nanoseconds kRestWithoutDescriptors = 50 * kMillisecond;
static_assert(kHelloLeast < kHelloLimit && kRestFromStrangers < kHelloLeast);

}  // namespace

Status Door::open(ddi::Card* card, PortRange ports, std::string* error) {
    const auto share = static_cast<std::size_t>(host::descriptors_most() / 8);
    callers_most_ = std::clamp(share, kCallersLeast, kCallersMost);
    callers_.reserve(callers_most_);
    if (card->port != 0) ports = {};
    const unsigned tries = ports.is_any() ? 1 : ports.size();
    // The processes of a host begin at different ports, not all at the first.
    const auto start = static_cast<unsigned>(card->incarnation % tries);
    int failed = EADDRINUSE;
    for (unsigned i = 0; i < tries && failed == EADDRINUSE; ++i) {
        const unsigned port = ports.first + (start + i) % tries;
        if (!ports.is_any()) card->port = htons(static_cast<std::uint16_t>(port));
        failed = listen_at(card);
    }
    if (failed == 0) {
        FCI_ASSERT(card->port != 0);
        streams_.watch(listening_.get(), Streams::Source::door, 0, Streams::kIn);
        return Status::ok;
    }
    if (failed == EADDRINUSE && !ports.is_any()) {
        *error = "no port of FCI_PORTS=" + ports.text() + " is free at " +
                 host::address_text(card->host) +
                 "; each process needs one: name more, and let them through the firewall";
        return Status::exhausted;
    }
    *error = host::system_text("cannot listen at " + host::place_text(*card), failed);
    if (failed == EADDRINUSE) *error += "; another process has this port";
    if (failed == EADDRNOTAVAIL) *error += "; no interface of this host has that address";
    if (failed == EACCES) *error += "; ports below 1024 are root's";
    return failed == EADDRINUSE || is_shortage(failed) ? Status::exhausted : Status::invalid;
}

/// 0, or an errno.
int Door::listen_at(ddi::Card* card) noexcept {
    const int listening = streams_.listen(card);
    if (listening < 0) return -listening;
    listening_ = Stream(streams_, listening);
    return 0;
}

void Door::close() noexcept {
    listening_.close();
    callers_.clear();
}

/// False: all callers here have just come.
bool Door::make_room(Nanoseconds now) noexcept {
    if (callers_.size() < callers_most_) return true;
    FCI_ASSERT(callers_.front().came <= callers_.back().came);
    const Nanoseconds until = callers_.front().came + kHelloLeast;
    if (now < until) return rest(until), false;
    ++strangers_;
    callers_.erase(callers_.begin());
    rest(now + kRestFromStrangers);
    return true;
}

void Door::answer(Nanoseconds now) noexcept {
    if (guesses_.are_many(now)) rest(now + kRestFromGuesses);
    for (unsigned i = 0; i < kAtOnce && make_room(now); ++i) {
        const int stream = streams_.accept(listening_.get());
        if (stream < 0) {
            // A caller that waits at an open door would keep this process from sleeping.
            const bool is_for_now = stream == -EAGAIN || stream == -EINTR;
            if (is_shortage(-stream) && !is_for_now) rest(now + kRestWithoutDescriptors);
            return;
        }
        FCI_ASSERT(callers_.size() < callers_most_ && callers_.capacity() >= callers_most_);
        callers_.push_back({Stream(streams_, stream), {}, now});
        streams_.watch(stream, Streams::Source::caller, static_cast<std::uint32_t>(stream),
                       Streams::kIn);
    }
}

std::optional<Visitor> Door::hear(int stream) noexcept {
    const auto caller = std::ranges::find_if(
        callers_, [&](const Caller& one) { return one.stream.get() == stream; });
    if (caller == callers_.end()) return {};
    const HelloReader::Heard heard = caller->reader.hear(caller->stream);
    if (heard == HelloReader::Heard::part) return {};
    std::optional<Visitor> visitor;
    if (heard == HelloReader::Heard::all) {
        visitor = Visitor{std::move(caller->stream), caller->reader.hello()};
    } else {
        ++strangers_;
    }
    callers_.erase(caller);
    return visitor;
}

void Door::tend(Nanoseconds now) noexcept {
    const auto gone = std::erase_if(
        callers_, [&](const Caller& one) { return now >= one.came + kHelloLimit; });
    strangers_ += static_cast<unsigned>(gone);
    if (rest_until_ != 0 && now >= rest_until_) {
        rest_until_ = 0;
        set_open(true);
    }
}

Nanoseconds Door::due() const noexcept {
    if (callers_.empty()) return rest_until_;
    const Nanoseconds limit = callers_.front().came + kHelloLimit;
    return rest_until_ != 0 ? std::min(rest_until_, limit) : limit;
}

unsigned Door::take_strangers() noexcept { return std::exchange(strangers_, 0); }

void Door::rest(Nanoseconds until) noexcept {
    rest_until_ = std::max(rest_until_, until);
    set_open(false);
}

void Door::set_open(bool open) noexcept {
    if (std::exchange(is_open_, open) == open) return;
    streams_.watch(listening_.get(), Streams::Source::door, 0,
                   open ? Streams::kIn : Streams::kIfBroken);
}

}  // namespace fci::tcp
