// SPDX-License-Identifier: BSD-3-Clause
// Ranges: memory in several pieces, addressed as if it were one.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace fci::libfabric {

using Ranges = std::span<const iovec>;

/// False: more than fits into a number.
inline bool total_of(Ranges ranges, std::uint64_t* bytes) noexcept {
    *bytes = 0;
    for (const iovec& range : ranges) {
        if (__builtin_add_overflow(*bytes, range.iov_len, bytes)) return false;
    }
    return true;
}

/// Calls `visit` with what lies at `place` to `place + bytes`, piece by piece.
template <class Visit>
void walk(Ranges ranges, std::uint64_t place, std::uint64_t bytes, Visit visit) {
    for (const iovec& range : ranges) {
        if (bytes == 0) return;
        if (place >= range.iov_len) {
            place -= range.iov_len;
            continue;
        }
        const std::uint64_t n = std::min<std::uint64_t>(bytes, range.iov_len - place);
        visit(static_cast<char*>(range.iov_base) + place, n);
        bytes -= n;
        place = 0;
    }
}

inline void slice(Ranges ranges, std::uint64_t place, std::uint64_t bytes, std::vector<iovec>* to) {
    walk(ranges, place, bytes, [&](char* at, std::uint64_t n) { to->push_back({at, n}); });
}

inline void copy_out(Ranges from, std::uint64_t place, std::uint64_t bytes, void* to) noexcept {
    walk(from, place, bytes, [&](const char* at, std::uint64_t n) {
        std::memcpy(to, at, n);
        to = static_cast<char*>(to) + n;
    });
}

inline void copy_in(Ranges to, std::uint64_t place, std::uint64_t bytes,
                    const void* from) noexcept {
    walk(to, place, bytes, [&](char* at, std::uint64_t n) {
        std::memcpy(at, from, n);
        from = static_cast<const char*>(from) + n;
    });
}

}  // namespace fci::libfabric
