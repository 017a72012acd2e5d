// SPDX-License-Identifier: BSD-3-Clause
// Messages of a UCX in memory: frames, which are gone when the handler returns, and data, which the
// receiver may keep.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fci_core/base/assert.h"
#include "test/unit/drivers/ucx_in_memory.h"

namespace fci::ucx::test {

namespace {

constexpr std::uint32_t kKept = UCP_AM_RECV_ATTR_FLAG_DATA, kOffered = UCP_AM_RECV_ATTR_FLAG_RNDV;

Bytes bytes_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

Bytes joined(std::span<const std::byte> head, std::span<const std::byte> bytes) {
    Bytes all = bytes_of(head);
    all.insert(all.end(), bytes.begin(), bytes.end());
    return all;
}

}  // namespace

// --- sending ---

void* UcxInMemory::begin_send(Endpoint& from, unsigned number, std::span<const std::byte> head,
                              std::span<const std::byte> bytes,
                              const ucp_request_param_t& param) {
    ++from.sends;
    const bool has_flags = (param.op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) != 0;
    const bool is_eager = has_flags && (param.flags & UCP_AM_SEND_FLAG_EAGER) != 0;
    if (is_eager && (param.flags & UCP_AM_SEND_FLAG_RNDV) != 0) blame("a message of both kinds");
    if (number == kFrames && !head.empty()) blame("a frame with a header of UCX");
    if (UCS_STATUS_IS_ERR(from.send_answer)) return UCS_STATUS_PTR(from.send_answer);
    if (from.takes && is_eager) {
        if (!from.to->is_there) return nullptr;
        from.to->here.push_back({bytes_of(bytes), 0, number, bytes_of(head)});
        ring(*from.to);
        return nullptr;
    }
    Request& request = *requests.emplace_back(std::make_unique<Request>());
    request.endpoint = &from;
    request.worker = from.from;
    request.bytes = bytes;
    request.head = head;
    request.sent = joined(head, bytes);
    request.message = number;
    request.is_fetched = !is_eager;
    if ((param.op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) != 0) request.told = param.cb.send;
    if ((param.op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) != 0) request.user = param.user_data;
    if (from.takes) arrive(request);
    return &request;
}

/// Eager, it is over; else the receiver may fetch it.
void UcxInMemory::arrive(Request& request) {
    if (joined(request.head, request.bytes) != request.sent) {
        blame("bytes were touched before their request was over");
    }
    request.is_offered = request.is_fetched;
    if (!request.is_offered) request.status = UCS_OK;
    Worker& to = *request.endpoint->to;
    if (!to.is_there) return;
    to.here.push_back({request.is_offered ? Bytes() : bytes_of(request.bytes),
                       request.is_offered ? kOffered : 0, request.message, bytes_of(request.head),
                       request.is_offered ? &request : nullptr});
    ring(to);
}

void UcxInMemory::ring(Worker& worker) {
    const std::uint64_t one = 1;
    if (std::exchange(worker.is_armed, false)) (void)!write(worker.event.get(), &one, sizeof one);
}

void UcxInMemory::take(Endpoint& endpoint, unsigned frames) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        Request& request = *requests[i];
        const bool waits = request.endpoint == &endpoint && request.told != nullptr;
        if (frames == 0 || !waits || request.is_offered) continue;
        if (request.status != UCS_INPROGRESS) continue;
        arrive(request);
        --frames;
    }
}

void UcxInMemory::bring(Worker& to, std::span<const std::byte> bytes, std::uint32_t attributes,
                        unsigned number) {
    if (!to.is_there) return;
    to.here.push_back({bytes_of(bytes), attributes, number});
    ring(to);
}

void UcxInMemory::bring_data(Worker& to, std::span<const std::byte> head,
                             std::span<const std::byte> bytes, std::uint32_t attributes) {
    FCI_ASSERT(to.is_there);
    to.here.push_back({bytes_of(bytes), attributes, kData, bytes_of(head)});
    ring(to);
}

// --- receiving ---

void UcxInMemory::hand_on(Worker& worker) {
    Message message = std::move(worker.here.front());
    worker.here.pop_front();
    const auto found = worker.handlers.find(message.number);
    if (found == worker.handlers.end()) return;
    const ucp_am_handler_param_t handler = found->second;
    const bool has_flags = (handler.field_mask & UCP_AM_HANDLER_PARAM_FIELD_FLAGS) != 0;
    const bool keeps = has_flags && (handler.flags & UCP_AM_FLAG_PERSISTENT_DATA) != 0;
    ucp_am_recv_param_t param{};
    param.recv_attr = message.attributes;
    if (keeps && (message.attributes & kOffered) == 0) param.recv_attr |= kKept;
    // As the driver may keep it, it has its place before.
    Data& its = *data.emplace_back(std::make_unique<Data>());
    its.worker = &worker;
    its.bytes = std::move(message.bytes);
    its.offer = message.offer;
    const std::size_t length = its.offer != nullptr ? its.offer->bytes.size() : its.bytes.size();
    const bool is_offered = (message.attributes & kOffered) != 0;
    void* const descriptor = is_offered ? static_cast<void*>(&its) : its.bytes.data();
    its.is_there = true;
    const ucs_status_t answer = handler.cb(handler.arg, message.head.data(), message.head.size(),
                                           descriptor, length, &param);
    std::ranges::fill(message.head, std::byte{0xdd});
    if (answer == UCS_INPROGRESS && (param.recv_attr & (kKept | kOffered)) != 0) return;
    if (answer != UCS_OK) blame("a message was kept that goes at once");
    if (its.is_over) blame("a message was fetched or released, and not kept");
    its.is_over = true;
    std::ranges::fill(its.bytes, std::byte{0xdd});
    if (its.offer != nullptr && its.offer->status == UCS_INPROGRESS) its.offer->status = UCS_OK;
}

