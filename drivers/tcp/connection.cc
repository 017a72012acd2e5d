#include "drivers/tcp/connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "fci_core/base/assert.h"

namespace fci::tcp {

namespace {

bool is_for_now(int error) noexcept {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS ||
           error == ENOMEM;
}

std::size_t bytes_of(const nhi::Transfer& transfer) noexcept {
    std::size_t bytes = sizeof(FrameHead) + transfer.parts() * sizeof(PartHead);
    for (unsigned i = 0; i < transfer.parts(); ++i) bytes += transfer.part(i).bytes;
    return bytes;
}

}  // namespace

// --- out ---

bool Connection::fits(const nhi::Transfer& transfer) const noexcept {
    return !has_waiting() || waiting_.size() - first_ + bytes_of(transfer) <= kWaitingMost;
}

void Connection::reserve(const nhi::Transfer& transfer) {
    waiting_.reserve(waiting_.size() + bytes_of(transfer));
}

void Connection::write(const nhi::Transfer& transfer) noexcept {
    FCI_ASSERT(fits(transfer));
    std::array<std::byte, kHeadsMost> heads;
    const FrameHead head{FrameKind::transfer, static_cast<std::uint8_t>(transfer.parts()), 0,
                         transfer.events()};
    std::memcpy(heads.data(), &head, sizeof head);
    std::array<iovec, 1 + nhi::Transfer::kPartsMax> ranges;
    std::size_t count = 1, head_bytes = sizeof head;
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const PartHead told{part.address, part.bytes | (part.indirect ? PartHead::kIndirect : 0)};
        std::memcpy(heads.data() + head_bytes, &told, sizeof told);
        head_bytes += sizeof told;
        ranges[count++] = {const_cast<void*>(part.from), part.bytes};
    }
    ranges[0] = {heads.data(), head_bytes};
    std::size_t written = 0;
    if (!has_waiting() && !broken_) {
        msghdr message{};
        message.msg_iov = ranges.data();
        message.msg_iovlen = count;
        const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) written = static_cast<std::size_t>(sent);
        if (sent < 0 && !is_for_now(errno)) broken_ = true;
    }
    if (broken_) return;  // reading finds out why
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t skipped = std::min(written, ranges[i].iov_len);
        written -= skipped;
        keep(static_cast<std::byte*>(ranges[i].iov_base) + skipped, ranges[i].iov_len - skipped);
    }
}

/// There is room for it.
void Connection::keep(const void* bytes, std::size_t count) {
    const auto* const from = static_cast<const std::byte*>(bytes);
    waiting_.insert(waiting_.end(), from, from + count);
}

void Connection::say_goodbye() noexcept try {
    const FrameHead head{FrameKind::goodbye, 0, 0, 0};
    keep(&head, sizeof head);
    (void)flush();
} catch (...) {
    // Then the peer takes this for a death.
}

bool Connection::flush() noexcept {
    while (has_waiting() && !broken_) {
        const ssize_t sent = ::send(socket_.get(), waiting_.data() + first_,
                                    waiting_.size() - first_, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && is_for_now(errno)) {
            const auto written = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
            if (first_ >= kWaitingMost) waiting_.erase(waiting_.begin(), written), first_ = 0;
            return false;
        }
        if (sent < 0) broken_ = true;
        if (sent > 0) first_ += static_cast<std::size_t>(sent);
    }
    waiting_.clear();
    first_ = 0;
    return true;
}

bool Connection::is_idle() const noexcept {
    if (broken_) return true;
    int unread = 0;
    return !has_waiting() && (ioctl(socket_.get(), SIOCOUTQ, &unread) != 0 || unread == 0);
}

// --- in ---

Connection::Reading Connection::read() noexcept {
    std::size_t taken = 0;
    while (taken < kReadMost) {
        iovec ranges[2];
        msghdr message{};
        message.msg_iov = ranges;
        message.msg_iovlen = decoder_.room(ranges);
        std::size_t room = 0;
        for (std::size_t i = 0; i < message.msg_iovlen; ++i) room += ranges[i].iov_len;
        const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
        if (got < 0 && is_for_now(errno)) break;
        if (got <= 0) {
            error_ = got == 0 ? 0 : errno;
            return Reading::end;
        }
        taken += static_cast<std::size_t>(got);
        if (!decoder_.take(static_cast<std::size_t>(got))) return Reading::nonsense;
        if (decoder_.said_goodbye()) return Reading::goodbye;
        if (static_cast<std::size_t>(got) < room) break;  // that was all
    }
    return taken != 0 ? Reading::some : Reading::nothing;
}

std::string Connection::why_ended() const {
    switch (error_) {
        case 0:
        case ECONNRESET:
            return "it died, or was killed (the connection ended)";
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
            return host::system_text("its host does not answer", error_);
        default:
            return host::system_text("the connection failed", error_);
    }
}

}  // namespace fci::tcp
