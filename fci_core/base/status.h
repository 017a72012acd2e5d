// SPDX-License-Identifier: BSD-3-Clause
// Status: what an internal call reports. App. D's codes are made from it in api only.
#pragma once

#include <cstdint>

namespace fci {

enum class [[nodiscard]] Status : std::uint8_t {
    ok,           // done, or accepted
    again,        // back-pressure: nothing was changed, a later turn clears it
    not_found,    // the request, peer or entry named does not exist (any more)
    invalid,      // an argument is out of range
    exhausted,    // memory, descriptors or a fixed table ran out
    unreachable,  // no such process, or it is not ours to talk to
    lost,         // the peer died or its connection broke
    unsupported,  // this driver or kernel cannot do it
    mismatch,     // versions or settings of the two sides differ
};

constexpr const char* to_string(Status status) noexcept {
    switch (status) {
        case Status::ok: return "ok";
        case Status::again: return "try again";
        case Status::not_found: return "not found";
        case Status::invalid: return "invalid argument";
        case Status::exhausted: return "out of resources";
        case Status::unreachable: return "peer unreachable";
        case Status::lost: return "peer lost";
        case Status::unsupported: return "not supported";
        case Status::mismatch: return "version or settings mismatch";
    }
    return "unknown status";
}

/// Monotonic time, handed down as an argument; only drivers and api read a clock.
using Nanoseconds = std::int64_t;

}  // namespace fci
