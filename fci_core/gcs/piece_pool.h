// SPDX-License-Identifier: BSD-3-Clause
// The pool of pieces (§2.6.4): memory of a sender through which its long messages travel, to all of
// its peers. It does not grow with them, and a message finds a span there that no pair could have
// for itself.
//
//   part     | written by                 | read by
//   pieces   | the owner (PiecePool)      | the peer that was told of one, until it gave it back
//   returned | the peer (PiecesIn), grows | the owner (PiecesOut); in the request block
//
// Pieces go round through the pool. One that a peer still holds is passed over, so a slow peer
// stops no other. Half of the pool is for the peers that come first; of the other half each peer
// has its part, however many the others hold. All pieces come back from a peer that is lost.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/status.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::gcs {

/// The pieces of the own pool that one peer holds.
class PiecesOut {
public:
    /// `mapped`: the peer can read the pool.
    void attach(std::span<const std::byte> own_block, bool mapped) noexcept {
        FCI_ASSERT(word_ == nullptr && sent_ == 0);  // once in its life
        if (!mapped) return;
        FCI_ASSERT(own_block.size() >= kLineBytes);
        word_ = reinterpret_cast<const std::uint64_t*>(
            own_block.data() + static_cast<std::uint64_t>(Layout::returned()));
    }
    [[nodiscard]] std::uint64_t held() const noexcept { return sent_ - returned_; }
    /// As far as known. Numbers count from 1.
    [[nodiscard]] bool has_returned(std::uint64_t number) const noexcept {
        return number <= returned_;
    }

private:
    friend class PiecePool;
    /// How many have come back since the last look.
    std::uint64_t look() noexcept {
        // If the peer's word is wrong, only the peer finds other data in its pieces, or gets no
        // more.
        FCI_ASSERT(word_ != nullptr && returned_ <= sent_);
        const std::uint64_t now = flag::load_acquire(*word_);
        if (now <= returned_ || now > sent_) return 0;
        return now - std::exchange(returned_, now);
    }

    const std::uint64_t* word_ = nullptr;
    std::uint64_t sent_ = 0, returned_ = 0;
};

class PiecePool {
public:
    // These come at once, as new memory is slow; the rest of the span (Layout::pool_span) when they
    // have been gone round.
    static constexpr std::uint64_t kFirst = 64;

    /// `memory`: of the device. Nothing of it is asked for before the first piece is.
    void open(nhi::NetworkInterface& network, const Layout& layout, std::span<std::byte> memory) {
        if (layout.pool_bytes == 0 || memory.size() < layout.pool_bytes) return;
        FCI_ASSERT(holders_.empty() && layout.is_sound());
        memory = memory.first(layout.pool_bytes);
        holders_.resize(memory.size() / Layout::kPieceBytes);
        if (network.open_window(Layout::kPoolWindow, Layout::kPool, memory) != Status::ok) return;
        data_ = memory.data();
        pieces_ = holders_.size();
        share_ = layout.pool_share();
        span_ = layout.pool_span();
        FCI_ASSERT(share_ != 0 && share_ <= pieces_ && span_ <= pieces_);
    }

    /// There is a pool, and the peer can read it.
    [[nodiscard]] bool serves(const PiecesOut& peer) const noexcept {
        return pieces_ != 0 && peer.word_ != nullptr;
    }
    /// The peer, which it serves, one of `peers`, may be given what next() finds.
    [[nodiscard]] bool may_give(PiecesOut& peer, std::uint64_t peers) noexcept {
        FCI_ASSERT(serves(peer));
        if (within_limits(peer, peers)) [[likely]] return true;
        look(peer);
        // Pieces that others have given back are seen only when they are looked for.
        for (unsigned looks = 0; looks < kLooks && peer.held() < share_; ++looks) {
            if (++surveyed_ >= there_) surveyed_ = 0;
            (void)is_free(holders_[surveyed_]);
        }
        return within_limits(peer, peers);
    }

