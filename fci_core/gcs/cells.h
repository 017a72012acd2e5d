// SPDX-License-Identifier: BSD-3-Clause
// Cells: memory that travels between two processes. The process that has just read a message from a
// cell writes the next one into it, where it lies in that core's cache: in a place that the other
// core wrote last, each line would have to be fetched twice, once to be written and once to be
// read.
//  The message is the token: the side that received last through a cell may write it next, and no
// side waits for one; without a cell a message goes as it would without cells. Each side lends the
// other at most one of each size, out of its own pool, so that two messages may cross. Small cells
// are for messages just too long for a line: a few lines, which stay in the first cache of both.
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
    // Bits of the word in a request that names the cell of its data. Other places in a pool have
    // none of them.
    static constexpr std::uint64_t kIsCell = 1ull << 63;
    static constexpr std::uint64_t kOfReader = 1ull << 62;  // lent by the process that reads it now
    static constexpr std::uint64_t kIsSmall = 1ull << 61;

    enum class State : std::uint8_t { none, here, leaving, away, coming };
    struct Cell {
        std::byte* data = nullptr;
        std::uint64_t name = 0;  // of it in this side's requests; 0: unknown
        State state = State::none;
    };

    /// Messages up to so many bytes go through those of this size; 0: there are none.
    void open(CellSize size, std::uint64_t most) noexcept {
        of(size).most = static_cast<std::uint32_t>(most);
    }
    /// The peer is gone.
    void forget() noexcept { sizes_ = {}; }

    [[nodiscard]] static CellSize size_for(std::uint64_t bytes) noexcept {
        return bytes <= Layout::kSmallCellBytes ? CellSize::small : CellSize::large;
    }
    /// This side could lend the peer one for such messages, and has not.
    [[nodiscard]] bool may_lend(std::uint64_t bytes) const noexcept {
        const OfSize& its = sizes_[static_cast<unsigned>(size_for(bytes))];
        return bytes <= its.most && !its.is_short && its.cells[kOwn].state == State::none;
    }
    /// There is no memory to lend one of this size, and will be none.
    void run_short(CellSize size) noexcept { of(size).is_short = true; }
    /// `data`, at `offset` of the own pool, for the peer to read and write.
    void lend(CellSize size, std::byte* data, std::uint64_t offset) noexcept {
        FCI_ASSERT(of(size).cells[kOwn].state == State::none && data != nullptr);
        const std::uint64_t mark = size == CellSize::small ? kIsSmall : 0;
        of(size).cells[kOwn] = {data, kIsCell | mark | offset, State::here};
    }
    /// Size and offset of each that was lent.
    template <class Each>
    void each_lent(Each each) {
        for (const CellSize size : {CellSize::small, CellSize::large}) {
            const Cell& cell = of(size).cells[kOwn];
            if (cell.state != State::none) each(size, cell.name & ~kMarks);
        }
    }

    /// The cell to write a message of so many bytes into, of two the one that was read last;
    /// nullptr: none is here.
    [[nodiscard]] Cell* take(std::uint64_t bytes) noexcept {
        OfSize& those = of(size_for(bytes));
        if (bytes > those.most) return nullptr;
        Cell* cell = &those.cells[those.last];
        if (cell->state != State::here) cell = &those.cells[1 - those.last];
        if (cell->state != State::here) return nullptr;
        cell->state = State::leaving;
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

    /// The cell that a request of the peer names, if a message of so many bytes can be there in
    /// that state: `away` where it begins, then `coming`. nullptr: this side knows of none.
    [[nodiscard]] Cell* find(std::uint64_t name, std::uint64_t bytes, State state) noexcept {
        OfSize& those = of(size_in(name));
        Cell& cell = those.cells[(name & kOfReader) != 0 ? kOwn : kIts];
        const bool is_there = cell.name == (name ^ kOfReader) && cell.state == state;
        return is_there && bytes <= those.most ? &cell : nullptr;
    }
    /// The first message through a cell that the peer lends: from now on it is found by this name,
    /// if a cell can be there. `layout`: with the peer's pool.
    void meet(nhi::NetworkInterface& network, nhi::PeerId peer, const Layout& layout,
              std::uint64_t name) noexcept {
        const CellSize size = size_in(name);
        Cell& cell = of(size).cells[kIts];
        const std::uint64_t offset = name & ~kMarks, bytes = layout.cell_bytes(size);
        if ((name & kOfReader) != 0 || cell.state != State::none || bytes == 0 ||
            offset % Layout::cell_alignment(size) != 0 || offset >= layout.pool_bytes ||
            bytes > layout.pool_bytes - offset) {
            return;
        }
        std::byte* const data = network.map(peer, Layout::kPool + offset, bytes);
        if (data == nullptr) return;
        (void)network.provide(peer, Layout::kPool + offset, bytes);
        cell = {data, name | kOfReader, State::away};
    }
    static void coming(Cell& cell) noexcept {
        FCI_ASSERT(cell.state == State::away);
        cell.state = State::coming;
    }
    /// All of a message was read from it.
    void arrived(Cell& cell) noexcept {
        FCI_ASSERT(cell.state == State::away || cell.state == State::coming);
        cell.state = State::here;
        of(size_in(cell.name)).last = (cell.name & kOfReader) != 0 ? kIts : kOwn;
    }

private:
    enum Lender : std::uint8_t { kOwn, kIts };
    static constexpr std::uint64_t kMarks = kIsCell | kOfReader | kIsSmall;

    struct OfSize {
        std::array<Cell, 2> cells{};  // by the lender
        std::uint32_t most = 0;       // bytes of a message
        Lender last = kOwn;           // of the one that was read last
        bool is_short = false;        // of memory for one more
    };
    [[nodiscard]] static CellSize size_in(std::uint64_t name) noexcept {
        return (name & kIsSmall) != 0 ? CellSize::small : CellSize::large;
    }
    [[nodiscard]] OfSize& of(CellSize size) noexcept {
        return sizes_[static_cast<unsigned>(size)];
    }

    std::array<OfSize, 2> sizes_{};
};

}  // namespace fci::gcs
