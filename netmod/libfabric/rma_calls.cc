// SPDX-License-Identifier: BSD-3-Clause
// fi_write, fi_read and their relatives: the nine calls end in one.
#include <rdma/fi_rma.h>

#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"

namespace fci::libfabric {

struct RmaCalls {
    /// `data`: of this side. The arguments are copied, so they may be on the caller's stack.
    static ssize_t start(fid_ep* ep, Access access, Ranges data, const fi_rma_iov* there,
                         std::size_t count, fi_addr_t target, std::uint64_t flags,
                         std::uint64_t immediate, void* context, bool report) noexcept {
        if (count > kRmaIovLimit) return -FI_EINVAL;
        RemoteCall call{access};
        (access == Access::read ? call.result : call.data) = data;
        call.remote = {there, count};
        call.target = target;
        call.flags = access == Access::read ? flags & ~FI_INJECT : flags;
        call.immediate = immediate;
        call.context = context;
        call.report = report;
        return Endpoint::of(ep).access(call);
    }

    template <Access kAccess>
    static ssize_t vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                          fi_addr_t target, std::uint64_t address, std::uint64_t key,
                          void* context) {
        Endpoint& self = Endpoint::of(ep);
        fi_rma_iov there{address, 0, key};
        if (!total_of({ranges, count}, &there.len)) return -FI_EINVAL;
        return start(ep, kAccess, {ranges, count}, &there, 1, target, self.transmit().op_flags, 0,
                     context, self.transmit().report);
    }

    static ssize_t read(fid_ep* ep, void* data, std::size_t bytes, void*, fi_addr_t target,
                        std::uint64_t address, std::uint64_t key, void* context) {
        const iovec range{data, bytes};
        return vector<Access::read>(ep, &range, nullptr, 1, target, address, key, context);
    }

    static ssize_t write(fid_ep* ep, const void* data, std::size_t bytes, void*, fi_addr_t target,
                         std::uint64_t address, std::uint64_t key, void* context) {
        const iovec range{const_cast<void*>(data), bytes};
        return vector<Access::write>(ep, &range, nullptr, 1, target, address, key, context);
    }

    template <Access kAccess>
    static ssize_t message(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
        return start(ep, kAccess, {message->msg_iov, message->iov_count}, message->rma_iov,
                     message->rma_iov_count, message->addr, flags, message->data, message->context,
                     Endpoint::of(ep).transmit().reports(flags));
    }

    static ssize_t write_data(fid_ep* ep, const void* data, std::size_t bytes, void*,
                              std::uint64_t immediate, fi_addr_t target, std::uint64_t address,
                              std::uint64_t key, void* context) {
        Endpoint& self = Endpoint::of(ep);
        const iovec range{const_cast<void*>(data), bytes};
        const fi_rma_iov there{address, bytes, key};
        return start(ep, Access::write, {&range, 1}, &there, 1, target,
                     self.transmit().op_flags | FI_REMOTE_CQ_DATA, immediate, context,
                     self.transmit().report);
    }

    static ssize_t inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t target,
                          std::uint64_t address, std::uint64_t key) {
        const iovec range{const_cast<void*>(data), bytes};
        const fi_rma_iov there{address, bytes, key};
        return start(ep, Access::write, {&range, 1}, &there, 1, target, FI_INJECT, 0, nullptr,
                     false);
    }

    static ssize_t inject_data(fid_ep* ep, const void* data, std::size_t bytes,
                               std::uint64_t immediate, fi_addr_t target, std::uint64_t address,
                               std::uint64_t key) {
        const iovec range{const_cast<void*>(data), bytes};
        const fi_rma_iov there{address, bytes, key};
        return start(ep, Access::write, {&range, 1}, &there, 1, target,
                     FI_INJECT | FI_REMOTE_CQ_DATA, immediate, nullptr, false);
    }
};

fi_ops_rma rma_calls{
    sizeof(fi_ops_rma),
    RmaCalls::read,
    RmaCalls::vector<Access::read>,
    RmaCalls::message<Access::read>,
    RmaCalls::write,
    RmaCalls::vector<Access::write>,
    RmaCalls::message<Access::write>,
    RmaCalls::inject,
    RmaCalls::write_data,
    RmaCalls::inject_data,
};

}  // namespace fci::libfabric
