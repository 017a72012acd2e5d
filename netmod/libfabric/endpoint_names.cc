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

int Endpoint::get_option(fid_t object, int level, int name, void* value,
                         std::size_t* bytes) {
    Endpoint& self = of(object);
    if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
    std::size_t answer = 0;
    switch (name) {
        case FI_OPT_MIN_MULTI_RECV: answer = self.min_multi_receive_; break;
        case FI_OPT_CM_DATA_SIZE: break;  // there are no connections to send data with
        default: return -FI_ENOPROTOOPT;
    }
    if (*bytes < sizeof answer) return -FI_ETOOSMALL;
    std::memcpy(value, &answer, sizeof answer);
    *bytes = sizeof answer;
    return 0;
}

int Endpoint::set_option(fid_t object, int level, int name, const void* value,
                         std::size_t bytes) {
    Endpoint& self = of(object);
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
    if (bytes < sizeof(std::size_t)) return -FI_EINVAL;
    Guard guard(self.domain_.lock());
    std::memcpy(&self.min_multi_receive_, value, sizeof(std::size_t));
    return 0;
}

}  // namespace fci::libfabric
