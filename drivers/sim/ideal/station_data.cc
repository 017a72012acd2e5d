// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sim/ideal/station_data.h"

#include <algorithm>
#include <cstring>

#include "drivers/sim/ideal/station.h"
#include "fci_core/base/assert.h"

namespace fci::sim {

namespace {

void keep(World::Action& action) {
    action.payload = std::make_shared<std::vector<std::byte>>(action.borrowed,
                                                              action.borrowed + action.bytes);
    action.borrowed = nullptr;
}

}  // namespace

Status StationData::send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                         std::uint32_t events) noexcept {
    Station& own = station_;
    World& world = own.world;
    if (!own.link(id).direct) return Status::unsupported;
    if (const Status answer = own.check(nhi::Transfer(id)); answer != Status::ok) return answer;
    if (!has_taken(id) || world.prng_.chance(world.options_.again_percent)) return Status::again;
    World::Action action{.kind = World::Action::Kind::data, .from = own.number};
    action.to = own.peers[id]->process;
    action.address = data.name;
    action.offset = data.offset;
    action.bytes = data.bytes;
    action.borrowed = from;
    action.events = events;
    world.schedule(world.pair_time(own.number, action.to, world.draw_delay()), action);
    world.pass(own.number, Call::transfer);
    return Status::ok;
}

bool StationData::has_taken(nhi::PeerId id) const noexcept {
    const bool is_attached = id < station_.peers.size() &&
                             station_.peers[id]->state == Station::Peer::State::attached;
    return is_attached && std::ranges::none_of(station_.world.actions_, [&](const auto& action) {
        return action.borrowed != nullptr && action.from == station_.number &&
               action.to == station_.peers[id]->process;
    });
}

void StationData::give_back(nhi::PeerId id) noexcept {
    FCI_ASSERT(id < station_.peers.size());
    if (!station_.peers[id]->joined) return;
    for (World::Action& action : station_.world.actions_) {
        const bool is_for = action.from == station_.number &&
                            action.to == station_.peers[id]->process;
        if (is_for && action.borrowed != nullptr) keep(action);
    }
}

void StationData::give_all_back() noexcept {
    for (World::Action& action : station_.world.actions_) {
        if (action.from == station_.number && action.borrowed != nullptr) keep(action);
    }
}

bool StationData::holds_back(const World::Action& action) const noexcept {
    using Kind = World::Action::Kind;
    const bool is_of_pair = action.kind == Kind::write || action.kind == Kind::data ||
                            action.kind == Kind::raise || action.kind == Kind::notice_lost;
    if (!is_of_pair || action.from == action.to || !station_.alive || target_ == nullptr) {
        return false;
    }
    const nhi::PeerId from = station_.id_of_process[action.from];
    const nhi::Data data{action.address, action.offset, action.bytes};
    if (action.kind == Kind::data && target_->is_early(from, data)) return true;
    return std::ranges::any_of(station_.world.actions_, [&](const World::Action& before) {
        const bool is_held = before.kind == Kind::data || before.has_waited;
        return is_held && before.from == action.from && before.to == action.to &&
               before.order < action.order;
    });
}

bool StationData::apply(const World::Action& action) noexcept {
    if (!station_.alive || target_ == nullptr) return false;
    FCI_ASSERT(action.from < station_.id_of_process.size());
    const nhi::PeerId from = station_.id_of_process[action.from];
    const nhi::Data data{action.address, action.offset, action.bytes};
    std::byte* const where = target_->locate(from, data);
    if (where == nullptr) return false;
    std::memcpy(where, action.payload ? action.payload->data() : action.borrowed, action.bytes);
    const bool belongs = target_->arrived(from, data);
    FCI_ASSERT(belongs);
    station_.raise(action.events);
    return true;
}

}  // namespace fci::sim
