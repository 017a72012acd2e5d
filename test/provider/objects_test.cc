// SPDX-License-Identifier: BSD-3-Clause
// Address vectors, event queues, memory regions; what may be closed when.
#include <netinet/in.h>
#include <rdma/fi_rma.h>

#include "test/provider/support.h"

namespace fci::test {
namespace {

using Objects = Pair;

// Trap: numbers count up in the order of insertion, for repeated addresses and for maps too.
TEST_F(Objects, address_vector__sequential_numbers) {
    for (const fi_av_type type : {FI_AV_TABLE, FI_AV_MAP}) {
        OpenOptions wishes;
        wishes.av_type = type;
        Side side(wishes), other(wishes);
        char names[4][16];
        for (int i = 0; i < 4; ++i) std::memcpy(names[i], (i < 3 ? other : side).name, 16);
        fi_addr_t numbers[4];
        ASSERT_EQ(fi_av_insert(side.av, names, 4, numbers, 0, nullptr), 4);
        for (fi_addr_t i = 0; i < 4; ++i) EXPECT_EQ(numbers[i], i);
        char name[64];
        std::size_t bytes = sizeof name;
        ASSERT_EQ(fi_av_lookup(side.av, 1, name, &bytes), 0);
        EXPECT_EQ(bytes, other.name_bytes);
        EXPECT_EQ(std::memcmp(name, other.name, bytes), 0);
        ASSERT_EQ(fi_av_remove(side.av, numbers, 1, 0), 0);
        bytes = sizeof name;
        EXPECT_EQ(fi_av_lookup(side.av, 0, name, &bytes), -FI_EINVAL);
        EXPECT_EQ(fi_av_remove(side.av, numbers, 1, 0), -FI_EINVAL);
        EXPECT_EQ(side.insert(other), 4u) << "places are not used twice";
    }
}

TEST_F(Objects, address_vector__bad_addresses_counted) {
    Side side;
    sockaddr_in addresses[2]{};
    std::memcpy(&addresses[0], side.name, sizeof addresses[0]);
    addresses[1].sin_family = AF_INET6;
    fi_addr_t numbers[2];
    int errors[2] = {-1, -1};
    EXPECT_EQ(fi_av_insert(side.av, addresses, 2, numbers, FI_SYNC_ERR, errors), 1);
    EXPECT_EQ(numbers[0], 0u);
    EXPECT_EQ(numbers[1], FI_ADDR_NOTAVAIL);
    EXPECT_EQ(errors[0], 0);
    EXPECT_EQ(errors[1], FI_EINVAL);
}

TEST_F(Objects, address_vector__text_and_services) {
    Side side;
    fi_addr_t number = 7;
    ASSERT_EQ(fi_av_insertsvc(side.av, "127.0.0.1", "4711", &number, 0, nullptr), 1);
    char name[16], text[64];
    std::size_t bytes = sizeof name, text_bytes = sizeof text;
    ASSERT_EQ(fi_av_lookup(side.av, number, name, &bytes), 0);
    EXPECT_STREQ(fi_av_straddr(side.av, name, text, &text_bytes),
                 "fi_sockaddr_in://127.0.0.1:4711");
    EXPECT_LT(fi_av_insertsvc(side.av, "no.such.host.invalid", "1", &number, 0, nullptr), 0);
}

TEST_F(Objects, address_vector__shared_ones_fail_cleanly) {
    Side side;
    fi_av_attr attributes{};
    attributes.name = "shared";
    attributes.flags = FI_READ;
    fid_av* av = nullptr;
    EXPECT_EQ(fi_av_open(side.domain, &attributes, &av, nullptr), -FI_ENOSYS);
}

TEST_F(Objects, address_vector__event_when_bound) {
    Side side;
    fi_eq_attr attributes{};
    attributes.wait_obj = FI_WAIT_UNSPEC;
    fid_eq* eq = nullptr;
    ASSERT_EQ(fi_eq_open(side.fabric, &attributes, &eq, nullptr), 0);
    fi_av_attr av_attributes{};
    av_attributes.flags = FI_EVENT;
    fid_av* av = nullptr;
    ASSERT_EQ(fi_av_open(side.domain, &av_attributes, &av, nullptr), 0);
    EXPECT_EQ(av_attributes.type, FI_AV_TABLE) << "what unspecified became";
    // As fi_av_bind() does, which libfabric 2 calls deprecated.
    ASSERT_EQ(av->fid.ops->bind(&av->fid, &eq->fid, 0), 0);
    fi_addr_t number = 9;
    int context = 0;
    ASSERT_EQ(fi_av_insert(av, side.name, 1, &number, 0, &context), 0);
    EXPECT_EQ(number, 0u);
    std::uint32_t event = 99;
    fi_eq_entry entry{};
    ASSERT_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0),
              static_cast<ssize_t>(sizeof entry));
    EXPECT_EQ(event, static_cast<std::uint32_t>(FI_AV_COMPLETE));
    EXPECT_EQ(entry.data, 1u);
    EXPECT_EQ(entry.context, &context);
    EXPECT_EQ(entry.fid, &av->fid);
    EXPECT_EQ(fi_close(&eq->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&av->fid), 0);
    EXPECT_EQ(fi_close(&eq->fid), 0);
}

