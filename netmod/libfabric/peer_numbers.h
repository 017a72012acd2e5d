// SPDX-License-Identifier: BSD-3-Clause
// PeerNumbers: a process has a number of the program's, its place in the address vector, and one of
// the core's; here is how an endpoint gets from one to the other.
#pragma once

#include <rdma/fabric.h>

#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/address.h"
#include "netmod/libfabric/channel.h"

namespace fci::libfabric {

class PeerNumbers {
public:
    static constexpr fci_icl_peer kNobody = 0xfffffffe;

    explicit PeerNumbers(Channel& channel) noexcept : channel_(channel) {}

    [[nodiscard]] fci_icl_peer peer_of(fi_addr_t number) const noexcept {
        return number < known_ ? peers_[number] : kNobody;
    }
    [[nodiscard]] fi_addr_t number_of(fci_icl_peer peer) const noexcept {
        return peer < numbers_.size() ? numbers_[peer] : FI_ADDR_NOTAVAIL;
    }
    /// 0 or a negative error. Of an endpoint that is not enabled yet: nothing is done.
    int learn(fi_addr_t number, const Card& card);
    void forget(fi_addr_t number) noexcept;

private:
    fi_addr_t known_ = 0;              // numbers in peers_
    std::vector<fci_icl_peer> peers_;  // by the program's number
    std::vector<fi_addr_t> numbers_;   // by the core's
    Channel& channel_;
};

}  // namespace fci::libfabric
