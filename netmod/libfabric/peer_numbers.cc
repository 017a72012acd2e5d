// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/peer_numbers.h"

#include <algorithm>

#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

int PeerNumbers::learn(fi_addr_t number, const Card& card) {
    if (channel_.icl() == nullptr) return 0;
    peers_.resize(std::max<std::size_t>(peers_.size(), number + 1), kNobody);
    known_ = peers_.size();
    fci_icl_peer peer = kNobody;
    const int result =
        fci_icl_add_peer(channel_.icl(), reinterpret_cast<const unsigned char*>(&card), &peer);
    if (result != FCI_ICL_OK) return -error_of(result);
    numbers_.resize(std::max<std::size_t>(numbers_.size(), std::size_t{peer} + 1),
                    FI_ADDR_NOTAVAIL);
    peers_[number] = peer;
    // From here on what this peer sent before is known by its number, waiting messages included.
    if (numbers_[peer] == FI_ADDR_NOTAVAIL) numbers_[peer] = number;
    return 0;
}

void PeerNumbers::forget(fi_addr_t number) noexcept {
    const fci_icl_peer peer = peer_of(number);
    if (peer == kNobody) return;
    peers_[number] = kNobody;
    if (numbers_[peer] != number) return;
    // The same process may be there under another number.
    const auto other = std::find(peers_.begin(), peers_.end(), peer);
    numbers_[peer] =
        other == peers_.end() ? FI_ADDR_NOTAVAIL : static_cast<fi_addr_t>(other - peers_.begin());
}

}  // namespace fci::libfabric
