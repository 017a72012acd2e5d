// SPDX-License-Identifier: BSD-3-Clause
// Data: a part of a long message that goes straight from one buffer into another. The receiver
// gives its buffer a name; an address never travels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/base/status.h"
#include "fci_core/nhi/types.h"

namespace fci::nhi {

struct Data {
    static constexpr std::uint64_t kMost = 1024 * 1024;  // at a time: short messages get between
    /// With this bit the name is the message's, as its sender calls it, and not a buffer's.
    static constexpr std::uint64_t kPushed = 1ull << 63;

    std::uint64_t name;    // of the buffer, as its owner calls it
    std::uint64_t offset;  // in it
    std::uint64_t bytes;
};

/// The owner of the buffers into which peers send data.
class DataTarget {
public:
    virtual ~DataTarget() = default;
    /// The peer has been told of a buffer. A network that reads its stream then reads no data of it
    /// to any other place.
    [[nodiscard]] virtual bool expects(PeerId from) const noexcept = 0;
    /// The request that names the data's buffer has come, but was not looked at yet. The data wait,
    /// and all behind them.
    [[nodiscard]] virtual bool is_early(PeerId from, const Data& data) const noexcept = 0;
    /// Where the data belong; nullptr: nowhere, and no sound peer sends them. A network that brings
    /// them piece by piece asks again for each, as the buffer may have been given back meanwhile;
    /// one that cannot stop once it has begun (RDMA) asks once. That answer then stays valid
    /// until arrived(), DataWay::give_back() or the peer's loss, whichever comes first.
    [[nodiscard]] virtual std::byte* locate(PeerId from, const Data& data) noexcept = 0;
    /// All of the data are there. False: they belong nowhere.
    [[nodiscard]] virtual bool arrived(PeerId from, const Data& data) noexcept = 0;
};

/// A network's way for data, if it has one (NetworkInterface::data()), to peers whose link is
/// direct.
class DataWay {
public:
    virtual ~DataWay() = default;
    /// Sends the data behind all that was given for this peer before, transfers as well. ok: the
    /// bytes at `from` are borrowed until has_taken(). again: there is no room, or as many parts
    /// are borrowed as the network takes. `events`, a bit for each: raised when all of the data are
    /// there.
    virtual Status send(PeerId id, const Data& data, const std::byte* from,
                        std::uint32_t events) noexcept = 0;
    /// True: bytes borrowed for that peer may be used again. For a lost peer it stays false, as the
    /// data under way to it never arrive.
    [[nodiscard]] virtual bool has_taken(PeerId id) const noexcept = 0;
    /// Bytes borrowed for this peer are touched no more, nor are buffers here written for it; if
    /// any were, nothing more is sent to it. The same holds before a listener hears of its loss.
    virtual void give_back(PeerId id) noexcept = 0;
    /// Data are early (is_early()): this process must look at its requests. The next poll takes the
    /// data in.
    [[nodiscard]] virtual bool waits() const noexcept { return false; }
    /// Where data of peers go. nullptr: data that come are dropped, and borrowed bytes are touched
    /// no more: the target closes, and the network sends the rest from a copy.
    virtual void set_target(DataTarget* target) noexcept = 0;
};

}  // namespace fci::nhi
