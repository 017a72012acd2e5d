// SPDX-License-Identifier: BSD-3-Clause
// Copies by the kernel between the memories of two processes (§2.7.4: long messages).
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>

#include "drivers/shm/shm_interface.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::shm {

namespace {

using Direction = nhi::NetworkInterface::Direction;

constexpr std::size_t kCallBytes = std::size_t{1} << 30;  // the kernel stops at 2 GiB
static_assert(kCallBytes + sizeof(std::uint64_t) < std::size_t{1} << 31);

iovec range(std::uint64_t address, std::size_t bytes) noexcept {
    return {reinterpret_cast<void*>(address), bytes};
}

/// The bytes that were copied, or -1 with errno. Both have as many ranges, in the same order.
ssize_t call(pid_t pid, Direction direction, std::span<const iovec> here,
             std::span<const iovec> there) noexcept {
    const auto copy = direction == Direction::read ? process_vm_readv : process_vm_writev;
    ssize_t done;
    do {
        done = copy(pid, here.data(), here.size(), there.data(), there.size(), 0);
    } while (done < 0 && errno == EINTR);
    return done;
}

/// One word of that process.
bool copy_word(pid_t pid, Direction direction, std::uint64_t address,
               std::uint64_t* word) noexcept {
    const iovec here{word, sizeof *word};
    const iovec there = range(address, sizeof *word);
    return call(pid, direction, {&here, 1}, {&there, 1}) == sizeof *word;
}

/// Whether the kernel lets this process reach the peer's memory in that direction. lost: the peer
/// has closed, or the process with that number is another one by now. A write to the guard leaves
/// it as it is.
Status reach(const Peer& peer, Direction direction) noexcept {
    if (peer.pid <= 0) return Status::unsupported;
    std::uint64_t word = direction == Direction::write ? peer.copies.incarnation : 0;
    if (copy_word(peer.pid, direction, peer.copies.guard_address, &word)) {
        return word == peer.copies.incarnation ? Status::ok : Status::lost;
    }
    return errno == EFAULT || errno == ESRCH ? Status::lost : Status::unsupported;
}

/// In each call the guard comes first (guard.h). A write leaves the guard as it is.
Status copy_guarded(const Peer& peer, Direction direction, std::uint64_t remote, std::byte* local,
                    std::size_t bytes) noexcept {
    FCI_ASSERT(peer.copies.incarnation != 0 && peer.pid > 0);
    while (bytes != 0) {
        const std::size_t piece = std::min(bytes, kCallBytes);
        std::uint64_t word = direction == Direction::write ? peer.copies.incarnation : 0;
        const iovec here[] = {{&word, sizeof word}, {local, piece}};
        const iovec there[] = {range(peer.copies.guard_address, sizeof word), range(remote, piece)};
        const ssize_t done = call(peer.pid, direction, here, there);
        if (done < 0) {
            if (errno == ESRCH) return Status::lost;
            // At the guard; or the kernel saw before it began that `local` is no address at all.
            if (errno == EFAULT) {
                const Status reached = reach(peer, direction);
                return reached == Status::ok ? Status::invalid : reached;
            }
            return errno == ENOMEM ? Status::exhausted : Status::unsupported;
        }
        const auto copied = static_cast<std::size_t>(done);
        if (copied < sizeof word || word != peer.copies.incarnation) return Status::lost;
        if (copied == sizeof word) return Status::invalid;
        remote += copied - sizeof word;
        local += copied - sizeof word;
        bytes -= copied - sizeof word;
    }
    return Status::ok;
}

}  // namespace

bool ShmInterface::kernel_copies(std::string* why) {
    std::uint64_t from = 0x0123456789abcdefull, to = 0;
    const auto address = reinterpret_cast<std::uint64_t>(&from);
    const bool works = copy_word(getpid(), Direction::read, address, &to) && to == from;
    if (why == nullptr) return works;
    why->clear();
    if (!works) {
        *why = host::system_text(
                   "the kernel does not copy between processes here (process_vm_readv)") +
               " (a container's seccomp profile?); long messages take two copies";
        return false;
    }
    if (!copy_word(getpid(), Direction::write, address, &to)) {
        *why = host::system_text("the kernel lets processes read each other, not write "
                                 "(process_vm_writev)") +
               "; long messages are copied by their receiver alone";
        return true;
    }
    // Siblings may still be refused. Whether they are is known when two of them have met.
    int scope = 0;
    if (std::FILE* const file = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "re")) {
        if (std::fscanf(file, "%d", &scope) != 1) scope = 0;
        std::fclose(file);
    }
    if (scope != 0) {
        *why = "kernel.yama.ptrace_scope is " + std::to_string(scope) +
               ", so the kernel may not copy between processes; long messages take two copies "
               "unless it is set to 0";
    }
    return true;
}

Status ShmInterface::check_copying(Entry& entry, Direction direction) noexcept {
    FCI_ASSERT(entry.state() == State::attached && entry.peer != nullptr);
    Copying& known = entry.peer->copies.leave[static_cast<unsigned>(direction)];
    if (known == Copying::untried) {
        const bool may = kernel_copies_ || direction == Direction::write;
        const Status reached = may ? reach(*entry.peer, direction) : Status::unsupported;
        if (reached == Status::lost) return reached;
        known = reached == Status::ok ? Copying::allowed : Copying::refused;
    }
    return known == Copying::allowed ? Status::ok : Status::unsupported;
}

Status ShmInterface::copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                          std::size_t bytes) noexcept {
    if (id >= peers_.size()) return Status::invalid;
    Entry& entry = peers_[id];
    if (entry.state() == State::lost) return Status::lost;
    if (entry.state() != State::attached) return Status::again;
    const Status allowed = check_copying(entry, direction);
    if (allowed != Status::ok) return allowed;
    if (bytes == 0) return Status::ok;
    Peer& peer = *entry.peer;
    flag::store_release(header_.copying, peer.copies.incarnation);
    const Status status =
        copy_guarded(peer, direction, remote, static_cast<std::byte*>(local), bytes);
    flag::store_release(header_.copying, std::uint64_t{0});
    if (status == Status::unsupported) [[unlikely]] {
        peer.copies.leave[static_cast<unsigned>(direction)] = Copying::refused;
    }
    return status;
}

}  // namespace fci::shm
