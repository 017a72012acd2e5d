// SPDX-License-Identifier: BSD-3-Clause
// Connections: those to all peers that have been met, what waits for them, and their ends.
#pragma once

#include <vector>

#include "drivers/tcp/frame_decoder.h"
#include "drivers/tcp/peers.h"
#include "drivers/tcp/streams.h"
#include "fci_core/ddi/notices.h"
#include "fci_core/nhi/transfer.h"

namespace fci::tcp {

class Connections {
public:
    /// `silence`: for how long hosts may owe an answer.
    Connections(Peers& peers, Streams& streams, ddi::Notices& notices, FrameDecoder::Target& target,
                Nanoseconds silence)
        : peers_(peers),
          streams_(streams),
          notices_(notices),
          target_(target),
          silence_(silence) {}

    /// For so many more; may throw bad_alloc.
    void reserve(std::size_t more);
    /// There was room for it. Nothing is read before begin().
    void add(nhi::PeerId id, Stream stream) noexcept;
    /// The listener knows of it.
    void begin(nhi::PeerId id) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return connected_.size(); }
    /// Before the first one is added.
    void count_in(Counters& counters) noexcept { counters_ = &counters; }

    /// For what of a transfer the kernel does not take; may throw bad_alloc. Then write() is sure.
    void reserve(nhi::PeerId id, const nhi::Transfer& transfer);
    void write(nhi::PeerId id, const nhi::Transfer& transfer) noexcept;
    /// Likewise; of one that is connected and borrows nothing.
    void reserve_for_data(nhi::PeerId id);
    void write(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
               std::uint32_t events) noexcept;
    /// Nothing is borrowed any more.
    void keep_data() noexcept;
    /// Gives the kernel what waits, and ends all bursts.
    void flush(Nanoseconds now) noexcept;
    /// The kernels see to the rest, and say_goodbye() to it that they do.
    [[nodiscard]] bool is_idle() const noexcept { return waiting_.empty(); }

    /// A stream could not be read on, as data were early, since look_again().
    [[nodiscard]] bool waits() const noexcept { return waits_; }
    void look_again() noexcept { waits_ = false; }

    /// All of them (Connection::set_quiet()). New ones are not.
    void set_quiet(bool quiet) noexcept {
        if (quiet != is_quiet_) change_quiet(quiet);
    }

    /// Takes what a peer has sent. How much work that was.
    unsigned read(nhi::PeerId id) noexcept;
    unsigned read_all() noexcept;

    /// Looks for hosts that have fallen silent.
    void tend(Nanoseconds now) noexcept;
    /// When to do so; 0: nothing is under way.
    [[nodiscard]] Nanoseconds due() const noexcept { return due_; }

    /// Device::tell_of_loss.
    void tell_of_loss(int rank) noexcept;
    /// What was written gets to all whose hosts answer, and who reads on hears that this was no
    /// death.
    void say_goodbye() noexcept;
    /// In a child of fork(): they would outlive the parent in it.
    void close() noexcept;

private:
    void change_quiet(bool quiet) noexcept;
    void end(nhi::PeerId id, ddi::Notice notice) noexcept;
    void after_write(nhi::PeerId id) noexcept;
    void watch_refused(nhi::PeerId id, Connection& connection) noexcept;

    Peers& peers_;
    Streams& streams_;
    ddi::Notices& notices_;
    FrameDecoder::Target& target_;
    const Nanoseconds silence_;
    std::vector<nhi::PeerId> connected_;
    std::vector<nhi::PeerId> waiting_;  // those for which something waits
    std::vector<nhi::PeerId> busy_;     // those to which something may be under way
    std::vector<nhi::PeerId> bursts_;   // those that were written to since the last flush()
    Nanoseconds flushed_ = 0;  // when last
    Nanoseconds due_ = 0;
    bool waits_ = false;
    bool is_quiet_ = false;
    Counters uncounted_;
    Counters* counters_ = &uncounted_;
};

}  // namespace fci::tcp
