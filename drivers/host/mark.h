// SPDX-License-Identifier: BSD-3-Clause
// Marks: sixteen bits of a process's incarnation say on which host it is, so that a peer that has
// its card knows whether shared memory reaches it. A host is the reach of an abstract socket: one
// kernel, booted once, and one network namespace in it. An address would not do, as many hosts
// have a 172.17.0.1, and all of them 127.0.0.1.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "drivers/host/descriptor.h"
#include "drivers/host/draw.h"
#include "fci_core/base/assert.h"

namespace fci::host {

using Mark = std::uint16_t;
inline constexpr Mark kNoMark = 0;  // of a process that cannot tell
inline constexpr unsigned kRandomBits = 64 - 8 * sizeof(Mark);
static_assert(kRandomBits == 48, "what nobody can guess of an incarnation");

constexpr Mark mark_of(std::uint64_t incarnation) noexcept {
    return static_cast<Mark>(incarnation >> kRandomBits);
}

/// The two processes are known to be on different hosts.
constexpr bool are_apart(std::uint64_t incarnation, std::uint64_t other) noexcept {
    const Mark one = mark_of(incarnation), two = mark_of(other);
    return one != kNoMark && two != kNoMark && one != two;
}
inline constexpr const char* kApart =
    "a process is on another host, and it or this one was opened for its own host alone (driver "
    "shm, as each of their jobs has one host); start both jobs with FCI_DRIVER=node";

/// The mark of this process's host; kNoMark, and errno: the kernel does not say.
inline Mark own_mark() noexcept {
    const Descriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char boot[64];
    const ssize_t length = file ? read(file.get(), boot, sizeof boot) : -1;
    struct stat network {};
    if (length <= 0 || stat("/proc/self/ns/net", &network) != 0) return kNoMark;
    FCI_ASSERT(static_cast<std::size_t>(length) <= sizeof boot);
    std::uint64_t hash = 0xcbf29ce484222325ull ^ network.st_ino;
    for (ssize_t i = 0; i < length; ++i) {
        hash = (hash ^ static_cast<unsigned char>(boot[i])) * 0x100000001b3ull;
    }
    hash ^= hash >> 32;
    const auto mark = static_cast<Mark>(hash ^ hash >> 16);
    return mark != kNoMark ? mark : Mark{1};
}

/// An incarnation with that mark. False: the kernel has no random numbers, and errno says why.
inline bool draw_incarnation(Mark mark, std::uint64_t* incarnation) noexcept {
    constexpr std::uint64_t kRandom = (std::uint64_t{1} << kRandomBits) - 1;
    do {
        if (!draw(incarnation)) return false;
        *incarnation &= kRandom;
    } while (*incarnation == 0);
    *incarnation |= std::uint64_t{mark} << kRandomBits;
    FCI_ASSERT(*incarnation != 0 && mark_of(*incarnation) == mark);
    return true;
}

}  // namespace fci::host
