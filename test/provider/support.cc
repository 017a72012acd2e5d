// SPDX-License-Identifier: BSD-3-Clause
#include "test/provider/support.h"

namespace fci::test {

namespace {

void must(int result, const char* what) {
    if (result != 0) {
        ADD_FAILURE() << what << ": " << fi_strerror(-result);
        throw std::runtime_error(what);
    }
}

template <class Fid>
void close_fid(Fid*& object) {
    if (object == nullptr) return;
    EXPECT_EQ(fi_close(&object->fid), 0);
    object = nullptr;
}

}  // namespace

Side::Side(const OpenOptions& wanted, fid_fabric* shared) : wishes(wanted), owns_fabric_(!shared) {
    Info hints = new_hints();
    hints->caps = wanted.caps;
    hints->mode = wanted.mode;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = wanted.threading;
    hints->domain_attr->av_type = wanted.av_type;
    hints->tx_attr->op_flags = wanted.tx_flags;
    hints->rx_attr->op_flags = wanted.rx_flags;
    must(ask(hints.get(), &info), "fi_getinfo");
    fabric = shared;
    if (owns_fabric_) must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    must(fi_domain(fabric, info.get(), &domain, nullptr), "fi_domain");
    fi_av_attr av_attributes{};
    av_attributes.type = wanted.av_type;
    must(fi_av_open(domain, &av_attributes, &av, nullptr), "fi_av_open");
    fi_cq_attr cq_attributes{};
    cq_attributes.format = wanted.format;
    cq_attributes.size = wanted.cq_size;
    cq_attributes.wait_obj = wanted.wait;
    must(fi_cq_open(domain, &cq_attributes, &cq, nullptr), "fi_cq_open");
    must(fi_endpoint(domain, info.get(), &ep, this), "fi_endpoint");
    must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind(av)");
    must(fi_ep_bind(ep, &cq->fid,
                    FI_TRANSMIT | FI_RECV | (wanted.selective ? FI_SELECTIVE_COMPLETION : 0)),
         "fi_ep_bind(cq)");
    if (wanted.counters) {
        fi_cntr_attr attributes{};
        must(fi_cntr_open(domain, &attributes, &sent, nullptr), "fi_cntr_open");
        must(fi_cntr_open(domain, &attributes, &received, nullptr), "fi_cntr_open");
        must(fi_ep_bind(ep, &sent->fid, FI_SEND), "fi_ep_bind(counter)");
        must(fi_ep_bind(ep, &received->fid, FI_RECV), "fi_ep_bind(counter)");
    }
    if (!wanted.enable) return;
    must(fi_enable(ep), "fi_enable");
    name_bytes = sizeof name;
    must(fi_getname(&ep->fid, name, &name_bytes), "fi_getname");
}

void Side::close() {
    close_fid(ep);
    close_fid(cq);
    close_fid(sent);
    close_fid(received);
    close_fid(av);
    close_fid(domain);
    if (owns_fabric_) close_fid(fabric);
}

fi_addr_t Side::insert(const Side& other) {
    fi_addr_t number = FI_ADDR_NOTAVAIL;
    EXPECT_EQ(fi_av_insert(av, other.name, 1, &number, 0, nullptr), 1);
    return number;
}

std::optional<Entry> Side::poll() {
    Entry entry;
    const ssize_t got = fi_cq_readfrom(cq, &entry.is, 1, &entry.source);
    if (got == 1) return entry;
    if (got == -FI_EAGAIN) return std::nullopt;
    EXPECT_EQ(got, -FI_EAVAIL);
    entry.error.emplace();
    EXPECT_EQ(fi_cq_readerr(cq, &*entry.error, 0), 1);
    std::memcpy(&entry.is, &*entry.error, sizeof entry.is);
    return entry;
}

Entry Side::next(const std::function<void()>& meanwhile) {
    std::optional<Entry> entry;
    EXPECT_TRUE(eventually([&] {
        if (meanwhile) meanwhile();
        entry = poll();
        return entry.has_value();
    })) << "no completion came";
    return entry.value_or(Entry{});
}

void Pair::start(const OpenOptions& of_a, const OpenOptions& of_b) {
    a = std::make_unique<Side>(of_a);
    b = std::make_unique<Side>(of_b);
    to_b = a->insert(*b);
    to_a = b->insert(*a);
}

void Pair::acquaint() {
    for (const auto& [from, to, number] : {std::tuple(a.get(), b.get(), to_b),
                                           std::tuple(b.get(), a.get(), to_a)}) {
        insist([&, from = from, number = number] {
            return fi_tinject(from->ep, nullptr, 0, number, ~0ull);
        });
        ASSERT_EQ(fi_trecv(to->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, ~0ull, 0, nullptr), 0);
        if (!to->wishes.selective) {
            next(*to);
        } else {
            for (int i = 0; i < 1000; ++i) both();
        }
    }
}

std::vector<char> pattern(std::size_t bytes, unsigned seed) {
    std::vector<char> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<char>((i * 2654435761u + seed * 40503u) >> 11);
    }
    return data;
}

}  // namespace fci::test
