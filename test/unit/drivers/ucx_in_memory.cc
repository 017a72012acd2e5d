// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/drivers/ucx_in_memory.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::ucx::test {

namespace {

using Ucx = UcxInMemory;

constexpr std::uint64_t kMagic = 0x5543'5849'4e4d'454d;

Ucx* here = nullptr;  // the functions of UCX have nothing else to find it by

template <class Made>
Made* make(std::vector<std::unique_ptr<Made>>& all) {
    return all.emplace_back(std::make_unique<Made>()).get();
}
/// The object behind UCX's handle, where the driver may use it.
Ucx::Worker& worker_of(ucp_worker_h worker) {
    auto& its = *reinterpret_cast<Ucx::Worker*>(worker);
    if (!its.is_there) here->blame("a call for a worker that was destroyed");
    return its;
}
Ucx::Endpoint& endpoint_of(ucp_ep_h endpoint) {
    auto& its = *reinterpret_cast<Ucx::Endpoint*>(endpoint);
    if (its.is_closed) here->blame("a call for an endpoint that was closed");
    return its;
}
void* status_as_pointer(ucs_status_t status) { return UCS_STATUS_PTR(status); }

/// The answer of a call that ends so: a request, if it goes on.
void* answer(ucs_status_t status, Ucx::Worker* worker, Ucx::Endpoint* endpoint) {
    if (status != UCS_INPROGRESS) return status_as_pointer(status);
    Ucx::Request* const request = make(here->requests);
    request->endpoint = endpoint;
    request->worker = worker;
    return request;
}

// --- contexts ---

ucs_status_t config_read(const char* prefix, const char* file, ucp_config_t** config) {
    if (prefix != nullptr || file != nullptr) here->blame("a configuration of a file");
    if (here->config_answer != UCS_OK) return here->config_answer;
    *config = reinterpret_cast<ucp_config_t*>(make(here->configs));
    return UCS_OK;
}
ucs_status_t config_modify(ucp_config_t* config, const char* name, const char* value) {
    reinterpret_cast<Ucx::Config*>(config)->changed[name] = value;
    return UCS_OK;
}
void config_release(ucp_config_t* config) {
    auto& its = *reinterpret_cast<Ucx::Config*>(config);
    if (its.is_released) here->blame("a configuration was released twice");
    its.is_released = true;
}
ucs_status_t init(unsigned major, unsigned minor, const ucp_params_t* params,
                  const ucp_config_t* config, ucp_context_h* context) {
    if (reinterpret_cast<const Ucx::Config*>(config)->is_released) {
        here->blame("a context of a configuration that was released");
    }
    if (here->init_answer != UCS_OK) return here->init_answer;
    Ucx::Context* const made = make(here->contexts);
    made->major = major;
    made->minor = minor;
    if ((params->field_mask & UCP_PARAM_FIELD_FEATURES) != 0) made->features = params->features;
    *context = reinterpret_cast<ucp_context_h>(made);
    return UCS_OK;
}
void cleanup(ucp_context_h context) {
    auto& its = *reinterpret_cast<Ucx::Context*>(context);
    if (!its.is_there) here->blame("a context was cleaned up twice");
    for (const auto& worker : here->workers) {
        if (worker->context == &its && worker->is_there) {
            here->blame("a context was cleaned up before its worker");
        }
    }
    its.is_there = false;
}
const char* status_string(ucs_status_t status) {
    switch (status) {
        case UCS_OK: return "Success";
        case UCS_ERR_NO_MEMORY: return "Out of memory";
        case UCS_ERR_NO_DEVICE: return "No such device";
        case UCS_ERR_UNREACHABLE: return "Destination is unreachable";
        case UCS_ERR_INVALID_ADDR: return "Invalid address";
        case UCS_ERR_CONNECTION_RESET: return "Connection reset by remote peer";
        case UCS_ERR_ENDPOINT_TIMEOUT: return "Endpoint timeout";
        default: return "Some error";
    }
}

// --- workers ---

ucs_status_t worker_create(ucp_context_h context, const ucp_worker_params_t* params,
                           ucp_worker_h* worker) {
    if (here->worker_answer != UCS_OK) return here->worker_answer;
    const bool has_mode = (params->field_mask & UCP_WORKER_PARAM_FIELD_THREAD_MODE) != 0;
    if (!has_mode || params->thread_mode != UCS_THREAD_MODE_SINGLE) {
        here->blame("a worker for several threads");
    }
    Ucx::Worker* const made = make(here->workers);
    made->context = reinterpret_cast<Ucx::Context*>(context);
    made->address.resize(here->address_bytes);
    const std::uint64_t words[2] = {kMagic, here->workers.size() - 1};
    std::memcpy(made->address.data(), words, std::min(sizeof words, here->address_bytes));
    *worker = reinterpret_cast<ucp_worker_h>(made);
    return UCS_OK;
}
void worker_destroy(ucp_worker_h worker) {
    Ucx::Worker& its = worker_of(worker);
    if (its.has_address) here->blame("a worker was destroyed before its address");
    for (const auto& endpoint : here->endpoints) {
        if (endpoint->from == &its && !endpoint->is_closed) {
            here->blame("a worker was destroyed before its endpoint");
        }
    }
    here->cancel(its, nullptr, true);
    its.is_there = false;
    its.here.clear();
}
ucs_status_t get_address(ucp_worker_h worker, ucp_address_t** address, size_t* bytes) {
    if (here->address_answer != UCS_OK) return here->address_answer;
    Ucx::Worker& its = worker_of(worker);
    its.has_address = true;
    *address = reinterpret_cast<ucp_address_t*>(its.address.data());
    *bytes = its.address.size();
    return UCS_OK;
}
void release_address(ucp_worker_h worker, ucp_address_t* address) {
    Ucx::Worker& its = worker_of(worker);
    if (!its.has_address || address != reinterpret_cast<ucp_address_t*>(its.address.data())) {
        here->blame("an address that was not given");
    }
    its.has_address = false;
}
ucs_status_t set_handler(ucp_worker_h worker, const ucp_am_handler_param_t* handler) {
    if (here->handler_answer != UCS_OK) return here->handler_answer;
    Ucx::Worker& its = worker_of(worker);
    constexpr std::uint64_t kAll = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                   UCP_AM_HANDLER_PARAM_FIELD_ARG;
    const bool is_possible = (its.context->features & UCP_FEATURE_AM) != 0;
    if (!is_possible || (handler->field_mask & kAll) != kAll) return UCS_ERR_INVALID_PARAM;
    its.handlers[handler->id] = *handler;
    return UCS_OK;
}
ucs_status_t get_efd(ucp_worker_h worker, int* fd) {
    if (here->event_answer != UCS_OK) return here->event_answer;
    Ucx::Worker& its = worker_of(worker);
    if ((its.context->features & UCP_FEATURE_WAKEUP) == 0) return UCS_ERR_UNSUPPORTED;
    its.event = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    *fd = its.event.get();
    return UCS_OK;
}
ucs_status_t arm(ucp_worker_h worker) {
    Ucx::Worker& its = worker_of(worker);
    ++its.arms;
    std::uint64_t count;
    (void)!read(its.event.get(), &count, sizeof count);
    if (its.busy != 0) {
        --its.busy;
        return UCS_ERR_BUSY;
    }
    if (!its.here.empty() && !its.is_deaf && !its.is_blind) return UCS_ERR_BUSY;
    its.is_armed = true;
    return UCS_OK;
}

/// Of endpoints of the worker, all that was decided since its last turn.
void tell_of_endpoints(Ucx::Worker& worker) {
    for (std::size_t i = 0; i < here->endpoints.size(); ++i) {
        Ucx::Endpoint& its = *here->endpoints[i];
        if (its.from != &worker || its.failure == UCS_OK) continue;
        const ucs_status_t why = std::exchange(its.failure, UCS_OK);
        for (const auto& request : here->requests) {
            if (request->endpoint == &its && request->status == UCS_INPROGRESS) {
                request->status = UCS_ERR_CANCELED;
            }
        }
        its.takes = true;
        its.send_answer = its.flush_answer = why;
        if (its.failed.cb != nullptr && !its.is_closed) {
            its.failed.cb(its.failed.arg, reinterpret_cast<ucp_ep_h>(&its), why);
        }
    }
    for (std::size_t i = 0; i < here->requests.size(); ++i) {
        Ucx::Request& its = *here->requests[i];
        if (its.worker == &worker && its.status != UCS_INPROGRESS) here->tell(its);
    }
}
unsigned progress(ucp_worker_h worker) {
    Ucx::Worker& its = worker_of(worker);
    ++its.turns;
    tell_of_endpoints(its);
    unsigned work = 0;
    for (; !its.is_deaf && !its.here.empty() && work < its.at_once; ++work) here->hand_on(its);
    return work;
}
ucs_status_ptr_t flush(ucp_worker_h worker, const ucp_request_param_t*) {
    Ucx::Worker& its = worker_of(worker);
    ++its.flushes;
    return answer(its.flush_answer, &its, nullptr);
}
ucs_status_ptr_t fetch(ucp_worker_h worker, void* descriptor, void* to, size_t bytes,
                       const ucp_request_param_t* param) {
    return here->begin_fetch(worker_of(worker), descriptor, {static_cast<std::byte*>(to), bytes},
                             *param);
}
void release(ucp_worker_h worker, void* descriptor) {
    here->take_back(worker_of(worker), descriptor);
}

// --- endpoints ---

ucs_status_t endpoint_create(ucp_worker_h worker, const ucp_ep_params_t* params,
                             ucp_ep_h* endpoint) {
    if (here->endpoint_answer != UCS_OK) return here->endpoint_answer;
    if ((params->field_mask & UCP_EP_PARAM_FIELD_REMOTE_ADDRESS) == 0) return UCS_ERR_INVALID_PARAM;
    std::uint64_t words[2];
    std::memcpy(words, reinterpret_cast<const std::byte*>(params->address), sizeof words);
    if (words[0] != kMagic || words[1] >= here->workers.size()) return UCS_ERR_INVALID_ADDR;
    Ucx::Endpoint* const made = make(here->endpoints);
    *made = here->like;
    made->from = &worker_of(worker);
    made->to = here->workers[words[1]].get();
    if ((params->field_mask & UCP_EP_PARAM_FIELD_ERR_HANDLER) != 0) {
        made->failed = params->err_handler;
    }
    if ((params->field_mask & UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE) != 0) {
        made->mode = params->err_mode;
    }
    *endpoint = reinterpret_cast<ucp_ep_h>(made);
    return UCS_OK;
}
/// Frames that still wait end in the next turn.
ucs_status_ptr_t endpoint_close(ucp_ep_h endpoint, const ucp_request_param_t* param) {
    Ucx::Endpoint& its = endpoint_of(endpoint);
    const bool has_flags = (param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) != 0;
    if (!has_flags || param->flags != UCP_EP_CLOSE_FLAG_FORCE) {
        here->blame("an endpoint was closed without force");
    }
    its.is_closed = true;
    if (its.close_answer != UCS_INPROGRESS || its.calls_in_close) {
        here->cancel(*its.from, &its, its.calls_in_close);
    }
    return answer(its.close_answer, its.from, &its);
}
ucs_status_ptr_t endpoint_flush(ucp_ep_h endpoint, const ucp_request_param_t*) {
    Ucx::Endpoint& its = endpoint_of(endpoint);
    ++its.flushes;
    its.flushed = its.sends;
    return answer(its.flush_answer, its.from, &its);
}
ucs_status_ptr_t send(ucp_ep_h endpoint, unsigned id, const void* header, size_t header_bytes,
                      const void* buffer, size_t bytes, const ucp_request_param_t* param) {
    return here->begin_send(endpoint_of(endpoint), id,
                            {static_cast<const std::byte*>(header), header_bytes},
                            {static_cast<const std::byte*>(buffer), bytes}, *param);
}
ucs_status_t check(void* request) { return static_cast<Ucx::Request*>(request)->status; }
void free_request(void* request) {
    auto& its = *static_cast<Ucx::Request*>(request);
    if (its.is_freed) here->blame("a request was freed twice");
    if (its.status == UCS_INPROGRESS) here->blame("a request was freed before it was over");
    its.is_freed = true;
}

}  // namespace

