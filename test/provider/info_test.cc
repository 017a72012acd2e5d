// SPDX-License-Identifier: BSD-3-Clause
// fi_getinfo with the hints of every program that is known to ask.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>

#include "test/provider/support.h"

namespace {
unsigned names_asked = 0;
}

// All libraries of this process take this one instead of the C library's, which may ask a server.
extern "C" int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
    ++names_asked;
    return EAI_FAIL;
}

namespace fci::test {
namespace {

constexpr std::uint64_t kContexts = FI_CONTEXT | FI_CONTEXT2;

struct Asks {
    const char* who;
    std::uint32_t version;
    std::function<void(fi_info&)> hints;  // empty: NULL
    bool offered;
};

// Open MPI's mtl/ofi.
void open_mpi(fi_info& h) {
    h.mode = kContexts;
    h.caps = FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV;
    h.ep_attr->type = FI_EP_RDM;
    h.tx_attr->msg_order = FI_ORDER_SAS;
    h.rx_attr->msg_order = FI_ORDER_SAS;
    h.tx_attr->op_flags = FI_COMPLETION;
    h.rx_attr->op_flags = FI_COMPLETION;
    h.domain_attr->threading = FI_THREAD_DOMAIN;
    h.domain_attr->cq_data_size = 4;
    h.domain_attr->av_type = FI_AV_MAP;
    h.domain_attr->resource_mgmt = FI_RM_ENABLED;
}
void open_mpi_multiple(fi_info& h) {
    open_mpi(h);
    h.domain_attr->threading = FI_THREAD_SAFE;
}
void open_mpi_messages(fi_info& h) {
    open_mpi(h);
    h.caps |= FI_MSG;
}
void open_mpi_device(fi_info& h) {
    open_mpi(h);
    h.caps |= FI_HMEM;
    h.domain_attr->mr_mode = FI_MR_HMEM | FI_MR_ALLOCATED;
}
void open_mpi_efa(fi_info& h) {
    open_mpi(h);
    h.fabric_attr->prov_name = strdup("efa");
}
// btl/ofi, for windows.
void open_mpi_btl(fi_info& h) {
    h.caps = FI_RMA | FI_ATOMIC;
    h.ep_attr->type = FI_EP_RDM;
    h.domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    h.tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}
// MPICH ch4:ofi, second step.
void mpich(fi_info& h) {
    h.fabric_attr->prov_name = strdup("fci");
    h.caps = FI_TAGGED | FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
    h.mode = kContexts | FI_ASYNC_IOV | FI_RX_CQ_DATA;
    h.ep_attr->type = FI_EP_RDM;
    h.ep_attr->mem_tag_format = 0x7fffffff;
    h.domain_attr->threading = FI_THREAD_DOMAIN;
    h.domain_attr->control_progress = FI_PROGRESS_MANUAL;
    h.domain_attr->data_progress = FI_PROGRESS_MANUAL;
    h.domain_attr->resource_mgmt = FI_RM_ENABLED;
    h.domain_attr->av_type = FI_AV_TABLE;
    h.domain_attr->cq_data_size = 4;
    h.domain_attr->mode = FI_RESTRICTED_COMP;
    h.tx_attr->op_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
    h.tx_attr->msg_order = FI_ORDER_SAS;
    h.rx_attr->op_flags = FI_COMPLETION;
    h.tx_attr->comp_order = 0;
}
void mpich_atomic_order(fi_info& h) {
    mpich(h);
    h.caps |= FI_RMA | FI_ATOMIC;
    h.tx_attr->msg_order |= FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |
                            FI_ORDER_ATOMIC_WAW;
}
void mpich_5(fi_info& h) {
    mpich(h);
    h.domain_attr->mr_mode = FI_MR_ENDPOINT;
}
void fabtests(fi_info& h) {
    h.caps = FI_MSG;
    h.mode = kContexts;
    h.ep_attr->type = FI_EP_RDM;
    h.domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                             FI_MR_VIRT_ADDR | FI_MR_RAW;
    h.domain_attr->resource_mgmt = FI_RM_ENABLED;
    h.tx_attr->tclass = FI_TC_LOW_LATENCY;
}
void pingpong(fi_info& h) {
    h.caps = FI_MSG;
    h.mode = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX;
    h.ep_attr->type = FI_EP_RDM;
    h.domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
}
void rxm_core(fi_info& h) {
    h.caps = FI_MSG | FI_RMA;
    h.ep_attr->type = FI_EP_MSG;
}
void rxd_core(fi_info& h) {
    h.caps = FI_MSG;
    h.ep_attr->type = FI_EP_DGRAM;
}
void old_scalable(fi_info& h) {
    open_mpi(h);
    h.domain_attr->mr_mode = 1 << 1;  // FI_MR_SCALABLE, of which newer headers warn
}

const Asks kAsks[] = {
    {"Open MPI", FI_VERSION(1, 5), open_mpi, true},
    {"Open MPI with MPI_THREAD_MULTIPLE", FI_VERSION(1, 5), open_mpi_multiple, true},
    {"Open MPI 5", FI_VERSION(1, 9), open_mpi_messages, true},
    {"Open MPI 5, device memory", FI_VERSION(1, 9), open_mpi_device, false},
    {"Open MPI, probing for efa", FI_VERSION(1, 5), open_mpi_efa, false},
    {"Open MPI btl/ofi", FI_VERSION(1, 5), open_mpi_btl, true},
    {"MPICH, first step", FI_VERSION(1, 14), {}, true},
    {"MPICH, second step", FI_VERSION(1, 14), mpich, true},
    {"MPICH with windows", FI_VERSION(1, 14), mpich_atomic_order, true},
    {"MPICH 5", FI_VERSION(1, 17), mpich_5, true},
    {"Intel MPI", 0, {}, true},
    {"fabtests", FI_VERSION(1, 17), fabtests, true},
    {"fi_pingpong", FI_VERSION(1, 17), pingpong, true},
    {"fi_info", FI_VERSION(1, 17), {}, true},
    {"rxm below itself", FI_VERSION(1, 17), rxm_core, false},
    {"rxd below itself", FI_VERSION(1, 17), rxd_core, false},
    {"memory regions by their old name", FI_VERSION(1, 4), old_scalable, true},
};

TEST(get_info, answers__each_consumer) {
    for (const Asks& asks : kAsks) {
        SCOPED_TRACE(asks.who);
        Info hints;
        if (asks.hints) {
            hints = new_hints();
            asks.hints(*hints);
        }
        Info info;
        const int result = ask(hints.get(), &info, asks.version);
        if (!asks.offered) {
            EXPECT_EQ(result, -FI_ENODATA);
            continue;
        }
        ASSERT_EQ(result, 0);
        EXPECT_EQ(info->next, nullptr) << "exactly one info";
        EXPECT_STREQ(info->fabric_attr->prov_name, "fci");
        EXPECT_EQ(info->ep_attr->type, FI_EP_RDM);
        if (!hints) continue;
        EXPECT_EQ(info->caps & hints->caps, hints->caps);
        if (hints->domain_attr->threading != FI_THREAD_UNSPEC) {
            EXPECT_EQ(info->domain_attr->threading, hints->domain_attr->threading);
        }
        EXPECT_EQ(info->domain_attr->av_type, hints->domain_attr->av_type);
        EXPECT_EQ(info->tx_attr->op_flags, hints->tx_attr->op_flags);
        EXPECT_EQ(info->rx_attr->op_flags, hints->rx_attr->op_flags);
        EXPECT_EQ(info->mode & ~hints->mode, 0u) << "a mode that was not offered";
        EXPECT_GE(info->domain_attr->cq_data_size, hints->domain_attr->cq_data_size);
        EXPECT_EQ(info->domain_attr->mr_mode & ~hints->domain_attr->mr_mode, 0);
    }
}

TEST(get_info, size__as_much_as_is_asked_for_and_never_little) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{5000}}) {
        const auto hints = new_hints();
        hints->tx_attr->size = hints->rx_attr->size = size;
        Info info;
        ASSERT_EQ(ask(hints.get(), &info), 0);
        EXPECT_GE(info->tx_attr->size, std::max<std::size_t>(size, 1024));
        EXPECT_GE(info->rx_attr->size, std::max<std::size_t>(size, 1024));
    }
}