    struct Piece {
        std::byte* data;  // nullptr: none is free
        std::uint64_t offset, bytes;
    };
    /// A free piece, or as many side by side as `wanted` needs. It stays the next one until it is
    /// given to a peer.
    [[nodiscard]] Piece next(nhi::NetworkInterface& network, std::uint64_t wanted) noexcept {
        for (std::uint64_t looks = 0; looks < there_; ++looks) {
            if (at_ == there_ && !(there_ < span_ && grow(network))) at_ = 0;
            if (is_free(holders_[at_])) return here(wanted);
            ++at_;
        }
        // All is held: now more of the pool is worth its memory.
        at_ = there_;
        FCI_ASSERT(there_ <= pieces_);
        return grow(network) ? here(wanted) : Piece{nullptr, 0, 0};
    }
    /// The peer was told of `bytes` in what next() gave; it must outlive the pool.
    void give(PiecesOut& peer, std::uint64_t bytes) noexcept {
        for (std::uint64_t left = Layout::pieces_of(bytes); left != 0; --left) {
            FCI_ASSERT(at_ < there_ && known_free(holders_[at_]));
            holders_[at_++] = {&peer, ++peer.sent_};
            ++held_;
        }
        FCI_ASSERT(held_ <= pieces_ && peer.held() <= held_);
    }
    /// The peer is gone.
    void take_back(PiecesOut& peer) noexcept {
        FCI_ASSERT(peer.held() <= held_);
        held_ -= peer.held();
        peer.returned_ = peer.sent_;
    }

