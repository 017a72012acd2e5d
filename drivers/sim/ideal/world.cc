// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sim/ideal/world.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>

#include "drivers/sim/ideal/station.h"
#include "fci_core/base/assert.h"
#include "fci_core/ddi/agreement.h"

namespace fci::sim {

namespace {

constexpr Nanoseconds kTurn = 20;  // the time of a poll

/// Into the heap.
void put(std::vector<World::Action>& actions, World::Action action) {
    actions.push_back(std::move(action));
    std::push_heap(actions.begin(), actions.end(),
                   [](const auto& a, const auto& b) { return a.later_than(b); });
}

/// The device that a program holds: the process leaves the world when it is let go.
class StationDevice final : public ddi::Device {
public:
    StationDevice(Station& station, void (*leave)(Station&)) : station_(station), leave_(leave) {}
    ~StationDevice() override { leave_(station_); }

    const ddi::Card& card() const noexcept override { return station_.card; }
    nhi::NetworkInterface& network() noexcept override { return station_; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override {
        *id = station_.add(card);
        return Status::ok;
    }
    Status connect(nhi::PeerId id) override { return station_.connect(id); }
    const ddi::Card* card_of(nhi::PeerId id) const noexcept override {
        return id < station_.peers.size() ? &station_.peers[id]->card : nullptr;
    }
    nhi::PeerId peers() const noexcept override {
        return static_cast<nhi::PeerId>(station_.peers.size());
    }
    std::uint64_t sizes(nhi::PeerId id) const noexcept override {
        const Station* const there = station_.at(id);
        return there != nullptr ? there->settings.sizes : 0;
    }
    std::span<std::byte> block(nhi::PeerId id) noexcept override {
        if (id >= station_.peers.size()) return {};
        const Station::Peer& peer = *station_.peers[id];
        const bool there = peer.joined && (peer.state == Station::Peer::State::attached ||
                                           peer.state == Station::Peer::State::lost);
        return there ? peer.block.span() : std::span<std::byte>{};
    }
    std::span<std::byte> communication_memory() noexcept override {
        return station_.communication;
    }
    void sleep(Nanoseconds timeout) noexcept override { station_.sleep(timeout); }
    int wait_fd() const noexcept override { return -1; }
    Nanoseconds now() const noexcept override { return station_.now(); }
    std::string describe(nhi::PeerId id) const override {
        if (id >= station_.peers.size()) return "no known process";
        const ddi::Card& card = station_.peers[id]->card;
        char host[INET_ADDRSTRLEN] = "?";
        inet_ntop(AF_INET, &card.host, host, sizeof host);
        return "simulated process at " + std::string(host) + ":" + std::to_string(ntohs(card.port));
    }
    void set_listener(ddi::PeerListener* listener) noexcept override {
        station_.listener = listener;
    }

private:
    Station& station_;
    void (*leave_)(Station&);
};

}  // namespace

World::World(const WorldOptions& options) : options_(options), prng_(options.seed) {}
World::~World() = default;

std::unique_ptr<ddi::Device> World::open(const ddi::Settings& settings, std::string* reason) {
    const auto number = static_cast<unsigned>(stations_.size());
    ddi::Card card;
    card.host = settings.wanted.host != 0 ? settings.wanted.host : htonl(INADDR_LOOPBACK);
    card.incarnation = prng_.next() | 1;
    if (settings.incarnation != 0) card.incarnation = settings.incarnation;
    for (unsigned port = number + 1; card.port == 0; ++port) {
        card.port = settings.wanted.port != 0 ? settings.wanted.port
                                              : htons(static_cast<std::uint16_t>(port));
        ddi::Card place = card;
        place.incarnation = 0;
        const Station* const there = at(place);
        if (there == nullptr) break;
        if (settings.wanted.port != 0) {
            if (reason != nullptr) *reason = there->describe() + " has this port already";
            return nullptr;
        }
        card.port = 0;
    }
    FCI_ASSERT(card.port != 0 && at(card) == nullptr);
    stations_.push_back(std::make_unique<Station>(*this, number, card, settings));
    FCI_ASSERT(stations_.size() == number + 1);
    Prng refusal(options_.seed ^ card.incarnation);
    for (unsigned& left : stations_.back()->copies_left) {
        if (!refusal.chance(options_.refused_percent)) continue;
        left = static_cast<unsigned>(refusal.below(30));
    }
    return std::make_unique<StationDevice>(*stations_.back(), [](Station& station) {
        station.listener = nullptr;
        station.world.depart(station, Status::not_found, "has closed");
    });
}

Station* World::at(const ddi::Card& card) noexcept {
    for (const auto& station : stations_) {
        if (station->alive && station->card.names(card)) return station.get();
    }
    return nullptr;
}

// --- time ---

void World::schedule(Nanoseconds time, Action action) noexcept {
    FCI_ASSERT(action.from < stations_.size() && action.to < stations_.size());
    action.time = time;
    action.order = ++issued_;
    put(actions_, std::move(action));
}

bool World::step() noexcept {
    if (actions_.empty()) return false;
    std::pop_heap(actions_.begin(), actions_.end(),
                  [](const Action& a, const Action& b) { return a.later_than(b); });
    Action action = std::move(actions_.back());
    actions_.pop_back();
    FCI_ASSERT(actions_.empty() || !action.later_than(actions_.front()));  // the earliest first
    now_ = std::max(now_, action.time);
    if (stations_[action.to]->its_data.holds_back(action)) {
        action.time = now_ + kTurn;
        action.has_waited = true;
        put(actions_, std::move(action));
    } else {
        apply(action);
    }
    return true;
}

void World::run_until(Nanoseconds when) noexcept {
    while (!actions_.empty() && actions_.front().time <= when) step();
    now_ = std::max(now_, when);
}

/// A device polls. When everybody looked twice and nothing came, waiting longer teaches nothing:
/// time jumps to the next action.
void World::turn(Nanoseconds now) noexcept {
    const std::uint64_t before = digest_;
    run_until(std::max(now, now_ + kTurn));
    if (digest_ != before) {
        quiet_turns_ = 0;
    } else if (++quiet_turns_ > 2 * stations_.size()) {
        quiet_turns_ = 0;
        step();
    }
}

bool World::is_idle(unsigned process) const noexcept {
    return std::none_of(actions_.begin(), actions_.end(), [&](const Action& action) {
        return action.from == process && action.kind != Action::Kind::hint;
    });
}

bool World::is_woken(unsigned process) const noexcept {
    FCI_ASSERT(process < stations_.size());
    return stations_[process]->is_woken();
}

bool World::will_be_woken(unsigned process) const noexcept {
    return std::any_of(actions_.begin(), actions_.end(), [&](const Action& action) {
        return action.to == process && action.kind != Action::Kind::write &&
               (action.kind != Action::Kind::data || action.events != 0);
    });
}

Nanoseconds World::draw_delay() noexcept {
    if (prng_.chance(options_.long_delay_percent)) {
        return static_cast<Nanoseconds>(
            prng_.between(static_cast<std::uint64_t>(options_.delay_max),
                          static_cast<std::uint64_t>(options_.long_delay_max)));
    }
    return static_cast<Nanoseconds>(prng_.between(static_cast<std::uint64_t>(options_.delay_min),
                                                  static_cast<std::uint64_t>(options_.delay_max)));
}

Nanoseconds World::pair_time(unsigned from, unsigned to, Nanoseconds delay) noexcept {
    FCI_ASSERT(from < stations_.size() && to < stations_.size() && delay >= 0);
    auto& last_to = stations_[from]->last_to;
    if (last_to.size() <= to) last_to.resize(stations_.size(), 0);
    return last_to[to] = std::max(last_to[to], now_ + delay);
}

// --- actions ---

void World::mark(std::uint64_t word) noexcept {
    digest_ = (digest_ ^ word) * 0x9e3779b97f4a7c15ull;
    digest_ ^= digest_ >> 29;
}

void World::apply(Action& action) noexcept {
    mark(static_cast<std::uint64_t>(action.time) << 8 | static_cast<unsigned>(action.kind));
    mark(static_cast<std::uint64_t>(action.from) << 32 | action.to);
    Station& to = *stations_[action.to];
    switch (action.kind) {
        case Action::Kind::write: apply_write(action); break;
        case Action::Kind::data:
            mark(action.offset);
            mark(action.bytes);
            if (!to.its_data.apply(action)) ++statistics_.dropped;
            break;
        case Action::Kind::push: stations_[action.from]->push(action.to); break;
        case Action::Kind::hint:
            mark(action.hint.offset);
            to.hear(action);
            break;
        case Action::Kind::raise:
            if (to.alive) to.raise(action.events);
            break;
        case Action::Kind::attach: apply_attach(action); break;
        case Action::Kind::notice_attached:
        case Action::Kind::notice_lost:
            to.notices.add(
                {static_cast<nhi::PeerId>(action.address), action.why, std::move(action.reason)});
            break;
        case Action::Kind::die: kill(action.to); break;
    }
}

void World::apply_write(const Action& action) noexcept {
    Station& to = *stations_[action.to];
    const std::uint64_t address = action.address + action.offset;
    std::byte* const where =
        to.alive ? to.locate(action.from, address, action.bytes) : nullptr;
    if (where == nullptr) {
        ++statistics_.dropped;
        return;
    }
    FCI_ASSERT(action.skip + action.offset + action.bytes <= action.payload->size());
    std::memcpy(where, action.payload->data() + action.skip + action.offset, action.bytes);
    ++to.arrivals;
    mark(address);
    mark(action.bytes);
}

void World::apply_attach(const Action& action) noexcept {
    Station& one = *stations_[action.from];
    const auto id = static_cast<nhi::PeerId>(action.address);
    FCI_ASSERT(id != nhi::kSelf && id < one.peers.size());
    Station::Peer& theirs = *one.peers[id];
    if (!one.alive || theirs.joined || theirs.state == Station::Peer::State::lost) return;
    Station* const other = at(theirs.card);
    const auto refuse = [&](Status why, const std::string& reason) {
        tell_lost(one, id, now_, why, reason);
    };
    if (other == nullptr) {
        return refuse(Status::unreachable, "no simulated process answers at port " +
                                               std::to_string(ntohs(theirs.card.port)));
    }
    if (auto why = ddi::difference(one.settings, other->settings); !why.empty()) {
        return refuse(Status::mismatch,
                      one.describe() + " and " + other->describe() + " " + why);
    }
    theirs.card = other->card;
    Station::Peer& ours = *other->peers[other->add(one.card)];
    if (ours.state == Station::Peer::State::lost) {
        return refuse(Status::unreachable, other->describe() + " has given this process up");
    }
    FCI_ASSERT(other != &one && !ours.joined);  // both sides join at once, and once
    theirs.process = other->number;
    ours.process = one.number;
    one.id_of_process.resize(stations_.size(), nhi::kNoPeer);
    other->id_of_process.resize(stations_.size(), nhi::kNoPeer);
    one.id_of_process[other->number] = id;
    other->id_of_process[one.number] = other->id_of(one.card);
    FCI_ASSERT(other->id_of_process[one.number] != nhi::kNoPeer);
    theirs.block = Pages(one.settings.block_bytes);
    ours.block = Pages(other->settings.block_bytes);
    theirs.joined = ours.joined = true;
    Action notice{.kind = Action::Kind::notice_attached, .to = one.number};
    notice.address = id;
    schedule(pair_time(other->number, one.number, draw_delay()), notice);
    notice.to = other->number;
    notice.address = other->id_of_process[one.number];
    schedule(pair_time(one.number, other->number, draw_delay()), notice);
}

// --- departures ---

void World::tell_lost(Station& to, nhi::PeerId id, Nanoseconds after, Status why,
                      const std::string& reason) noexcept {
    FCI_ASSERT(why != Status::ok && id < to.peers.size());
    Action notice{.kind = Action::Kind::notice_lost, .why = why, .to = to.number};
    notice.from = to.peers[id]->joined ? to.peers[id]->process : to.number;
    notice.address = id;
    notice.reason = reason;
    schedule(after, std::move(notice));
}

/// A process that closed in good order is not_found from now on, one that died is lost.
void World::depart(Station& leaving, Status why, const char* how) noexcept {
    if (!leaving.alive) return;
    leaving.alive = false;
    leaving.its_data.give_all_back();
    for (const auto& station : stations_) {
        if (station->alive && leaving.number < station->id_of_process.size() &&
            station->id_of_process[leaving.number] != nhi::kNoPeer) {
            tell_lost(*station, station->id_of_process[leaving.number],
                      pair_time(leaving.number, station->number, draw_delay()), why,
                      leaving.describe() + " " + how);
        }
    }
}

void World::refuse_copies(unsigned process, nhi::NetworkInterface::Direction direction,
                          unsigned calls) noexcept {
    FCI_ASSERT(process < stations_.size() && calls != Station::kUnlimited);
    stations_[process]->copies_left[static_cast<unsigned>(direction)] = calls;
}

void World::kill(unsigned process) noexcept {
    Station& victim = *stations_[process];
    if (!victim.alive) return;
    std::map<unsigned, std::vector<std::uint64_t>> sent;  // by destination: orders of its actions
    const auto from_victim = [&](const Action& action) {
        return action.from == process &&
               (action.kind == Action::Kind::write || action.kind == Action::Kind::data ||
                action.kind == Action::Kind::raise);
    };
    for (const Action& action : actions_) {
        if (from_victim(action)) sent[action.to].push_back(action.order);
    }
    std::map<unsigned, std::uint64_t> last;  // actions issued later are lost
    for (auto& [to, orders] : sent) {
        std::sort(orders.begin(), orders.end());
        const std::uint64_t arriving = prng_.below(orders.size() + 1);
        last[to] = arriving == 0 ? 0 : orders[arriving - 1];
    }
    std::erase_if(actions_, [&](const Action& action) {
        return from_victim(action) && action.order > last[action.to];
    });
    std::make_heap(actions_.begin(), actions_.end(),
                   [](const Action& a, const Action& b) { return a.later_than(b); });
    depart(victim, Status::lost, "was killed");
    FCI_ASSERT(!victim.alive);
}

void World::kill_at(unsigned process, Nanoseconds when) noexcept {
    schedule(when, {.kind = Action::Kind::die, .to = process});
}

}  // namespace fci::sim
