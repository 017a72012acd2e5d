#include "drivers/sim/ideal/station_hints.h"

#include <algorithm>
#include <cstring>

#include "drivers/sim/ideal/station.h"
#include "fci_core/base/assert.h"

namespace fci::sim {

Status StationHints::hint(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept {
    World& world = station_.world;
    const bool fits = hint.offset <= hint.total && bytes.size() <= hint.total - hint.offset;
    if (!fits || bytes.size() > kMost) return Status::invalid;
    if (world.prng_.chance(world.options_.again_percent)) return Status::again;
    World::Action piece{.kind = World::Action::Kind::hint, .from = station_.number};
    piece.hint = hint;
    std::size_t done = 0;
    do {
        const std::span<const std::byte> some =
            bytes.subspan(done, std::min(bytes.size() - done, kPieceMost));
        piece.payload = std::make_shared<std::vector<std::byte>>(some.begin(), some.end());
        piece.hint.offset = hint.offset + static_cast<std::uint32_t>(done);
        send(piece);
        done += some.size();
    } while (done != bytes.size());
    world.pass(station_.number, Call::transfer);
    return Status::ok;
}

/// To all other hosts, as far as it gets there.
void StationHints::send(World::Action piece) noexcept {
    World& world = station_.world;
    const HintOptions& options = world.options_.hints;
    FCI_ASSERT(piece.payload->size() <= piece.hint.total - piece.hint.offset);
    for (const auto& other : world.stations_) {
        if (world.share_host(station_.number, other->number)) continue;
        piece.to = other->number;
        ++world.statistics_.hints;
        if (world.prng_.chance(options.lost_percent)) {
            ++world.statistics_.hints_lost;
            continue;
        }
        const unsigned times = world.prng_.chance(options.twice_percent) ? 2 : 1;
        for (unsigned i = 0; i < times; ++i) {
            Nanoseconds delay = world.draw_delay();
            if (world.prng_.chance(options.late_percent)) {
                delay += static_cast<Nanoseconds>(
                    world.prng_.below(static_cast<std::uint64_t>(options.late_max) + 1));
            }
            world.schedule(world.now_ + delay, piece);
        }
    }
}

bool StationHints::is_deaf() const noexcept {
    const HintOptions& options = station_.world.options_.hints;
    return station_.number < 64 && (options.deaf >> station_.number & 1) != 0 &&
           station_.world.now_ >= options.deaf_from;
}

bool StationHints::arrive(const World::Action& action) {
    const Station& from = *station_.world.stations_[action.from];
    FCI_ASSERT(action.payload != nullptr && action.payload->size() <= kPieceMost);
    const bool is_heard = station_.alive && !is_deaf() && here_.size() < kRoom &&
                          from.settings.job == station_.settings.job;
    if (is_heard) here_.push_back({action.hint, action.payload});
    return is_heard;
}

unsigned StationHints::take() noexcept {
    ++looks_;
    unsigned taken = 0;
    for (; !here_.empty(); ++taken) {
        const Piece piece = std::move(here_.front());
        here_.pop_front();
        const std::size_t bytes = piece.bytes->size();
        const nhi::IndexTable::Place place = table_.find(piece.hint, bytes);
        if (place.listener == nullptr) continue;
        if (bytes != 0) std::memcpy(place.at, piece.bytes->data(), bytes);
        nhi::Hint told = piece.hint;
        told.number = place.number;
        place.listener->arrived(told, bytes);
    }
    return taken;
}

}  // namespace fci::sim
