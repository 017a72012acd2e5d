// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/road.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "drivers/ucx/way.h"
#include "fci_core/base/assert.h"

namespace fci::ucx {

namespace {

constexpr unsigned kFrameMessage = 0xf;  // the number of its active message

/// A request without wishes: for flushes.
const ucp_request_param_t kPlain{};

}  // namespace

// --- opening and closing ---

std::unique_ptr<Road> Road::open(const Library& library, Listener& listener, Status* status,
                                 std::string* error) {
    std::unique_ptr<Road> road(new Road(library, listener));
    *status = road->start(error);
    return *status == Status::ok ? std::move(road) : nullptr;
}

Road::Road(const Library& library, Listener& listener) noexcept
    : library_(library), listener_(listener) {}

Status Road::start(std::string* error) {
    worker_ = std::make_unique<Worker>();
    spare_.reserve(kSpareMost);
    ucp_config_t* config = nullptr;
    ucs_status_t status = library_.context.config_read(nullptr, nullptr, &config);
    if (status != UCS_OK) {
        *error = name() + " cannot read its UCX_ variables: " +
                 library_.context.status_string(status);
        return Status::invalid;
    }
    // The frames of one sender stay in order on one lane. An older UCX does not know the option.
    if (std::getenv("UCX_MAX_EAGER_RAILS") == nullptr) {
        (void)library_.context.config_modify(config, "MAX_EAGER_RAILS", "1");
    }
    // Else a worker's flush is one of all ways, for which the peers' turns may be needed.
    (void)library_.context.config_modify(config, "FLUSH_WORKER_EPS", "n");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    status = library_.context.init(Library::kMajor, Library::kMinor, &params, config,
                                   &worker_->context);
    library_.context.config_release(config);
    if (status == UCS_OK) return make_worker(error);
    *error = name() + " finds no network it can use: " + library_.context.status_string(status) +
             " (UCX_TLS and UCX_NET_DEVICES choose; ucx_info -d lists them)";
    return Status::unsupported;
}

Status Road::make_worker(std::string* error) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SINGLE;  // the core holds its lock around all calls
    const char* step = "make a worker";
    ucs_status_t status = library_.worker.create(worker_->context, &params, &worker_->worker);
    if (status == UCS_OK) {
        step = "receive messages";
        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                             UCP_AM_HANDLER_PARAM_FIELD_ARG;
        handler.id = kFrameMessage;
        handler.arg = this;
        handler.cb = [](void* road, const void*, size_t, void* bytes, size_t length,
                        const ucp_am_recv_param_t* param) {
            // A message that is not there at once was not sent by this driver.
            if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
                static_cast<Road*>(road)->listener_.frame_came(
                    {static_cast<const std::byte*>(bytes), length});
            }
            return UCS_OK;
        };
        status = library_.worker.set_handler(worker_->worker, &handler);
    }
    if (status == UCS_OK) {
        step = "tell its address";
        size_t bytes = 0;
        status = library_.worker.get_address(worker_->worker, &worker_->address, &bytes);
        address_ = {reinterpret_cast<const std::byte*>(worker_->address), bytes};
    }
    if (status == UCS_OK) {
        step = "wake a sleeper";
        status = library_.worker.get_efd(worker_->worker, &fd_);
    }
    if (status == UCS_OK) return Status::ok;
    *error = name() + " cannot " + step + ": " + library_.context.status_string(status);
    return Status::unsupported;
}

Road::~Road() {
    for (const auto& way : ways_) FCI_ASSERT(way->endpoint == nullptr);
    if (worker_ != nullptr && worker_->worker != nullptr) {
        if (worker_->address != nullptr) {
            library_.worker.release_address(worker_->worker, worker_->address);
        }
        library_.worker.destroy(worker_->worker);
    }
    if (worker_ != nullptr && worker_->context != nullptr) {
        library_.context.cleanup(worker_->context);
    }
    for (Frame* const frame : spare_) std::free(frame);
}

void Road::abandon() noexcept {
    for (const auto& way : ways_) way->endpoint = nullptr;
    *worker_ = {};
    fd_ = -1;
}

std::string Road::name() const { return "UCX " + library_.version; }

// --- ways ---

Road::Way* Road::open_way(const std::byte* address, std::string* error) {
    auto way = std::make_unique<Way>(Way{.road = this, .endpoint = nullptr});
    ways_.reserve(ways_.size() + 1);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(address);
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = way.get();
    params.err_handler.cb = [](void* of, ucp_ep_h, ucs_status_t why) {
        auto* const way = static_cast<Way*>(of);
        way->road->mark_broken(way, way->road->library_.context.status_string(why));
    };
    const ucs_status_t status = library_.endpoint.create(worker_->worker, &params, &way->endpoint);
    if (status != UCS_OK) {
        *error = library_.context.status_string(status);
        return nullptr;
    }
    ways_.push_back(std::move(way));
    return ways_.back().get();
}