TEST_F(Objects, event_queue__write_peek_read) {
    Side side;
    fi_eq_attr attributes{};
    attributes.flags = FI_WRITE;
    attributes.wait_obj = FI_WAIT_FD;
    fid_eq* eq = nullptr;
    ASSERT_EQ(fi_eq_open(side.fabric, &attributes, &eq, nullptr), 0);
    std::uint32_t event = 0;
    fi_eq_entry out{}, in{};
    EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in, 0), -FI_EAGAIN);
    EXPECT_EQ(fi_eq_sread(eq, &event, &in, sizeof in, 20, 0), -FI_EAGAIN);
    fi_eq_err_entry error{};
    EXPECT_EQ(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
    for (out.data = 1; out.data <= 3; ++out.data) {
        EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &out, sizeof out, 0), ssize_t{sizeof out});
    }
    EXPECT_EQ(fi_eq_read(eq, &event, &in, 4, 0), -FI_ETOOSMALL);
    EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in, FI_PEEK), ssize_t{sizeof in});
    for (std::uint64_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in, 0), ssize_t{sizeof in});
        EXPECT_EQ(in.data, i);
    }
    EXPECT_EQ(fi_close(&eq->fid), 0);
}

TEST_F(Objects, memory_region__key_as_asked) {
    Side side;
    char data[64];
    fid_mr* region = nullptr;
    ASSERT_EQ(fi_mr_reg(side.domain, data, sizeof data, FI_SEND | FI_RECV, 0, 0x1234, 0, &region,
                        nullptr), 0);
    EXPECT_EQ(fi_mr_key(region), 0x1234u);
    EXPECT_EQ(fi_close(&side.domain->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&region->fid), 0);
    fi_mr_attr attributes{};
    attributes.iface = FI_HMEM_CUDA;
    EXPECT_NE(fi_mr_regattr(side.domain, &attributes, 0, &region), 0);
}

// Every order that programs use: Open MPI closes ep, av, cq; MPICH ep, cq, av.
TEST_F(Objects, closing__busy_while_used) {
    Side side;
    EXPECT_EQ(fi_close(&side.fabric->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&side.domain->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&side.cq->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&side.av->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&side.ep->fid), 0);
    side.ep = nullptr;
    EXPECT_EQ(fi_close(&side.av->fid), 0);
    side.av = nullptr;
    EXPECT_EQ(fi_close(&side.domain->fid), -FI_EBUSY);
}

