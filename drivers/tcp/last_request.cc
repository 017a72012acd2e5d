// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/last_request.h"

#include <bit>
#include <cstring>

#include "fci_core/base/assert.h"

namespace fci::tcp {

/// Data begin at whole lines, wherever the data before ended (gcs::ring_place()).
void LastRequest::Place::move(std::uint64_t to, std::uint64_t bytes) noexcept {
    at = to;
    next = to + ((bytes + kLineBytes - 1) & ~std::uint64_t{kLineBytes - 1});
}

bool LastRequest::is_one(const nhi::Transfer& transfer) noexcept {
    if (transfer.parts() == 0 || transfer.events() > UINT8_MAX) return false;
    const unsigned last = transfer.parts() - 1;
    const nhi::Transfer::Part& line = transfer.part(last);
    if (line.bytes != kLineBytes) return false;
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < last; ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const bool goes_on = part.address == transfer.part(0).address + bytes;
        if (!goes_on || part.bytes > UINT32_MAX - bytes) return false;
        bytes += part.bytes;
    }
    return true;
}

std::size_t LastRequest::say(const nhi::Transfer& transfer, std::byte* to) noexcept {
    const unsigned last = transfer.parts() - 1;
    RequestHead head{FrameKind::request, 0, 0, static_cast<std::uint8_t>(transfer.events()), 0};
    for (unsigned i = 0; i < last; ++i) {
        head.bytes += static_cast<std::uint32_t>(transfer.part(i).bytes);
    }
    std::size_t said = sizeof head;
    const auto say_word = [&](std::uint64_t word) {
        std::memcpy(to + said, &word, sizeof word);
        said += sizeof word;
    };
    const auto say_place = [&](Place& place, std::uint64_t address, std::uint64_t bytes,
                               std::uint8_t moves) {
        if (address != place.next) {
            head.moves |= moves;
            say_word(address);
        }
        place.move(address, bytes);
    };
    if (head.bytes != 0) {
        say_place(data_, transfer.part(0).address, head.bytes, RequestHead::kDataMove);
    }
    say_place(line_, transfer.part(last).address, kLineBytes, RequestHead::kLineMoves);
    std::uint64_t words[kWords];
    std::memcpy(words, transfer.part(last).from, sizeof words);
    for (unsigned i = 0; i < kWords; ++i) {
        if (words[i] == words_[i]) continue;
        head.words |= static_cast<std::uint8_t>(1u << i);
        say_word(words_[i] = words[i]);
    }
    FCI_ASSERT(said <= kRequestHeadsMost);
    std::memcpy(to, &head, sizeof head);
    return said;
}

std::size_t LastRequest::bytes_behind(const RequestHead& head) noexcept {
    return sizeof(std::uint64_t) *
           static_cast<std::size_t>(std::popcount(head.moves) + std::popcount(head.words));
}

void LastRequest::hear(const RequestHead& head, const std::byte* from) noexcept {
    const auto hear_word = [&] {
        std::uint64_t word = 0;
        std::memcpy(&word, from, sizeof word);
        from += sizeof word;
        return word;
    };
    if (head.bytes != 0) {
        const bool moves = (head.moves & RequestHead::kDataMove) != 0;
        data_.move(moves ? hear_word() : data_.next, head.bytes);
    }
    const bool moves = (head.moves & RequestHead::kLineMoves) != 0;
    line_.move(moves ? hear_word() : line_.next, kLineBytes);
    for (unsigned i = 0; i < kWords; ++i) {
        if ((head.words >> i & 1) != 0) words_[i] = hear_word();
    }
}

}  // namespace fci::tcp
