// SPDX-License-Identifier: BSD-3-Clause
// Atomics: every operator and type against plain arithmetic, and what they promise together.
#include <complex>
#include <map>
#include <numeric>
#include <type_traits>

#include "test/provider/remote.h"

namespace fci::test {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

enum class Kind { base, fetch, compare };

constexpr fi_op kOperators[] = {FI_MIN,      FI_MAX,      FI_SUM,         FI_PROD,
                                FI_LOR,      FI_LAND,     FI_BOR,         FI_BAND,
                                FI_LXOR,     FI_BXOR,     FI_ATOMIC_READ, FI_ATOMIC_WRITE,
                                FI_CSWAP,    FI_CSWAP_NE, FI_CSWAP_LE,    FI_CSWAP_LT,
                                FI_CSWAP_GE, FI_CSWAP_GT, FI_MSWAP};

template <class T>
constexpr bool kComplex = std::is_same_v<T, std::complex<float>> ||
                          std::is_same_v<T, std::complex<double>> ||
                          std::is_same_v<T, std::complex<long double>>;
template <class T>
constexpr bool kReal = std::is_floating_point_v<T>;

template <class T>
bool in_the_table(Kind kind, fi_op op) {
    const bool ordered = !kComplex<T>, bits = !kComplex<T> && !kReal<T>;
    switch (op) {
        case FI_MIN:
        case FI_MAX: return ordered && kind != Kind::compare;
        case FI_BOR:
        case FI_BAND:
        case FI_BXOR: return bits && kind != Kind::compare;
        case FI_SUM:
        case FI_PROD:
        case FI_LOR:
        case FI_LAND:
        case FI_LXOR:
        case FI_ATOMIC_WRITE: return kind != Kind::compare;
        case FI_ATOMIC_READ: return kind == Kind::fetch;
        case FI_CSWAP:
        case FI_CSWAP_NE: return kind == Kind::compare;
        case FI_MSWAP: return bits && kind == Kind::compare;
        default: return ordered && kind == Kind::compare;
    }
}

template <class T>
T expected(fi_op op, T old, T operand, T compare) {
    const T zero(0), one(1);
    const auto truth = [&](bool is) { return is ? one : zero; };
    switch (op) {
        case FI_SUM: return static_cast<T>(old + operand);
        case FI_PROD: return static_cast<T>(old * operand);
        case FI_LOR: return truth(old != zero || operand != zero);
        case FI_LAND: return truth(old != zero && operand != zero);
        case FI_LXOR: return truth((old != zero) != (operand != zero));
        case FI_ATOMIC_READ: return old;
        case FI_ATOMIC_WRITE: return operand;
        case FI_CSWAP: return compare == old ? operand : old;
        case FI_CSWAP_NE: return compare == old ? old : operand;
        default: break;
    }
    if constexpr (!kComplex<T>) {
        switch (op) {
            case FI_MIN: return std::min(old, operand);
            case FI_MAX: return std::max(old, operand);
            case FI_CSWAP_LE: return compare <= old ? operand : old;
            case FI_CSWAP_LT: return compare < old ? operand : old;
            case FI_CSWAP_GE: return compare >= old ? operand : old;
            case FI_CSWAP_GT: return compare > old ? operand : old;
            default: break;
        }
        if constexpr (!kReal<T>) {
            switch (op) {
                case FI_BOR: return static_cast<T>(old | operand);
                case FI_BAND: return static_cast<T>(old & operand);
                case FI_BXOR: return static_cast<T>(old ^ operand);
                case FI_MSWAP: return static_cast<T>((old & ~compare) | (operand & compare));
                default: break;
            }
        }
    }
    ADD_FAILURE() << "no such operator";
    return zero;
}

class Atomics : public Remote {
protected:
    template <class T>
    int post(Kind kind, fi_op op, fi_datatype type, const std::vector<T>& operand,
             const std::vector<T>& compare, std::vector<T>* result, std::uint64_t place = 0) {
        const std::size_t count = operand.size();
        return ended([&] {
            switch (kind) {
                case Kind::base:
                    return fi_atomic(a->ep, operand.data(), count, nullptr, to_b, place, kKey, type,
                                     op, this);
                case Kind::fetch:
                    return fi_fetch_atomic(a->ep, operand.data(), count, nullptr, result->data(),
                                           nullptr, to_b, place, kKey, type, op, this);
                default:
                    return fi_compare_atomic(a->ep, operand.data(), count, nullptr, compare.data(),
                                             nullptr, result->data(), nullptr, to_b, place, kKey,
                                             type, op, this);
            }
        }, FI_ATOMIC | (kind == Kind::base ? FI_WRITE : FI_READ));
    }

