// SPDX-License-Identifier: BSD-3-Clause
// Connections: the streams to all peers that have been met, the bytes that wait for them, and how
// they end.
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

    /// Makes room for `more` connections; may throw bad_alloc.
    void reserve(std::size_t more);
    /// reserve() has made room for it. Nothing is read before begin().
    void add(nhi::PeerId id, Stream stream) noexcept;
    /// The listener has been told of the peer: its frames may be read.
    void begin(nhi::PeerId id) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return connected_.size(); }
    /// Called before the first connection is added.
    void count_in(Counters& counters) noexcept { counters_ = &counters; }

    /// Makes room for the bytes that the kernel does not take, so that write() cannot fail; may
    /// throw.
    void reserve(nhi::PeerId id, const nhi::Transfer& transfer);
    void write(nhi::PeerId id, const nhi::Transfer& transfer) noexcept;
    /// The same for data; the peer is connected, and its connection borrows nothing.
    void reserve_for_data(nhi::PeerId id);
    void write(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
               std::uint32_t events) noexcept;
    /// Ends all borrowing (Connection::keep_data()).
    void keep_data() noexcept;
    /// Gives the kernels the bytes that wait, and ends all bursts.
    void flush(Nanoseconds now) noexcept;
    /// No bytes wait here: the kernels have them, and say_goodbye() waits for the kernels.
    [[nodiscard]] bool is_idle() const noexcept { return waiting_.empty(); }

    /// Since look_again() a stream could not be read on, as data were early.
    [[nodiscard]] bool waits() const noexcept { return waits_; }
    void look_again() noexcept { waits_ = false; }

    /// Makes all connections quiet (Connection::set_quiet()). New ones are not.
    void set_quiet(bool quiet) noexcept {
        if (quiet != is_quiet_) change_quiet(quiet);
    }

    /// Reads the frames that a peer has sent; returns how much work that was.
    unsigned read(nhi::PeerId id) noexcept;
    unsigned read_all() noexcept;

    /// Looks for hosts that have fallen silent.
    void tend(Nanoseconds now) noexcept;
    /// When to tend next; 0: nothing is under way.
    [[nodiscard]] Nanoseconds due() const noexcept { return due_; }

    /// Device::tell_of_loss.
    void tell_of_loss(int rank) noexcept;
    /// Waits until every peer whose host answers has all that was written. A peer that reads on
    /// hears that this was no death.
    void say_goodbye() noexcept;
    /// In a child of fork(), which would keep its parent's connections open.
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
    std::vector<nhi::PeerId> waiting_;  // peers for which bytes wait
    std::vector<nhi::PeerId> busy_;     // peers to which bytes may be under way
    std::vector<nhi::PeerId> bursts_;   // peers that were written to since the last flush()
    Nanoseconds flushed_ = 0;  // the time of the last flush()
    Nanoseconds due_ = 0;
    bool waits_ = false;
    bool is_quiet_ = false;
    Counters uncounted_;
    Counters* counters_ = &uncounted_;
};

}  // namespace fci::tcp
