// SPDX-License-Identifier: BSD-3-Clause
// fi_atomic, fi_fetch_atomic, fi_compare_atomic and their relatives: the ten calls end in one.
#include "netmod/libfabric/atomic.h"

#include "netmod/libfabric/atomic_functions.h"
#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"

namespace fci::libfabric {

namespace {

int count_for(Access access, fi_datatype datatype, fi_op operator_, std::size_t* count) noexcept {
    if (atomic_function(access, operator_, datatype) == nullptr) return -FI_EOPNOTSUPP;
    *count = kAtomicBytes / bytes_of_type(datatype);
    return 0;
}

/// Elements, counted in bytes.
struct Elements {
    iovec ranges[kIovLimit];
    std::size_t count = 0;

    bool set(const fi_ioc* from, std::size_t number, std::size_t element) noexcept {
        if (number > kIovLimit) return false;
        for (count = 0; count < number; ++count) {
            ranges[count].iov_base = from[count].addr;
            if (__builtin_mul_overflow(from[count].count, element, &ranges[count].iov_len)) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] Ranges all() const noexcept { return {ranges, count}; }
};

/// The arguments that libfabric's calls have in common.
struct AtomicArguments {
    const fi_ioc* data;
    std::size_t data_count;
    const fi_ioc* compare;
    std::size_t compare_count;
    fi_ioc* result;
    std::size_t result_count;
};

}  // namespace

int query_atomic(fid_domain*, fi_datatype datatype, fi_op operator_, fi_atomic_attr* answer,
                 std::uint64_t flags) {
    if ((flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)) != 0) return -FI_EOPNOTSUPP;
    if (flags == (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC) || answer == nullptr) return -FI_EINVAL;
    const Access access = flags == 0                 ? Access::atomic
                          : flags == FI_FETCH_ATOMIC ? Access::fetch
                                                     : Access::compare;
    answer->size = bytes_of_type(datatype);
    return count_for(access, datatype, operator_, &answer->count);
}

struct AtomicCalls {
    static ssize_t start(fid_ep* ep, Access access, const AtomicArguments& given,
                         const fi_msg_atomic& message, std::uint64_t flags, bool report) noexcept {
        if (atomic_function(access, message.op, message.datatype) == nullptr) {
            return -FI_EOPNOTSUPP;
        }
        const std::size_t element = bytes_of_type(message.datatype);
        Elements data, compare, result;
        const bool reads = message.op == FI_ATOMIC_READ;  // and its operand need not be there
        if (!data.set(given.data, reads ? 0 : given.data_count, element) ||
            !compare.set(given.compare, given.compare_count, element) ||
            !result.set(given.result, given.result_count, element) ||
            message.rma_iov_count > kRmaIovLimit) {
            return -FI_EINVAL;
        }
        fi_rma_iov there[kRmaIovLimit];
        for (std::size_t i = 0; i < message.rma_iov_count; ++i) {
            const fi_rma_ioc& from = message.rma_iov[i];
            there[i] = {from.addr, 0, from.key};
            if (__builtin_mul_overflow(from.count, element, &there[i].len)) return -FI_EINVAL;
        }
        RemoteCall call{access, static_cast<std::uint8_t>(message.datatype),
                        static_cast<std::uint8_t>(message.op)};
        call.data = data.all();
        call.compare = compare.all();
        call.result = result.all();
        call.remote = {there, message.rma_iov_count};
        call.target = message.addr;
        call.flags = flags;
        call.immediate = message.data;
        call.context = message.context;
        call.report = report;
        return Endpoint::of(ep).access(call);
    }

    /// The calls without flags, for a range of elements there.
    static ssize_t simple(fid_ep* ep, Access access, const AtomicArguments& given, fi_addr_t target,
                          std::uint64_t address, std::uint64_t key, fi_datatype datatype,
                          fi_op operator_, void* context, bool inject = false) noexcept {
        Endpoint& self = Endpoint::of(ep);
        const bool by_result = access != Access::atomic;
        fi_rma_ioc there{address, 0, key};
        for (std::size_t i = 0; i < (by_result ? given.result_count : given.data_count); ++i) {
            there.count += by_result ? given.result[i].count : given.data[i].count;
        }
        fi_msg_atomic message{};
        message.addr = target;
        message.rma_iov = &there;
        message.rma_iov_count = 1;
        message.datatype = datatype;
        message.op = operator_;
        message.context = context;
        return start(ep, access, given, message, inject ? FI_INJECT : self.transmit().op_flags,
                     !inject && self.transmit().report);
    }

    static ssize_t write(fid_ep* ep, const void* data, std::size_t count, void*, fi_addr_t target,
                         std::uint64_t address, std::uint64_t key, fi_datatype datatype,
                         fi_op operator_, void* context) {
        const fi_ioc range{const_cast<void*>(data), count};
        return write_vector(ep, &range, nullptr, 1, target, address, key, datatype, operator_,
                            context);
    }

