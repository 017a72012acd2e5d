// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/rendezvous.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "drivers/ucx/way.h"
#include "fci_core/base/assert.h"

namespace fci::ucx {

namespace {
constexpr unsigned kDataMessage = 0x10;  // the number of its active message
}  // namespace

/// UCX uses the head until it calls.
struct Rendezvous::Loan {
    Rendezvous* rendezvous;
    Road::Way* way;
    std::array<std::byte, kHeadMost> head;
};

struct Rendezvous::Fetch {
    Rendezvous* rendezvous;
    nhi::PeerId from;
};

/// UCX keeps what has come until it is asked for.
Status Rendezvous::open(std::string* error) noexcept {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    handler.id = kDataMessage;
    handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
    handler.arg = this;
    handler.cb = [](void* of, const void* head, size_t head_bytes, void* data, size_t bytes,
                    const ucp_am_recv_param_t* param) {
        const bool is_there = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
        const bool is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
        if (!is_there && !is_here) return UCS_OK;  // UCX takes it back
        const std::span given(static_cast<const std::byte*>(head), head_bytes);
        const bool is_kept = static_cast<Rendezvous*>(of)->listener_.data_came(
            given, {data, bytes, is_here && !is_there});
        return is_kept ? UCS_INPROGRESS : UCS_OK;
    };
    const Library& library = road_.library();
    const ucs_status_t status = library.worker.set_handler(road_.worker().worker, &handler);
    if (status == UCS_OK) return Status::ok;
    *error = road_.name() + " cannot receive data: " + library.context.status_string(status);
    return Status::unsupported;
}

bool Rendezvous::send(Road::Way* way, std::span<const std::byte> head, const std::byte* from,
                      std::size_t bytes) noexcept {
    FCI_ASSERT(bytes != 0 && way->endpoint != nullptr && head.size() <= kHeadMost);
    if (way->loans >= kLoansMost) return false;
    std::unique_ptr<Loan> loan(new (std::nothrow) Loan{this, way, {}});
    if (loan == nullptr) return false;
    std::ranges::copy(head, loan->head.begin());
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                         UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags = bytes <= kEagerMost ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
    param.user_data = loan.get();
    param.cb.send = [](void* request, ucs_status_t status, void* user) {
        const std::unique_ptr<Loan> over(static_cast<Loan*>(user));
        Road& road = over->rendezvous->road_;
        FCI_ASSERT(over->way->loans != 0);
        --over->way->loans;
        if (status != UCS_OK) {
            road.mark_broken(over->way, road.library().context.status_string(status));
        }
        road.library().endpoint.free(request);
        over->rendezvous->listener_.gave_back();
    };
    void* const request = road_.library().endpoint.send(way->endpoint, kDataMessage,
                                                        loan->head.data(), head.size(), from, bytes,
                                                        &param);
    road_.note_sent();
    if (UCS_PTR_IS_PTR(request)) {
        ++way->loans;
        (void)loan.release();
    } else if (UCS_PTR_IS_ERR(request)) {
        road_.mark_broken(way, road_.library().context.status_string(UCS_PTR_STATUS(request)));
    }
    return true;
}

unsigned Rendezvous::loans(const Road::Way* way) noexcept { return way->loans; }

void Rendezvous::fetch(const Load& load, nhi::PeerId from, std::byte* to) noexcept {
    FCI_ASSERT(to != nullptr);
    if (load.is_here) {
        std::memcpy(to, load.descriptor, load.bytes);
        drop(load);
        return listener_.fetched(from, true);
    }
    std::unique_ptr<Fetch> fetch(new (std::nothrow) Fetch{this, from});
    if (fetch == nullptr) {
        drop(load);
        return listener_.fetched(from, false);
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.user_data = fetch.get();
    param.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* user) {
        const std::unique_ptr<Fetch> over(static_cast<Fetch*>(user));
        over->rendezvous->road_.library().endpoint.free(request);
        over->rendezvous->listener_.fetched(over->from, status == UCS_OK);
    };
    void* const request = road_.library().worker.fetch(road_.worker().worker, load.descriptor, to,
                                                       load.bytes, &param);
    if (UCS_PTR_IS_PTR(request)) {
        (void)fetch.release();
    } else {
        listener_.fetched(from, !UCS_PTR_IS_ERR(request));
    }
}

void Rendezvous::drop(const Load& load) noexcept {
    road_.library().worker.release(road_.worker().worker, load.descriptor);
}

}  // namespace fci::ucx
