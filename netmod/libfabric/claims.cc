// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/claims.h"

#include <algorithm>

namespace fci::libfabric {

ssize_t Claims::peek(Space space, const ReceiveCall& call, std::uint64_t flags) {
    const fci_icl_peer source = receives_.source_wanted(call.source);
    if (source == PeerNumbers::kNobody) return -FI_EINVAL;
    if (completions_.receive.queue == nullptr) return -FI_ENOCQ;
    completions_.channel.progress();  // programs may call nothing else until the message is there
    if ((flags & FI_CLAIM) != 0) claims_.reserve(claims_.size() + 1);
    const bool takes = (flags & (FI_CLAIM | FI_DISCARD)) != 0;
    fci_icl_message* message = nullptr;
    fci_icl_status status{};
    const int result = fci_icl_probe(completions_.icl(), source, space, call.tag, call.ignore,
                                     &status, takes ? &message : nullptr);
    if (result != FCI_ICL_OK) {
        const bool missed = result == FCI_ICL_ENOMSG;
        status = {};
        status.error = result;
        status.source = source;
        status.match = call.tag;
        CompletionEntry entry = completions_.received_entry(space, call.context, status);
        if (missed) {
            // Not a failed operation: counters stay as they are.
            completions_.receive.queue->push_failure(entry, {FI_ENOMSG, FCI_ICL_ENOMSG, 0, ""});
        } else {
            completions_.receive_failed(entry, status);
        }
        return 0;
    }
    if ((flags & FI_DISCARD) != 0) {
        fci_icl_discard_claimed(completions_.icl(), message);
    } else if ((flags & FI_CLAIM) != 0) {
        claims_.push_back({call.context, message, status});
    }
    CompletionEntry entry = completions_.received_entry(space, call.context, status);
    entry.length = status.length;
    completions_.receive.queue->push(entry);
    return 0;
}

ssize_t Claims::receive(Space space, const ReceiveCall& call, std::uint64_t flags) {
    const auto claim = std::find_if(claims_.begin(), claims_.end(), [&](const Claim& known) {
        return known.context == call.context;
    });
    if (claim == claims_.end()) return -FI_ENOENT;
    const bool report = completions_.receive.reports(flags);
    if ((flags & FI_DISCARD) != 0) {
        fci_icl_discard_claimed(completions_.icl(), claim->message);
        if (report) {
            completions_.receive.queue->push(
                completions_.received_entry(space, call.context, claim->status));
        }
    } else {
        const ssize_t result = receives_.post_claimed(call, space, claim->message, report);
        if (result != 0) return result;
    }
    claims_.erase(claim);
    return 0;
}

void Claims::discard_all() noexcept {
    fci_icl_context* const icl = completions_.icl();
    for (const Claim& claim : claims_) {
        if (icl != nullptr) fci_icl_discard_claimed(icl, claim.message);
    }
    claims_.clear();
}

}  // namespace fci::libfabric
