// SPDX-License-Identifier: BSD-3-Clause
// FrameDecoder: takes frames out of a stream of bytes, wherever it is cut, and stores their parts
// at their addresses. It knows neither sockets nor clocks.
//  A reader that looks at memory while a part is still coming must find each word whole and the
// last one last. So a short part, and the last word of a long one, is stored when all of it is
// here; the rest of a long part is stored as it comes, straight from the socket if possible.
//  Data must not be read to any other place than their buffer. So a stream is read as far as a line
// and the heads of the next frame, and farther only while more than that comes at a time, all of it
// transfers.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "drivers/tcp/frame.h"
#include "drivers/tcp/last_request.h"
#include "fci_core/nhi/data.h"
#include "fci_core/nhi/types.h"

namespace fci::tcp {

class FrameDecoder {
public:
    /// Memory that the frames of all peers are for.
    class Target {
    public:
        virtual ~Target() = default;
        /// A sound writer may name these bytes, whether memory is there just now or not.
        [[nodiscard]] virtual bool is_possible(nhi::PeerId writer, std::uint64_t address,
                                               std::uint64_t bytes) const noexcept = 0;
        /// Where these bytes lie; nullptr: nowhere, and they have no effect.
        [[nodiscard]] virtual std::byte* locate(nhi::PeerId writer, std::uint64_t address,
                                                std::uint64_t bytes) noexcept = 0;
        /// The buffers that data of peers go into; nullptr: there are none.
        [[nodiscard]] virtual nhi::DataTarget* data_target() const noexcept = 0;
        /// A transfer is complete, or data with events are.
        virtual void raise(std::uint32_t events) noexcept = 0;
    };

    FrameDecoder(Target& target, nhi::PeerId writer) : target_(target), writer_(writer) {}

    /// Sets the ranges for the next bytes, in this order, and returns how many there are. 0: the
    /// bytes here are early (DataTarget::is_early()), and so is the rest; go_on() then.
    unsigned room(iovec (&ranges)[2]) noexcept;
    /// So many bytes are there. False: no sound peer sends these, and no more may be given.
    [[nodiscard]] bool take(std::size_t bytes) noexcept;
    /// Looks again at bytes that were early. False: as for take().
    [[nodiscard]] bool go_on() noexcept;
    /// The data here are for a buffer that the reader does not know yet (DataTarget::is_early()).
    [[nodiscard]] bool is_early() const noexcept;
    /// The data that come now, in bytes; 0: none do.
    [[nodiscard]] std::uint64_t coming() const noexcept {
        return state_ == State::data ? data_.bytes : 0;
    }
    /// Bytes of these data that are not here.
    [[nodiscard]] std::uint64_t missing() const noexcept {
        return state_ == State::data ? data_.bytes - done_ : 0;
    }
    [[nodiscard]] bool said_goodbye() const noexcept { return state_ == State::goodbye; }
    /// The first rank that the writer says it has lost; negative: it does not know which. Not more
    /// than its word.
    [[nodiscard]] std::optional<int> loss() const noexcept { return come_.loss; }
    /// Bytes of data that came where they belong, and those that had to be copied there.
    struct DataBytes {
        std::uint64_t direct = 0, copied = 0;
    };
    [[nodiscard]] const DataBytes& data_bytes() const noexcept { return come_.data_bytes; }

private:
    static constexpr std::uint64_t kShort = 256;         // such parts are stored at once
    static constexpr std::uint64_t kDirectLeast = 4096;  // of a long one, straight to its place
    static constexpr std::size_t kStaged = 3072;
    static constexpr std::size_t kLine = sizeof(FrameHead) + sizeof(PartHead) + kLineBytes;
    static constexpr std::size_t kReachLeast = kLine + kDataHeads;
    static_assert(kHeadsMost <= kShort && kRequestHeadsMost <= kShort);
    static_assert(kShort + kReachLeast <= kStaged);

    enum class State : std::uint8_t {
        head,
        parts,
        request,
        bytes,
        data_head,
        data,
        goodbye,
        broken,
    };

    [[nodiscard]] std::size_t here() const noexcept { return end_ - begin_; }
    bool step() noexcept;
    bool read_head() noexcept;
    bool read_parts() noexcept;
    bool read_request() noexcept;
    bool read_bytes() noexcept;
    bool read_data_head() noexcept;
    bool read_data() noexcept;
    bool begin_parts(std::size_t heads) noexcept;
    void begin_part() noexcept;
    void store(std::uint64_t bytes) noexcept;
    [[nodiscard]] std::byte* place() noexcept;
    [[nodiscard]] std::byte* data_place() noexcept;
    [[nodiscard]] std::size_t staging_room() const noexcept;

    Target& target_;
    const nhi::PeerId writer_;
    std::array<std::byte, kStaged> staged_;
    std::size_t begin_ = 0, end_ = 0;  // the bytes of the stream that are in staged_
    std::size_t reach_ = kReachLeast;  // how far the stream is read
    std::size_t usual_ = kReachLeast;  // reach_ with the last frame alone
    std::size_t room_ = 0;             // that room() gave
    State state_ = State::head;
    FrameHead head_{};
    LastRequest last_request_;
    std::array<PartHead, nhi::Transfer::kPartsMax> parts_{};
    unsigned part_ = 0;          // the one that is coming
    std::uint64_t address_ = 0;  // of it
    std::uint64_t bytes_ = 0;
    std::uint64_t done_ = 0;  // of these
    std::uint64_t last_ = 0;  // from here on they are stored together
    std::size_t direct_ = 0;  // the first range of room()
    nhi::Data data_{};        // that are coming
    struct {
        DataBytes data_bytes;
        std::optional<int> loss;
    } come_;
};

}  // namespace fci::tcp
