// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/info.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "netmod/libfabric/address.h"
#include "netmod/libfabric/guard.h"
#include "netmod/libfabric/log.h"
#include "netmod/libfabric/sheet.h"

namespace fci::libfabric {

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

constexpr bool within(std::uint64_t wanted, std::uint64_t offered) noexcept {
    return (wanted & ~offered) == 0;
}

bool other_name(const char* wanted, const char* ours) noexcept {
    return wanted != nullptr && strcasecmp(wanted, ours) != 0;
}

const char* mismatch(const fi_ep_attr& wanted) noexcept {
    if (wanted.type != FI_EP_UNSPEC && wanted.type != FI_EP_RDM) return "endpoint type";
    if (wanted.protocol != FI_PROTO_UNSPEC && wanted.protocol != kProtocol) return "protocol";
    if (wanted.protocol_version > kProtocolVersion) return "protocol version";
    if (wanted.tx_ctx_cnt > 1 || wanted.rx_ctx_cnt > 1) return "endpoint context count";
    if (wanted.auth_key != nullptr || wanted.auth_key_size != 0) return "authorization key";
    if (wanted.max_order_raw_size > kOrderedBytes || wanted.max_order_war_size > kOrderedBytes ||
        wanted.max_order_waw_size > kOrderedBytes) {
        return "size of ordered accesses";
    }
    return nullptr;
}

const char* mismatch(const fi_domain_attr& wanted) noexcept {
    if (other_name(wanted.name, kName)) return "domain name";
    if (wanted.av_type > FI_AV_TABLE) return "address vector type";
    // Data moves only while the program makes a call. Newer values than AUTO and MANUAL ask for no
    // more than MANUAL does.
    if (wanted.data_progress == FI_PROGRESS_AUTO) return "automatic data progress";
    if (wanted.resource_mgmt > FI_RM_ENABLED) return "resource management";
    if (wanted.mr_key_size > kKeyBytes) return "memory key size";
    if (wanted.cq_data_size > kDataBytes) return "completion data size";
    if (wanted.cq_cnt > kObjectsMost || wanted.ep_cnt > kObjectsMost ||
        wanted.tx_ctx_cnt > kObjectsMost || wanted.rx_ctx_cnt > kObjectsMost ||
        wanted.cntr_cnt > kObjectsMost || wanted.mr_cnt > kObjectsMost) {
        return "object count";
    }
    if (wanted.max_ep_tx_ctx > 1 || wanted.max_ep_rx_ctx > 1) return "scalable endpoints";
    if (wanted.max_ep_stx_ctx != 0 || wanted.max_ep_srx_ctx != 0) return "shared contexts";
    if (wanted.mr_iov_limit > kIovLimit) return "memory region vector";
    if (!within(wanted.caps, FI_LOCAL_COMM | FI_REMOTE_COMM)) return "domain capabilities";
    if (wanted.auth_key != nullptr || wanted.auth_key_size != 0) return "authorization key";
    if (wanted.max_err_data > kErrorTextMost) return "error data size";
    return nullptr;
}

const char* mismatch(const fi_tx_attr& wanted) noexcept {
    if (!within(wanted.caps, kAllCaps)) return "transmit capabilities";
    if (!within(wanted.op_flags, kTransmitFlags)) return "transmit operation flags";
    if (!within(wanted.msg_order, kMessageOrder)) return "transmit message order";
    if (wanted.comp_order != 0) return "transmit completion order";
    if (wanted.inject_size > kInjectBytes) return "inject size";
    if (wanted.size > kQueueSizeMost) return "transmit queue size";
    if (wanted.iov_limit > kIovLimit) return "transmit vector";
    if (wanted.rma_iov_limit > kRmaIovLimit) return "RMA vector";
    return nullptr;
}

const char* mismatch(const fi_rx_attr& wanted) noexcept {
    if (!within(wanted.caps, kAllCaps)) return "receive capabilities";
    if (!within(wanted.op_flags, kReceiveFlags)) return "receive operation flags";
    if (!within(wanted.msg_order, kMessageOrder)) return "receive message order";
    if (wanted.comp_order != 0) return "receive completion order";
    if (wanted.size > kQueueSizeMost) return "receive queue size";
    if (wanted.iov_limit > kIovLimit) return "receive vector";
    return nullptr;
}

/// Secondary capabilities cost nothing and are always there; asking switches a primary one on.
std::uint64_t answered_caps(const fi_info* hints) noexcept {
    if (hints == nullptr || hints->caps == 0) return kAllCaps;
    std::uint64_t caps = hints->caps & kPrimaryCaps;
    constexpr std::uint64_t kMessages = FI_MSG | FI_TAGGED, kRemote = FI_RMA | FI_ATOMIC;
    if ((caps & (kMessages | kRemote)) == 0) caps |= kMessages;
    if ((caps & kMessages) != 0 && (caps & (FI_SEND | FI_RECV)) == 0) caps |= FI_SEND | FI_RECV;
    if ((caps & kRemote) != 0 && (caps & kRemoteDirections) == 0) caps |= kRemoteDirections;
    return caps | kSecondaryCaps;
}

/// One of the two is enough: four pointers in the program's context name a pending receive.
std::uint64_t answered_mode(const fi_info* hints) noexcept {
    const std::uint64_t offered = hints == nullptr ? 0 : hints->mode & kContextModes;
    return (offered & FI_CONTEXT) != 0 ? FI_CONTEXT : offered;
}

void fill(fi_tx_attr& tx, const fi_info& info, const fi_tx_attr* wanted) noexcept {
    tx.caps = info.caps & kTransmitCaps;
    tx.mode = info.mode;
    tx.msg_order = kMessageOrder;
    tx.comp_order = 0;
    tx.inject_size = kInjectBytes;
    tx.size = kQueueSize;
    tx.iov_limit = kIovLimit;
    tx.rma_iov_limit = kRmaIovLimit;
    if (wanted == nullptr) return;
    tx.op_flags = wanted->op_flags;
    tx.size = std::max(wanted->size, kQueueSize);
    tx.tclass = wanted->tclass;
}

void fill(fi_rx_attr& rx, const fi_info& info, const fi_rx_attr* wanted) noexcept {
    rx.caps = info.caps & kReceiveCaps;
    rx.mode = info.mode;
    rx.msg_order = kMessageOrder;
    rx.comp_order = 0;
    rx.size = kQueueSize;
    rx.iov_limit = kIovLimit;
    if (wanted == nullptr) return;
    rx.op_flags = wanted->op_flags;
    rx.size = std::max(wanted->size, kQueueSize);
    rx.total_buffered_recv = wanted->total_buffered_recv;
}

void fill(fi_ep_attr& endpoint) noexcept {
    endpoint.type = FI_EP_RDM;
    endpoint.protocol = kProtocol;
    endpoint.protocol_version = kProtocolVersion;
    endpoint.max_msg_size = kUnlimited;
    endpoint.max_order_raw_size = kOrderedBytes;
    endpoint.max_order_war_size = kOrderedBytes;
    endpoint.max_order_waw_size = kOrderedBytes;
    endpoint.mem_tag_format = kTagFormat;
    endpoint.tx_ctx_cnt = 1;
    endpoint.rx_ctx_cnt = 1;
}

/// False when memory runs out.
bool fill(fi_domain_attr& domain, const fi_domain_attr* wanted) {
    domain.name = strdup(kName);
    domain.threading = FI_THREAD_SAFE;
    domain.control_progress = FI_PROGRESS_MANUAL;
    domain.data_progress = FI_PROGRESS_MANUAL;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = FI_AV_UNSPEC;
    domain.mr_key_size = kKeyBytes;
    domain.cq_data_size = kDataBytes;
    domain.cq_cnt = kObjectsMost;
    domain.ep_cnt = kObjectsMost;
    domain.tx_ctx_cnt = kObjectsMost;
    domain.rx_ctx_cnt = kObjectsMost;
    domain.max_ep_tx_ctx = 1;
    domain.max_ep_rx_ctx = 1;
    domain.cntr_cnt = kObjectsMost;
    domain.mr_iov_limit = kIovLimit;
    domain.mr_cnt = kObjectsMost;
    domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
    domain.max_err_data = kErrorTextMost;
    if (wanted != nullptr) {
        if (wanted->threading != FI_THREAD_UNSPEC) domain.threading = wanted->threading;
        if (wanted->control_progress != FI_PROGRESS_UNSPEC) {
            domain.control_progress = wanted->control_progress;
        }
        if (wanted->data_progress != FI_PROGRESS_UNSPEC) {
            domain.data_progress = wanted->data_progress;
        }
        domain.av_type = wanted->av_type;
        domain.tclass = wanted->tclass;
        if (wanted->mr_mode == kBasicRegions || wanted->mr_mode == kScalableRegions) {
            domain.mr_mode = wanted->mr_mode;
        }
    }
    return domain.name != nullptr;
}

bool put_address(const void* address, std::size_t bytes, void** to, std::size_t* to_bytes) {
    std::free(*to);
    *to = std::malloc(bytes);
    *to_bytes = *to == nullptr ? 0 : bytes;
    if (*to == nullptr) return false;
    std::memcpy(*to, address, bytes);
    return true;
}

int fill_addresses(fi_info& info, const char* node, const char* service, std::uint64_t flags,
                   const fi_info* hints) {
    const Card any = any_card();
    bool filled = put_address(&any, sizeof any, &info.src_addr, &info.src_addrlen);
    if (hints != nullptr && hints->src_addr != nullptr && hints->src_addrlen == sizeof(Card)) {
        filled = filled && put_address(hints->src_addr, sizeof(Card), &info.src_addr,
                                       &info.src_addrlen);
    }
    if (hints != nullptr && hints->dest_addr != nullptr && hints->dest_addrlen == sizeof(Card)) {
        filled = filled && put_address(hints->dest_addr, sizeof(Card), &info.dest_addr,
                                       &info.dest_addrlen);
    }
    if (node != nullptr || service != nullptr) {
        const auto card = parse_card(node, service);
        if (!card) {
            FCI_INFO(FI_LOG_FABRIC, "only numeric addresses and localhost are understood\n");
            return -FI_ENODATA;
        }
        const bool is_source = (flags & FI_SOURCE) != 0;
        filled = filled && put_address(&*card, sizeof(Card),
                                       is_source ? &info.src_addr : &info.dest_addr,
                                       is_source ? &info.src_addrlen : &info.dest_addrlen);
    }
    return filled ? 0 : -FI_ENOMEM;
}

int build(fi_info& info, const char* node, const char* service, std::uint64_t flags,
          const fi_info* hints) {
    info.caps = answered_caps(hints);
    info.mode = answered_mode(hints);
    info.addr_format = FI_SOCKADDR_IN;
    fill(*info.tx_attr, info, hints == nullptr ? nullptr : hints->tx_attr);
    fill(*info.rx_attr, info, hints == nullptr ? nullptr : hints->rx_attr);
    fill(*info.ep_attr);
    if (!fill(*info.domain_attr, hints == nullptr ? nullptr : hints->domain_attr)) {
        return -FI_ENOMEM;
    }
    // prov_name stays empty: libfabric fills it, and appends to what is there.
    info.fabric_attr->name = strdup(kName);
    if (info.fabric_attr->name == nullptr) return -FI_ENOMEM;
    info.fabric_attr->prov_version = provider.version;
    return fill_addresses(info, node, service, flags, hints);
}

}  // namespace

