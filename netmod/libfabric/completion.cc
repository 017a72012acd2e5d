// What becomes of a completion: the core's callbacks, and the entries that tell of failures.
#include <cstdio>

#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/errors.h"
#include "netmod/libfabric/provider.h"

namespace fci::libfabric {

// A pending operation needs no object: what is to be done with it is in the choice of the callback,
// its context is `user`, its endpoint is `owner`.

template <Space kSpace, bool kReport>
void Endpoint::sent(void* user, void* owner, const fci_icl_status* status) {
    Endpoint& self = *static_cast<Endpoint*>(owner);
    if (status->error != FCI_ICL_OK) [[unlikely]] return self.send_failed(kSpace, user, *status);
    self.send_completed(kSpace, user, kReport);
}

template <Space kSpace, bool kReport, bool kInContext>
void Endpoint::received(void* user, void* owner, const fci_icl_status* status) {
    Endpoint& self = *static_cast<Endpoint*>(owner);
    void* context = user;
    if constexpr (kInContext) {
        if (context != nullptr) static_cast<ContextMark*>(context)->owner = nullptr;
    } else {
        auto& record = *static_cast<ReceiveRecord*>(user);
        context = record.context;
        self.records_.give_back(record);
    }
    self.receive_completed(kSpace, context, *status, kReport);
}

fci_icl_done_fn Endpoint::sent_call(Space space, bool report) noexcept {
    static constexpr fci_icl_done_fn calls[FCI_ICL_SPACES][2] = {
        {sent<kTagged, false>, sent<kTagged, true>},
        {sent<kMessage, false>, sent<kMessage, true>},
    };
    return calls[space][report];
}

fci_icl_done_fn Endpoint::received_call(Space space, bool report, bool in_context) noexcept {
    static constexpr fci_icl_done_fn calls[FCI_ICL_SPACES][2][2] = {
        {{received<kTagged, false, false>, received<kTagged, false, true>},
         {received<kTagged, true, false>, received<kTagged, true, true>}},
        {{received<kMessage, false, false>, received<kMessage, false, true>},
         {received<kMessage, true, false>, received<kMessage, true, true>}},
    };
    return calls[space][report][in_context];
}

/// Says once per peer what happened to it, and gives the sentence.
void Endpoint::peer_failed(fci_icl_peer peer, const char** reason) noexcept try {
    *reason = "";
    if (peer == FCI_ICL_ANY_SOURCE || peer == kNobody) return;
    *reason = fci_icl_peer_reason(icl_, peer);
    if (told_.size() <= peer) told_.resize(peer + 1);
    if (told_[peer]) return;
    told_[peer] = true;
    FCI_WARN(FI_LOG_EP_DATA, "%s\n", **reason != '\0' ? *reason : "a peer is lost");
} catch (...) {
    // Only the note that it was said is missing.
}

/// With the sentence that names the peer, where it is the reason.
Failure Endpoint::failure_of(int icl_code, fci_icl_peer peer) noexcept {
    Failure failure{error_of(icl_code), icl_code, 0, ""};
    if (concerns_peer(icl_code)) {
        const char* reason = "";
        peer_failed(peer, &reason);
        std::snprintf(failure.reason, sizeof failure.reason, "%s", reason);
    }
    return failure;
}

void Endpoint::send_failed(Space space, void* context, const fci_icl_status& status) noexcept {
    const Failure failure = failure_of(status.error, status.source);
    if (transmit_.counter != nullptr) transmit_.counter->count(false);
    if (transmit_.queue == nullptr) return;
    transmit_.queue->push_failure({context, FI_SEND | kSpaceFlags[space], 0, nullptr, 0, 0,
                                   FI_ADDR_NOTAVAIL, nullptr},
                                  failure);
}

void Endpoint::receive_failed(const CompletionEntry& entry,
                              const fci_icl_status& status) noexcept {
    Failure failure = failure_of(status.error, status.source);
    if (status.error == FCI_ICL_ETRUNC) failure.excess = status.length - status.received;
    if (receive_.counter != nullptr) receive_.counter->count(false);
    if (receive_.queue != nullptr) receive_.queue->push_failure(entry, failure);
}

ssize_t Endpoint::refused(int icl_code, fci_icl_peer peer) noexcept {
    if (icl_code == FCI_ICL_EAGAIN) {
        progress();
        return -FI_EAGAIN;
    }
    if (concerns_peer(icl_code)) {
        const char* reason = "";
        peer_failed(peer, &reason);
    }
    return -error_of(icl_code);
}

}  // namespace fci::libfabric