    /// Every operator of one type, by all three kinds of calls, on odd addresses.
    template <class T>
    void all_operators(fi_datatype type) {
        SCOPED_TRACE(type);
        const std::vector<T> olds{T(0), T(1), T(2), T(3), T(3), T(7), T(0)};
        const std::vector<T> operands{T(3), T(1), T(5), T(2), T(0), T(6), T(0)};
        const std::vector<T> compares{T(0), T(2), T(2), T(1), T(5), T(7), T(1)};
        const std::size_t bytes = olds.size() * sizeof(T);
        std::vector<char> memory(bytes + 1);
        Region region(*b, memory.data(), memory.size(), kKey);
        for (const fi_op op : kOperators) {
            for (const Kind kind : {Kind::base, Kind::fetch, Kind::compare}) {
                SCOPED_TRACE(testing::Message() << "operator " << op << " kind " << int(kind));
                std::size_t count = 0;
                const int valid = kind == Kind::base    ? fi_atomicvalid(a->ep, type, op, &count)
                                  : kind == Kind::fetch
                                      ? fi_fetch_atomicvalid(a->ep, type, op, &count)
                                      : fi_compare_atomicvalid(a->ep, type, op, &count);
                ASSERT_EQ(valid, in_the_table<T>(kind, op) ? 0 : -FI_EOPNOTSUPP);
                if (valid != 0) continue;
                EXPECT_GE(count, olds.size());
                std::memcpy(memory.data() + 1, olds.data(), bytes);
                std::vector<T> result(olds.size()), now(olds.size());
                ASSERT_EQ(post(kind, op, type, operands, compares, &result, 1), 0);
                std::memcpy(now.data(), memory.data() + 1, bytes);
                if (kind != Kind::base) {
                    EXPECT_TRUE(result == olds);
                }
                for (std::size_t i = 0; i < olds.size(); ++i) {
                    EXPECT_TRUE(now[i] == expected(op, olds[i], operands[i], compares[i])) << i;
                }
            }
        }
    }
};

TEST_F(Atomics, every_operator_and_type) {
    start();
    all_operators<std::int8_t>(FI_INT8);
    all_operators<std::uint8_t>(FI_UINT8);
    all_operators<std::int16_t>(FI_INT16);
    all_operators<std::uint16_t>(FI_UINT16);
    all_operators<std::int32_t>(FI_INT32);
    all_operators<std::uint32_t>(FI_UINT32);
    all_operators<std::int64_t>(FI_INT64);
    all_operators<std::uint64_t>(FI_UINT64);
    all_operators<float>(FI_FLOAT);
    all_operators<double>(FI_DOUBLE);
    all_operators<std::complex<float>>(FI_FLOAT_COMPLEX);
    all_operators<std::complex<double>>(FI_DOUBLE_COMPLEX);
    all_operators<long double>(FI_LONG_DOUBLE);
    all_operators<std::complex<long double>>(FI_LONG_DOUBLE_COMPLEX);
    all_operators<Int128>(FI_INT128);
    all_operators<Uint128>(FI_UINT128);
}

TEST_F(Atomics, small_integers__run_over_like_unsigned_ones) {
    start();
    std::vector<std::int16_t> memory{32767, -32768, -1}, result(3);
    Region region(*b, memory.data(), 6, kKey);
    ASSERT_EQ(post<std::int16_t>(Kind::fetch, FI_SUM, FI_INT16, {1, -1, -1}, {}, &result), 0);
    EXPECT_EQ(memory, (std::vector<std::int16_t>{-32768, 32767, -2}));
    ASSERT_EQ(post<std::int16_t>(Kind::base, FI_PROD, FI_INT16, {32767, 32767, 5}, {}, nullptr), 0);
    EXPECT_EQ(memory, (std::vector<std::int16_t>{-32768, 1, -10}));
}

/// More elements than one message holds, with and without a result.
TEST_F(Atomics, many_elements__each_once) {
    start();
    std::size_t most = 0;
    ASSERT_EQ(fi_compare_atomicvalid(a->ep, FI_UINT64, FI_CSWAP, &most), 0);
    for (const std::size_t count : {std::size_t{59}, std::size_t{121}, std::size_t{512},
                                    std::size_t{513}, most}) {
        SCOPED_TRACE(count);
        std::vector<std::uint64_t> memory(count + 1), operand(count), result(count);
        std::iota(memory.begin(), memory.end(), 1000);
        std::iota(operand.begin(), operand.end(), 1);
        const auto before = memory;
        Region region(*b, memory.data(), memory.size() * 8, kKey);
        ASSERT_EQ(post(Kind::base, FI_SUM, FI_UINT64, operand, {}, &result), 0);
        ASSERT_EQ(post(Kind::fetch, FI_SUM, FI_UINT64, operand, {}, &result), 0);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(result[i], before[i] + i + 1);
            ASSERT_EQ(memory[i], before[i] + 2 * (i + 1));
        }
        EXPECT_EQ(memory.back(), before.back());
        auto compare = memory;
        compare.pop_back();
        compare[count / 2] = 0;  // all are swapped but one
        ASSERT_EQ(post(Kind::compare, FI_CSWAP, FI_UINT64, operand, compare, &result), 0);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(memory[i], i == count / 2 ? before[i] + 2 * (i + 1) : i + 1);
        }
        const std::vector<std::uint64_t> nothing;
        ASSERT_EQ(ended([&] {
            return fi_fetch_atomic(a->ep, nullptr, count, nullptr, result.data(), nullptr, to_b, 0,
                                   kKey, FI_UINT64, FI_ATOMIC_READ, this);
        }), 0);
        EXPECT_TRUE(std::equal(result.begin(), result.end(), memory.begin()));
    }
}

