// SPDX-License-Identifier: BSD-3-Clause
// Support for the tests of remote memory access: two endpoints, the second with memory to offer.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "test/provider/support.h"

namespace fci::test {

inline constexpr std::uint64_t kBoth = FI_REMOTE_READ | FI_REMOTE_WRITE;

inline OpenOptions remote_wishes() {
    OpenOptions wishes;
    wishes.caps |= FI_RMA | FI_ATOMIC | FI_RMA_EVENT;
    return wishes;
}

/// A registration of some bytes.
class Region {
public:
    Region(Side& side, void* data, std::size_t bytes, std::uint64_t key,
           std::uint64_t access = kBoth) {
        EXPECT_EQ(fi_mr_reg(side.domain, data, bytes, access, 0, key, 0, &mr, nullptr), 0);
    }
    ~Region() { close(); }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    void close() {
        if (mr != nullptr) {
            EXPECT_EQ(fi_close(&mr->fid), 0);
        }
        mr = nullptr;
    }

    fid_mr* mr = nullptr;
};

class Remote : public Pair {
protected:
    static constexpr std::uint64_t kKey = 0xfedcba9876543210;

    void start() { start(remote_wishes()); }
    void start(const OpenOptions& wishes) { Pair::start(wishes); }

    /// What `call` started at `a` has ended; 0 or its error.
    template <class Call>
    int ended(Call call, std::uint64_t flags = 0) {
        insist(call);
        const Entry entry = next(*a);
        if (entry.error) {
            EXPECT_NE(
                fi_cq_strerror(a->cq, entry.error->prov_errno, entry.error->err_data, nullptr, 0),
                nullptr);
            return entry.error->err;
        }
        EXPECT_EQ(entry.is.op_context, this);
        if (flags != 0) {
            EXPECT_EQ(entry.is.flags, flags);
        }
        return 0;
    }
    int write(const void* data, std::size_t bytes, std::uint64_t place, std::uint64_t key = kKey) {
        return ended([&] { return fi_write(a->ep, data, bytes, nullptr, to_b, place, key, this); },
                     FI_RMA | FI_WRITE);
    }
    int read(void* data, std::size_t bytes, std::uint64_t place, std::uint64_t key = kKey) {
        return ended([&] { return fi_read(a->ep, data, bytes, nullptr, to_b, place, key, this); },
                     FI_RMA | FI_READ);
    }
};

}  // namespace fci::test
