// SPDX-License-Identifier: BSD-3-Clause
// Completions: where an endpoint's operations end, in queues and counters, well or not. Under the
// domain's lock.
#pragma once

#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/channel.h"
#include "netmod/libfabric/completion_queue.h"
#include "netmod/libfabric/counter.h"
#include "netmod/libfabric/peer_numbers.h"
#include "netmod/libfabric/space.h"

namespace fci::libfabric {

/// Of what this process does, or of what is done to it.
struct Direction {
    CompletionQueue* queue = nullptr;
    Counter* counter = nullptr;                   // of messages
    Counter *reads = nullptr, *writes = nullptr;  // of remote memory
    std::uint64_t op_flags = 0;                   // of the calls without flags
    bool selective = false;
    bool report = false;  // of the calls without flags

    [[nodiscard]] bool reports(std::uint64_t flags) const noexcept {
        return queue != nullptr && (!selective || (flags & FI_COMPLETION) != 0);
    }
};

class Completions {
public:
    Completions(Channel& its_channel, PeerNumbers& its_peers) noexcept
        : channel(its_channel), peers(its_peers) {}

    [[nodiscard]] fci_icl_context* icl() const noexcept { return channel.icl(); }

    [[gnu::always_inline]] void send_completed(Space space, void* context, bool report) noexcept {
        if (report)
            transmit.queue->push({context, FI_SEND | kSpaceFlags[space], 0, nullptr, 0, 0,
                                  FI_ADDR_NOTAVAIL, nullptr});
        if (transmit.counter != nullptr) transmit.counter->count(true);
    }
    void receive_completed(Space space, void* context, const fci_icl_status& status,
                           bool report) noexcept {
        if (status.error != FCI_ICL_OK) [[unlikely]] {
            return receive_failed(received_entry(space, context, status), status);
        }
        if (report) report_received(space, context, status);
        if (receive.counter != nullptr) receive.counter->count(true);
    }
    [[nodiscard]] CompletionEntry received_entry(Space space, void* context,
                                                 const fci_icl_status& status) const noexcept {
        return {context,
                received_flags(space, status),
                status.received,
                nullptr,
                received_data(status),
                status.match,
                peers.number_of(status.source),
                nullptr};
    }
    void send_failed(Space space, void* context, const fci_icl_status& status) noexcept;
    void receive_failed(const CompletionEntry& entry, const fci_icl_status& status) noexcept;
    /// With the sentence that names the peer, where it is the reason.
    Failure failure_of(int icl_code, fci_icl_peer peer) noexcept;
    /// A negative error for a call that the core did not take.
    ssize_t refused(int icl_code, fci_icl_peer peer) noexcept;
    /// It did not close in order.
    void peer_died(fci_icl_peer peer) noexcept;

    Channel& channel;
    PeerNumbers& peers;
    Direction transmit, receive;

private:
    void report_received(Space space, void* context, const fci_icl_status& status) noexcept {
        // A call that is reading the queue takes the completion at once; it wants no source.
        if (receive.queue->give(context, received_flags(space, status), status.received,
                                received_data(status), status.match)) [[likely]] {
            return;
        }
        receive.queue->push(received_entry(space, context, status));
    }
    [[nodiscard]] static std::uint64_t received_flags(Space space,
                                                      const fci_icl_status& status) noexcept {
        static_assert(FCI_ICL_IMMEDIATE == 1 && FI_REMOTE_CQ_DATA == 1u << 17);
        return FI_RECV | kSpaceFlags[space] |
               static_cast<std::uint64_t>(status.flags & FCI_ICL_IMMEDIATE) << 17;
    }
    [[nodiscard]] static std::uint64_t received_data(const fci_icl_status& status) noexcept {
        return (status.flags & FCI_ICL_IMMEDIATE) != 0 ? status.immediate : 0;
    }
    /// How a peer ended, as far as is known.
    struct Ends {
        bool died = false;
        bool missed = false;  // an operation failed for that, which was logged
    };
    void peer_failed(int icl_code, fci_icl_peer peer, const char** reason) noexcept;
    static void say(const char* sentence) noexcept;
    Ends& ends_of(fci_icl_peer peer);

    std::vector<Ends> ends_;     // by peer
    bool is_user_told_ = false;  // of one that no connection came about with
};

}  // namespace fci::libfabric
