// The calls that move messages, as the operation tables want them. Sends are in send.cc, receives
// in receive.cc, the tables in operations.cc.
#pragma once

#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include <cstddef>
#include <cstdint>

namespace fci::libfabric {

struct Sends {
    static ssize_t tagged(fid_ep* ep, const void* data, std::size_t bytes, void* desc,
                          fi_addr_t to, std::uint64_t tag, void* context);
    static ssize_t tagged_data(fid_ep* ep, const void* data, std::size_t bytes, void* desc,
                               std::uint64_t immediate, fi_addr_t to, std::uint64_t tag,
                               void* context);
    static ssize_t tagged_inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to,
                                 std::uint64_t tag);
    static ssize_t tagged_inject_data(fid_ep* ep, const void* data, std::size_t bytes,
                                      std::uint64_t immediate, fi_addr_t to, std::uint64_t tag);
    static ssize_t tagged_vector(fid_ep* ep, const iovec* ranges, void** desc, std::size_t count,
                                 fi_addr_t to, std::uint64_t tag, void* context);
    static ssize_t tagged_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags);

    static ssize_t plain(fid_ep* ep, const void* data, std::size_t bytes, void* desc, fi_addr_t to,
                         void* context);
    static ssize_t plain_data(fid_ep* ep, const void* data, std::size_t bytes, void* desc,
                              std::uint64_t immediate, fi_addr_t to, void* context);
    static ssize_t plain_inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to);
    static ssize_t plain_inject_data(fid_ep* ep, const void* data, std::size_t bytes,
                                     std::uint64_t immediate, fi_addr_t to);
    static ssize_t plain_vector(fid_ep* ep, const iovec* ranges, void** desc, std::size_t count,
                                fi_addr_t to, void* context);
    static ssize_t plain_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags);
};

struct Receives {
    static ssize_t tagged(fid_ep* ep, void* data, std::size_t bytes, void* desc, fi_addr_t from,
                          std::uint64_t tag, std::uint64_t ignore, void* context);
    static ssize_t tagged_vector(fid_ep* ep, const iovec* ranges, void** desc, std::size_t count,
                                 fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                                 void* context);
    static ssize_t tagged_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags);

    static ssize_t plain(fid_ep* ep, void* data, std::size_t bytes, void* desc, fi_addr_t from,
                         void* context);
    static ssize_t plain_vector(fid_ep* ep, const iovec* ranges, void** desc, std::size_t count,
                                fi_addr_t from, void* context);
    static ssize_t plain_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags);
};

}  // namespace fci::libfabric
