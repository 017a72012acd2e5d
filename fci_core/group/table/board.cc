// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/board.h"

#include <iterator>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/gcs/layout.h"

namespace fci::group {

using gcs::Layout;

namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Board::Board(nhi::NetworkInterface& network, std::span<std::byte> memory) noexcept
    : network_(network), begin_(memory.data()) {
    // Where this fails there are no tables here, and take() says so.
    if (memory.size() < kPage || network_.open_window(Layout::kBoardWindow, Layout::kBoard,
                                                      memory) != Status::ok) {
        return;
    }
    free_.emplace(memory.data(), memory.size() / kPage * kPage);
}

nhi::LcsAddress Board::address_of(const std::byte* at) const noexcept {
    FCI_ASSERT(at >= begin_);
    return nhi::LcsAddress{static_cast<std::uint64_t>(Layout::kBoard) +
                           static_cast<std::uint64_t>(at - begin_)};
}

std::span<std::byte> Board::take(std::size_t bytes) {
    FCI_ASSERT(bytes != 0);
    bytes = whole_pages(bytes);
    if (kept_.size() == bytes) return std::exchange(kept_, {});
    std::span<std::byte> memory = cut(bytes);
    if (memory.empty() && !kept_.empty()) {
        add(std::exchange(kept_, {}));
        memory = cut(bytes);
    }
    if (memory.empty()) return {};
    if (network_.provide(nhi::kSelf, address_of(memory.data()), bytes) == Status::ok) {
        return memory;
    }
    add(memory);
    return {};
}

/// The first that is large enough.
std::span<std::byte> Board::cut(std::size_t bytes) {
    for (auto place = free_.begin(); place != free_.end(); ++place) {
        if (place->second < bytes) continue;
        const std::span<std::byte> memory(place->first, bytes);
        if (place->second > bytes) free_.emplace(place->first + bytes, place->second - bytes);
        place->second = bytes;
        taken_.insert(free_.extract(place));
        return memory;
    }
    return {};
}

void Board::give_back(std::span<std::byte> memory) noexcept {
    FCI_ASSERT(memory.data() >= begin_ && memory.size() % kPage == 0);
    if (const auto before = std::exchange(kept_, memory); !before.empty()) add(before);
}

void Board::add(std::span<std::byte> memory) noexcept {
    network_.take_back(address_of(memory.data()), memory.size());
    const auto [place, is_new, none] = free_.insert(taken_.extract(memory.data()));
    FCI_ASSERT(is_new && place->second == memory.size());
    if (const auto next = std::next(place);
        next != free_.end() && next->first == place->first + place->second) {
        place->second += next->second;
        free_.erase(next);
    }
    if (place == free_.begin()) return;
    if (const auto before = std::prev(place); before->first + before->second == place->first) {
        before->second += place->second;
        free_.erase(place);
    }
}

}  // namespace fci::group