TEST_F(Atomics, vectors__elements_here_and_there) {
    start();
    std::vector<std::int32_t> memory{1, 2, 3, 4, 5, 6}, operand{10, 20, 30, 40}, result(4);
    Region region(*b, memory.data(), 24, kKey);
    const fi_ioc mine[] = {{&operand[0], 1}, {&operand[1], 3}};
    fi_ioc back[] = {{&result[0], 2}, {&result[2], 2}};
    const fi_rma_ioc there[] = {{0, 1, kKey}, {12, 3, kKey}};
    fi_msg_atomic message{mine, nullptr, 2, to_b, there, 2, FI_INT32, FI_SUM, this, 77};
    ASSERT_EQ(ended([&] {
        return fi_fetch_atomicmsg(a->ep, &message, back, nullptr, 2, FI_COMPLETION);
    }), 0);
    EXPECT_EQ(memory, (std::vector<std::int32_t>{11, 2, 3, 24, 35, 46}));
    EXPECT_EQ(result, (std::vector<std::int32_t>{1, 4, 5, 6}));
    ASSERT_EQ(ended([&] {
        return fi_atomicmsg(a->ep, &message, FI_COMPLETION | FI_REMOTE_CQ_DATA);
    }), 0);
    const Entry told = next(*b);
    EXPECT_EQ(told.is.flags, FI_ATOMIC | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(told.is.data, 77u);
    EXPECT_EQ(told.is.len, 16u);
}

TEST_F(Atomics, refused__with_the_reason) {
    start();
    std::uint64_t word = 5, operand = 1, result = 0;
    Region region(*b, &word, 8, kKey);
    Region read_only(*b, &word, 8, kKey + 1, FI_REMOTE_READ);
    const auto add = [&](std::uint64_t place, std::uint64_t key, fi_op op = FI_SUM) {
        return ended([&] {
            return fi_fetch_atomic(a->ep, &operand, 1, nullptr, &result, nullptr, to_b, place, key,
                                   FI_UINT64, op, this);
        });
    };
    EXPECT_EQ(add(0, kKey + 9), FI_EKEYREJECTED);
    EXPECT_EQ(add(1, kKey), FI_EINVAL);
    EXPECT_EQ(add(0, kKey + 1), FI_EACCES);
    EXPECT_EQ(word, 5u);
    EXPECT_EQ(add(0, kKey + 1, FI_ATOMIC_READ), 0);
    EXPECT_EQ(result, 5u);
    EXPECT_EQ(fi_atomic(a->ep, &operand, 1, nullptr, to_b, 0, kKey, FI_FLOAT, FI_BOR, this),
              -FI_EOPNOTSUPP);
    EXPECT_EQ(fi_atomic(a->ep, &operand, 1, nullptr, to_b, 0, kKey, FI_UINT64, FI_CSWAP, this),
              -FI_EOPNOTSUPP);
    EXPECT_EQ(fi_atomic(a->ep, &operand, 1, nullptr, to_b, 0, kKey, FI_VOID, FI_SUM, this),
              -FI_EOPNOTSUPP);
    fi_atomic_attr attributes{};
    EXPECT_EQ(fi_query_atomic(a->domain, FI_DOUBLE, FI_SUM, &attributes, FI_FETCH_ATOMIC), 0);
    EXPECT_EQ(attributes.size, 8u);
    EXPECT_GE(attributes.count, 512u);
    EXPECT_EQ(fi_query_atomic(a->domain, FI_DOUBLE, FI_CSWAP, &attributes, FI_COMPARE_ATOMIC), 0);
    EXPECT_EQ(fi_query_atomic(a->domain, FI_DOUBLE, FI_MSWAP, &attributes, FI_COMPARE_ATOMIC),
              -FI_EOPNOTSUPP);
    EXPECT_EQ(fi_query_atomic(a->domain, FI_DOUBLE, FI_SUM, &attributes, FI_TAGGED),
              -FI_EOPNOTSUPP);
}

/// Three initiators, the target among them, that do not wait for each other: every number comes
/// once.
TEST_F(Atomics, fetched_numbers__nobody_gets_one_twice) {
    start();
    Side third(remote_wishes());
    std::uint64_t ticket = 0;
    Region region(*b, &ticket, 8, kKey);
    struct Taker {
        Side* side;
        fi_addr_t to;
        std::vector<std::uint64_t> got;
        std::size_t posted = 0, done = 0;
    };
    constexpr std::size_t kEach = 3000;
    Taker takers[] = {{a.get(), to_b, std::vector<std::uint64_t>(kEach)},
                      {b.get(), b->insert(*b), std::vector<std::uint64_t>(kEach)},
                      {&third, third.insert(*b), std::vector<std::uint64_t>(kEach)}};
    const std::uint64_t one = 1;
    ASSERT_TRUE(eventually([&] {
        bool all = true;
        for (Taker& taker : takers) {
            while (taker.posted < kEach &&
                   fi_fetch_atomic(taker.side->ep, &one, 1, nullptr, &taker.got[taker.posted],
                                   nullptr, taker.to, 0, kKey, FI_UINT64, FI_SUM, nullptr) == 0) {
                ++taker.posted;
            }
            while (const auto entry = taker.side->poll()) {
                EXPECT_FALSE(entry->error);
                ++taker.done;
            }
            all = all && taker.done == kEach;
        }
        return all;
    }));
    EXPECT_EQ(ticket, 3 * kEach);
    std::map<std::uint64_t, int> seen;
    for (const Taker& taker : takers) {
        EXPECT_TRUE(std::is_sorted(taker.got.begin(), taker.got.end())) << "in order";
        for (const std::uint64_t number : taker.got) ++seen[number];
    }
    EXPECT_EQ(seen.size(), 3 * kEach);
    EXPECT_EQ(seen.rbegin()->first, 3 * kEach - 1);
}

TEST_F(Atomics, injected__in_order_with_writes) {
    start();
    std::uint64_t word = 0;
    Region region(*b, &word, 8, kKey);
    for (std::uint64_t i = 1; i <= 500; ++i) {
        const std::uint64_t start_value = i * 100;
        insist([&] { return fi_inject_write(a->ep, &start_value, 8, to_b, 0, kKey); });
        insist([&] {
            return fi_inject_atomic(a->ep, &i, 1, to_b, 0, kKey, FI_UINT64, FI_SUM);
        });
        if (i % 50 != 0) continue;
        std::uint64_t got = 0;
        ASSERT_EQ(read(&got, 8, 0), 0);
        ASSERT_EQ(got, i * 101);
    }
}

}  // namespace
}  // namespace fci::test
