// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sim/stream/stream_host.h"

#include <algorithm>
#include <utility>

#include "drivers/sim/stream/stream_world.h"
#include "fci_core/base/assert.h"

namespace fci::sim {

namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kCorkMost = 200 * kMillisecond;

}  // namespace

int Slots::add(std::shared_ptr<Link> link, unsigned side) {
    const auto free = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.is_used; });
    const auto number = static_cast<std::size_t>(free - slots_.begin());
    if (free == slots_.end()) slots_.emplace_back();
    slots_[number] = {};
    slots_[number].is_used = true;
    slots_[number].link = std::move(link);
    slots_[number].side = side;
    return static_cast<int>(number);
}

Slot& Slots::at(int stream) noexcept {
    FCI_ASSERT(stream >= 0 && static_cast<std::size_t>(stream) < slots_.size());
    return slots_[static_cast<std::size_t>(stream)];
}

bool StreamHost::take_call(const std::shared_ptr<Link>& link) {
    if (place_.port == 0) return false;
    backlog_.push_back(link);
    return true;
}

StreamHost::~StreamHost() {
    drop_all();
    world_.hosts_[process_] = nullptr;
}

void StreamHost::drop_all() noexcept {
    for (std::size_t i = 0; i < slots_.all().size(); ++i) close(static_cast<int>(i));
    for (const std::shared_ptr<Link>& link : backlog_) {
        link->ends[1].is_open = false;
        world_.abort(link, 1);
    }
    backlog_.clear();
    place_ = {};
    rings_at_ = 0;
}

int StreamHost::listen(ddi::Card* card) noexcept {
    if (card->port == 0) card->port = static_cast<std::uint16_t>(1000 + process_);
    place_ = *card;
    if (!world_.listeners_.try_emplace({card->host, card->port}, process_).second) {
        return -EADDRINUSE;
    }
    return slots_.add(nullptr, 0);
}

int StreamHost::accept(int) noexcept {
    world_.enter();
    if (backlog_.empty()) return -EAGAIN;
    if (world_.chance(world_.options_.shortage_percent)) return -EMFILE;
    std::shared_ptr<Link> link = std::move(backlog_.front());
    backlog_.pop_front();
    return slots_.add(std::move(link), 1);
}

int StreamHost::call(const ddi::Card&, const ddi::Card& to) noexcept {
    world_.enter();
    const StreamOptions& options = world_.options_;
    if (world_.chance(options.shortage_percent)) return world_.chance(50) ? -EMFILE : -ENOBUFS;
    const auto listener = world_.listeners_.find({to.host, to.port});
    if (listener == world_.listeners_.end()) return -ECONNREFUSED;
    auto link = std::make_shared<Link>();
    for (unsigned side = 0; side < 2; ++side) {
        Pipe& pipe = link->ends[side].in;
        pipe.room = world_.prng_.between(options.room_least, options.room_most);
        pipe.window = world_.prng_.between(1, pipe.room);
        link->ends[side].process = side == 0 ? process_ : listener->second;
    }
    link->ends[0].is_open = true;
    link->is_silent = world_.is_cut(process_, listener->second);
    world_.links_.push_back(link);
    if (link->is_silent) {
        world_.schedule(options.silence_most, StreamWorld::Action::Kind::time_out, link, 0);
    } else {
        world_.schedule(world_.draw(options.delay_most), StreamWorld::Action::Kind::connect, link,
                        0);
    }
    return slots_.add(std::move(link), 0);
}

int StreamHost::outcome(int stream) noexcept {
    const Slot& slot = slots_.at(stream);
    return slot.link != nullptr ? -slot.link->ends[slot.side].error : -ECONNRESET;
}

ssize_t StreamHost::send(int stream, std::span<const iovec> ranges, bool) noexcept {
    world_.enter();
    const Slot& slot = slots_.at(stream);
    if (slot.link == nullptr) return -EPIPE;
    if (const int error = slot.link->ends[slot.side].error; error != 0) return -error;
    Pipe& pipe = slot.link->out_of(slot.side);
    if (pipe.ends) return -EPIPE;
    const std::size_t bytes = tcp::bytes_in(ranges);
    std::size_t most = std::min(bytes, pipe.free());
    if (most == 0) return bytes == 0 ? 0 : -EAGAIN;
    // A system takes the first words of a stream as they are.
    if (!pipe.is_fresh && world_.chance(world_.options_.short_percent)) {
        if (world_.chance(30)) return world_.chance(50) ? -EINTR : -ENOBUFS;
        most = world_.prng_.between(1, most);
    }
    pipe.is_fresh = false;
    pipe.put(ranges, most);
    world_.mark(most);
    world_.move(slot.link, 1 - slot.side);
    return static_cast<ssize_t>(most);
}

ssize_t StreamHost::receive(int stream, std::span<const iovec> ranges) noexcept {
    world_.enter();
    const Slot& slot = slots_.at(stream);
    if (slot.link == nullptr) return -ECONNRESET;
    Link::End& end = slot.link->ends[slot.side];
    Pipe& pipe = end.in;
    std::size_t most = std::min(tcp::bytes_in(ranges), pipe.here);
    if (most == 0) {
        if (end.error != 0) return -end.error;
        return pipe.is_at_end ? 0 : -EAGAIN;
    }
    if (world_.chance(world_.options_.short_percent)) {
        if (world_.chance(30)) return -EINTR;
        most = world_.prng_.between(1, most);
    }
    pipe.take(ranges, most);
    world_.mark(most);
    world_.move(slot.link, slot.side);
    return static_cast<ssize_t>(most);
}