const char* mismatch(const fi_info& hints) noexcept {
    if (!within(hints.caps, kAllCaps)) return "capabilities";
    if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != FI_SOCKADDR &&
        hints.addr_format != FI_SOCKADDR_IN) {
        return "address format";
    }
    const char* what = nullptr;
    if (what == nullptr && hints.ep_attr != nullptr) what = mismatch(*hints.ep_attr);
    if (what == nullptr && hints.domain_attr != nullptr) what = mismatch(*hints.domain_attr);
    if (what == nullptr && hints.tx_attr != nullptr) what = mismatch(*hints.tx_attr);
    if (what == nullptr && hints.rx_attr != nullptr) what = mismatch(*hints.rx_attr);
    if (what == nullptr && hints.fabric_attr != nullptr) {
        if (other_name(hints.fabric_attr->name, kName)) return "fabric name";
        if (other_name(hints.fabric_attr->prov_name, kName)) return "provider name";
    }
    return what;
}

int get_info(std::uint32_t, const char* node, const char* service, std::uint64_t flags,
             const fi_info* hints, fi_info** info) {
    *info = nullptr;
    if (hints != nullptr) {
        if (const char* what = mismatch(*hints); what != nullptr) {
            FCI_INFO(FI_LOG_FABRIC, "not offered: the wanted %s\n", what);
            return -FI_ENODATA;
        }
    }
    fi_info* const answer = fi_dupinfo(nullptr);  // of the running library's size, zero-filled
    if (answer == nullptr) return -FI_ENOMEM;
    const int result = build(*answer, node, service, flags, hints);
    if (result != 0) {
        fi_freeinfo(answer);
        return result;
    }
    *info = answer;
    return 0;
}

}  // namespace fci::libfabric
