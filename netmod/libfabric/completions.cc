// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/completions.h"

#include <cstdio>
#include <utility>

#include "netmod/libfabric/errors.h"
#include "netmod/libfabric/log.h"

namespace fci::libfabric {

/// Says once per peer what happened to it, and gives the sentence. The user does not hear of one
/// that closed in order: many programs end before their last messages do.
void Completions::peer_failed(int icl_code, fci_icl_peer peer, const char** reason) noexcept try {
    *reason = "";
    if (peer == FCI_ICL_ANY_SOURCE || peer == PeerNumbers::kNobody) return;
    *reason = fci_icl_peer_reason(channel.icl(), peer);
    Ends& ends = ends_of(peer);
    if (std::exchange(ends.missed, true)) return;
    const char* const said = **reason != '\0' ? *reason : "a peer is lost";
    FCI_WARN(FI_LOG_EP_DATA, "%s\n", said);
    if (icl_code == FCI_ICL_EPEER) {
        if (ends.died) say(said);
    } else if (!std::exchange(is_user_told_, true)) {
        say(said);  // a user can mend that, and it is mostly the same with all peers of a host
    }
} catch (...) {
    // Only the note that it was said is missing.
}

/// Of one that no operation needs nothing is said.
void Completions::peer_died(fci_icl_peer peer) noexcept try {
    Ends& ends = ends_of(peer);
    if (!std::exchange(ends.died, true) && ends.missed) say(fci_icl_peer_reason(icl(), peer));
} catch (...) {
}

/// Also where nobody set FI_LOG_LEVEL, as Open MPI shows no reason.
void Completions::say(const char* sentence) noexcept {
    std::fprintf(stderr, "fci: %s\n", sentence);
}

Completions::Ends& Completions::ends_of(fci_icl_peer peer) {
    if (ends_.size() <= peer) ends_.resize(peer + 1);
    return ends_[peer];
}

Failure Completions::failure_of(int icl_code, fci_icl_peer peer) noexcept {
    Failure failure{error_of(icl_code), icl_code, 0, ""};
    if (concerns_peer(icl_code)) {
        const char* reason = "";
        peer_failed(icl_code, peer, &reason);
        std::snprintf(failure.reason, sizeof failure.reason, "%s", reason);
    }
    return failure;
}

void Completions::send_failed(Space space, void* context, const fci_icl_status& status) noexcept {
    const Failure failure = failure_of(status.error, status.source);
    if (transmit.counter != nullptr) transmit.counter->count(false);
    if (transmit.queue == nullptr) return;
    transmit.queue->push_failure(
        {context, FI_SEND | kSpaceFlags[space], 0, nullptr, 0, 0, FI_ADDR_NOTAVAIL, nullptr},
        failure);
}

void Completions::receive_failed(const CompletionEntry& entry,
                                 const fci_icl_status& status) noexcept {
    Failure failure = failure_of(status.error, status.source);
    if (status.error == FCI_ICL_ETRUNC) failure.excess = status.length - status.received;
    if (receive.counter != nullptr) receive.counter->count(false);
    if (receive.queue != nullptr) receive.queue->push_failure(entry, failure);
}

ssize_t Completions::refused(int icl_code, fci_icl_peer peer) noexcept {
    if (icl_code == FCI_ICL_EAGAIN) {
        channel.progress();
        return -FI_EAGAIN;
    }
    if (concerns_peer(icl_code)) {
        const char* reason = "";
        peer_failed(icl_code, peer, &reason);
    }
    return -error_of(icl_code);
}

}  // namespace fci::libfabric
