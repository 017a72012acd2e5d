// SPDX-License-Identifier: BSD-3-Clause
// The calls that send and receive messages. A plain message is one with the tag 0 in a space of its
// own.
#include <rdma/fi_tagged.h>

#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/fork.h"

namespace fci::libfabric {

namespace {

// --- sends ---

template <Space kSpace>
ssize_t send(fid_ep* ep, const void* data, std::size_t bytes, std::uint32_t flags,
             std::uint64_t immediate, fi_addr_t to, std::uint64_t tag, void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.channel().guarded([=, &self] {
        return self.sends().bytes(kSpace, data, bytes, to, flags, tag, immediate, context);
    });
}

template <Space kSpace>
ssize_t inject(fid_ep* ep, const void* data, std::size_t bytes, std::uint32_t flags,
               std::uint64_t immediate, fi_addr_t to, std::uint64_t tag) {
    Endpoint& self = Endpoint::of(ep);
    return self.channel().guarded(
        [=, &self] { return self.sends().inject(kSpace, data, bytes, to, flags, tag, immediate); });
}

ssize_t send_ranges(fid_ep* ep, Space space, const fi_msg_tagged& message, std::uint64_t flags,
                    bool report) {
    Endpoint& self = Endpoint::of(ep);
    Guard guard(self.channel().lock());
    return self.sends().ranges(space, message, flags, report);
}

ssize_t send_vector(fid_ep* ep, Space space, const fi_msg_tagged& message) {
    const Direction& usual = Endpoint::of(ep).transmit();
    return send_ranges(ep, space, message, usual.op_flags, usual.report);
}

ssize_t tagged_send(fid_ep* ep, const void* data, std::size_t bytes, void*, fi_addr_t to,
                    std::uint64_t tag, void* context) {
    return send<kTagged>(ep, data, bytes, 0, 0, to, tag, context);
}

ssize_t tagged_send_data(fid_ep* ep, const void* data, std::size_t bytes, void*,
                         std::uint64_t immediate, fi_addr_t to, std::uint64_t tag, void* context) {
    return send<kTagged>(ep, data, bytes, FCI_ICL_IMMEDIATE, immediate, to, tag, context);
}

ssize_t tagged_inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to,
                      std::uint64_t tag) {
    return inject<kTagged>(ep, data, bytes, 0, 0, to, tag);
}

ssize_t tagged_inject_data(fid_ep* ep, const void* data, std::size_t bytes, std::uint64_t immediate,
                           fi_addr_t to, std::uint64_t tag) {
    return inject<kTagged>(ep, data, bytes, FCI_ICL_IMMEDIATE, immediate, to, tag);
}

ssize_t tagged_send_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count, fi_addr_t to,
                           std::uint64_t tag, void* context) {
    return send_vector(ep, kTagged, {ranges, nullptr, count, to, tag, 0, context, 0});
}

ssize_t tagged_send_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
    return send_ranges(ep, kTagged, *message, flags, Endpoint::of(ep).transmit().reports(flags));
}

ssize_t plain_send(fid_ep* ep, const void* data, std::size_t bytes, void*, fi_addr_t to,
                   void* context) {
    return send<kMessage>(ep, data, bytes, 0, 0, to, 0, context);
}

ssize_t plain_send_data(fid_ep* ep, const void* data, std::size_t bytes, void*,
                        std::uint64_t immediate, fi_addr_t to, void* context) {
    return send<kMessage>(ep, data, bytes, FCI_ICL_IMMEDIATE, immediate, to, 0, context);
}

ssize_t plain_inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to) {
    return inject<kMessage>(ep, data, bytes, 0, 0, to, 0);
}

ssize_t plain_inject_data(fid_ep* ep, const void* data, std::size_t bytes, std::uint64_t immediate,
                          fi_addr_t to) {
    return inject<kMessage>(ep, data, bytes, FCI_ICL_IMMEDIATE, immediate, to, 0);
}

ssize_t plain_send_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count, fi_addr_t to,
                          void* context) {
    return send_vector(ep, kMessage, {ranges, nullptr, count, to, 0, 0, context, 0});
}

ssize_t plain_send_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
    return send_ranges(ep, kMessage,
                       {message->msg_iov, nullptr, message->iov_count, message->addr, 0, 0,
                        message->context, message->data},
                       flags, Endpoint::of(ep).transmit().reports(flags));
}

// --- receives ---

ssize_t tagged_receive(fid_ep* ep, void* data, std::size_t bytes, void*, fi_addr_t from,
                       std::uint64_t tag, std::uint64_t ignore, void* context) {
    return Endpoint::of(ep).receive(kTagged, data, bytes, from, tag, ignore, context);
}

ssize_t tagged_receive_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                              fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                              void* context) {
    return Endpoint::of(ep).receive_ranges(kTagged, {ranges, count, from, tag, ignore, context});
}

ssize_t tagged_receive_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
    return Endpoint::of(ep).receive_flagged(kTagged,
                                            {message->msg_iov, message->iov_count, message->addr,
                                             message->tag, message->ignore, message->context},
                                            flags);
}

ssize_t plain_receive(fid_ep* ep, void* data, std::size_t bytes, void*, fi_addr_t from,
                      void* context) {
    return Endpoint::of(ep).receive(kMessage, data, bytes, from, 0, ~0ull, context);
}

ssize_t plain_receive_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                             fi_addr_t from, void* context) {
    return Endpoint::of(ep).receive_ranges(kMessage, {ranges, count, from, 0, ~0ull, context});
}

ssize_t plain_receive_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
    return Endpoint::of(ep).receive_flagged(
        kMessage, {message->msg_iov, message->iov_count, message->addr, 0, ~0ull, message->context},
        flags);
}

}  // namespace

fi_ops_msg message_calls{
    sizeof(fi_ops_msg), plain_receive,     plain_receive_vector, plain_receive_message,
    plain_send,         plain_send_vector, plain_send_message,   plain_inject,
    plain_send_data,    plain_inject_data,
};

fi_ops_tagged tagged_calls{
    sizeof(fi_ops_tagged), tagged_receive,     tagged_receive_vector, tagged_receive_message,
    tagged_send,           tagged_send_vector, tagged_send_message,   tagged_inject,
    tagged_send_data,      tagged_inject_data,
};

fi_ops_msg message_calls_of_child{
    sizeof(fi_ops_msg), post_in_child, post_in_child, post_in_child, post_in_child,
    post_in_child,      post_in_child, post_in_child, post_in_child, post_in_child,
};

fi_ops_tagged tagged_calls_of_child{
    sizeof(fi_ops_tagged), post_in_child, post_in_child, post_in_child, post_in_child,
    post_in_child,         post_in_child, post_in_child, post_in_child, post_in_child,
};

}  // namespace fci::libfabric
