// FI_PEEK, FI_CLAIM and FI_DISCARD: looking at a message, taking it out of the matching, receiving
// or dropping it later. A claim is known by its context; tag and source of that call do not matter.
#include <algorithm>

#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

/// Under the lock. The answer is an entry of the completion queue, a miss too: some programs only
/// look there. Always reported: nobody peeks without wanting to know.
ssize_t Endpoint::peek(Space space, const ReceiveCall& call, std::uint64_t flags) {
    const fci_icl_peer source = source_wanted(call.source);
    if (source == kNobody) return -FI_EINVAL;
    if (receive_.queue == nullptr) return -FI_ENOCQ;
    progress();  // programs may call nothing else until the message is there
    if ((flags & FI_CLAIM) != 0) claims_.reserve(claims_.size() + 1);
    const bool takes = (flags & (FI_CLAIM | FI_DISCARD)) != 0;
    fci_icl_message* message = nullptr;
    fci_icl_status status{};
    const int result = fci_icl_probe(icl_, source, space, call.tag, call.ignore, &status,
                                     takes ? &message : nullptr);
    if (result != FCI_ICL_OK) {
        const bool missed = result == FCI_ICL_ENOMSG;
        status = {};
        status.error = result;
        status.source = source;
        status.match = call.tag;
        CompletionEntry entry = received_entry(space, call.context, status);
        if (missed) {
            // Not a failed operation: counters stay as they are.
            receive_.queue->push_failure(entry, {FI_ENOMSG, FCI_ICL_ENOMSG, 0, ""});
        } else {
            receive_failed(entry, status);
        }
        return 0;
    }
    if ((flags & FI_DISCARD) != 0) {
        fci_icl_discard_claimed(icl_, message);
    } else if ((flags & FI_CLAIM) != 0) {
        claims_.push_back({call.context, message, status});
    }
    CompletionEntry entry = received_entry(space, call.context, status);
    entry.length = status.length;
    receive_.queue->push(entry);
    return 0;
}

/// Under the lock.
ssize_t Endpoint::receive_claimed(Space space, const ReceiveCall& call, std::uint64_t flags) {
    const auto claim = std::find_if(claims_.begin(), claims_.end(), [&](const Claim& known) {
        return known.context == call.context;
    });
    if (claim == claims_.end()) return -FI_ENOENT;
    const bool report = receive_.reports(flags);
    if ((flags & FI_DISCARD) != 0) {
        fci_icl_discard_claimed(icl_, claim->message);
        if (report) {
            receive_.queue->push(received_entry(space, call.context, claim->status));
        }
        claims_.erase(claim);
        return 0;
    }
    fci_icl_completion completion{received_call(space, report, in_context_), call.context, this};
    ReceiveRecord* record = nullptr;
    if (!in_context_) {
        record = records_.take(call.context);
        if (record == nullptr) return -FI_ENOMEM;
        completion.user = record;
    }
    fci_icl_order order = 0;
    fci_icl_status status{};
    const int result = fci_icl_receive_claimed(icl_, claim->message, call.iov, call.iov_count,
                                               &completion, &order, &status);
    // A claimed message is matched already, so its receive cannot be cancelled: the order is not
    // kept.
    if (result == FCI_ICL_OK || result == FCI_ICL_DONE) claims_.erase(claim);
    if (result == FCI_ICL_OK) return 0;
    if (record != nullptr) records_.give_back(*record);
    if (result != FCI_ICL_DONE) return refused(result, FCI_ICL_ANY_SOURCE);
    receive_completed(space, call.context, status, report);
    return 0;
}

}  // namespace fci::libfabric