    /// Takes so many from its end, for another use (cell_lender.h): *offset is where they lie. Half
    /// of it stays. False: there are not so many.
    [[nodiscard]] bool cut(std::uint64_t count, std::uint64_t* offset) noexcept {
        const std::uint64_t stays = std::max(there_, (holders_.size() + 1) / 2);
        if (pieces_ < stays + count) return false;
        pieces_ -= count;
        span_ = std::min(span_, pieces_);
        *offset = pieces_ * Layout::kPieceBytes;
        return true;
    }
    [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept { return data_ + offset; }

    [[nodiscard]] std::size_t memory() const noexcept {
        return holders_.capacity() * sizeof(Holder);
    }

private:
    static constexpr unsigned kLooks = 16;

    struct Holder {
        PiecesOut* peer = nullptr;
        std::uint64_t number = 0;
    };

    [[nodiscard]] bool within_limits(const PiecesOut& peer, std::uint64_t peers) const noexcept {
        const std::uint64_t held = peer.held();
        if (held >= share_) return false;
        return pieces_ - held_ > pieces_ / 2 ||
               held < std::max<std::uint64_t>(pieces_ / 2 / std::max<std::uint64_t>(peers, 1), 1);
    }
    void look(PiecesOut& peer) noexcept {
        const std::uint64_t back = peer.look();
        FCI_ASSERT(back <= held_);
        held_ -= back;
    }
    [[nodiscard]] static bool known_free(const Holder& holder) noexcept {
        return holder.peer == nullptr || holder.peer->has_returned(holder.number);
    }
    bool is_free(const Holder& holder) noexcept {
        if (known_free(holder)) return true;
        look(*holder.peer);
        return holder.peer->has_returned(holder.number);
    }
    [[nodiscard]] Piece here(std::uint64_t wanted) noexcept {
        FCI_ASSERT(at_ < there_);
        const std::uint64_t most = std::min(Layout::kPiecesOfRequest, there_ - at_);
        std::uint64_t count = 1;
        while (count < most && count * Layout::kPieceBytes < wanted &&
               is_free(holders_[at_ + count])) {
            ++count;
        }
        const std::uint64_t offset = at_ * Layout::kPieceBytes;
        return {data_ + offset, offset, std::min(wanted, count * Layout::kPieceBytes)};
    }
    /// By doubling, as far as it is needed.
    bool grow(nhi::NetworkInterface& network) noexcept {
        if (there_ == pieces_) return false;
        const std::uint64_t more = std::min(std::max(there_, kFirst), pieces_ - there_);
        FCI_ASSERT(more != 0 && there_ + more <= holders_.size());
        if (network.provide(nhi::kSelf, Layout::kPool + there_ * Layout::kPieceBytes,
                            more * Layout::kPieceBytes) != Status::ok) {
            span_ = there_;
            return false;
        }
        there_ += more;
        return true;
    }

    std::byte* data_ = nullptr;
    std::uint64_t pieces_ = 0;
    std::uint64_t there_ = 0;  // of them, with memory
    std::uint64_t at_ = 0;     // where the next one is looked for
    std::uint64_t held_ = 0;   // as far as known
    std::uint64_t share_ = 0;  // that one peer may hold
    std::uint64_t span_ = 0;   // of them, to go round in
    std::uint64_t surveyed_ = 0;  // where was looked last for what came back
    std::vector<Holder> holders_;
};

/// This process's view of a peer's pool.
class PiecesIn {
public:
    /// Where the data is that the peer says it has in its pool; nullptr: there is no such place. It
    /// can be read until give_back().
    [[nodiscard]] const std::byte* at(nhi::NetworkInterface& network, nhi::PeerId peer,
                                      const Layout& layout, std::uint64_t offset,
                                      std::uint64_t bytes) noexcept {
        if (bytes > Layout::kPiecesOfRequest * Layout::kPieceBytes ||
            offset % Layout::kPieceBytes != 0 || offset >= layout.pool_bytes ||
            bytes > layout.pool_bytes - offset) {
            return nullptr;
        }
        if (pool_ == nullptr) {
            word_ = reinterpret_cast<std::uint64_t*>(
                network.map(peer, Layout::returned(), sizeof *word_));
            if (word_ == nullptr) return nullptr;
            pool_ = network.map(peer, Layout::kPool, layout.pool_bytes);
            if (pool_ == nullptr) return nullptr;
        }
        const std::uint64_t last = offset + std::max<std::uint64_t>(bytes, 1) - 1;
        if (last >= seen_bytes_) see(network, peer, layout, last);
        return pool_ + offset;
    }
    /// It was read. The peer is told now and then, by tell() at the latest: each time, the word's
    /// line moves between two cores.
    void give_back(const Layout& layout, std::uint64_t bytes) noexcept {
        FCI_ASSERT(pool_ != nullptr);  // at() gave it
        returned_ += Layout::pieces_of(bytes);
        if (returned_ - told_ >= (layout.pool_share() + 3) / 4) tell();
    }
    /// Of the pool, as far as its memory was used by this process.
    [[nodiscard]] std::uint64_t seen_bytes() const noexcept { return seen_bytes_; }
    [[nodiscard]] bool owes() const noexcept { return returned_ != told_; }
    void tell() noexcept {
        FCI_ASSERT(word_ != nullptr && told_ <= returned_);
        told_ = returned_;
        flag::store_release(*word_, returned_);
    }

private:
    /// As the owner, this side makes what is new ready to be used at once and not page by page.
    void see(nhi::NetworkInterface& network, nhi::PeerId peer, const Layout& layout,
             std::uint64_t offset) noexcept {
        constexpr std::uint64_t kFirst = PiecePool::kFirst * Layout::kPieceBytes;
        const std::uint64_t end =
            std::min(std::max(std::bit_ceil(offset + 1), kFirst), layout.pool_bytes);
        FCI_ASSERT(offset < end && seen_bytes_ < end);
        (void)network.provide(peer, Layout::kPool + seen_bytes_, end - seen_bytes_);
        seen_bytes_ = end;
    }

    const std::byte* pool_ = nullptr;
    std::uint64_t seen_bytes_ = 0;
    std::uint64_t* word_ = nullptr;
    std::uint64_t returned_ = 0, told_ = 0;
};

}  // namespace fci::gcs