TEST(get_info, null_hints__the_whole_sheet) {
    Info info;
    ASSERT_EQ(ask(nullptr, &info), 0);
    const std::uint64_t must = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SEND | FI_RECV |
                               FI_MULTI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM |
                               FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ |
                               FI_REMOTE_WRITE | FI_RMA_EVENT;
    EXPECT_EQ(info->caps & must, must);
    EXPECT_EQ(info->mode, 0u);
    EXPECT_EQ(info->addr_format, static_cast<std::uint32_t>(FI_SOCKADDR_IN));
    EXPECT_EQ(info->src_addrlen, sizeof(sockaddr_in));
    EXPECT_EQ(info->nic, nullptr);
    EXPECT_GE(info->tx_attr->size, 1024u);
    EXPECT_GE(info->rx_attr->size, 1024u);
    EXPECT_GE(info->tx_attr->iov_limit, 4u);
    EXPECT_GE(info->tx_attr->inject_size, 64u);
    EXPECT_EQ(info->tx_attr->msg_order & FI_ORDER_SAS, FI_ORDER_SAS);
    EXPECT_EQ(info->ep_attr->max_msg_size, SIZE_MAX);
    EXPECT_EQ(info->ep_attr->mem_tag_format >> 63, 1u) << "the top bit counts";
    EXPECT_NE(info->ep_attr->protocol & 1u << 31, 0u);
    EXPECT_EQ(info->domain_attr->mr_mode, 0);
    EXPECT_EQ(info->domain_attr->cq_data_size, 8u);
    EXPECT_EQ(info->domain_attr->max_ep_tx_ctx, 1u);
    EXPECT_NE(info->domain_attr->name, nullptr);
    EXPECT_NE(info->fabric_attr->name, nullptr);
}

