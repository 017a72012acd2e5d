// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "drivers/host/descriptor.h"
#include "fci_core/base/assert.h"

namespace fci::tcp {

namespace {

bool is_for_now(int error) noexcept {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS ||
           error == ENOMEM;
}

/// The bytes of a transfer on the wire, at most: as a request it takes no more.
std::size_t bytes_of(const nhi::Transfer& transfer) noexcept {
    std::size_t bytes = sizeof(FrameHead) + transfer.parts() * sizeof(PartHead);
    for (unsigned i = 0; i < transfer.parts(); ++i) bytes += transfer.part(i).bytes;
    return bytes;
}

/// Writes all but the bytes of the parts; returns how many bytes.
std::size_t write_heads(const nhi::Transfer& transfer, std::byte* to) noexcept {
    const FrameHead head{FrameKind::transfer, static_cast<std::uint8_t>(transfer.parts()), 0,
                         transfer.events()};
    std::memcpy(to, &head, sizeof head);
    std::size_t bytes = sizeof head;
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const PartHead told{part.address, part.bytes};
        std::memcpy(to + bytes, &told, sizeof told);
        bytes += sizeof told;
    }
    return bytes;
}

}  // namespace

// --- out ---

bool Connection::fits(const nhi::Transfer& transfer) const noexcept {
    return !has_waiting() || waiting_.size() - first_ + bytes_of(transfer) <= kWaitingMost;
}

void Connection::reserve(const nhi::Transfer& transfer) {
    const std::size_t needed = waiting_.size() + bytes_of(transfer);
    if (needed > waiting_.capacity()) waiting_.reserve(std::max(needed, 2 * waiting_.capacity()));
}

/// Returns how many bytes the kernel has taken.
std::size_t Connection::give(const iovec* ranges, std::size_t count, bool lingers) noexcept {
    const ssize_t sent = stream_.send({ranges, count}, lingers);
    if (sent < 0 && !is_for_now(static_cast<int>(-sent))) broken_ = true;
    if (sent <= 0) return 0;
    ++counters_.network_writes;
    counters_.network_bytes_sent += static_cast<std::size_t>(sent);
    return static_cast<std::size_t>(sent);
}

void Connection::write(const nhi::Transfer& transfer, bool goes_on) noexcept {
    FCI_ASSERT(fits(transfer));
    // A short transfer in one piece is cheaper for the kernel than its parts.
    constexpr std::size_t kShort = 512;
    std::array<std::byte, std::max(kHeadsMost, kRequestHeadsMost) + kShort> front;
    const bool is_request = !transfer.may_wait() && LastRequest::is_one(transfer);
    std::size_t bytes = is_request ? last_request_.say(transfer, front.data())
                                   : write_heads(transfer, front.data());
    const unsigned parts = transfer.parts() - is_request;  // whose bytes follow
    std::size_t payload = 0;
    for (unsigned i = 0; i < parts; ++i) payload += transfer.part(i).bytes;
    std::array<iovec, 1 + nhi::Transfer::kPartsMax> ranges;
    std::size_t count = 1;
    for (unsigned i = 0; i < parts; ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        if (payload > kShort) {
            ranges[count++] = {const_cast<void*>(part.from), part.bytes};
        } else if (part.bytes != 0) {
            std::memcpy(front.data() + bytes, part.from, part.bytes);
            bytes += part.bytes;
        }
    }
    ranges[0] = {front.data(), bytes};
    const bool keeps = transfer.may_wait() || has_waiting() || broken_;
    if (goes_on != corked_) cork(goes_on);
    std::size_t written = keeps ? 0 : give(ranges.data(), count, transfer.may_linger());
    if (broken_) return;  // reading finds out why
    if (written == bytes_in({ranges.data(), count})) return;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t skipped = std::min(written, ranges[i].iov_len);
        written -= skipped;
        keep(static_cast<std::byte*>(ranges[i].iov_base) + skipped, ranges[i].iov_len - skipped);
    }
    if (!transfer.may_wait()) give_what_waits(!keeps);
}

/// With MSG_MORE instead, each acknowledgement would send the bytes that are together by then.
void Connection::cork(bool on) noexcept {
    corked_ = on;
    streams_.cork(stream_.get(), on);
}

void Connection::push() noexcept {
    if (corked_) cork(false);
}

/// `is_refused`: the kernel has just refused these bytes.
void Connection::give_what_waits(bool is_refused) noexcept {
    if (is_refused) refused_ = has_waiting();
    if (!refused_) (void)flush();
    counters_.network_full += has_waiting();
}

void Connection::reserve_for_data() {
    FCI_ASSERT(!borrows());
    waiting_.reserve(waiting_.size() + kDataHeads);
}

void Connection::write(const nhi::Data& data, const std::byte* from,
                       std::uint32_t events) noexcept {
    FCI_ASSERT(!borrows() && data.bytes != 0);
    const FrameHead head{FrameKind::data, 0, 0, events};
    keep(&head, sizeof head);
    keep(&data, sizeof data);
    borrowed_ = {from, data.bytes};
    borrowed_at_ = waiting_.size();
    give_what_waits(false);
    push();
}

