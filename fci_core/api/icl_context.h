// SPDX-License-Identifier: BSD-3-Clause
// What icl.h's context is: a Process under another name.
#pragma once

#include <new>

#include "fci_core/api/icl.h"
#include "fci_core/api/process.h"

namespace fci::api {

/// const as the caller sees it.
inline Process& process_of(const fci_icl_context* context) noexcept {
    return *reinterpret_cast<Process*>(const_cast<fci_icl_context*>(context));
}
inline mp::MessagePassing& messages_of(const fci_icl_context* context) noexcept {
    return process_of(context).messages();
}
inline mp::Engine& engine_of(const fci_icl_context* context) noexcept {
    return messages_of(context).engine();
}

/// Runs what may allocate; running out of memory becomes a code.
template <class F>
int guarded(F&& call) noexcept {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return FCI_ICL_ENOMEM;
    } catch (...) {
        return FCI_ICL_EINVAL;
    }
}

}  // namespace fci::api
