// SPDX-License-Identifier: BSD-3-Clause
// Library: UCX's libucp, opened when a device of this driver is. Nothing is linked to it: opening
// it rewrites mmap and its kind in the C library, as UCX caches registered memory, and processes
// that have not chosen UCX are to be spared that.
#pragma once

#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include <string>

namespace fci::ucx {

// The functions of libucp that this driver calls, each as UCX describes it.

struct ContextCalls {
    decltype(&::ucp_config_read) config_read;
    decltype(&::ucp_config_modify) config_modify;
    decltype(&::ucp_config_release) config_release;
    decltype(&::ucp_init_version) init;
    decltype(&::ucp_cleanup) cleanup;
    decltype(&::ucs_status_string) status_string;  // of libucs, which libucp brings
};

struct WorkerCalls {
    decltype(&::ucp_worker_create) create;
    decltype(&::ucp_worker_destroy) destroy;
    decltype(&::ucp_worker_get_address) get_address;
    decltype(&::ucp_worker_release_address) release_address;
    decltype(&::ucp_worker_set_am_recv_handler) set_handler;
    decltype(&::ucp_worker_get_efd) get_efd;
    decltype(&::ucp_worker_arm) arm;
    decltype(&::ucp_worker_progress) progress;
    decltype(&::ucp_worker_flush_nbx) flush;
    decltype(&::ucp_am_recv_data_nbx) fetch;
    decltype(&::ucp_am_data_release) release;
};

struct EndpointCalls {
    decltype(&::ucp_ep_create) create;
    decltype(&::ucp_ep_close_nbx) close;
    decltype(&::ucp_ep_flush_nbx) flush;
    decltype(&::ucp_am_send_nbx) send;
    decltype(&::ucp_request_check_status) check;  // of a request
    decltype(&::ucp_request_free) free;
};

struct Library {
    static constexpr const char* kName = "libucp.so.0";
    // From here on long messages work where a dead peer is noticed.
    static constexpr unsigned kMajor = 1, kMinor = 12;

    /// Opened once in a process, and never closed. nullptr, and *why: what is missing and where it
    /// is to be had.
    static const Library* open(std::string* why);
    /// The same by the caller's own `open` and `find`, and into the caller's own library. The text
    /// of what is missing; empty: nothing.
    static std::string load(decltype(&::dlopen) open, decltype(&::dlsym) find, Library* library);

    /// Why it is not taken unless the user asks for it; empty: it may be.
    [[nodiscard]] std::string danger() const;
    /// False: the request is under way. One that is over is freed, and the pointer cleared.
    [[nodiscard]] bool is_over(void** request) const noexcept;

    unsigned major = 0, minor = 0;
    /// "1.13.1", and the file it was found in.
    std::string version, file;
    ContextCalls context;
    WorkerCalls worker;
    EndpointCalls endpoint;
};

}  // namespace fci::ucx
