// SPDX-License-Identifier: BSD-3-Clause
// Connection: a stream to a peer that has been met, with what waits to be written to it.
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
    /// `counters`: of what is written and read; they outlive it. `silence`: as Pulse has it.
    Connection(Streams& streams, Stream stream, FrameDecoder decoder, Counters& counters,
               Nanoseconds silence)
        : streams_(streams),
          stream_(std::move(stream)),
          decoder_(decoder),
          counters_(counters),
          pulse_(silence) {}

    [[nodiscard]] int stream() const noexcept { return stream_.get(); }
    /// Its other end hears nothing of it while another process has the stream as well.
    void close() noexcept {
        stream_.close();
        broken_ = true;
    }

    // --- out ---

    /// Whether write() would take it.
    [[nodiscard]] bool fits(const nhi::Transfer& transfer) const noexcept;
    /// For what of it the kernel does not take; may throw bad_alloc.
    void reserve(const nhi::Transfer& transfer);
    /// Takes all of it: at once as far as the kernel does, and keeps the rest, reserve()d. What may
    /// wait is kept for what follows. `goes_on`: it is not the first of a burst, and the kernel may
    /// let it wait for more, or for push(); by itself it does so for 200 ms at most.
    void write(const nhi::Transfer& transfer, bool goes_on) noexcept;
    /// The burst is over.
    void push() noexcept;
    /// Likewise, but what the kernel does not take of the data stays borrowed. Nothing is so far.
    void reserve_for_data();
    void write(const nhi::Data& data, const std::byte* from, std::uint32_t events) noexcept;
    [[nodiscard]] bool borrows() const noexcept { return !borrowed_.empty(); }
    /// What is borrowed is touched no more; where something is, the stream ends in its midst.
    void give_data_back() noexcept;
    /// Likewise, but it is sent from a copy.
    void keep_data() noexcept;
    /// The kernel has all data, and does what it can.
    [[nodiscard]] bool has_taken_data() const noexcept { return !borrows() && !broken_; }
    /// A goodbye, or a loss.
    void say(const FrameHead& word) noexcept;
    /// Gives the kernel what waits. True: nothing does any more.
    bool flush() noexcept;
    /// The peer's kernel has all of it, or there is no such peer any more. It may say so some 40 ms
    /// late.
    [[nodiscard]] bool has_arrived() noexcept;
    [[nodiscard]] bool has_waiting() const noexcept {
        return first_ != waiting_.size() || borrows();
    }
    /// And it does because the kernel would not take it.
    [[nodiscard]] bool is_refused() const noexcept { return refused_; }

    /// What a look at its pulse says, once in Pulse::kLookEvery while something is under way.
    enum class Beat : std::uint8_t { idle, alive, silent };
    Beat feel(Nanoseconds now) noexcept;
    /// While it is read in every turn, the kernel need not say that a little is here: nobody waits
    /// for that. And then it acknowledges what comes as it comes; else mostly within the call that
    /// reads it, which makes that one 5 us longer where not all was read at once. Not while long
    /// data come: of these one acknowledgement for several segments is better.
    void set_quiet(bool quiet) noexcept {
        may_be_quiet_ = quiet;
        be_quiet(quiet);
    }

    /// What Connections notes of it.
    struct Marks {
        bool is_felt = false;     // somebody looks at its pulse
        bool is_waiting = false;  // among those for which something may wait
        bool is_watched = false;  // the kernel says when it takes more
        bool is_in_burst = false;  // it was written to since the last poll
        Nanoseconds written = 0;   // when last; the first one of a burst at that poll
    };
    [[nodiscard]] Marks& marks() noexcept { return marks_; }

    // --- in ---

    enum class Reading : std::uint8_t {
        nothing,
        some,
        goodbye,   // the peer has closed in order, and all that it wrote is here
        end,       // it has not, and yet there is no more; how_it_ended()
        nonsense,  // what came is no frame
    };
    /// What is here, up to some bound. After one of the last three nothing more may be read.
    Reading read() noexcept;
    /// What is here waits for whoever reads its buffers' names.
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
    // While more than that is still to come of long data, each read holds up the kernel, which
    // takes them from the network: larger reads are faster than one in each turn. So is read what
    // is read in every turn; a process that sleeps would be woken for nothing. At 60 us between two
    // reads the whole of 256 KiB would lie there for half of their time.
    static constexpr Nanoseconds kReadsApart = 10'000;

    Streams& streams_;
    Stream stream_;
    FrameDecoder decoder_;
    Counters& counters_;
    LastRequest last_request_;  // that was written
    Pulse pulse_;
    Marks marks_;
    std::vector<std::byte> waiting_;
    std::size_t first_ = 0;  // of waiting_, that is not written
    std::span<const std::byte> borrowed_;
    std::size_t borrowed_at_ = 0;  // of waiting_, where it comes in between
    bool refused_ = false;
    bool may_be_quiet_ = false, is_quiet_ = false;
    bool corked_ = false;  // the kernel sends no half full segment
    Nanoseconds rests_until_ = 0;  // from reading
    int error_ = 0;        // of the stream; 0: the stream ended
    bool broken_ = false;  // writing makes no sense any more; what was sent may still be read
};

}  // namespace fci::tcp
