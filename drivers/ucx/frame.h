// SPDX-License-Identifier: BSD-3-Clause
// Frame: a transfer as it travels by UCX: one head, a head for each part, and the bytes of all
// parts. A frame is written from a transfer, and read from bytes that anybody may have sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/data.h"
#include "fci_core/nhi/transfer.h"

namespace fci::ucx {

struct FrameHead {
    std::uint64_t key;       // that the receiver drew for this sender, and told it by TCP
    std::uint32_t number;    // of the sender, as the receiver numbers its peers
    std::uint32_t sequence;  // of the sender's frames to this receiver: from 1 on, and 0 after 2^32
    std::uint32_t events;    // a bit for each, raised when all parts are there
    std::uint32_t parts;
};
struct PartHead {
    std::uint64_t address;  // LcsAddress
    std::uint64_t bytes;
};
static_assert(std::has_unique_object_representations_v<FrameHead>, "it travels as bytes");
static_assert(std::has_unique_object_representations_v<PartHead>, "it travels as bytes");

/// Before data (nhi/data.h), which come whole; the frame has no parts.
struct DataHead {
    FrameHead frame;
    nhi::Data data;
};
static_assert(std::has_unique_object_representations_v<DataHead>, "it travels as bytes");

inline std::size_t frame_bytes(const nhi::Transfer& transfer) noexcept {
    std::size_t bytes = sizeof(FrameHead) + transfer.parts() * sizeof(PartHead);
    for (unsigned i = 0; i < transfer.parts(); ++i) bytes += transfer.part(i).bytes;
    return bytes;
}

/// Writes frame_bytes(transfer) bytes. Of `head` the sender has set key, number and sequence.
inline void write_frame(FrameHead head, const nhi::Transfer& transfer, std::byte* to) noexcept {
    FCI_ASSERT(transfer.parts() <= nhi::Transfer::kPartsMax);
    head.events = transfer.events();
    head.parts = transfer.parts();
    std::memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (unsigned i = 0; i < transfer.parts(); ++i, to += sizeof(PartHead)) {
        const PartHead part{transfer.part(i).address, transfer.part(i).bytes};
        std::memcpy(to, &part, sizeof part);
    }
    for (unsigned i = 0; i < transfer.parts(); to += transfer.part(i++).bytes) {
        std::memcpy(to, transfer.part(i).from, transfer.part(i).bytes);
    }
}

/// The view of a frame that has come. Its bytes outlive it.
class FrameReader {
public:
    explicit FrameReader(std::span<const std::byte> frame) noexcept
        : frame_(frame), is_sound_(read_head() && has_all_parts()) {}
    /// False: no sound sender writes such a frame, and no other function may be called.
    [[nodiscard]] bool is_sound() const noexcept { return is_sound_; }
    [[nodiscard]] const FrameHead& head() const noexcept { return head_; }
    /// Calls `write(address, bytes)` for each part in order.
    template <class Write>
    void for_each_part(Write write) const noexcept {
        FCI_ASSERT(is_sound_);
        std::size_t at = data_at();
        for (unsigned i = 0; i < head_.parts; ++i) {
            const PartHead part = part_head(i);
            write(part.address, frame_.subspan(at, part.bytes));
            at += part.bytes;
        }
    }

private:
    [[nodiscard]] bool read_head() noexcept {
        if (frame_.size() < sizeof head_) return false;
        std::memcpy(&head_, frame_.data(), sizeof head_);
        return head_.parts <= nhi::Transfer::kPartsMax && frame_.size() >= data_at();
    }
    /// The parts fill the frame.
    [[nodiscard]] bool has_all_parts() const noexcept {
        std::size_t left = frame_.size() - data_at();
        for (unsigned i = 0; i < head_.parts; ++i) {
            const PartHead part = part_head(i);
            if (part.bytes > left) return false;
            left -= part.bytes;
        }
        return left == 0;
    }
    [[nodiscard]] std::size_t data_at() const noexcept {
        return sizeof(FrameHead) + head_.parts * sizeof(PartHead);
    }
    [[nodiscard]] PartHead part_head(unsigned i) const noexcept {
        PartHead part;
        std::memcpy(&part, frame_.data() + sizeof(FrameHead) + i * sizeof part, sizeof part);
        return part;
    }

    const std::span<const std::byte> frame_;
    FrameHead head_{};
    const bool is_sound_;  // by what lies above
};

}  // namespace fci::ucx