/// nullptr: the driver may not use it any more, or never could.
UcxInMemory::Data* UcxInMemory::find(Worker& worker, void* descriptor) {
    const auto found = std::ranges::find_if(data, [&](const auto& each) {
        return each.get() == descriptor || (!each->bytes.empty() &&
                                            each->bytes.data() == descriptor);
    });
    if (found == data.end()) {
        blame("data that nobody sent");
        return nullptr;
    }
    Data& its = **found;
    if (its.worker != &worker) blame("data of another worker");
    if (its.is_over) blame("data were fetched or released twice");
    return its.worker == &worker && !its.is_over ? &its : nullptr;
}

void UcxInMemory::take_back(Worker& worker, void* descriptor) {
    Data* const its = find(worker, descriptor);
    if (its == nullptr) return;
    its->is_over = true;
    std::ranges::fill(its->bytes, std::byte{0xdd});
    if (its->offer != nullptr && its->offer->status == UCS_INPROGRESS) its->offer->status = UCS_OK;
}

/// The data are UCX's again, however it ends.
void* UcxInMemory::begin_fetch(Worker& worker, void* descriptor, std::span<std::byte> to,
                               const ucp_request_param_t& param) {
    Data* const its = find(worker, descriptor);
    if (its == nullptr) return UCS_STATUS_PTR(UCS_ERR_NO_ELEM);
    its->is_over = true;
    const std::size_t length = its->offer != nullptr ? its->offer->bytes.size()
                                                     : its->bytes.size();
    if (to.size() != length) blame("data of another length were fetched");
    if (UCS_STATUS_IS_ERR(worker.fetch_answer)) return UCS_STATUS_PTR(worker.fetch_answer);
    if ((param.op_attr_mask & UCP_OP_ATTR_FLAG_NO_IMM_CMPL) == 0) blame("a fetch that may be over");
    Request& request = *requests.emplace_back(std::make_unique<Request>());
    request.worker = &worker;
    request.data = its;
    request.to = to.data();
    if ((param.op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) != 0) request.read = param.cb.recv_am;
    if ((param.op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) != 0) request.user = param.user_data;
    if (worker.fetch_answer != UCS_INPROGRESS) {
        request.status = worker.fetch_end;
        tell(request);
    }
    return &request;
}

/// Data whose sender has given them up cannot be read, as they may have changed.
void UcxInMemory::end_read(Request& request) {
    const Data& its = *request.data;
    if (its.offer != nullptr && its.offer->status != UCS_INPROGRESS) {
        request.status = UCS_ERR_CANCELED;
    }
    if (its.offer != nullptr && request.status == UCS_OK) {
        if (joined(its.offer->head, its.offer->bytes) != its.offer->sent) {
            blame("bytes were touched before their request was over");
        }
        std::ranges::copy(its.offer->bytes, request.to);
        its.offer->status = UCS_OK;
    } else if (request.status == UCS_OK) {
        std::ranges::copy(its.bytes, request.to);
    }
}

void UcxInMemory::end_fetches(Worker& worker, ucs_status_t status) {
    for (const auto& request : requests) {
        const bool is_its = request->data != nullptr && request->worker == &worker;
        if (is_its && request->status == UCS_INPROGRESS) request->status = status;
    }
}

unsigned UcxInMemory::fetches(const Worker& worker) const {
    return static_cast<unsigned>(std::ranges::count_if(requests, [&](const auto& each) {
        return each->worker == &worker && each->data != nullptr && each->status == UCS_INPROGRESS;
    }));
}

unsigned UcxInMemory::kept(const Worker& worker) const {
    return static_cast<unsigned>(std::ranges::count_if(data, [&](const auto& each) {
        return each->worker == &worker && each->is_there && !each->is_over;
    }));
}

// --- ends ---

void UcxInMemory::tell(Request& request) {
    if (const auto told = std::exchange(request.told, nullptr); told != nullptr) {
        told(&request, request.status, request.user);
    }
    if (const auto read = std::exchange(request.read, nullptr); read != nullptr) {
        end_read(request);
        read(&request, request.status, 0, request.user);
    }
}

void UcxInMemory::cancel(Worker& worker, const Endpoint* endpoint, bool is_told) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        Request& its = *requests[i];
        if (its.worker != &worker) continue;
        const bool is_sent = its.told != nullptr && (endpoint == nullptr ||
                                                     its.endpoint == endpoint);
        const Request* const offer = its.data != nullptr ? its.data->offer : nullptr;
        const bool is_from = offer != nullptr && endpoint != nullptr &&
                             offer->endpoint->from == endpoint->to;
        const bool is_read = its.read != nullptr && (endpoint == nullptr ||
                                                     (is_from && !worker.is_reading_on));
        if (endpoint == nullptr && !is_sent && !is_read && its.status == UCS_INPROGRESS) {
            its.is_freed = true;  // a flush or a closing, which goes with the worker
        }
        if (!is_sent && !is_read) continue;
        if (its.status == UCS_INPROGRESS) its.status = UCS_ERR_CANCELED;
        if (is_told) tell(its);
    }
}

}  // namespace fci::ucx::test