TEST_F(Objects, enabling__needs_its_parts) {
    OpenOptions wishes;
    wishes.enable = false;
    Side side(wishes);
    char name[64];
    std::size_t bytes = sizeof name;
    EXPECT_EQ(fi_getname(&side.ep->fid, name, &bytes), -FI_EOPBADSTATE);
    EXPECT_EQ(fi_tinject(side.ep, nullptr, 0, 0, 0), -FI_EOPBADSTATE);
    EXPECT_EQ(fi_cancel(&side.ep->fid, nullptr), -FI_EOPBADSTATE);
    ASSERT_EQ(fi_enable(side.ep), 0);
    bytes = 0;
    EXPECT_EQ(fi_getname(&side.ep->fid, nullptr, &bytes), -FI_ETOOSMALL);
    EXPECT_EQ(bytes, 16u);
    fid_ep* bare = nullptr;
    ASSERT_EQ(fi_endpoint(side.domain, side.info.get(), &bare, nullptr), 0);
    EXPECT_EQ(fi_enable(bare), -FI_ENOAV);
    ASSERT_EQ(fi_ep_bind(bare, &side.av->fid, 0), 0);
    EXPECT_EQ(fi_enable(bare), -FI_ENOCQ);
    EXPECT_EQ(fi_ep_bind(bare, &side.cq->fid, 0), -FI_EBADFLAGS);
    EXPECT_EQ(fi_close(&bare->fid), 0);
}

TEST_F(Objects, tables__every_slot_is_filled) {
    start();
    const auto filled = [](const auto* table) {
        const auto* slots = reinterpret_cast<void* const*>(table);
        for (std::size_t i = 1; i < table->size / sizeof(void*); ++i) {
            if (slots[i] == nullptr) return false;
        }
        return table->size >= sizeof *table;
    };
    EXPECT_TRUE(filled(a->fabric->fid.ops) && filled(a->fabric->ops));
    EXPECT_TRUE(filled(a->domain->fid.ops) && filled(a->domain->ops) && filled(a->domain->mr));
    EXPECT_TRUE(filled(a->av->fid.ops) && filled(a->av->ops));
    EXPECT_TRUE(filled(a->cq->fid.ops) && filled(a->cq->ops));
    EXPECT_TRUE(filled(a->ep->fid.ops) && filled(a->ep->ops) && filled(a->ep->cm));
    EXPECT_TRUE(filled(a->ep->msg) && filled(a->ep->tagged) && filled(a->ep->rma));
}

/// By number: libfabric 1.17 does not name those from FI_OPT_MAX_MSG_SIZE, 12, on.
TEST_F(Objects, options__sizes_within_what_is_offered) {
    start();
    const auto set = [&](int name, std::size_t value) {
        return fi_setopt(&a->ep->fid, FI_OPT_ENDPOINT, name, &value, sizeof value);
    };
    const auto get = [&](int name, std::size_t* value) {
        std::size_t bytes = sizeof *value;
        return fi_getopt(&a->ep->fid, FI_OPT_ENDPOINT, name, value, &bytes);
    };
    std::size_t value = 0;
    for (const int name : {12, 13, 16, 17}) {
        SCOPED_TRACE(name);
        const bool injected = name >= 16;
        ASSERT_EQ(get(name, &value), 0);
        EXPECT_EQ(value, injected ? a->info->tx_attr->inject_size : a->info->ep_attr->max_msg_size);
        EXPECT_EQ(set(name, 32), 0);
        ASSERT_EQ(get(name, &value), 0);
        EXPECT_EQ(value, 32u);
        EXPECT_EQ(set(name, SIZE_MAX), injected ? -FI_EINVAL : 0);
    }
    for (const int name : {14, 15, 18, 19}) EXPECT_EQ(set(name, 0), -FI_EOPNOTSUPP) << name;
    EXPECT_EQ(set(FI_OPT_FI_HMEM_P2P, 0), -FI_ENOPROTOOPT);
    EXPECT_EQ(set(1000, 0), -FI_ENOPROTOOPT);
    EXPECT_EQ(fi_setopt(&a->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, 1),
              -FI_EINVAL);
}

/// Several domains and endpoints in one process, as MPICH's virtual interfaces are.
TEST_F(Objects, domains__reach_each_other) {
    Side first;
    Side second({}, first.fabric);
    const fi_addr_t to_second = first.insert(second);
    ssize_t result = -FI_EAGAIN;
    ASSERT_TRUE(eventually([&] {
        second.progress();
        result = fi_tsend(first.ep, "x", 1, nullptr, to_second, 1, nullptr);
        return result == 0;
    }));
    char in;
    ASSERT_EQ(fi_trecv(second.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
    EXPECT_EQ(second.next([&] { first.progress(); }).is.len, 1u);
}

}  // namespace
}  // namespace fci::test
