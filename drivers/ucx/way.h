// SPDX-License-Identifier: BSD-3-Clause
// Way: what UCX's requests of a road refer to. For road.cc and rendezvous.cc, which know UCX.
#pragma once

#include <cstddef>

#include "drivers/ucx/library.h"
#include "drivers/ucx/road.h"

namespace fci::ucx {

struct Road::Worker {
    ucp_context_h context = nullptr;
    ucp_worker_h worker = nullptr;
    ucp_address_t* address = nullptr;
};

struct Road::Way {
    Road* road;
    ucp_ep_h endpoint;      // nullptr: closed
    Frame* next = nullptr;  // that begin() has given
    unsigned waiting = 0;   // frames that UCX has not taken yet
    unsigned loans = 0;     // parts of data likewise
    bool is_forgotten = false;  // once it is closed, nothing asks for it
    const char* broken = nullptr;
    void* flush = nullptr;
    void* close = nullptr;
};

/// The bytes of one frame, which UCX may use until it calls.
struct Road::Frame {
    Way* way;
    std::size_t room;
    [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

}  // namespace fci::ucx