TEST(get_info, context_mode__used_only_when_offered) {
    Info hints = new_hints();
    Info info;
    ASSERT_EQ(ask(hints.get(), &info), 0);
    EXPECT_EQ(info->mode, 0u);
    hints->mode = FI_CONTEXT2;
    ASSERT_EQ(ask(hints.get(), &info), 0);
    EXPECT_EQ(info->mode, FI_CONTEXT2);
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    ASSERT_EQ(ask(hints.get(), &info), 0);
    EXPECT_EQ(info->mode, FI_CONTEXT);
}

TEST(get_info, beyond_the_sheet__no_data) {
    struct Case {
        const char* what;
        std::function<void(fi_info&)> change;
    };
    const Case cases[] = {
        {"caps", [](fi_info& h) { h.caps = FI_MSG | FI_TRIGGER; }},
        {"a bit with a new meaning", [](fi_info& h) { h.caps = FI_TAGGED | (1ull << 46); }},
        {"multicast", [](fi_info& h) { h.caps = FI_MSG | FI_MULTICAST; }},
        {"address format", [](fi_info& h) { h.addr_format = FI_SOCKADDR_IN6; }},
        {"protocol", [](fi_info& h) { h.ep_attr->protocol = FI_PROTO_UDP; }},
        {"two contexts", [](fi_info& h) { h.ep_attr->tx_ctx_cnt = 2; }},
        {"completion data", [](fi_info& h) { h.domain_attr->cq_data_size = 9; }},
        {"keys", [](fi_info& h) { h.domain_attr->mr_key_size = 9; }},
        {"inject", [](fi_info& h) { h.tx_attr->inject_size = 1u << 20; }},
        {"vector", [](fi_info& h) { h.rx_attr->iov_limit = 4096; }},
        {"order", [](fi_info& h) { h.tx_attr->msg_order = FI_ORDER_WAS; }},
        {"size of what is ordered", [](fi_info& h) { h.ep_attr->max_order_waw_size = 1u << 20; }},
        {"remote vector", [](fi_info& h) { h.tx_attr->rma_iov_limit = 4096; }},
        {"completion order", [](fi_info& h) { h.tx_attr->comp_order = FI_ORDER_RAW; }},
        {"op flags", [](fi_info& h) { h.tx_attr->op_flags = FI_COMMIT_COMPLETE; }},
        {"automatic progress",
         [](fi_info& h) { h.domain_attr->data_progress = FI_PROGRESS_AUTO; }},
        {"domain name", [](fi_info& h) { h.domain_attr->name = strdup("eth0"); }},
        {"fabric name", [](fi_info& h) { h.fabric_attr->name = strdup("10.0.0.0/8"); }},
        {"authorization key", [](fi_info& h) { h.ep_attr->auth_key_size = 8; }},
    };
    for (const Case& one : cases) {
        SCOPED_TRACE(one.what);
        Info hints = new_hints();
        one.change(*hints);
        Info info;
        EXPECT_EQ(ask(hints.get(), &info), -FI_ENODATA);
    }
}

