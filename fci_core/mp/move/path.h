// SPDX-License-Identifier: BSD-3-Clause
// Path: the ways from the sender's buffer into the receiver's (figs. 2.20, 2.40).
#pragma once

#include <cstdint>

namespace fci::mp {

/// How the data of a long message travels.
enum class Path : std::uint8_t {
    ring,    // two pipelined copies: sender into its pool or the ring, receiver out of it
    pull,    // the receiver copies all of it through the kernel
    shared,  // both copy through the kernel, from the two ends, claiming pieces
    direct,  // the network takes it from the one buffer and brings it into the other
};

}  // namespace fci::mp
