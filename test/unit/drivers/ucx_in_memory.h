// SPDX-License-Identifier: BSD-3-Clause
// UcxInMemory: the functions of UCX that the driver calls, for several workers in one process.
// Nothing happens but in a call of the driver, and a test decides how each ends: at once, later, or
// as a failure. Calls that UCX forbids, and things that were not given back, are kept as mistakes.
// Messages with a header are data: they stay until the driver has fetched or released them.
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
    struct Data;

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
        // Of data: the header likewise, what both were when they were sent, and whether they are to
        // be fetched, or are offered to the receiver already.
        std::span<const std::byte> head{};
        Bytes sent{};
        bool is_fetched = false, is_offered = false;
        // Of a fetch: its worker, what is called, and what is read to where.
        Worker* worker = nullptr;
        ucp_am_recv_data_nbx_callback_t read = nullptr;
        Data* data = nullptr;
        std::byte* to = nullptr;
    };
    struct Message {
        Bytes bytes;
        std::uint32_t attributes = 0;
        unsigned number = 0;  // of the active message
        Bytes head{};
        Request* offer = nullptr;  // of data that are still at their sender
    };
    /// Bytes of which the driver was told, and which it may keep. Their descriptor is the address
    /// of `bytes`, or its own where they are to be fetched.
    struct Data {
        Worker* worker = nullptr;
        Bytes bytes{};
        Request* offer = nullptr;
        bool is_there = false, is_over = false;
    };
    struct Worker {
        Context* context = nullptr;
        bool is_there = true, has_address = false;
        host::Descriptor event{};
        std::map<unsigned, ucp_am_handler_param_t> handlers{};  // by the number of a message
        Bytes address{};
        std::deque<Message> here{};  // that its next turn hands to the handler
        bool is_armed = false;
        unsigned turns = 0, arms = 0, flushes = 0;

        // The test decides these.
        unsigned busy = 0;                    // so many times there is work when it is armed
        bool is_blind = false;                // when it is armed, to what came since its last turn
        bool is_deaf = false;                 // messages stay here
        unsigned at_once = ~0u;               // so many messages are handed on by one turn
        // An error refuses a fetch; UCS_INPROGRESS waits for end_fetches(); UCS_OK ends at once.
        ucs_status_t fetch_answer = UCS_OK;
        ucs_status_t fetch_end = UCS_OK;      // of a fetch that ends at once
        bool is_reading_on = false;           // closing an endpoint ends no fetch
        ucs_status_t flush_answer = UCS_OK;   // UCS_INPROGRESS waits for finish_flush()
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
        bool calls_in_close = false;  // the ends of its requests are told while it closes
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
    /// Likewise of data that nobody sent. UCP_AM_RECV_ATTR_FLAG_RNDV: they are to be fetched.
    void bring_data(Worker& to, std::span<const std::byte> head, std::span<const std::byte> bytes,
                    std::uint32_t attributes = UCP_AM_RECV_ATTR_FLAG_DATA);
    /// So many frames that wait at the endpoint arrive, and the sender's next turn says so.
    void take(Endpoint& endpoint, unsigned frames = ~0u);
    /// All that waits of the endpoint but its frames is over: flushes and its closing.
    void finish(Endpoint& endpoint, ucs_status_t status = UCS_OK);
    void finish_flush(Worker& worker);
    /// The driver hears in its next turn that the endpoint is of no use any more.
    static void fail(Endpoint& endpoint, ucs_status_t why) { endpoint.failure = why; }

    /// All fetches of the worker that wait are over, and its next turn says so.
    void end_fetches(Worker& worker, ucs_status_t status = UCS_OK);
    [[nodiscard]] unsigned fetches(const Worker& worker) const;
    /// Data that the worker was told of and has neither fetched nor released.
    [[nodiscard]] unsigned kept(const Worker& worker) const;

    /// Requests that the driver has not freed.
    [[nodiscard]] unsigned requests_left() const;
    /// With all that was not given back.
    [[nodiscard]] std::vector<std::string> mistakes() const;
    /// Things of a child of fork(), which UCX's functions may not be called for.
    void forgive() { forgives_ = true; }
    void blame(const std::string& mistake) { mistakes_.push_back(mistake); }

    static constexpr unsigned kFrames = 0xf, kData = 0x10;  // the driver's active messages

    // --- what UCX's functions do ---
    void* begin_send(Endpoint& from, unsigned number, std::span<const std::byte> head,
                     std::span<const std::byte> bytes, const ucp_request_param_t& param);
    void* begin_fetch(Worker& worker, void* descriptor, std::span<std::byte> to,
                      const ucp_request_param_t& param);
    void take_back(Worker& worker, void* descriptor);
    /// The worker's handler is told of its next message.
    void hand_on(Worker& worker);
    /// All that is under way of the worker is over; false: and nobody hears of it yet.
    void cancel(Worker& worker, const Endpoint* endpoint, bool is_told);
    /// The driver's function that is to hear the end of a request, and hears it once.
    void tell(Request& request);

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
    std::vector<std::unique_ptr<Data>> data;

private:
    void arrive(Request& request);
    void end_read(Request& request);
    Data* find(Worker& worker, void* descriptor);
    void ring(Worker& worker);

    Library library_{};
    std::vector<std::string> mistakes_;
    bool forgives_ = false;
};

}  // namespace fci::ucx::test
