// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/library.h"

#include <cstdlib>

namespace fci::ucx {

namespace {

/// Variables that UCX reads where it is loaded, unless the user has set them: libucs sets no signal
/// handlers, which are the program's.
class Surroundings {
public:
    Surroundings() noexcept {
        for (Variable& each : variables_) {
            const bool is_free = std::getenv(each.name) == nullptr;
            each.is_ours = is_free && setenv(each.name, each.value, 1) == 0;
        }
    }
    ~Surroundings() {
        for (const Variable& each : variables_) {
            if (each.is_ours) unsetenv(each.name);
        }
    }
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

private:
    struct Variable {
        const char *name, *value;
        bool is_ours = false;
    };
    Variable variables_[2] = {{"UCX_ERROR_SIGNALS", ""}, {"UCX_DEBUG_SIGNO", "0"}};
};

/// All of them, or the name of one that is missing.
const char* find_all(decltype(&::dlsym) symbol, void* handle, Library* library) noexcept {
    const char* missing = nullptr;
    const auto find = [&]<class Function>(const char* name, Function* function) {
        *function = reinterpret_cast<Function>(symbol(handle, name));
        if (*function == nullptr && missing == nullptr) missing = name;
    };
    find("ucp_config_read", &library->context.config_read);
    find("ucp_config_modify", &library->context.config_modify);
    find("ucp_config_release", &library->context.config_release);
    find("ucp_init_version", &library->context.init);
    find("ucp_cleanup", &library->context.cleanup);
    find("ucp_worker_create", &library->worker.create);
    find("ucp_worker_destroy", &library->worker.destroy);
    find("ucp_worker_get_address", &library->worker.get_address);
    find("ucp_worker_release_address", &library->worker.release_address);
    find("ucp_worker_set_am_recv_handler", &library->worker.set_handler);
    find("ucp_worker_get_efd", &library->worker.get_efd);
    find("ucp_worker_arm", &library->worker.arm);
    find("ucp_worker_progress", &library->worker.progress);
    find("ucp_worker_flush_nbx", &library->worker.flush);
    find("ucp_am_recv_data_nbx", &library->worker.fetch);
    find("ucp_am_data_release", &library->worker.release);
    find("ucp_ep_create", &library->endpoint.create);
    find("ucp_ep_close_nbx", &library->endpoint.close);
    find("ucp_ep_flush_nbx", &library->endpoint.flush);
    find("ucp_am_send_nbx", &library->endpoint.send);
    find("ucp_request_check_status", &library->endpoint.check);
    find("ucp_request_free", &library->endpoint.free);
    find("ucs_status_string", &library->context.status_string);
    return missing;
}

}  // namespace

std::string Library::load(decltype(&::dlopen) open, decltype(&::dlsym) find, Library* library) {
    const Surroundings surroundings;
    void* const handle = open(kName, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* const text = dlerror();
        return std::string("UCX cannot be opened (") + (text != nullptr ? text : kName) +
               "); Debian's package is libucx0, and LD_LIBRARY_PATH leads to others";
    }
    auto* const get_version =
        reinterpret_cast<decltype(&::ucp_get_version)>(find(handle, "ucp_get_version"));
    if (get_version == nullptr) return std::string(kName) + " is no UCX";
    unsigned &major = library->major, &minor = library->minor, release = 0;
    get_version(&major, &minor, &release);
    library->version = std::to_string(major) + "." + std::to_string(minor) + "." +
                       std::to_string(release);
    Dl_info where;
    const bool is_known = dladdr(reinterpret_cast<void*>(get_version), &where) != 0;
    library->file = is_known ? where.dli_fname : kName;
    const std::string name = "UCX " + library->version + " (" + library->file + ")";
    const bool is_new = major == kMajor && minor >= kMinor;
    if (!is_new && major <= kMajor) {
        return name + " is too old: 1.12 is the first that notices dead peers in long messages";
    }
    if (const char* const missing = find_all(find, handle, library)) {
        return name + " has no " + missing;
    }
    return {};
}

/// Of 1.13: where a peer dies while the two connect over rc.
std::string Library::danger() const {
    if (major != kMajor || minor >= 14) return {};
    return "UCX " + version + " may end a process as its peer dies, which UCX 1.14 does not; "
           "FCI_FAR=ucx takes it nevertheless";
}

bool Library::is_over(void** request) const noexcept {
    if (!UCS_PTR_IS_PTR(*request)) return true;
    if (endpoint.check(*request) == UCS_INPROGRESS) return false;
    endpoint.free(*request);
    *request = nullptr;
    return true;
}

const Library* Library::open(std::string* why) {
    static Library library;
    static const std::string missing = load(dlopen, dlsym, &library);
    if (missing.empty()) return &library;
    *why = missing;
    return nullptr;
}

}  // namespace fci::ucx
