// SPDX-License-Identifier: BSD-3-Clause
// StationHints: hints of a simulated process to those of other hosts. Each piece reaches each of
// them by itself: it is lost, doubled or late, and overtakes others. A piece that has come waits
// until the process polls, as in the buffer of a socket; it is dropped when that is full, or when
// its sender has another key than this process, or is not where the group has it.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/nhi/index_table.h"

namespace fci::sim {

class StationHints final : public nhi::Hints {
public:
    explicit StationHints(Station& station) noexcept : station_(station) {}

    [[nodiscard]] std::size_t window() noexcept override;
    Status draw(nhi::HintGroup* group) noexcept override;
    Status join(const nhi::HintMember& member, nhi::HintListener& listener) noexcept override;
    void leave(std::uint64_t name) noexcept override {
        table_.leave(name);
        joined_.erase(name);
    }
    Status expect(std::uint64_t name, std::uint64_t number,
                  std::span<std::byte> to) noexcept override {
        return table_.expect(name, number, to);
    }
    void withdraw(std::uint64_t name, std::uint64_t number) noexcept override {
        table_.withdraw(name, number);
    }
    [[nodiscard]] std::uint64_t looks() const noexcept override { return looks_; }
    [[nodiscard]] std::uint64_t heard(std::uint64_t name) const noexcept override {
        const auto found = joined_.find(name);
        return found == joined_.end() ? 0 : found->second.latest;
    }
    Status hint(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept override;

    /// False: there is no room, and it is lost.
    [[nodiscard]] bool arrive(const World::Action& action);
    /// Puts what has come where it belongs, and tells of it; how much that was.
    unsigned take() noexcept;

private:
    using Key = decltype(nhi::HintGroup::key);

    struct Piece {
        nhi::Hint hint;
        Key key;
        std::shared_ptr<std::vector<std::byte>> bytes;
        std::uint32_t source;
    };
    struct Joined {
        Key key;
        std::uint16_t rank;
        std::vector<std::uint32_t> hosts;  // by rank
        std::uint64_t latest = 0;  // number that was heard
    };
    void send(World::Action piece) noexcept;
    [[nodiscard]] const HintOptions& options() const noexcept;
    /// Of the options.
    [[nodiscard]] bool has_bit(std::uint64_t processes) const noexcept;
    [[nodiscard]] bool is_deaf() const noexcept;

    Station& station_;
    nhi::IndexTable table_;
    std::unordered_map<std::uint64_t, Joined> joined_;  // by name
    std::deque<Piece> here_;
    std::uint64_t looks_ = 0, drawn_ = 0;
};

}  // namespace fci::sim
