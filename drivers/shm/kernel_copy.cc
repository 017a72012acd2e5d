// Copies by the kernel between the memories of two processes (§2.7.4: long messages).
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "drivers/shm/shm_interface.h"

namespace fci::shm {

namespace {

constexpr std::size_t kCallBytes = std::size_t{1} << 30;  // the kernel stops at 2 GiB

Status copy_with(pid_t pid, nhi::NetworkInterface::Direction direction, std::uint64_t remote,
                 std::byte* local, std::size_t bytes) noexcept {
    while (bytes != 0) {
        const std::size_t piece = std::min(bytes, kCallBytes);
        const iovec here{local, piece};
        const iovec there{reinterpret_cast<void*>(remote), piece};
        const ssize_t done = direction == nhi::NetworkInterface::Direction::read
                                 ? process_vm_readv(pid, &here, 1, &there, 1, 0)
                                 : process_vm_writev(pid, &here, 1, &there, 1, 0);
        if (done <= 0) {
            if (done < 0 && errno == EINTR) continue;
            if (done == 0 || errno == EFAULT) return Status::invalid;
            if (errno == ESRCH) return Status::lost;
            return errno == ENOMEM ? Status::exhausted : Status::unsupported;
        }
        remote += static_cast<std::uint64_t>(done);
        local += done;
        bytes -= static_cast<std::size_t>(done);
    }
    return Status::ok;
}

}  // namespace

bool ShmInterface::kernel_copies(std::string* why) {
    std::uint64_t from = 0x0123456789abcdefull, to = 0;
    const Status status = copy_with(getpid(), Direction::read,
                                    reinterpret_cast<std::uint64_t>(&from),
                                    reinterpret_cast<std::byte*>(&to), sizeof to);
    const bool works = status == Status::ok && to == from;
    if (why == nullptr) return works;
    why->clear();
    if (!works) {
        *why = "the kernel does not copy between processes here (process_vm_readv: " +
               std::string(to_string(status)) +
               "; a container's seccomp profile?); long messages take two copies";
        return false;
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

namespace {

/// The process with that number is the peer, and the kernel lets this one reach its memory.
bool is_reachable(const Peer& peer) noexcept {
    std::uint64_t incarnation = 0;
    return peer.pid > 0 &&
           copy_with(peer.pid, nhi::NetworkInterface::Direction::read, peer.incarnation_address,
                     reinterpret_cast<std::byte*>(&incarnation), sizeof incarnation) ==
               Status::ok &&
           incarnation == peer.incarnation;
}

}  // namespace

Status ShmInterface::check_copying(Entry& entry) noexcept {
    Peer& peer = *entry.peer;
    if (peer.copying == Copying::untried) {
        const bool fine = capabilities_.kernel_copy && is_reachable(peer);
        peer.copying = fine ? Copying::allowed : Copying::refused;
    }
    return peer.copying == Copying::allowed ? Status::ok : Status::unsupported;
}

Status ShmInterface::copy(nhi::Rank rank, Direction direction, std::uint64_t remote, void* local,
                          std::size_t bytes) noexcept {
    if (rank >= roster_.size()) return Status::invalid;
    Entry& entry = roster_[rank];
    if (entry.state == State::lost) return Status::lost;
    if (entry.state != State::attached) return Status::again;
    const Status allowed = check_copying(entry);
    if (allowed != Status::ok) return allowed;
    const Status status =
        copy_with(entry.peer->pid, direction, remote, static_cast<std::byte*>(local), bytes);
    // Not a wrong address, where the process has become another program (exec).
    if (status == Status::invalid && !is_reachable(*entry.peer)) return Status::lost;
    return status;
}

}  // namespace fci::shm