    static ssize_t write_vector(fid_ep* ep, const fi_ioc* data, void**, std::size_t count,
                                fi_addr_t target, std::uint64_t address, std::uint64_t key,
                                fi_datatype datatype, fi_op operator_, void* context) {
        return simple(ep, Access::atomic, {data, count, nullptr, 0, nullptr, 0}, target, address,
                      key, datatype, operator_, context);
    }

    static ssize_t write_message(fid_ep* ep, const fi_msg_atomic* message, std::uint64_t flags) {
        return start(ep, Access::atomic,
                     {message->msg_iov, message->iov_count, nullptr, 0, nullptr, 0}, *message,
                     flags, Endpoint::of(ep).transmit().reports(flags));
    }

    static ssize_t inject(fid_ep* ep, const void* data, std::size_t count, fi_addr_t target,
                          std::uint64_t address, std::uint64_t key, fi_datatype datatype,
                          fi_op operator_) {
        const fi_ioc range{const_cast<void*>(data), count};
        return simple(ep, Access::atomic, {&range, 1, nullptr, 0, nullptr, 0}, target, address, key,
                      datatype, operator_, nullptr, true);
    }

    static ssize_t fetch(fid_ep* ep, const void* data, std::size_t count, void*, void* result,
                         void*, fi_addr_t target, std::uint64_t address, std::uint64_t key,
                         fi_datatype datatype, fi_op operator_, void* context) {
        const fi_ioc range{const_cast<void*>(data), count};
        fi_ioc back{result, count};
        return fetch_vector(ep, &range, nullptr, 1, &back, nullptr, 1, target, address, key,
                            datatype, operator_, context);
    }

    static ssize_t fetch_vector(fid_ep* ep, const fi_ioc* data, void**, std::size_t count,
                                fi_ioc* result, void**, std::size_t result_count, fi_addr_t target,
                                std::uint64_t address, std::uint64_t key, fi_datatype datatype,
                                fi_op operator_, void* context) {
        return simple(ep, Access::fetch, {data, count, nullptr, 0, result, result_count}, target,
                      address, key, datatype, operator_, context);
    }

    static ssize_t fetch_message(fid_ep* ep, const fi_msg_atomic* message, fi_ioc* result, void**,
                                 std::size_t result_count, std::uint64_t flags) {
        return start(ep, Access::fetch,
                     {message->msg_iov, message->iov_count, nullptr, 0, result, result_count},
                     *message, flags, Endpoint::of(ep).transmit().reports(flags));
    }

    static ssize_t compare(fid_ep* ep, const void* data, std::size_t count, void*,
                           const void* compared, void*, void* result, void*, fi_addr_t target,
                           std::uint64_t address, std::uint64_t key, fi_datatype datatype,
                           fi_op operator_, void* context) {
        const fi_ioc range{const_cast<void*>(data), count};
        const fi_ioc with{const_cast<void*>(compared), count};
        fi_ioc back{result, count};
        return compare_vector(ep, &range, nullptr, 1, &with, nullptr, 1, &back, nullptr, 1, target,
                              address, key, datatype, operator_, context);
    }

    static ssize_t compare_vector(fid_ep* ep, const fi_ioc* data, void**, std::size_t count,
                                  const fi_ioc* compared, void**, std::size_t compare_count,
                                  fi_ioc* result, void**, std::size_t result_count,
                                  fi_addr_t target, std::uint64_t address, std::uint64_t key,
                                  fi_datatype datatype, fi_op operator_, void* context) {
        return simple(ep, Access::compare,
                      {data, count, compared, compare_count, result, result_count}, target, address,
                      key, datatype, operator_, context);
    }

    static ssize_t compare_message(fid_ep* ep, const fi_msg_atomic* message, const fi_ioc* compared,
                                   void**, std::size_t compare_count, fi_ioc* result, void**,
                                   std::size_t result_count, std::uint64_t flags) {
        return start(
            ep, Access::compare,
            {message->msg_iov, message->iov_count, compared, compare_count, result, result_count},
            *message, flags, Endpoint::of(ep).transmit().reports(flags));
    }

    template <Access kAccess>
    static int valid(fid_ep*, fi_datatype datatype, fi_op operator_, std::size_t* count) {
        return count_for(kAccess, datatype, operator_, count);
    }
};

fi_ops_atomic atomic_calls{
    sizeof(fi_ops_atomic),
    AtomicCalls::write,
    AtomicCalls::write_vector,
    AtomicCalls::write_message,
    AtomicCalls::inject,
    AtomicCalls::fetch,
    AtomicCalls::fetch_vector,
    AtomicCalls::fetch_message,
    AtomicCalls::compare,
    AtomicCalls::compare_vector,
    AtomicCalls::compare_message,
    AtomicCalls::valid<Access::atomic>,
    AtomicCalls::valid<Access::fetch>,
    AtomicCalls::valid<Access::compare>,
};

}  // namespace fci::libfabric
