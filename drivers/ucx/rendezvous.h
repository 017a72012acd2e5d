// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: data from a buffer of one process into one of another, by UCX's rendezvous: the
// receiver reads them, by RDMA where it can, once it knows where they belong.
#pragma once

#include <cstddef>
#include <span>

#include "drivers/ucx/road.h"
#include "fci_core/nhi/types.h"

namespace fci::ucx {

/// Data of a peer: here, or still at their sender.
struct Load {
    void* descriptor;  // UCX's
    std::size_t bytes;
    bool is_here;
};

class Rendezvous {
public:
    /// Hears of data, from inside fetch() and calls of the road, its end too.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// Data have come, or can be fetched. True: the listener will fetch() or drop() the load.
        /// The head's bytes are gone on return, and anybody may have sent both.
        virtual bool data_came(std::span<const std::byte> head, const Load& load) noexcept = 0;
        /// The end of what fetch() began: all bytes are there, or nothing more is written.
        virtual void fetched(nhi::PeerId from, bool is_whole) noexcept = 0;
        /// UCX uses a part of send() no more, which loans() no longer counts.
        virtual void gave_back() noexcept = 0;
    };

    /// The road ends first; the listener hears until then.
    Rendezvous(Road& road, Listener& listener) noexcept : road_(road), listener_(listener) {}
    Rendezvous(const Rendezvous&) = delete;
    Rendezvous& operator=(const Rendezvous&) = delete;
    /// From now on data are received.
    Status open(std::string* error) noexcept;

    /// Sends `bytes` at `from`, which are borrowed while loans() says so, behind all that was sent
    /// by this way before. `head` is copied. False: as many loans are out as there may be, or
    /// memory is short.
    [[nodiscard]] bool send(Road::Way* way, std::span<const std::byte> head, const std::byte* from,
                            std::size_t bytes) noexcept;
    /// In so many parts bytes of send() are out that UCX still uses.
    [[nodiscard]] static unsigned loans(const Road::Way* way) noexcept;
    /// Brings a load to its place; Listener::fetched() follows, maybe before this returns.
    void fetch(const Load& load, nhi::PeerId from, std::byte* to) noexcept;
    /// Nobody wants the load.
    void drop(const Load& load) noexcept;

    static constexpr std::size_t kHeadMost = 64;

private:
    static constexpr unsigned kLoansMost = 8;  // at one way: a part is over after a round trip
    // From here on a copy at the receiver takes longer than UCX's question for the data.
    static constexpr std::size_t kEagerMost = 8 * 1024;

    struct Loan;
    struct Fetch;

    Road& road_;
    Listener& listener_;
};

}  // namespace fci::ucx