/// The room was reserved.
void Connection::keep(const void* bytes, std::size_t count) {
    FCI_ASSERT(first_ <= waiting_.size());
    const auto* const from = static_cast<const std::byte*>(bytes);
    waiting_.insert(waiting_.end(), from, from + count);
}

void Connection::say(const FrameHead& word) noexcept try {
    keep(&word, sizeof word);
    (void)flush();
    push();
} catch (const std::bad_alloc&) {
    // Without the word the peer takes this process's end for a death, and this process for its
    // cause.
}

bool Connection::flush() noexcept {
    while (has_waiting() && !broken_) {
        const std::size_t before = (borrows() ? borrowed_at_ : waiting_.size()) - first_;
        const std::size_t after = waiting_.size() - first_ - before;
        const iovec all[] = {
            {waiting_.data() + first_, before},
            {const_cast<std::byte*>(borrowed_.data()), borrowed_.size()},
            {waiting_.data() + first_ + before, after},
        };
        std::size_t sent = borrows() ? give(all, 3) : give(all, 1);
        if (sent == 0 && !broken_) {
            refused_ = true;
            if (first_ < kWaitingMost) return false;
            waiting_.erase(waiting_.begin(),
                           waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
            borrowed_at_ -= std::min(borrowed_at_, first_);
            first_ = 0;
            return false;
        }
        const std::size_t of_before = std::min(sent, before);
        first_ += of_before;
        sent -= of_before;
        const std::size_t of_borrowed = std::min(sent, borrowed_.size());
        borrowed_ = borrowed_.subspan(of_borrowed);
        first_ += sent - of_borrowed;
    }
    waiting_.clear();
    first_ = 0;
    borrowed_ = {};
    refused_ = false;
    return true;
}

void Connection::give_data_back() noexcept {
    if (!borrows()) return;
    borrowed_ = {};
    broken_ = true;
    streams_.end(stream_.get(), true);
}

void Connection::keep_data() noexcept try {
    const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(borrowed_at_);
    if (borrows()) waiting_.insert(at, borrowed_.begin(), borrowed_.end());
    borrowed_ = {};
} catch (const std::bad_alloc&) {
    give_data_back();
}

void Connection::be_quiet(bool quiet) noexcept {
    if (std::exchange(is_quiet_, quiet) == quiet) return;
    streams_.tell_from(stream_.get(), quiet ? kLittle : 1);
}

bool Connection::has_arrived() noexcept {
    return broken_ || (!has_waiting() && streams_.under_way(stream_.get()) == 0);
}

Connection::Beat Connection::feel(Nanoseconds now) noexcept {
    Pulse::Sign sign;
    if (broken_ || !streams_.sign(stream_.get(), &sign)) return Beat::idle;  // reading finds out
    if (!pulse_.look(now, sign)) return Beat::silent;
    return has_arrived() ? Beat::idle : Beat::alive;
}

// --- in ---

Connection::Reading Connection::read() noexcept {
    std::size_t taken = 0;
    if (!decode(0)) return Reading::nonsense;
    const bool rests = may_be_quiet_ && decoder_.missing() > kLittle;
    const Nanoseconds now = rests ? streams_.now() : 0;
    if (rests && now < rests_until_) return Reading::nothing;
    while (taken < kReadMost) {
        iovec ranges[2];
        const unsigned count = decoder_.room(ranges);
        if (count == 0) break;
        const std::size_t room = bytes_in({ranges, count});
        const ssize_t got = stream_.receive({ranges, count});
        if (got < 0 && is_for_now(static_cast<int>(-got))) break;
        if (got <= 0) {
            error_ = static_cast<int>(-got);
            return Reading::end;
        }
        taken += static_cast<std::size_t>(got);
        ++counters_.network_reads;
        counters_.network_bytes_received += static_cast<std::size_t>(got);
        if (!decode(static_cast<std::size_t>(got))) return Reading::nonsense;
        if (decoder_.said_goodbye()) return Reading::goodbye;
        if (static_cast<std::size_t>(got) < room) break;  // that was all
    }
    if (taken == 0) return Reading::nothing;
    rests_until_ = now + kReadsApart;
    return Reading::some;
}

/// Hands new bytes to the decoder. 0: goes on with bytes that were early.
bool Connection::decode(std::size_t bytes) noexcept {
    const FrameDecoder::DataBytes before = decoder_.data_bytes();
    const bool is_sound = bytes != 0 ? decoder_.take(bytes) : decoder_.go_on();
    counters_.direct_bytes += decoder_.data_bytes().direct - before.direct;
    counters_.staged_bytes += decoder_.data_bytes().copied - before.copied;
    be_quiet(may_be_quiet_ && decoder_.coming() <= kLittle);
    return is_sound;
}

Connection::End Connection::how_it_ended() const {
    const std::optional<int> loss = decoder_.loss();
    switch (error_) {
        case 0:
        case ECONNRESET:
            if (!loss) return {"it died, or was killed (the connection ended)"};
            if (*loss < 0) return {"it ended after it had lost another process; look there first"};
            return {"it ended after it had lost rank " + std::to_string(*loss) +
                        "; look there first",
                    *loss};
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
            return {host::system_text("its host does not answer", error_)};
        default:
            return {host::system_text("the connection failed", error_)};
    }
}

}  // namespace fci::tcp
