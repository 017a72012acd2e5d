// SPDX-License-Identifier: BSD-3-Clause
// UcxInMemory: the functions of UCX that the driver calls, for several workers in one process.
// Nothing happens but in a call of the driver, and a test decides how each ends: at once, later, or
// as a failure. Calls that UCX forbids, and things that were not given back, are kept as mistakes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/ucx/library.h"

namespace fci::ucx::test {

using Bytes = std::vector<std::byte>;

class UcxInMemory {
public:
    struct Endpoint;
    struct Worker;

    struct Config {
        std::map<std::string, std::string> changed{};
        bool is_released = false;
    };
    struct Context {
        std::uint64_t features = 0;
        unsigned major = 0, minor = 0;
        bool is_there = true;
    };
    /// A request that was given to the driver.
    struct Request {
        Endpoint* endpoint = nullptr;
        ucs_status_t status = UCS_INPROGRESS;
        bool is_freed = false;
        // Of a frame: what is called when it is over, and where its bytes lie until then.
        ucp_send_nbx_callback_t told = nullptr;
        void* user = nullptr;
        std::span<const std::byte> bytes{};
        unsigned message = 0;
    };
    struct Message {
        Bytes bytes;
        std::uint32_t attributes = 0;
        unsigned number = 0;  // of the active message
    };
    struct Worker {
        Context* context = nullptr;
        bool is_there = true, has_address = false;
        host::Descriptor event{};
        std::map<unsigned, ucp_am_handler_param_t> handlers{};  // by the number of a message
        Bytes address{};
        std::deque<Message> here{};  // that its next turn hands to the handler
        bool is_armed = false;
        unsigned turns = 0, arms = 0;

        // The test decides these.
        unsigned busy = 0;                    // so many times there is work when it is armed
        bool is_deaf = false;                 // messages stay here
        unsigned at_once = ~0u;               // so many messages are handed on by one turn
    };
    struct Endpoint {
        Worker* from = nullptr;
        Worker* to = nullptr;
        ucp_err_handler_t failed{};
        ucp_err_handling_mode_t mode = UCP_ERR_HANDLING_MODE_NONE;
        bool is_closed = false;
        ucs_status_t failure = UCS_OK;  // that the driver hears in the next turn
        unsigned sends = 0, flushes = 0, flushed = 0;  // sends before the last flush

        // The test decides these; an answer UCS_INPROGRESS waits for finish().
        bool takes = true;  // false: frames wait until take()
        ucs_status_t send_answer = UCS_OK, flush_answer = UCS_OK, close_answer = UCS_OK;
    };

    UcxInMemory();
    ~UcxInMemory();
    UcxInMemory(const UcxInMemory&) = delete;
    UcxInMemory& operator=(const UcxInMemory&) = delete;

    [[nodiscard]] const Library& library() const noexcept { return library_; }
    /// The one that was made last.
    [[nodiscard]] Endpoint& last_endpoint() { return *endpoints.back(); }
    [[nodiscard]] Worker& last_worker() { return *workers.back(); }

    /// The worker hears of this in its next turn.
    void bring(Worker& to, std::span<const std::byte> bytes, std::uint32_t attributes = 0,
               unsigned number = kFrames);
    /// So many frames that wait at the endpoint arrive, and the sender's next turn says so.
    void take(Endpoint& endpoint, unsigned frames = ~0u);
    /// All that waits of the endpoint but its frames is over: flushes and its closing.
    void finish(Endpoint& endpoint, ucs_status_t status = UCS_OK);
    /// The driver hears in its next turn that the endpoint is of no use any more.
    static void fail(Endpoint& endpoint, ucs_status_t why) { endpoint.failure = why; }

    /// Requests that the driver has not freed.
    [[nodiscard]] unsigned requests_left() const;
    /// With all that was not given back.
    [[nodiscard]] std::vector<std::string> mistakes() const;
    /// Things of a child of fork(), which UCX's functions may not be called for.
    void forgive() { forgives_ = true; }
    void blame(const std::string& mistake) { mistakes_.push_back(mistake); }

    static constexpr unsigned kFrames = 0xf;  // the number of the driver's active message

    // The test decides these.
    ucs_status_t config_answer = UCS_OK, init_answer = UCS_OK, worker_answer = UCS_OK,
                 handler_answer = UCS_OK, address_answer = UCS_OK, event_answer = UCS_OK,
                 endpoint_answer = UCS_OK;
    std::size_t address_bytes = 40;
    Endpoint like{};  // of endpoints that are still to be made

    // All that was ever made.
    std::vector<std::unique_ptr<Config>> configs;
    std::vector<std::unique_ptr<Context>> contexts;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<std::unique_ptr<Request>> requests;

private:
    Library library_{};
    std::vector<std::string> mistakes_;
    bool forgives_ = false;
};

}  // namespace fci::ucx::test
