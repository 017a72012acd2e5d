// An endpoint's address and options.
#include <algorithm>
#include <cstring>

#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

fi_ops_cm Endpoint::name_operations{
    sizeof(fi_ops_cm), set_name,    get_name,    not_offered, not_offered,
    not_offered,       not_offered, not_offered, not_offered, not_offered,
};

fi_ops_ep Endpoint::option_operations{
    sizeof(fi_ops_ep), cancel,      get_option,  set_option,
    not_offered,       not_offered, not_offered, not_offered,
};

int Endpoint::set_name(fid_t object, void* address, std::size_t bytes) {
    Endpoint& self = of(object);
    if (bytes < sizeof(Card)) return -FI_EINVAL;
    Guard guard(self.domain_.lock());
    if (self.icl_ != nullptr) return -FI_EOPBADSTATE;
    std::memcpy(&self.wanted_, address, sizeof(Card));
    return 0;
}

int Endpoint::get_name(fid_t object, void* address, std::size_t* bytes) {
    Endpoint& self = of(object);
    Guard guard(self.domain_.lock());
    if (self.icl_ == nullptr) return -FI_EOPBADSTATE;
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(self.icl_, card);
    const std::size_t room = *bytes;
    *bytes = sizeof card;
    if (address != nullptr) std::memcpy(address, card, std::min(room, sizeof card));
    return room < sizeof card ? -FI_ETOOSMALL : 0;
}

namespace {

/// Options that only newer headers name.
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

}  // namespace

/// Where the value of a size option is kept, or nullptr and why not.
std::size_t* Endpoint::size_option(int name, int* refusal) noexcept {
    switch (name) {
        case FI_OPT_MIN_MULTI_RECV: return &min_multi_receive_;
        case kOptMaxMessageSize: return &size_limits_.max_message;
        case kOptMaxTaggedSize: return &size_limits_.max_tagged;
        case kOptInjectMessageSize: return &size_limits_.inject_message;
        case kOptInjectTaggedSize: return &size_limits_.inject_tagged;
        case kOptMaxRmaSize:
        case kOptInjectRmaSize:
            *refusal = -FI_EOPNOTSUPP;
            if ((caps_ & FI_RMA) == 0) return nullptr;
            return name == kOptMaxRmaSize ? &size_limits_.max_rma : &size_limits_.inject_rma;
        case kOptMaxAtomicSize:
        case kOptInjectAtomicSize:
            *refusal = -FI_EOPNOTSUPP;
            if ((caps_ & FI_ATOMIC) == 0) return nullptr;
            return name == kOptMaxAtomicSize ? &size_limits_.max_atomic
                                             : &size_limits_.inject_atomic;
        default: *refusal = -FI_ENOPROTOOPT; return nullptr;
    }
}

int Endpoint::get_option(fid_t object, int level, int name, void* value,
                         std::size_t* bytes) {
    if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
    Endpoint& self = of(object);
    Guard guard(self.domain_.lock());
    std::size_t answer = 0;
    if (name != FI_OPT_CM_DATA_SIZE) {  // 0: there are no connections to send data with
        int refusal = 0;
        const std::size_t* const kept = self.size_option(name, &refusal);
        if (kept == nullptr) return refusal;
        answer = *kept;
    }
    if (*bytes < sizeof answer) return -FI_ETOOSMALL;
    std::memcpy(value, &answer, sizeof answer);
    *bytes = sizeof answer;
    return 0;
}

int Endpoint::set_option(fid_t object, int level, int name, const void* value,
                         std::size_t bytes) {
    if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
    Endpoint& self = of(object);
    Guard guard(self.domain_.lock());
    int refusal = 0;
    std::size_t* const kept = self.size_option(name, &refusal);
    if (kept == nullptr) return refusal;
    std::size_t wanted = 0;
    if (bytes < sizeof wanted) return -FI_EINVAL;
    std::memcpy(&wanted, value, sizeof wanted);
    if (name != FI_OPT_MIN_MULTI_RECV && wanted > most_of(name)) return -FI_EINVAL;
    *kept = wanted;
    return 0;
}

}  // namespace fci::libfabric
