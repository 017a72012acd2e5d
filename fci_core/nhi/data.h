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
    /// The name is that of the message, as its sender calls it, and not that of a buffer.
    static constexpr std::uint64_t kPushed = 1ull << 63;

    std::uint64_t name;    // of the buffer, as its owner calls it
    std::uint64_t offset;  // in it
    std::uint64_t bytes;
};

/// Whose buffers peers send data into.
class DataTarget {
public:
    virtual ~DataTarget() = default;
    /// The peer has been told of a buffer. A network that reads its stream then reads no data of it
    /// to any other place.
    [[nodiscard]] virtual bool expects(PeerId from) const noexcept = 0;
    /// What names their buffer has come and was not looked at yet. They wait, and all behind them.
    [[nodiscard]] virtual bool is_early(PeerId from, const Data& data) const noexcept = 0;
    /// Where they belong; nullptr: nowhere, and no peer in order would send them. This is asked
    /// again whenever more of them come, as the buffer may have been given back meanwhile.
    [[nodiscard]] virtual std::byte* locate(PeerId from, const Data& data) noexcept = 0;
    /// All of them are there. False: they belong nowhere.
    [[nodiscard]] virtual bool arrived(PeerId from, const Data& data) noexcept = 0;
};

/// A network's way for data, where it has one: NetworkInterface::data(). For those peers whose link
/// is direct.
class DataWay {
public:
    virtual ~DataWay() = default;
    /// Behind all that was given for this peer before, transfers as well. ok: the bytes at `from`
    /// are borrowed until has_taken(). again: others still are, or there is no room. `events`, a
    /// bit for each: raised when all of them are there.
    virtual Status send(PeerId id, const Data& data, const std::byte* from,
                        std::uint32_t events) noexcept = 0;
    /// What was borrowed for that peer may be used for anything else. Of one that is lost it stays
    /// false: what was under way to it is nowhere.
    [[nodiscard]] virtual bool has_taken(PeerId id) const noexcept = 0;
    /// Nothing that was borrowed for this peer is touched any more; if anything was, it gets
    /// nothing more.
    virtual void give_back(PeerId id) noexcept = 0;
    /// Some that came wait for this process to look at what names their buffers. The next poll
    /// takes them.
    [[nodiscard]] virtual bool waits() const noexcept { return false; }
    /// Where data of peers goes; nullptr: nowhere any more, and what comes is dropped. Nor is what
    /// was borrowed touched any more: whoever sent it goes, and the network sends it from a copy.
    virtual void set_target(DataTarget* target) noexcept = 0;
};

}  // namespace fci::nhi
