// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/receives.h"

#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

template <Space kSpace, bool kReport, bool kInContext>
void Receives::received(void* user, void* owner, const fci_icl_status* status) {
    Receives& self = *static_cast<Receives*>(owner);
    void* context = user;
    if constexpr (kInContext) {
        if (context != nullptr) static_cast<ContextMark*>(context)->owner = nullptr;
    } else {
        auto& record = *static_cast<ReceiveRecord*>(user);
        context = record.context;
        self.records_.give_back(record);
    }
    self.completions_.receive_completed(kSpace, context, *status, kReport);
}

fci_icl_done_fn Receives::received_call(Space space, bool report, bool in_context) noexcept {
    static constexpr fci_icl_done_fn calls[FCI_ICL_SPACES][2][2] = {
        {{received<kTagged, false, false>, received<kTagged, false, true>},
         {received<kTagged, true, false>, received<kTagged, true, true>}},
        {{received<kMessage, false, false>, received<kMessage, false, true>},
         {received<kMessage, true, false>, received<kMessage, true, true>}},
    };
    return calls[space][report][in_context];
}

void Receives::set_direct(Space space, bool direct) noexcept {
    const bool can = direct && in_context_ && !completions_.channel.lock().needed();
    direct_done_[space] = can ? received_call(space, completions_.receive.report, true) : nullptr;
}

ssize_t Receives::post(const ReceiveCall& call, Space space, bool report) noexcept {
    const fci_icl_peer source = source_wanted(call.source);
    if (source == PeerNumbers::kNobody) [[unlikely]] return -FI_EINVAL;
    struct fci_icl_receive receive;
    receive.source = source;
    receive.space = space;
    receive.match = call.tag;
    receive.ignore = call.ignore;
    receive.iov = call.iov;
    receive.iov_count = call.iov_count;
    receive.completion = {received_call(space, report, in_context_), call.context, this};
    fci_icl_context* const icl = completions_.icl();
    fci_icl_status status;
    if (in_context_) {
        // The program lends us its context for as long as the receive is pending.
        ContextMark unnamed;
        ContextMark& mark =
            call.context == nullptr ? unnamed : *static_cast<ContextMark*>(call.context);
        const int result = fci_icl_receive(icl, &receive, &mark.order, &status);
        mark.owner = result == FCI_ICL_OK ? this : nullptr;
        if (result == FCI_ICL_OK) return 0;
        return answered(space, result, source, call.context, status, report);
    }
    ReceiveRecord* const record = records_.take(call.context);
    if (record == nullptr) [[unlikely]] return -FI_ENOMEM;
    receive.completion.user = record;
    const int result = fci_icl_receive(icl, &receive, &record->order, &status);
    if (result == FCI_ICL_OK) return 0;
    records_.give_back(*record);
    return answered(space, result, source, call.context, status, report);
}

/// The core did not keep the receive: a message was there, or something is wrong.
ssize_t Receives::answered(Space space, int result, fci_icl_peer source, void* context,
                           const fci_icl_status& status, bool report) noexcept {
    if (result != FCI_ICL_DONE) [[unlikely]] return completions_.refused(result, source);
    completions_.receive_completed(space, context, status, report);
    return 0;
}

ssize_t Receives::post_claimed(const ReceiveCall& call, Space space, fci_icl_message* message,
                               bool report) noexcept {
    fci_icl_completion completion{received_call(space, report, in_context_), call.context, this};
    ReceiveRecord* record = nullptr;
    if (!in_context_) {
        record = records_.take(call.context);
        if (record == nullptr) return -FI_ENOMEM;
        completion.user = record;
    }
    fci_icl_order order = 0;
    fci_icl_status status{};
    const int result = fci_icl_receive_claimed(completions_.icl(), message, call.iov,
                                               call.iov_count, &completion, &order, &status);
    if (result == FCI_ICL_OK) return 0;
    if (record != nullptr) records_.give_back(*record);
    return answered(space, result, FCI_ICL_ANY_SOURCE, call.context, status, report);
}

ssize_t Receives::cancel(void* context) noexcept {
    fci_icl_order order = 0;
    if (!in_context_) {
        order = records_.find(context);
    } else if (context != nullptr && static_cast<ContextMark*>(context)->owner == this) {
        order = static_cast<ContextMark*>(context)->order;
    }
    if (order == 0) return -FI_ENOENT;
    return -error_of(fci_icl_cancel(completions_.icl(), order));
}

}  // namespace fci::libfabric
