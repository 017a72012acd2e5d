// SPDX-License-Identifier: BSD-3-Clause
// NetworkInterface: App. C, one to one, with three marked extensions that software networks need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/base/status.h"
#include "fci_core/nhi/data.h"
#include "fci_core/nhi/hints.h"
#include "fci_core/nhi/link.h"
#include "fci_core/nhi/transfer.h"
#include "fci_core/nhi/types.h"

namespace fci::nhi {

/// How a writer's stores into mapped memory stay before its look whether the reader sleeps.
enum class Ordering : std::uint8_t {
    by_sleeper,  // a process that unmasks an event orders them for all writers
    by_fence,    // the same, but this process must make a fence in between, and then ask again
    by_all       // unmasking does not order them: every writer must make fences
};

/// One object per process and network, used by one thread. The contract, kept by the conformance
/// suite for every driver:
///  - writes of one process to one destination become visible in the order of issue;
///  - an aligned 4- or 8-byte write appears whole;
///  - nothing runs at the receiver except its own calls;
///  - Status::again leaves no trace.
class NetworkInterface {
public:
    virtual ~NetworkInterface() = default;

    // --- mandatory functionality, C.2.1 ---

    /// `local` must lie in Device::communication_memory(); `base` at or above kPairLimit.
    virtual Status open_window(WindowNumber number, LcsAddress base,
                               std::span<std::byte> local) noexcept = 0;
    virtual Status close_window(WindowNumber number) noexcept = 0;
    /// Everything, or nothing with Status::again. The source bytes may be reused on return.
    virtual Status initiate_transfer(const Transfer& transfer) noexcept = 0;
    virtual Status configure_event(EventId event, EventSignal signal) noexcept = 0;
    /// A masked event does not wake. Unmasking orders itself before the caller's next reads, so
    /// "unmask, look once more, sleep" loses no wake-up.
    virtual Status mask_event_interrupt(EventId event, bool masked) noexcept = 0;

    // --- extensions ---

    /// The link to an attached peer; for any other an empty one.
    [[nodiscard]] virtual Link link(PeerId id) noexcept = 0;
    /// All that was given here has arrived, or gets there without this process, as far as it ever
    /// will. A process that closes waits for that.
    [[nodiscard]] virtual bool is_idle() const noexcept { return true; }
    /// poll() is wanted every that many empty turns, until it was called.
    [[nodiscard]] virtual unsigned idle_poll_every() const noexcept { return 1; }
    /// poll() is wanted after that much time, too, if turns always find work.
    [[nodiscard]] virtual Nanoseconds busy_poll_every() const noexcept { return kBusyPollEvery; }
    /// Enough to notice deaths and callers. Writes into memory are seen without poll().
    static constexpr Nanoseconds kBusyPollEvery = 200'000;
    /// A software network's turn: arrivals, departures, timers. Returns the work done.
    virtual unsigned poll(Nanoseconds now) noexcept = 0;
    /// How often the event arrived here, where configure_event() switched its flag on.
    [[nodiscard]] virtual std::uint32_t event_count(EventId event) const noexcept = 0;
    /// The address here of memory of a mapped peer; nullptr: the peer is not mapped, or has no such
    /// memory.
    virtual std::byte* map(PeerId id, LcsAddress address, std::size_t bytes) noexcept = 0;
    /// Makes memory of the destination's block present before it is written, beyond the bytes that
    /// were there when the peer attached (Settings::block_first_bytes). For memory of a window its
    /// owner must ask (Settings::communication_later), as kSelf; peers may, before they read much
    /// of it. exhausted: memory is short.
    virtual Status provide(PeerId id, LcsAddress address, std::size_t bytes) noexcept {
        (void)id, (void)address, (void)bytes;
        return Status::ok;
    }
    /// Gives back memory of an own window that was provided: its content is lost, and it must be
    /// provided again before it is used.
    virtual void take_back(LcsAddress address, std::size_t bytes) noexcept {
        (void)address, (void)bytes;
    }
    [[nodiscard]] virtual Ordering ordering() noexcept { return Ordering::by_all; }
    /// nullptr: this network has no way for data.
    [[nodiscard]] virtual DataWay* data() noexcept { return nullptr; }
    /// nullptr: this network has no multicast.
    [[nodiscard]] virtual Hints* hints() noexcept { return nullptr; }
    /// Copies between local memory and memory of `id` that lies in no window, by the kernel.
    /// All bytes or an error; `remote` is an address in that process. unsupported: not with this
    /// peer in this direction, which a copy of no bytes finds out. This answer may come at any
    /// time, with a part copied, and then stays. lost: the peer has closed, ended or become another
    /// program, and its memory was not touched. After a process has closed its device, no peer's
    /// copy reads or writes its memory.
    enum class Direction : std::uint8_t { read, write };
    virtual Status copy(PeerId id, Direction direction, std::uint64_t remote, void* local,
                        std::size_t bytes) noexcept = 0;
};

}  // namespace fci::nhi
