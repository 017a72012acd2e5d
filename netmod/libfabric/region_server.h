// SPDX-License-Identifier: BSD-3-Clause
// RegionServer: the target's side of access to remote memory. Nothing in a request is believed: the
// key, the range and the rights are checked before memory is touched. Runs inside progress, so
// atomics of all initiators follow each other; nobody else may use atomics on the same words.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/ranges.h"
#include "netmod/libfabric/region_table.h"
#include "netmod/libfabric/remote_request.h"
#include "netmod/libfabric/sheet.h"

namespace fci::libfabric {

class RegionServer {
public:
    /// `caps`: of the endpoint.
    RegionServer(Completions& completions, const RegionTable& regions, std::uint64_t caps) noexcept
        : completions_(completions), regions_(regions), caps_(caps) {}
    ~RegionServer();
    RegionServer(const RegionServer&) = delete;
    RegionServer& operator=(const RegionServer&) = delete;

    /// When the channel is open.
    void begin();
    /// Sends the answers that found no room. True: some are left.
    bool turn() noexcept;

private:
    /// A region that data goes to or comes from after the request was handled.
    struct Use {
        RegionServer& server;
        Region& region;
        fci_icl_peer peer;
        Request request;
        Use* next;
        Use** here;  // the pointer to this one
    };
    struct LateAnswer {
        fci_icl_peer peer;
        std::vector<char> header;
        std::vector<iovec> data;
        Use* use;
    };

    static void requested(void* user, fci_icl_peer source, const void* header,
                          std::size_t header_bytes, const void* data, std::uint64_t bytes,
                          fci_icl_am_landing* landing);
    static void written(void* user, void* owner, const fci_icl_status* status);
    static void read(void* user, void* owner, const fci_icl_status* status);

    Verdict check(const Request& request, std::uint64_t brought, Region** region);
    void put(fci_icl_peer source, const Request& request, Region& region, const void* data,
             fci_icl_am_landing* landing);
    void get(fci_icl_peer source, const Request& request, Region& region);
    void combine(fci_icl_peer source, const Request& request, Region& region, const char* data);
    void tell_program(fci_icl_peer source, const Request& request, Region& region) noexcept;
    void fetched(Use& use, int icl_code) noexcept;
    void refuse(fci_icl_peer source, const Request& request, Verdict verdict);
    void answer(fci_icl_peer source, const Request& request, const char* data, std::uint64_t bytes);
    int hand_over(fci_icl_peer to, const void* header, std::size_t header_bytes,
                  std::uint32_t flags, Ranges data, Use* use);
    int send(fci_icl_peer to, const void* header, std::size_t header_bytes, std::uint32_t flags,
             Ranges data, Use* use);
    Use* hold(Region& region, fci_icl_peer source, const Request& request);
    void release(Use& use) noexcept;

    Completions& completions_;
    const RegionTable& regions_;
    const std::uint64_t caps_;
    Use* uses_ = nullptr;
    std::deque<LateAnswer> late_;
    std::vector<iovec> scratch_;  // ranges of a region; the core reads them after a callback
    char header_[kHeaderBytes];
    char target_[kOrderedBytes], result_[kOrderedBytes];
};

}  // namespace fci::libfabric
