// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/atomic_functions.h"

#include <array>
#include <complex>
#include <cstring>
#include <type_traits>
#include <utility>

namespace fci::libfabric {

namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <class T>
inline constexpr bool kIsInteger =
    std::is_integral_v<T> || std::is_same_v<T, Int128> || std::is_same_v<T, Uint128>;
template <class T>
inline constexpr bool kIsOrdered = kIsInteger<T> || std::is_floating_point_v<T>;

/// Where sums and products of integers are made: they may run over, and small types must not become
/// signed ones on the way.
template <class T>
struct Wide {
    using Type = T;
};
template <class T>
requires(kIsInteger<T> && sizeof(T) <= 8) struct Wide<T> {
    using Type = std::uint64_t;
};
template <class T>
requires(kIsInteger<T> && sizeof(T) == 16) struct Wide<T> {
    using Type = Uint128;
};

template <fi_op kOperator, class T>
constexpr bool known() noexcept {
    switch (kOperator) {
        case FI_MIN:
        case FI_MAX:
        case FI_CSWAP_LE:
        case FI_CSWAP_LT:
        case FI_CSWAP_GE:
        case FI_CSWAP_GT:
            return kIsOrdered<T>;
        case FI_BOR:
        case FI_BAND:
        case FI_BXOR:
        case FI_MSWAP:
            return kIsInteger<T>;
        default:
            return true;
    }
}

template <fi_op kOperator, class T>
T combined(T old, T operand, T compare) noexcept {
    using W = typename Wide<T>::Type;
    const T zero{};
    if constexpr (kOperator == FI_MIN) return operand < old ? operand : old;
    if constexpr (kOperator == FI_MAX) return operand > old ? operand : old;
    if constexpr (kOperator == FI_SUM) {
        return static_cast<T>(static_cast<W>(old) + static_cast<W>(operand));
    }
    if constexpr (kOperator == FI_PROD) {
        return static_cast<T>(static_cast<W>(old) * static_cast<W>(operand));
    }
    if constexpr (kOperator == FI_LOR) return static_cast<T>(old != zero || operand != zero);
    if constexpr (kOperator == FI_LAND) return static_cast<T>(old != zero && operand != zero);
    if constexpr (kOperator == FI_LXOR) return static_cast<T>((old != zero) != (operand != zero));
    if constexpr (kOperator == FI_BOR) return static_cast<T>(old | operand);
    if constexpr (kOperator == FI_BAND) return static_cast<T>(old & operand);
    if constexpr (kOperator == FI_BXOR) return static_cast<T>(old ^ operand);
    if constexpr (kOperator == FI_ATOMIC_READ) return old;
    if constexpr (kOperator == FI_ATOMIC_WRITE) return operand;
    if constexpr (kOperator == FI_CSWAP) return compare == old ? operand : old;
    if constexpr (kOperator == FI_CSWAP_NE) return compare != old ? operand : old;
    if constexpr (kOperator == FI_CSWAP_LE) return compare <= old ? operand : old;
    if constexpr (kOperator == FI_CSWAP_LT) return compare < old ? operand : old;
    if constexpr (kOperator == FI_CSWAP_GE) return compare >= old ? operand : old;
    if constexpr (kOperator == FI_CSWAP_GT) return compare > old ? operand : old;
    if constexpr (kOperator == FI_MSWAP) {
        return static_cast<T>((operand & compare) | (old & ~compare));
    }
}

template <class T>
T value_at(const char* from, std::size_t i) noexcept {
    T value{};
    if (from != nullptr) std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    return value;
}

template <fi_op kOperator, class T>
void apply(char* target, const char* operand, const char* compare, char* result,
           std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const T old = value_at<T>(target, i);
        if (result != nullptr) std::memcpy(result + i * sizeof(T), &old, sizeof(T));
        if constexpr (kOperator != FI_ATOMIC_READ) {
            const T now =
                combined<kOperator, T>(old, value_at<T>(operand, i), value_at<T>(compare, i));
            std::memcpy(target + i * sizeof(T), &now, sizeof(T));
        }
    }
}

constexpr std::size_t kOperators = FI_MSWAP + 1;
using Row = std::array<AtomicFunction, kOperators>;

template <class T, std::size_t... kNumbers>
constexpr Row row(std::index_sequence<kNumbers...>) {
    Row functions{};
    (
        [&] {
            constexpr auto kOperator = static_cast<fi_op>(kNumbers);
            if constexpr (known<kOperator, T>()) functions[kNumbers] = apply<kOperator, T>;
        }(),
        ...);
    return functions;
}

struct Type {
    std::size_t bytes;
    Row functions;
};

template <class T>
constexpr Type type() {
    return {sizeof(T), row<T>(std::make_index_sequence<kOperators>())};
}

/// By fi_datatype.
constexpr Type kTypes[] = {
    type<std::int8_t>(),
    type<std::uint8_t>(),
    type<std::int16_t>(),
    type<std::uint16_t>(),
    type<std::int32_t>(),
    type<std::uint32_t>(),
    type<std::int64_t>(),
    type<std::uint64_t>(),
    type<float>(),
    type<double>(),
    type<std::complex<float>>(),
    type<std::complex<double>>(),
    type<long double>(),
    type<std::complex<long double>>(),
    type<Int128>(),
    type<Uint128>(),
};
static_assert(FI_LONG_DOUBLE_COMPLEX == 13 && FI_UINT128 == std::size(kTypes) - 1);

constexpr bool belongs(Access access, unsigned operator_) noexcept {
    switch (access) {
        case Access::atomic:
            return operator_ <= FI_BXOR || operator_ == FI_ATOMIC_WRITE;
        case Access::fetch:
            return operator_ <= FI_ATOMIC_WRITE;
        case Access::compare:
            return operator_ >= FI_CSWAP && operator_ <= FI_MSWAP;
        default:
            return false;
    }
}

}  // namespace

AtomicFunction atomic_function(Access access, unsigned operator_, unsigned datatype) noexcept {
    if (datatype >= std::size(kTypes) || !belongs(access, operator_)) return nullptr;
    return kTypes[datatype].functions[operator_];
}

std::size_t bytes_of_type(unsigned datatype) noexcept {
    return datatype < std::size(kTypes) ? kTypes[datatype].bytes : 0;
}

}  // namespace fci::libfabric
