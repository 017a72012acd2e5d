// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sim/ideal/station_hints.h"

#include <algorithm>
#include <cstring>

#include "drivers/sim/ideal/station.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/prng.h"

namespace fci::sim {

const HintOptions& StationHints::options() const noexcept { return station_.world.options_.hints; }

bool StationHints::has_bit(std::uint64_t processes) const noexcept {
    return station_.number < 64 && (processes >> station_.number & 1) != 0;
}

std::size_t StationHints::window() noexcept {
    FCI_ASSERT(options().room >= 2);
    return options().room / 2 * kPieceMost;
}

/// Draws a group that no other process of this world draws, and the same in each run.
Status StationHints::draw(nhi::HintGroup* group) noexcept {
    if (has_bit(options().without)) return Status::unsupported;
    Prng prng(std::uint64_t{station_.number} << 32 | ++drawn_);
    group->name = prng.next() | 1;
    for (std::byte& byte : group->key) byte = static_cast<std::byte>(prng.next());
    return Status::ok;
}

Status StationHints::join(const nhi::HintMember& member, nhi::HintListener& listener) noexcept {
    if (has_bit(options().unheard)) return Status::unsupported;
    const Joined joined{
        member.group.key, member.rank, {member.hosts.begin(), member.hosts.end()}, 0};
    const Status status = table_.join(member.group.name, listener);
    if (status == Status::ok) joined_.emplace(member.group.name, joined);
    return status;
}

Status StationHints::hint(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept {
    World& world = station_.world;
    const bool fits = hint.offset <= hint.total && bytes.size() <= hint.total - hint.offset;
    if (!fits || bytes.size() > kMost) return Status::invalid;
    const auto joined = joined_.find(hint.name);
    if (joined == joined_.end()) return Status::not_found;
    if (world.prng_.chance(world.options_.again_percent)) return Status::again;
    World::Action piece{.kind = World::Action::Kind::hint, .from = station_.number};
    piece.hint = hint;
    piece.hint.rank = joined->second.rank;
    piece.key = joined->second.key;
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
    FCI_ASSERT(piece.payload->size() <= piece.hint.total - piece.hint.offset);
    for (const auto& other : world.stations_) {
        if (world.share_host(station_.number, other->number)) continue;
        piece.to = other->number;
        ++world.statistics_.hints;
        if (world.prng_.chance(options().lost_percent)) {
            ++world.statistics_.hints_lost;
            continue;
        }
        const unsigned times = world.prng_.chance(options().twice_percent) ? 2 : 1;
        for (unsigned i = 0; i < times; ++i) {
            Nanoseconds delay = world.draw_delay();
            if (world.prng_.chance(options().late_percent)) {
                delay += static_cast<Nanoseconds>(
                    world.prng_.below(static_cast<std::uint64_t>(options().late_max) + 1));
            }
            world.schedule(world.now_ + delay, piece);
        }
    }
}

bool StationHints::is_deaf() const noexcept {
    const Nanoseconds now = station_.world.now_;
    return has_bit(options().deaf) && now >= options().deaf_from && now < options().deaf_until;
}

bool StationHints::arrive(const World::Action& action) {
    const Station& from = *station_.world.stations_[action.from];
    FCI_ASSERT(action.payload != nullptr && action.payload->size() <= kPieceMost);
    const bool is_heard = station_.alive && !is_deaf() && here_.size() < options().room &&
                          from.settings.job == station_.settings.job;
    if (is_heard) {
        here_.push_back({action.hint, action.key, action.payload, from.card.host});
    }
    return is_heard;
}

unsigned StationHints::take() noexcept {
    ++looks_;
    unsigned taken = 0;
    for (; !here_.empty(); ++taken) {
        const Piece piece = std::move(here_.front());
        here_.pop_front();
        const std::size_t bytes = piece.bytes->size();
        const auto joined = joined_.find(piece.hint.name);
        if (joined == joined_.end() || joined->second.key != piece.key) continue;
        const std::vector<std::uint32_t>& hosts = joined->second.hosts;
        if (piece.hint.rank >= hosts.size() || hosts[piece.hint.rank] != piece.source) continue;
        joined->second.latest = std::max(joined->second.latest, piece.hint.number);
        const nhi::IndexTable::Place place = table_.find(piece.hint, bytes);
        if (place.listener == nullptr) continue;
        if (bytes != 0) std::memcpy(place.at, piece.bytes->data(), bytes);
        place.listener->arrived(piece.hint, bytes);
    }
    return taken;
}

}  // namespace fci::sim
