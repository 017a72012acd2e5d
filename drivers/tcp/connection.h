// SPDX-License-Identifier: BSD-3-Clause
// Connection: a stream to a peer that has been met, with the bytes that wait to be written to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/tcp/frame_decoder.h"
#include "drivers/tcp/pulse.h"
#include "drivers/tcp/streams.h"
#include "fci_core/base/counters.h"
#include "fci_core/nhi/transfer.h"

namespace fci::tcp {

class Connection {
public:
    /// `counters`: of all reads and writes; they outlive it. `silence`: as Pulse has it.
    Connection(Streams& streams, Stream stream, FrameDecoder decoder, Counters& counters,
               Nanoseconds silence)
        : streams_(streams),
          stream_(std::move(stream)),
          decoder_(decoder),
          counters_(counters),
          pulse_(silence) {}

    [[nodiscard]] int stream() const noexcept { return stream_.get(); }
    /// The peer hears nothing of it while another process (the parent) has the stream as well.
    void close() noexcept {
        stream_.close();
        broken_ = true;
    }

    // --- out ---

    /// Whether write() would take it.
    [[nodiscard]] bool fits(const nhi::Transfer& transfer) const noexcept;
    /// Makes room for the bytes that the kernel does not take; may throw bad_alloc.
    void reserve(const nhi::Transfer& transfer);
    /// Takes the whole transfer: the kernel gets as much as it takes, the rest is kept in the
    /// memory of reserve(). A transfer that may wait is kept for the next one. `goes_on`: it is not
    /// the first of a burst, and the kernel may let it wait for more, or for push(); by itself the
    /// kernel does so for 200 ms at most.
    void write(const nhi::Transfer& transfer, bool goes_on) noexcept;
    /// The burst is over.
    void push() noexcept;
    /// For data, which stay borrowed as far as the kernel does not take them. Nothing is borrowed
    /// when these are called; reserve_for_data() may throw bad_alloc.
    void reserve_for_data();
    void write(const nhi::Data& data, const std::byte* from, std::uint32_t events) noexcept;
    [[nodiscard]] bool borrows() const noexcept { return !borrowed_.empty(); }
    /// Borrowed data are touched no more. If some were left, the stream ends in their midst.
    void give_data_back() noexcept;
    /// Borrowed data are touched no more: the rest of them is copied, and sent from the copy.
    void keep_data() noexcept;
    /// The kernel has all data, and the stream is not broken.
    [[nodiscard]] bool has_taken_data() const noexcept { return !borrows() && !broken_; }
    /// Sends a goodbye or a loss.
    void say(const FrameHead& word) noexcept;
    /// Gives the kernel the bytes that wait. True: none wait any more.
    bool flush() noexcept;
    /// The peer's kernel has all that was written, or there is no such peer any more. Its kernel
    /// may say so some 40 ms late.
    [[nodiscard]] bool has_arrived() noexcept;
    [[nodiscard]] bool has_waiting() const noexcept {
        return first_ != waiting_.size() || borrows();
    }
    /// Bytes wait because the kernel would not take them.
    [[nodiscard]] bool is_refused() const noexcept { return refused_; }

    /// The result of a look at the pulse, once in Pulse::kLookEvery while something is under way.
    enum class Beat : std::uint8_t { idle, alive, silent };
    Beat feel(Nanoseconds now) noexcept;
    /// While the stream is read in every turn, the kernel need not say that a little is here, as no
    /// caller waits for that. Then it acknowledges segments as they come; else it does so mostly
    /// within the call that reads, which takes 5 us longer if not all was read at once. While long
    /// data come the stream is not quiet: one acknowledgement for several segments is better then.
    void set_quiet(bool quiet) noexcept {
        may_be_quiet_ = quiet;
        be_quiet(quiet);
    }

    /// Marks that Connections keeps here.
    struct Marks {
        bool is_felt = false;     // Connections looks at its pulse
        bool is_waiting = false;  // bytes may wait to be written to it
        bool is_watched = false;  // the kernel says when it takes more
        bool is_in_burst = false;  // it was written to since the last poll
        Nanoseconds written = 0;   // the last write; of the first in a burst, the poll before it
    };
    [[nodiscard]] Marks& marks() noexcept { return marks_; }

    // --- in ---

    enum class Reading : std::uint8_t {
        nothing,
        some,
        goodbye,   // the peer has closed in order, and all that it wrote is here
        end,       // the stream ended without a goodbye; how_it_ended()
        nonsense,  // the bytes that came are no frame
    };
    /// Reads the bytes that are here, up to a bound. After one of the last three results nothing
    /// more may be read.
    Reading read() noexcept;
    /// Data are here whose buffer the reader does not know yet (DataTarget::is_early()).
    [[nodiscard]] bool waits() const noexcept { return decoder_.is_early(); }
    struct End {
        std::string why;
        int loss = -1;  // ddi::About
    };
    [[nodiscard]] End how_it_ended() const;

private:
    [[nodiscard]] bool decode(std::size_t bytes) noexcept;
    [[nodiscard]] std::size_t give(const iovec* ranges, std::size_t count,
                                   bool lingers = false) noexcept;
    void cork(bool on) noexcept;
    void be_quiet(bool quiet) noexcept;
    void keep(const void* bytes, std::size_t count);
    void give_what_waits(bool is_refused) noexcept;

    static constexpr std::size_t kWaitingMost = 256 * 1024;  // unless it is one transfer alone
    static constexpr std::size_t kReadMost = 1024 * 1024;    // in one turn
    static constexpr int kLittle = 96 * 1024;                // see set_quiet()
    // Each read delays the kernel, which takes segments in. So while more than kLittle of long data
    // is still to come, a stream that is looked at in every turn is read once in kReadsApart:
    // larger reads are a sixth faster. At 60 us between two reads the whole of 256 KiB would lie
    // there for half of their time.
    static constexpr Nanoseconds kReadsApart = 10'000;

    Streams& streams_;
    Stream stream_;
    FrameDecoder decoder_;
    Counters& counters_;
    LastRequest last_request_;  // the last one written
    Pulse pulse_;
    Marks marks_;
    std::vector<std::byte> waiting_;
    std::size_t first_ = 0;  // the first byte of waiting_ that is not written
    std::span<const std::byte> borrowed_;
    std::size_t borrowed_at_ = 0;  // the byte of waiting_ before which borrowed_ is sent
    bool refused_ = false;
    bool may_be_quiet_ = false, is_quiet_ = false;
    bool corked_ = false;  // the kernel sends no half full segment
    Nanoseconds rests_until_ = 0;  // from reading
    int error_ = 0;        // of the stream; 0: the stream ended
    bool broken_ = false;  // nothing is written any more; the peer's bytes may still be read
};

}  // namespace fci::tcp
