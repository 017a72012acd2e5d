// SPDX-License-Identifier: BSD-3-Clause
// The attribute sheet: everything that the one fi_info promises.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>

namespace fci::libfabric {

inline constexpr std::uint64_t kRemoteDirections =
    FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
inline constexpr std::uint64_t kPrimaryCaps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SEND |
                                              FI_RECV | FI_RMA | FI_ATOMIC | kRemoteDirections;
inline constexpr std::uint64_t kSecondaryCaps =
    FI_MULTI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_RMA_EVENT;
inline constexpr std::uint64_t kAllCaps = kPrimaryCaps | kSecondaryCaps;
inline constexpr std::uint64_t kTransmitCaps =
    FI_MSG | FI_TAGGED | FI_SEND | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE;
inline constexpr std::uint64_t kReceiveCaps =
    FI_MSG | FI_TAGGED | FI_RECV | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_RMA |
    FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT;

inline constexpr std::uint64_t kTransmitFlags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
                                                FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
                                                FI_MATCH_COMPLETE;
inline constexpr std::uint64_t kReceiveFlags = FI_COMPLETION | FI_MULTI_RECV;
inline constexpr std::uint64_t kMessageOrder =
    FI_ORDER_SAS | FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAR |
    FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |
    FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
/// Accesses to remote memory of up to so many bytes are done in the order of the calls.
inline constexpr std::size_t kOrderedBytes = 4096;
inline constexpr std::size_t kAtomicBytes = 1u << 16;  // of one call
/// FI_MR_BASIC and FI_MR_SCALABLE, from before the mode bits; newer headers warn of these names.
inline constexpr int kBasicRegions = 1 << 0, kScalableRegions = 1 << 1;

/// Modes that are used where the program offers them: its context then names the pending receive.
inline constexpr std::uint64_t kContextModes = FI_CONTEXT | FI_CONTEXT2;

/// A protocol of our own has the top bit, FI_PROV_SPECIFIC, which newer headers do not name.
inline constexpr std::uint32_t kProtocol = 1u << 31 | 0x0fc1;
inline constexpr std::uint32_t kProtocolVersion = 1;
/// All 64 bits, the top one first: programs count their tag bits from it.
inline constexpr std::uint64_t kTagFormat = 0xaaaaaaaaaaaaaaaaull;

inline constexpr std::size_t kInjectBytes = 4096;
inline constexpr std::size_t kQueueSize = 1024;      // the size that is told by default
inline constexpr std::size_t kQueueSizeMost = 1u << 20;  // queues grow: any wish can be granted
inline constexpr std::size_t kIovLimit = 64;
inline constexpr std::size_t kRmaIovLimit = 16;
inline constexpr std::size_t kObjectsMost = 65536;
inline constexpr std::size_t kKeyBytes = 8;
inline constexpr std::size_t kDataBytes = 8;
inline constexpr std::size_t kErrorTextMost = 256;
/// A multi-receive buffer with less room than this is given back, unless FI_OPT_MIN_MULTI_RECV says
/// otherwise.
inline constexpr std::size_t kMinMultiReceive = 64;

}  // namespace fci::libfabric
