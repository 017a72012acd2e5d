// SPDX-License-Identifier: BSD-3-Clause
// An endpoint's address and options.
#include <rdma/fi_cm.h>

#include <algorithm>
#include <cstring>

#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

namespace {

int set_name(fid_t object, void* address, std::size_t bytes) {
    Endpoint& self = Endpoint::of(object);
    if (bytes < sizeof(Card)) return -FI_EINVAL;
    Guard guard(self.channel().lock());
    if (self.channel().icl() != nullptr) return -FI_EOPBADSTATE;
    std::memcpy(&self.wanted(), address, sizeof(Card));
    return 0;
}

int get_name(fid_t object, void* address, std::size_t* bytes) {
    Endpoint& self = Endpoint::of(object);
    Guard guard(self.channel().lock());
    if (self.channel().icl() == nullptr) return -FI_EOPBADSTATE;
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(self.channel().icl(), card);
    const std::size_t room = *bytes;
    *bytes = sizeof card;
    if (address != nullptr) std::memcpy(address, card, std::min(room, sizeof card));
    return room < sizeof card ? -FI_ETOOSMALL : 0;
}

/// Options that only newer headers name: the most that a program sends, in this order.
enum : int {
    kOptMaxMessageSize = 12,
    kOptMaxTaggedSize,
    kOptMaxRmaSize,
    kOptMaxAtomicSize,
    kOptInjectMessageSize,
    kOptInjectTaggedSize,
    kOptInjectRmaSize,
    kOptInjectAtomicSize,
};

/// No more than the attributes of the endpoint say; a program may promise less.
constexpr std::size_t most_of(int name) noexcept {
    if (name == kOptMaxAtomicSize) return kAtomicBytes;
    return name < kOptInjectMessageSize ? SIZE_MAX : kInjectBytes;
}

/// Whether the endpoint has that option; 0 or a negative error.
int check_option(const Endpoint& self, int name) noexcept {
    switch (name) {
        case FI_OPT_MIN_MULTI_RECV:
        case kOptMaxMessageSize:
        case kOptMaxTaggedSize:
        case kOptInjectMessageSize:
        case kOptInjectTaggedSize:
            return 0;
        case kOptMaxRmaSize:
        case kOptInjectRmaSize:
            return (self.caps() & FI_RMA) != 0 ? 0 : -FI_EOPNOTSUPP;
        case kOptMaxAtomicSize:
        case kOptInjectAtomicSize:
            return (self.caps() & FI_ATOMIC) != 0 ? 0 : -FI_EOPNOTSUPP;
        default:
            return -FI_ENOPROTOOPT;
    }
}

int get_option(fid_t object, int level, int name, void* value, std::size_t* bytes) {
    if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
    Endpoint& self = Endpoint::of(object);
    Guard guard(self.channel().lock());
    std::size_t answer = 0;
    if (name != FI_OPT_CM_DATA_SIZE) {  // 0: there are no connections to send data with
        const int refusal = check_option(self, name);
        if (refusal != 0) return refusal;
        answer = name == FI_OPT_MIN_MULTI_RECV
                     ? self.multi_receives().least
                     : self.promises[name - kOptMaxMessageSize].value_or(most_of(name));
    }
    if (*bytes < sizeof answer) return -FI_ETOOSMALL;
    std::memcpy(value, &answer, sizeof answer);
    *bytes = sizeof answer;
    return 0;
}

int set_option(fid_t object, int level, int name, const void* value, std::size_t bytes) {
    if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
    Endpoint& self = Endpoint::of(object);
    Guard guard(self.channel().lock());
    const int refusal = check_option(self, name);
    if (refusal != 0) return refusal;
    std::size_t wanted = 0;
    if (bytes < sizeof wanted) return -FI_EINVAL;
    std::memcpy(&wanted, value, sizeof wanted);
    if (name == FI_OPT_MIN_MULTI_RECV) {
        self.multi_receives().least = wanted;
        return 0;
    }
    if (wanted > most_of(name)) return -FI_EINVAL;
    self.promises[name - kOptMaxMessageSize] = wanted;
    return 0;
}

ssize_t cancel(fid_t object, void* context) {
    return Endpoint::of(object).cancel(context);
}

}  // namespace

fi_ops_cm name_calls{
    sizeof(fi_ops_cm), set_name,    get_name,    not_offered, not_offered,
    not_offered,       not_offered, not_offered, not_offered, not_offered,
};

fi_ops_ep option_calls{
    sizeof(fi_ops_ep), cancel,      get_option,  set_option,
    not_offered,       not_offered, not_offered, not_offered,
};

}  // namespace fci::libfabric
