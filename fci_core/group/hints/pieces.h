// SPDX-License-Identifier: BSD-3-Clause
// Pieces: which parts of a long broadcast are here, and which of those that are not were asked for
// (bulk_member.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/hints.h"

namespace fci::group {

class Pieces {
public:
    static constexpr std::size_t kBytes = nhi::Hints::kPieceMost;

    /// None is here. May throw.
    void begin(std::size_t bytes) {
        have_.assign((bytes + kBytes - 1) / kBytes, false);
        bytes_ = bytes;
        left_ = have_.size();
        first_left_ = heard_ = heard_before_ = heard_bytes_ = looked_ = 0;
    }
    [[nodiscard]] std::size_t left() const noexcept { return left_; }
    [[nodiscard]] bool has_heard() const noexcept { return heard_ != 0; }
    /// By hints.
    [[nodiscard]] std::size_t heard_bytes() const noexcept { return heard_bytes_; }
    /// All before that byte are here.
    [[nodiscard]] std::size_t first_bytes() noexcept {
        while (first_left_ < have_.size() && have_[first_left_]) ++first_left_;
        return std::min(first_left_ * kBytes, bytes_);
    }

    /// By a message. Of pieces that are whole.
    void take(std::size_t at, std::size_t bytes) noexcept {
        FCI_ASSERT(at % kBytes == 0 && at + bytes <= bytes_);
        const std::size_t end = at + bytes == bytes_ ? have_.size() : (at + bytes) / kBytes;
        for (std::size_t piece = at / kBytes; piece < end; ++piece) take(piece);
    }
    /// By a hint. False: it is none of the pieces.
    bool hear(std::size_t at, std::size_t bytes) noexcept {
        const std::size_t piece = at / kBytes;
        if (at % kBytes != 0 || at >= bytes_) return false;
        if (bytes != std::min(kBytes, bytes_ - at)) return false;
        take(piece);
        heard_ = std::max(heard_, piece + 1);
        heard_bytes_ += bytes;
        return true;
    }

    /// Hints were looked for so often. False: not again since the last turn.
    [[nodiscard]] bool begin_turn(std::uint64_t looks) noexcept {
        return std::exchange(looks_, looks) != looks;
    }
    struct Range {
        std::size_t at, bytes;
    };
    /// A piece that has not come though later ones had come before the last turn: all that was on
    /// its way then has been read meanwhile. Each is told of once.
    [[nodiscard]] std::optional<Range> next_gap() noexcept {
        while (looked_ < heard_before_ && have_[looked_]) ++looked_;
        if (looked_ >= heard_before_) return {};
        return lacking(heard_before_ - looked_, looked_);
    }
    void end_turn() noexcept { heard_before_ = heard_; }
    /// The first that is lacking, and what of it lies together, at most so many pieces. If a hint
    /// brings any of it all the same, that is no gap.
    [[nodiscard]] Range rest(std::size_t most) noexcept {
        FCI_ASSERT(left_ != 0);
        return lacking(most, first_bytes() / kBytes);
    }

private:
    void take(std::size_t piece) noexcept {
        if (have_[piece]) return;
        have_[piece] = true;
        FCI_ASSERT(left_ != 0);
        --left_;
    }
    [[nodiscard]] Range lacking(std::size_t most, std::size_t first) noexcept {
        FCI_ASSERT(first < have_.size() && !have_[first] && most != 0);
        std::size_t end = first;
        while (end < have_.size() && end - first < most && !have_[end]) ++end;
        looked_ = std::max(looked_, end);
        return {first * kBytes, std::min(end * kBytes, bytes_) - first * kBytes};
    }

    std::vector<bool> have_{};
    std::size_t bytes_ = 0;
    std::size_t left_ = 0;          // that are lacking
    std::size_t first_left_ = 0;    // all before are here
    std::size_t heard_ = 0;         // behind the last that has come by a hint,
    std::size_t heard_bytes_ = 0;
    std::uint64_t looks_ = 0;
    std::size_t heard_before_ = 0;  // and behind that at the last turn
    std::size_t looked_ = 0;        // gaps before this piece were told of
};

}  // namespace fci::group
