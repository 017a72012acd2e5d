// SPDX-License-Identifier: BSD-3-Clause
// Frames of a stream as a peer would write them, and the memory that they are for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "drivers/tcp/frame_decoder.h"
#include "fci_core/base/prng.h"

namespace fci::tcp::test {

inline constexpr std::uint64_t kBytes = 64 * 1024;

inline constexpr nhi::PeerId kWriter = 3;

/// A buffer that the writer knows as number 7, and that is filled from its beginning.
struct Buffer final : nhi::DataTarget {
    bool expects(nhi::PeerId from) const noexcept override {
        EXPECT_EQ(from, kWriter);
        return is_expecting;
    }
    bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return is_unknown; }
    std::byte* locate(nhi::PeerId, const nhi::Data& data) noexcept override {
        const bool goes_on = data.name == 7 && data.offset == filled &&
                             data.bytes <= bytes.size() - filled;
        return goes_on ? bytes.data() + filled : nullptr;
    }
    bool arrived(nhi::PeerId, const nhi::Data& data) noexcept override {
        filled += data.bytes;
        return true;
    }

    bool is_expecting = true;
    bool is_unknown = false;  // so far
    std::uint64_t filled = 0;
    std::vector<std::byte> bytes = std::vector<std::byte>(3'000'000);
};

/// Memory at addresses from 0 on, and as much behind it that may be named but is not there.
struct Memory final : FrameDecoder::Target {
    bool is_possible(nhi::PeerId writer, std::uint64_t address,
                     std::uint64_t bytes) const noexcept override {
        EXPECT_EQ(writer, kWriter);
        return address <= 2 * kBytes && bytes <= kBytes;
    }
    std::byte* locate(nhi::PeerId, std::uint64_t address, std::uint64_t bytes) noexcept override {
        const bool fits = address <= kBytes && bytes <= kBytes - address;
        return fits ? reinterpret_cast<std::byte*>(words.data()) + address : nullptr;
    }
    nhi::DataTarget* data_target() const noexcept override { return buffer; }
    void raise(std::uint32_t more) noexcept override {
        events |= more;
        ++transfers;
    }

    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kBytes / 8);
    std::uint32_t events = 0;
    unsigned transfers = 0;
    Buffer* buffer = nullptr;
};

using Stream = std::vector<std::byte>;

inline void append(Stream* stream, const void* bytes, std::size_t count) {
    const auto* const from = static_cast<const std::byte*>(bytes);
    stream->insert(stream->end(), from, from + count);
}

inline void head(Stream* stream, FrameKind kind, std::uint8_t parts, std::uint32_t events = 0,
                 std::uint16_t unused = 0) {
    const FrameHead told{kind, parts, unused, events};
    append(stream, &told, sizeof told);
}

inline void part(Stream* stream, std::uint64_t address, std::uint64_t bytes) {
    const PartHead told{address, bytes};
    append(stream, &told, sizeof told);
}

inline std::vector<std::byte> random_bytes(Prng& prng, std::uint64_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    return bytes;
}

inline void data(Stream* stream, const nhi::Data& told, std::uint64_t follow,
                 std::uint32_t events = 0) {
    head(stream, FrameKind::data, 0, events);
    append(stream, &told, sizeof told);
    stream->resize(stream->size() + follow, std::byte{9});
}

/// As a socket would give it. False: it was refused.
template <class Look>
bool feed(FrameDecoder& decoder, const Stream& stream, std::size_t most, Prng* prng, Look look) {
    for (std::size_t at = 0; at < stream.size();) {
        std::size_t left = std::min(stream.size() - at, most);
        if (prng != nullptr) left = 1 + prng->below(left);
        iovec ranges[2];
        const unsigned count = decoder.room(ranges);
        if (count == 0) return false;  // it waits for the reader
        std::size_t given = 0;
        for (unsigned i = 0; i < count && given < left; ++i) {
            const std::size_t some = std::min(left - given, ranges[i].iov_len);
            std::memcpy(ranges[i].iov_base, stream.data() + at + given, some);
            given += some;
        }
        at += given;
        if (!decoder.take(given)) return false;
        look();
    }
    return true;
}

inline bool feed(FrameDecoder& decoder, const Stream& stream) {
    return feed(decoder, stream, stream.size(), nullptr, [] {});
}

}  // namespace fci::tcp::test