UcxInMemory::UcxInMemory() {
    FCI_ASSERT(here == nullptr);
    here = this;
    library_.version = "1.99.7";
    library_.file = "memory";
    library_.context = {config_read, config_modify, config_release, init, cleanup, status_string};
    library_.worker = {worker_create, worker_destroy, get_address, release_address, set_handler,
                       get_efd, arm, progress, flush, fetch, release};
    library_.endpoint = {endpoint_create, endpoint_close, endpoint_flush, send, check,
                         free_request};
}
UcxInMemory::~UcxInMemory() { here = nullptr; }

void UcxInMemory::finish(Endpoint& endpoint, ucs_status_t status) {
    for (const auto& request : requests) {
        const bool is_its = request->endpoint == &endpoint && request->told == nullptr;
        if (is_its && request->status == UCS_INPROGRESS) request->status = status;
    }
    if (endpoint.is_closed) cancel(*endpoint.from, &endpoint, false);
}

void UcxInMemory::finish_flush(Worker& worker) {
    for (const auto& its : requests) {
        const bool is_flush = its->endpoint == nullptr && its->read == nullptr;
        if (its->worker == &worker && is_flush) its->status = UCS_OK;
    }
}

unsigned UcxInMemory::requests_left() const {
    return static_cast<unsigned>(
        std::ranges::count_if(requests, [](const auto& each) { return !each->is_freed; }));
}
std::vector<std::string> UcxInMemory::mistakes() const {
    std::vector<std::string> all = mistakes_;
    if (forgives_) return all;
    for (const auto& each : configs) {
        if (!each->is_released) all.push_back("a configuration is left");
    }
    for (const auto& each : contexts) {
        if (each->is_there) all.push_back("a context is left");
    }
    for (const auto& each : workers) {
        if (each->is_there) all.push_back("a worker is left");
    }
    for (const auto& each : endpoints) {
        if (!each->is_closed) all.push_back("an endpoint is left");
    }
    for (const auto& each : data) {
        if (each->is_there && !each->is_over) all.push_back("data are left");
    }
    if (requests_left() != 0) all.push_back("a request is left");
    return all;
}

}  // namespace fci::ucx::test