void StreamHost::cork(int stream, bool on) noexcept {
    world_.enter();
    const Slot& slot = slots_.at(stream);
    if (slot.link == nullptr) return;
    Pipe& pipe = slot.link->out_of(slot.side);
    pipe.is_corked = on;
    if (!on) return world_.move(slot.link, 1 - slot.side);
    pipe.corked_until = world_.now_ + kCorkMost;
    world_.schedule(kCorkMost, StreamWorld::Action::Kind::uncork, slot.link, 1 - slot.side);
}

void StreamHost::tell_from(int stream, int bytes) noexcept {
    const Slot& slot = slots_.at(stream);
    if (slot.link != nullptr) {
        slot.link->ends[slot.side].tells_from = static_cast<std::size_t>(bytes);
    }
}

std::size_t StreamHost::under_way(int stream) noexcept {
    world_.enter();
    const Slot& slot = slots_.at(stream);
    if (slot.link == nullptr || slot.link->ends[slot.side].error != 0) return 0;
    return slot.link->out_of(slot.side).under_way();
}

bool StreamHost::sign(int stream, tcp::Pulse::Sign* sign) noexcept {
    world_.enter();
    const Slot& slot = slots_.at(stream);
    if (slot.link == nullptr) return false;
    Pipe& pipe = slot.link->out_of(slot.side);
    // A reader without room is asked, and its system answers.
    if (!slot.link->is_silent && !pipe.moves) pipe.heard = world_.now_;
    *sign = {pipe.under_way() != 0, world_.now_ - pipe.heard};
    return true;
}

void StreamHost::end(int stream, bool wholly) noexcept {
    world_.enter();
    const Slot& slot = slots_.at(stream);
    if (slot.link == nullptr) return;
    Pipe& pipe = slot.link->out_of(slot.side);
    if (wholly) slot.link->ends[slot.side].in.is_at_end = true;
    if (std::exchange(pipe.ends, true)) return;
    world_.move(slot.link, 1 - slot.side);
}

void StreamHost::close(int stream) noexcept {
    world_.enter();
    Slot& slot = slots_.at(stream);
    if (slot.link != nullptr) {
        world_.close(slot.link, slot.side);
    } else if (slot.is_used) {
        world_.listeners_.erase({place_.host, place_.port});
    }
    slot = {};
}

// --- what happens to its streams ---

void StreamHost::watch(int stream, Source source, std::uint32_t detail,
                       unsigned interests) noexcept {
    Slot& slot = slots_.at(stream);
    slot.is_watched = true;
    slot.name = {source, detail};
    slot.interests = interests;
}

void StreamHost::forget(int stream) noexcept { slots_.at(stream).is_watched = false; }

bool StreamHost::has_something(const Slot& slot) noexcept {
    if (!slot.is_used || !slot.is_watched) return false;
    const bool in = (slot.interests & kIn) != 0, out = (slot.interests & kOut) != 0;
    if (slot.link == nullptr) return in && !backlog_.empty();
    const Link::End& end = slot.link->ends[slot.side];
    if (end.error != 0) return true;
    const std::size_t least = std::min(end.tells_from, end.in.window);
    if (in && (end.in.here >= least || end.in.is_at_end)) return true;
    return out && slot.link->is_connected && slot.link->out_of(slot.side).free() != 0;
}

std::size_t StreamHost::look(std::span<Event, kEventsMost> events) noexcept {
    world_.enter();
    is_rung_ = false;
    if (rings_at_ <= world_.now_) rings_at_ = 0;
    std::size_t told = 0;
    const std::span<const Slot> all = slots_.all();
    const std::size_t first = world_.prng_.below(all.size());
    for (std::size_t i = 0; i < all.size() && told < kEventsMost; ++i) {
        const Slot& slot = all[(first + i) % all.size()];
        if (has_something(slot)) events[told++] = slot.name;
    }
    return told;
}

bool StreamHost::wait(Nanoseconds timeout) noexcept {
    const Nanoseconds until = timeout < 0 ? StreamWorld::kNever : world_.now_ + timeout;
    const auto has_anything = [&] {
        return is_rung_ || (rings_at_ != 0 && rings_at_ <= world_.now_) ||
               std::ranges::any_of(slots_.all(),
                                   [&](const Slot& slot) { return has_something(slot); });
    };
    while (!has_anything()) {
        const Nanoseconds rings = rings_at_ != 0 ? rings_at_ : StreamWorld::kNever;
        const Nanoseconds next = std::min({world_.next_action(), rings, until});
        if (next == StreamWorld::kNever) return false;
        world_.run_until(next);
        if (next == until) return has_anything();
    }
    return true;
}

Nanoseconds StreamHost::now() noexcept { return world_.now_; }

void StreamHost::pause(Nanoseconds time) noexcept {
    world_.run_until(world_.now_ + time);
    world_.meanwhile_();
}

}  // namespace fci::sim
