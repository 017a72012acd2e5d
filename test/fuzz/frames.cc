// SPDX-License-Identifier: BSD-3-Clause
// frames: any bytes as a peer's stream, cut anywhere. Nothing outside of the memory that frames may
// name is touched, and how the stream is cut makes no difference.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "drivers/tcp/frame_decoder.h"

namespace {

using fci::nhi::PeerId;
using fci::tcp::FrameDecoder;

constexpr std::uint64_t kBytes = 16 * 1024;
constexpr PeerId kWriter = 1;

/// Four buffers, each filled from its beginning.
struct Buffers final : fci::nhi::DataTarget {
    static constexpr std::uint64_t kNames = 4;
    bool expects(PeerId) const noexcept override { return true; }
    bool is_early(PeerId, const fci::nhi::Data&) const noexcept override { return false; }
    std::byte* locate(PeerId, const fci::nhi::Data& data) noexcept override {
        if (data.name >= kNames || data.offset != filled_[data.name] ||
            data.bytes > kBytes - data.offset) {
            return nullptr;
        }
        return bytes_.get() + data.name * kBytes + data.offset;
    }
    bool arrived(PeerId, const fci::nhi::Data& data) noexcept override {
        filled_[data.name] += data.bytes;
        return true;
    }

    std::uint64_t filled_[kNames] = {};
    std::unique_ptr<std::byte[]> bytes_ = std::make_unique<std::byte[]>(kNames * kBytes);
};

/// As long as it is: the sanitizer sees a byte too many on either side.
struct Memory final : FrameDecoder::Target {
    bool is_possible(PeerId, std::uint64_t address, std::uint64_t bytes) const noexcept override {
        return address <= 2 * kBytes && bytes <= kBytes;
    }
    std::byte* locate(PeerId, std::uint64_t address, std::uint64_t bytes) noexcept override {
        return address <= kBytes && bytes <= kBytes - address ? bytes_.get() + address : nullptr;
    }
    fci::nhi::DataTarget* data_target() const noexcept override { return buffers_.get(); }
    void raise(std::uint32_t events) noexcept override { events_ = 31 * events_ + events + 1; }

    std::unique_ptr<std::byte[]> bytes_ = std::make_unique<std::byte[]>(kBytes);
    std::uint32_t events_ = 0;
    std::unique_ptr<Buffers> buffers_ = std::make_unique<Buffers>();
};

struct Outcome {
    bool is_right = true, said_goodbye = false;
    Memory memory;
};

/// The pieces are as long as `cuts` say, again and again; without any, as long as there is room.
void decode(const std::uint8_t* data, std::size_t size, const std::vector<std::uint8_t>& cuts,
            Outcome* outcome) {
    FrameDecoder decoder(outcome->memory, kWriter);
    for (std::size_t i = 0; size != 0 && !decoder.said_goodbye(); ++i) {
        iovec ranges[2];
        const unsigned count = decoder.room(ranges);
        std::size_t left = size;
        if (!cuts.empty()) left = std::min<std::size_t>(left, 1 + cuts[i % cuts.size()]);
        std::size_t taken = 0;
        for (unsigned range = 0; range < count && left != 0; ++range) {
            const std::size_t some = std::min(left, ranges[range].iov_len);
            std::memcpy(ranges[range].iov_base, data, some);
            data += some;
            left -= some;
            taken += some;
        }
        size -= taken;
        outcome->is_right = decoder.take(taken);
        if (!outcome->is_right) break;
    }
    outcome->said_goodbye = outcome->is_right && decoder.said_goodbye();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The first byte says how many of the next ones are lengths of pieces.
    if (size < 1) return 0;
    const std::size_t count = std::min<std::size_t>(data[0] % 8 + 1u, size - 1);
    if (count == 0) return 0;
    const std::vector<std::uint8_t> cuts(data + 1, data + 1 + count);
    data += 1 + count;
    size -= 1 + count;
    Outcome whole, cut;
    decode(data, size, {}, &whole);
    decode(data, size, cuts, &cut);
    // One that is broken may be found out earlier or later, by a goodbye with something behind it.
    if (whole.said_goodbye && !cut.is_right) return 0;
    if (whole.is_right && (!cut.is_right || cut.memory.events_ != whole.memory.events_)) abort();
    if (whole.is_right && std::memcmp(whole.memory.bytes_.get(), cut.memory.bytes_.get(), kBytes)) {
        abort();
    }
    if (whole.is_right &&
        std::memcmp(whole.memory.buffers_->bytes_.get(), cut.memory.buffers_->bytes_.get(),
                    Buffers::kNames * kBytes) != 0) {
        abort();
    }
    return 0;
}
