// Cells: memory that travels between two processes. Whoever has just read a message from one writes
// the next into it, where it lies in that core's cache: from a place that the other one wrote last,
// each line would have to be fetched twice, once to be written and once to be read.
//
// The message is the token: who received last through a cell may write it next, and nobody waits
// for one; without it a message goes as it would without cells. Each side lends the other at most
// one, a run of pieces of its own pool, so that two messages may cross.
//
//   state   | the cell is                          | until
//   none    | not lent, as far as this side knows  | lend(), or the peer's first message through it
//   here    | this side's to write                 | take()
//   leaving | written by this side                 | gone(): the whole message was said
//   away    | the other side's                     | the first part of a message in it
//   coming  | read by this side                    | arrived(): the whole message was read
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::gcs {

/// Those of one pair, as one side sees them.
class Cells {
public:
    // Of a request that says which cell its data is in. Other places in a pool have neither bit.
    static constexpr std::uint64_t kIsCell = 1ull << 63;
    static constexpr std::uint64_t kOfReader = 1ull << 62;  // lent by who reads it now

    enum class State : std::uint8_t { none, here, leaving, away, coming };
    struct Cell {
        std::byte* data = nullptr;
        std::uint64_t offset = 0;  // in its owner's pool
        State state = State::none;
    };

    /// `data`, at `offset` of the own pool, for the peer to read and write.
    void lend(std::byte* data, std::uint64_t offset) noexcept {
        FCI_ASSERT(!has_lent() && data != nullptr);
        cells_[kOwn] = {data, offset, State::here};
    }
    [[nodiscard]] bool has_lent() const noexcept { return cells_[kOwn].state != State::none; }
    [[nodiscard]] std::uint64_t lent_offset() const noexcept {
        FCI_ASSERT(has_lent());
        return cells_[kOwn].offset;
    }
    /// The peer is gone.
    void forget() noexcept { cells_ = {}; }

    [[nodiscard]] bool has_one() const noexcept {
        return cells_[kOwn].state == State::here || cells_[kIts].state == State::here;
    }
    /// The cell to write a message into, the one that was read last before the other. has_one().
    [[nodiscard]] Cell& take() noexcept {
        FCI_ASSERT(has_one());
        Cell& cell = cells_[cells_[last_].state == State::here ? last_ : 1 - last_];
        cell.state = State::leaving;
        return cell;
    }
    /// The whole message is in it and was said.
    static void gone(Cell& cell) noexcept {
        FCI_ASSERT(cell.state == State::leaving);
        cell.state = State::away;
    }
    /// Nothing of the message was said.
    static void keep(Cell& cell) noexcept {
        FCI_ASSERT(cell.state == State::leaving);
        cell.state = State::here;
    }
    /// What a request says of data in it.
    [[nodiscard]] std::uint64_t name(const Cell& cell) const noexcept {
        return kIsCell | cell.offset | (&cell == &cells_[kOwn] ? 0 : kOfReader);
    }

    /// The cell that a request of the peer names, if it is in that state: `away` where a message
    /// begins, then `coming`. nullptr: no message can be there. `layout`: with the peer's pool.
    [[nodiscard]] Cell* find(nhi::NetworkInterface& network, nhi::PeerId peer,
                             const Layout& layout, std::uint64_t name, State state) noexcept {
        FCI_ASSERT((name & kIsCell) != 0);
        const std::uint64_t offset = name & ~(kIsCell | kOfReader);
        Cell& cell = cells_[(name & kOfReader) != 0 ? kOwn : kIts];
        if (&cell == &cells_[kIts] && cell.state == State::none) {
            meet(cell, network, peer, layout, offset);
        }
        return cell.state == state && cell.offset == offset ? &cell : nullptr;
    }
    static void coming(Cell& cell) noexcept {
        FCI_ASSERT(cell.state == State::away);
        cell.state = State::coming;
    }
    /// All of a message was read from it.
    void arrived(Cell& cell) noexcept {
        FCI_ASSERT(cell.state == State::away || cell.state == State::coming);
        cell.state = State::here;
        last_ = &cell == &cells_[kOwn] ? kOwn : kIts;
    }

private:
    static constexpr unsigned kOwn = 0, kIts = 1;  // the lender

    static void meet(Cell& cell, nhi::NetworkInterface& network, nhi::PeerId peer,
                     const Layout& layout, std::uint64_t offset) noexcept {
        const std::uint64_t bytes = layout.cell_bytes();
        if (bytes == 0 || offset % Layout::kPieceBytes != 0 || offset >= layout.pool_bytes ||
            bytes > layout.pool_bytes - offset) {
            return;
        }
        std::byte* const data = network.map(peer, Layout::kPool + offset, bytes);
        if (data == nullptr) return;
        (void)network.provide(peer, Layout::kPool + offset, bytes);
        cell = {data, offset, State::away};
    }

    std::array<Cell, 2> cells_{};
    unsigned last_ = kOwn;
};

}  // namespace fci::gcs
