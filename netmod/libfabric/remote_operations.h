// SPDX-License-Identifier: BSD-3-Clause
// RemoteOperations: the initiator's side of access to remote memory. An operation is one or more
// requests; each is answered, so that every operation ends when the target's memory has the data
// (FI_DELIVERY_COMPLETE) and a target that refuses is heard.
//
// Order: up to kOrderedBytes an operation leaves with its call, as one message that the core takes
// at once or as several whose data is in the header; the target does each when it comes. Longer
// ones leave the data here until the target asks for it.
#pragma once

#include <rdma/fi_rma.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/ranges.h"
#include "netmod/libfabric/remote_request.h"

namespace fci::libfabric {

/// An operation as the program described it, whichever of the calls it came by.
struct RemoteCall {
    Access access;
    std::uint8_t datatype = 0, operator_ = 0;  // of atomics
    Ranges data = {}, compare = {}, result = {};
    std::span<const fi_rma_iov> remote = {};
    fi_addr_t target = FI_ADDR_NOTAVAIL;
    std::uint64_t flags = 0;  // FI_INJECT, FI_REMOTE_CQ_DATA
    std::uint64_t immediate = 0;
    void* context = nullptr;
    bool report = false;
};

class RemoteOperations {
public:
    explicit RemoteOperations(Completions& completions) noexcept : completions_(completions) {}
    RemoteOperations(const RemoteOperations&) = delete;
    RemoteOperations& operator=(const RemoteOperations&) = delete;

    /// When the channel is open.
    void begin();
    /// Under the lock. 0, or a negative error and nothing happened.
    ssize_t start(const RemoteCall& call);
    /// Ends what waits for peers that are lost. True: something still waits.
    bool turn() noexcept;

private:
    struct Operation {
        std::uint64_t number = 0;   // 0: free
        std::uint64_t index = 0;    // the low bits of its numbers
        std::uint64_t uses = 0;     // the high ones
        Operation* next = nullptr;  // while free
        Access access = Access::write;
        bool report = false;
        fci_icl_peer peer = 0;
        int error = 0;  // FI_E...
        int icl_code = 0;
        unsigned unanswered = 0;  // requests
        unsigned moving = 0;      // data that the core sends or receives
        std::uint64_t bytes = 0;
        std::uint64_t received = 0;
        fi_rma_iov first{};  // where, for the sentence in an error entry
        void* context = nullptr;
        std::vector<iovec> result;

        void fail(int icl_code) noexcept;
    };
    /// How many requests a peer has not answered.
    struct Waiting {
        unsigned requests = 0;
        bool listed = false;
    };

    static void answered(void* user, fci_icl_peer source, const void* header,
                         std::size_t header_bytes, const void* data, std::uint64_t bytes,
                         fci_icl_am_landing* landing);
    static void sent(void* user, void* owner, const fci_icl_status* status);
    static void landed(void* user, void* owner, const fci_icl_status* status);

    Operation& take(const RemoteCall& call, fci_icl_peer peer, std::uint64_t bytes);
    void give_back(Operation& operation) noexcept;
    Operation* find(std::uint64_t number, fci_icl_peer peer) noexcept;
    int ask(Operation& operation, Request request, const RemoteCall& call);
    int ask_in_order(Operation& operation, const Request& request, const RemoteCall& call);
    int post(Operation& operation, const void* header, std::size_t header_bytes,
             std::uint32_t flags, Ranges data, bool keeps_data);
    void take_data(Operation& operation, std::uint64_t place, const void* data, std::uint64_t bytes,
                   fci_icl_am_landing* landing);
    void answers_came(Operation& operation, unsigned count) noexcept;
    void end_if_done(Operation& operation) noexcept;
    void end(Operation& operation) noexcept;
    void lose(fci_icl_peer peer, int icl_code) noexcept;

    Completions& completions_;
    std::vector<std::unique_ptr<Operation[]>> chunks_;
    Operation* free_ = nullptr;
    unsigned requests_ = 0;             // unanswered, to all
    std::vector<Waiting> waiting_;      // by peer
    std::vector<fci_icl_peer> listed_;  // those with requests, and some that had
    std::vector<iovec> scratch_;        // read by the core after a callback has returned
    char header_[kHeaderBytes];
};

}  // namespace fci::libfabric