void Road::close(Way* way) noexcept {
    if (!end(way)) way->is_forgotten = true;
}

bool Road::end(Way* way) noexcept {
    if (way->endpoint != nullptr) {
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_EP_CLOSE_FLAG_FORCE;
        way->close = library_.endpoint.close(std::exchange(way->endpoint, nullptr), &param);
        ++closing_;
        FCI_ASSERT(way->broken == nullptr || broken_ != 0);
        if (way->broken != nullptr) --broken_;
    }
    way->is_forgotten = is_unused(way);
    return way->is_forgotten;
}

bool Road::is_unused(Way* way) noexcept {
    return way->waiting == 0 && way->loans == 0 && library_.is_over(&way->close) &&
           library_.is_over(&way->flush);
}

const char* Road::broken(const Way* way) noexcept { return way->broken; }

void Road::mark_broken(Way* way, const char* why) noexcept {
    if (way->broken != nullptr || way->endpoint == nullptr) return;
    way->broken = why;
    ++broken_;
}

// --- frames ---

std::byte* Road::begin(Way* way, std::size_t bytes) noexcept {
    FCI_ASSERT(way->endpoint != nullptr && way->next == nullptr);
    if (way->waiting >= kWaitingMost) return nullptr;
    const std::size_t room = std::max(bytes, kFrameRoom);
    Frame* frame = nullptr;
    if (room == kFrameRoom && !spare_.empty()) {
        frame = spare_.back();
        spare_.pop_back();
    } else {
        void* const memory = std::malloc(sizeof(Frame) + room);
        if (memory == nullptr) return nullptr;
        frame = new (memory) Frame{nullptr, room};
    }
    frame->way = way;
    way->next = frame;
    return frame->bytes();
}

void Road::put_back(Frame* frame) noexcept {
    FCI_ASSERT(frame->room >= kFrameRoom);
    if (frame->room == kFrameRoom && spare_.size() < kSpareMost) {
        spare_.push_back(frame);
    } else {
        std::free(frame);
    }
}

void Road::send(Way* way, std::size_t bytes) noexcept {
    Frame* const frame = std::exchange(way->next, nullptr);
    FCI_ASSERT(frame != nullptr && bytes <= frame->room && way->endpoint != nullptr);
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                         UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.user_data = frame;
    param.cb.send = [](void* request, ucs_status_t, void* user) {
        auto* const sent = static_cast<Frame*>(user);
        Road& road = *sent->way->road;
        FCI_ASSERT(sent->way->waiting != 0);
        --sent->way->waiting;
        road.put_back(sent);
        road.library_.endpoint.free(request);
    };
    void* const request = library_.endpoint.send(way->endpoint, kFrameMessage, nullptr, 0,
                                           frame->bytes(), bytes, &param);
    note_sent();
    if (UCS_PTR_IS_PTR(request)) {
        ++way->waiting;
        return;
    }
    // Where the way is broken the frame is lost, and the error handler says so.
    if (UCS_PTR_IS_ERR(request)) {
        mark_broken(way, library_.context.status_string(UCS_PTR_STATUS(request)));
    }
    put_back(frame);
}

// --- turns ---

unsigned Road::progress() noexcept {
    const unsigned work = library_.worker.progress(worker_->worker);
    if (closing_ == 0) return work;
    std::erase_if(ways_, [&](const std::unique_ptr<Way>& way) {
        if (way->endpoint != nullptr || !way->is_forgotten || !is_unused(way.get())) return false;
        --closing_;
        return true;
    });
    return work;
}

bool Road::arm() noexcept {
    // Verbs tell of what comes once they are armed, and not of what came between a turn and that.
    return library_.worker.arm(worker_->worker) != UCS_ERR_BUSY && progress() == 0;
}

void Road::begin_flush(Way* way) noexcept {
    FCI_ASSERT(way->endpoint != nullptr);
    if (library_.is_over(&way->flush)) way->flush = library_.endpoint.flush(way->endpoint, &kPlain);
}

bool Road::is_flushed(Way* way) noexcept {
    return way->waiting == 0 && library_.is_over(&way->flush);
}

/// A flush of the worker waits for no turns of a peer, other than that of a way, but for all ways
/// that are closed, too; and not for frames that UCX has queued: of shared memory it is over before
/// them.
bool Road::is_idle() noexcept {
    for (const auto& way : ways_) {
        if (way->endpoint != nullptr && way->waiting != 0) return false;
    }
    if (is_closing()) return true;
    if (!library_.is_over(&flush_)) return false;
    if (!std::exchange(is_dirty_, false)) return true;
    flush_ = library_.worker.flush(worker_->worker, &kPlain);
    return library_.is_over(&flush_);
}

}  // namespace fci::ucx
