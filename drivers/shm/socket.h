// SPDX-License-Identifier: BSD-3-Clause
// Sockets: how processes of one host find each other and hand over memory. The names are in the
// abstract space of the network namespace: nothing to remove, gone with the last descriptor.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "drivers/host/descriptor.h"
#include "drivers/host/place.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"

namespace fci::shm {

/// Binds and listens at the place that `card` names, among those of `user`. errno: why not.
host::Descriptor listen_at(const ddi::Card& card, uid_t user = geteuid()) noexcept;
/// Connects at once, or fails; errno tells why. If the listener's queue is full, the call waits for
/// some milliseconds at most: a caller that only tried now and then would hardly ever find a free
/// place in the queue.
host::Descriptor connect_to(const ddi::Card& card, uid_t user = geteuid()) noexcept;
/// The socket of the next caller; none: errno.
host::Descriptor accept_from(int listening) noexcept;

/// A descriptor that becomes readable when the process ends. None, and errno ESRCH: it has ended;
/// any other errno: that cannot be told here.
host::Descriptor watch_process(pid_t pid) noexcept;
/// Nonblocking: the descriptor is readable, or its other end is closed.
bool is_readable(int fd) noexcept;
bool is_hung_up(int socket) noexcept;
/// A descriptor that cannot block or kill its writer: nonblocking, and of the inode that eventfds
/// share, `own` among them. Other descriptors with this inode refuse to be written.
bool is_waker(int fd, int own) noexcept;

/// Of a connected socket: the other end has taken out all that was sent.
bool is_all_read(int socket) noexcept;

/// One record, whole or not at all. errno tells the failure.
bool send_record(int socket, const void* record, std::size_t bytes,
                 std::span<const int> files) noexcept;

/// One received record with its descriptors.
struct Received {
    static constexpr unsigned kFilesMax = 4;
    std::array<std::byte, 512> bytes;
    std::size_t length = 0;
    std::array<host::Descriptor, kFilesMax> files;
    unsigned file_count = 0;
    bool files_cut = false;  // some descriptors did not fit into this process
};
/// Of send_record(): it may succeed later. In flight too many descriptors, or too little memory.
bool is_shortage(int error) noexcept;
enum class Reception : std::uint8_t { record, nothing, closed };
Reception receive_record(int socket, Received* received) noexcept;

/// A typed card as it is known here: all addresses of this host are one, its loopback address. The
/// others stay as they are.
ddi::Card place_here(const ddi::Card& card) noexcept;
[[nodiscard]] bool is_here(const ddi::Card& card) noexcept;

}  // namespace fci::shm
