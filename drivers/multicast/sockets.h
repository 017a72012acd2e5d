// SPDX-License-Identifier: BSD-3-Clause
// Sockets: the sockets by which hints leave and come. They are opened when they are first needed.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "drivers/host/descriptor.h"
#include "drivers/multicast/place.h"

namespace fci::multicast {

class Sockets {
public:
    /// `own`: the address of the interface that they use.
    Sockets(const Place& place, std::uint32_t own) noexcept : place_(place), own_(own) {}

    /// False, with a sentence: the interface cannot, or the kernel refuses.
    [[nodiscard]] bool open_to_send(std::string* why);
    [[nodiscard]] bool open_to_hear(std::string* why);
    void close_ears() noexcept;
    void close() noexcept;
    [[nodiscard]] bool can_send() const noexcept { return static_cast<bool>(mouth_); }
    [[nodiscard]] bool can_hear() const noexcept { return static_cast<bool>(ears_[0]); }
    /// Bytes of the receive buffer of a lane, as the kernel counts; 0: no lane is open.
    [[nodiscard]] std::size_t room() const noexcept { return room_; }
    /// The socket of a lane that is open.
    [[nodiscard]] int ear(unsigned lane) const noexcept { return ears_[lane].get(); }

    /// Sends one datagram, or, if `segment` is not 0, one for each `segment` bytes. Never waits;
    /// returns -errno.
    ssize_t send(unsigned lane, std::span<const std::byte> bytes, std::size_t segment) noexcept;
    struct Received {
        std::span<std::byte> bytes;
        std::size_t segment;   // each datagram has so many bytes, the last one the rest
        std::uint32_t source;  // the address that sent them
    };
    /// Receives datagrams of one sender that the kernel has merged, or one. Returns -errno. Bytes
    /// beyond `to` are cut.
    int receive(unsigned lane, std::span<std::byte> to, Received* received) noexcept;

private:
    [[nodiscard]] bool check_interface(std::string* why) const;
    [[nodiscard]] bool listen(unsigned lane) noexcept;

    const Place place_;
    const std::uint32_t own_;
    host::Descriptor mouth_;
    std::array<host::Descriptor, kLanes> ears_;  // by lane
    std::size_t room_ = 0;
};

}  // namespace fci::multicast
