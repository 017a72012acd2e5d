// SPDX-License-Identifier: BSD-3-Clause
// Whether the driver ucx can be tested here.
#pragma once

#include <string>

#include "drivers/ucx/ports.h"
#include "drivers/ucx/ucx.h"

namespace fci::conformance {

/// False, and *why: there is no UCX, or the sanitizer does not let it be tried. Where there is one
/// that cannot be used the driver's tests are to show it.
inline bool is_ucx_here(std::string* why) {
#ifdef __SANITIZE_THREAD__
    *why = "the sanitizer ends a child that starts a thread";
    return false;
#else
    const auto says = [&](const char* text) { return why->find(text) != why->npos; };
    return ucx::probe_ucx(why) || !(says("UCX cannot be opened") || says("built without UCX"));
#endif
}

/// The first port of an RDMA device that is up, as UCX_NET_DEVICES has it; empty: there is none.
inline std::string rdma_port() {
    for (const ucx::Port& port : ucx::ports()) {
        if (port.is_up()) return port.name;
    }
    return {};
}

}  // namespace fci::conformance