TEST(get_info, primary_capabilities__only_those_asked_for) {
    Info hints = new_hints();
    hints->caps = FI_TAGGED;
    Info info;
    ASSERT_EQ(ask(hints.get(), &info), 0);
    EXPECT_EQ(info->caps & (FI_MSG | FI_DIRECTED_RECV | FI_RMA | FI_ATOMIC | FI_READ), 0u);
    EXPECT_EQ(info->caps & (FI_SEND | FI_RECV), FI_SEND | FI_RECV);
    EXPECT_NE(info->caps & FI_SOURCE, 0u);
    hints->caps = FI_TAGGED | FI_RECV;
    ASSERT_EQ(ask(hints.get(), &info), 0);
    EXPECT_EQ(info->caps & FI_SEND, 0u);
}

TEST(get_info, addresses__numeric_at_once) {
    struct Case {
        const char *node, *service;
        std::uint64_t flags;
        const char* host;  // nullptr: not understood
        int port;
    };
    const Case cases[] = {
        {"127.0.0.1", "4711", 0, "127.0.0.1", 4711},
        {"10.1.2.3", nullptr, 0, "10.1.2.3", 0},
        {"localhost", "7", 0, "127.0.0.1", 7},
        {"127.0.0.1", "4711", FI_SOURCE, "127.0.0.1", 4711},
        {nullptr, "4711", FI_SOURCE, "0.0.0.0", 4711},
        {"no.such.host.invalid", "1", 0, nullptr, 0},
        {"127.0.0.1", "http", 0, nullptr, 0},
        {"127.0.0.1", "65536", 0, nullptr, 0},
        {"127.0.0.1", "-1", 0, nullptr, 0},
        {"::1", "1", 0, nullptr, 0},
    };
    for (const Case& one : cases) {
        SCOPED_TRACE(std::string(one.node ? one.node : "-") + ":" +
                     (one.service ? one.service : "-"));
        Info info;
        const unsigned before = names_asked;
        const int result =
            ask(nullptr, &info, fi_version(), one.node, one.service, one.flags);
        EXPECT_EQ(names_asked, before) << "a name server may take seconds";
        if (one.host == nullptr) {
            EXPECT_EQ(result, -FI_ENODATA);
            continue;
        }
        ASSERT_EQ(result, 0);
        const bool source = (one.flags & FI_SOURCE) != 0;
        const auto* address = static_cast<const sockaddr_in*>(source ? info->src_addr
                                                                     : info->dest_addr);
        ASSERT_NE(address, nullptr);
        char host[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &address->sin_addr, host, sizeof host);
        EXPECT_STREQ(host, one.host);
        EXPECT_EQ(ntohs(address->sin_port), one.port);
        EXPECT_EQ(info->dest_addr == nullptr, source);
    }
}

TEST(get_info, hinted_addresses__come_back) {
    Info hints = new_hints();
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(99);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memset(there.sin_zero, 7, sizeof there.sin_zero);  // the incarnation
    hints->addr_format = FI_SOCKADDR_IN;
    hints->dest_addr = std::malloc(sizeof there);
    std::memcpy(hints->dest_addr, &there, sizeof there);
    hints->dest_addrlen = sizeof there;
    Info info;
    ASSERT_EQ(ask(hints.get(), &info), 0);
    ASSERT_EQ(info->dest_addrlen, sizeof there);
    EXPECT_EQ(std::memcmp(info->dest_addr, &there, sizeof there), 0);
}

}  // namespace
}  // namespace fci::test
