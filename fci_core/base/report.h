// SPDX-License-Identifier: BSD-3-Clause
// Report: the figures of an open context for readers outside of the process (fci_info --job). It
// is a memory file of one page, found by its name among the descriptors of the process; only the
// process writes, and the page goes with it.
//
//   part     | written                        | how
//   counters | where something is counted     | they are the counters, not a copy
//   head     | when the context opens         | its magic last
//   figures  | when peers come and go, and    | each word by itself
//            | now and then while idle        |
//
// The rows of its peers lie in another memory file, which the figures name (PeerRows).
//
// A reader believes nothing: the process may be of another version, or hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fci_core/base/counters.h"
#include "fci_core/base/memory_use.h"

namespace fci {

inline constexpr char kReportName[] = "fci-report";
inline constexpr char kPeersName[] = "fci-peers";
inline constexpr std::uint64_t kReportMagic = 0x74726f7065726966ull;  // "fireport"
inline constexpr std::uint32_t kReportVersion = 2;

struct ReportFigures {
    std::uint64_t known_peers;      // without the process itself
    std::uint64_t connected_peers;  // likewise
    std::uint64_t peers_file;       // descriptor of the rows; kNoFile: there is none
    MemoryUse memory;

    static constexpr std::uint64_t kNoFile = ~std::uint64_t{0};
};

/// A process that the context has met, or means to. Bytes and waits are where they are counted.
struct PeerRow {
    enum class State : std::uint16_t { unmet, connected, lost };
    static constexpr std::size_t kShownMost = 65'536;

    std::uint64_t bytes_sent, bytes_received;  // of messages
    std::uint64_t waits;                       // sends that found no room at it
    std::uint32_t host;                        // IPv4 address, in network byte order
    std::uint16_t port;                        // likewise
    State state;
    std::uint32_t pid;  // as the context sees it, or as it says; 0: not known
    std::int32_t rank;  // in its job; -1: not known
    char way[24];       // how it is reached: "memory", "tcp"; ends with a 0; empty: no row
};
static_assert(sizeof(PeerRow) == 64 && std::is_trivially_copyable_v<PeerRow>);

struct ReportHead {
    std::uint64_t magic;  // 0: not open yet, or a child of fork()
    std::uint32_t version;
    std::uint32_t bytes;            // of the report
    std::uint64_t counters_digest;  // of their names
    std::uint64_t job;              // cookie
    std::uint64_t pid;              // as the process itself sees it
    // Each ends with a 0.
    char driver[32], protocol[32], wait_policy[96], summary[256];
    ReportFigures figures;
};

struct Report {
    static constexpr std::size_t kHeadAt = 1024;

    Counters counters;
    std::byte unused[kHeadAt - sizeof(Counters)];
    ReportHead head;
};
static_assert(offsetof(Report, head) == Report::kHeadAt && sizeof(Report) <= 4096);
static_assert(sizeof(Counters) < Report::kHeadAt, "the head stays where it is");
static_assert(std::is_trivially_copyable_v<Report>, "a reader copies it out of a page");
static_assert(sizeof(ReportHead) == 40 + 32 + 32 + 96 + 256 + sizeof(ReportFigures), "no padding");

/// Two builds whose counters differ have different ones.
constexpr std::uint64_t counters_digest() noexcept {
    std::uint64_t digest = 0xcbf29ce484222325ull;
    for (const CounterText& text : kCounterTexts) {
        for (const char* c = text.name; *c != 0; ++c) {
            digest = (digest ^ static_cast<unsigned char>(*c)) * 0x100000001b3ull;
        }
        digest = (digest ^ 0xff) * 0x100000001b3ull;
    }
    return digest;
}

}  // namespace fci
