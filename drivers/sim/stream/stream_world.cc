// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sim/stream/stream_world.h"

#include <algorithm>

#include "drivers/sim/stream/stream_host.h"
#include "fci_core/base/assert.h"

namespace fci::sim {

namespace {

constexpr std::size_t kSegment = 512;                        // bytes that a cork lets through
constexpr unsigned kHangUpsMost = 3;

}  // namespace

StreamWorld::~StreamWorld() {
    FCI_ASSERT(std::ranges::all_of(hosts_, [](const StreamHost* host) { return host == nullptr; }));
}

std::unique_ptr<tcp::Streams> StreamWorld::add_process() {
    auto host = std::make_unique<StreamHost>(*this, static_cast<unsigned>(hosts_.size()));
    hosts_.push_back(host.get());
    hung_up_.push_back(0);
    return host;
}

// --- time ---

Nanoseconds StreamWorld::next_ring() const noexcept {
    Nanoseconds next = kNever;
    for (const StreamHost* const host : hosts_) {
        if (host != nullptr && host->rings_at() != 0) next = std::min(next, host->rings_at());
    }
    return next;
}

bool StreamWorld::step() noexcept {
    if (idle()) return false;
    run_until(std::max(next_action(), now_));
    return true;
}

void StreamWorld::run_until(Nanoseconds when) noexcept {
    while (!actions_.empty() && actions_.front().time <= when) {
        std::ranges::pop_heap(actions_, &Action::later_than);
        const Action action = std::move(actions_.back());
        actions_.pop_back();
        now_ = std::max(now_, action.time);
        apply(action);
    }
    now_ = std::max(now_, when);
}

void StreamWorld::enter() noexcept {
    run_until(now_ + draw(options_.call_most));
}

void StreamWorld::mark(std::uint64_t word) noexcept {
    for (const std::uint64_t part : {static_cast<std::uint64_t>(now_), word}) {
        digest_ = (digest_ ^ part) * 0x9e3779b97f4a7c15ull;
        digest_ ^= digest_ >> 29;
    }
}

void StreamWorld::schedule(Nanoseconds after, Action::Kind kind, const std::shared_ptr<Link>& link,
                           unsigned side) {
    FCI_ASSERT(after >= 0 && side < 2);
    actions_.push_back({kind, side, now_ + after, ++issued_, link});
    std::ranges::push_heap(actions_, &Action::later_than);
}

void StreamWorld::apply(const Action& action) {
    Link::End& end = action.link->ends[action.side];
    mark(static_cast<std::uint64_t>(action.kind) << 32 | end.process);
    switch (action.kind) {
        case Action::Kind::connect: return connect(action.link);
        case Action::Kind::arrive: return arrive(action.link, action.side);
        case Action::Kind::uncork: return move(action.link, action.side);
        case Action::Kind::reset:
        case Action::Kind::time_out:
            if (action.kind == Action::Kind::reset && action.link->is_silent) return;
            if (end.error == 0) {
                end.error = action.kind == Action::Kind::reset ? ECONNRESET : ETIMEDOUT;
            }
            return action.link->out_of(action.side).lose_under_way();
    }
}

// --- what happens to a link ---

/// The call has reached its place, of which the link's other end knows the process.
void StreamWorld::connect(const std::shared_ptr<Link>& link) {
    if (!link->ends[0].is_open || link->is_silent) return;  // given up on the way
    Link::End& called = link->ends[1];
    StreamHost* const host = hosts_[called.process];
    const unsigned caller = link->ends[0].process;
    if (hung_up_[caller] < kHangUpsMost && chance(options_.hang_up_percent)) {
        ++hung_up_[caller];
        link->ends[0].error = ECONNRESET;
        return;
    }
    if (host == nullptr || !host->take_call(link)) {
        link->ends[0].error = ECONNREFUSED;
        return;
    }
    link->is_connected = true;
    called.is_open = true;
    for (unsigned side = 0; side < 2; ++side) link->ends[side].in.heard = now_;
    move(link, 1);
}

void StreamWorld::move(const std::shared_ptr<Link>& link, unsigned side) {
    Pipe& pipe = link->ends[side].in;
    if (pipe.moves || link->is_silent || !link->is_connected) return;
    const bool closes = pipe.ends && !pipe.is_at_end && pipe.under_way() == 0;
    if (pipe.under_way() == 0 && !closes) return;
    pipe.moves = true;
    Nanoseconds after = draw(options_.delay_most);
    if (prng_.below(1000) < options_.stall_per_mille) after += draw(options_.stall_most);
    schedule(after, Action::Kind::arrive, link, side);
}

void StreamWorld::arrive(const std::shared_ptr<Link>& link, unsigned side) {
    Link::End& end = link->ends[side];
    Pipe& pipe = end.in;
    pipe.moves = false;
    if (link->is_silent) return;
    pipe.heard = now_;
    if (!end.is_open) {
        // The reader has closed: the writer hears so, and bytes that the reader wrote are lost.
        if (pipe.under_way() != 0) abort(link, side);
        return;
    }
    std::size_t ready = pipe.under_way();
    if (pipe.is_corked && now_ < pipe.corked_until && !pipe.ends) ready -= ready % kSegment;
    const std::size_t window = pipe.window - std::min(pipe.window, pipe.here);
    const std::size_t most = std::min(ready, window);
    // Small pieces as often as large ones.
    const std::size_t piece = prng_.between(1, 2ull << prng_.below(options_.piece_bits));
    pipe.here += std::min(most, piece);
    if (pipe.ends && pipe.under_way() == 0) pipe.is_at_end = true;
    mark(pipe.here);
    if (most != 0) move(link, side);
}

/// In order, where everything was read.
void StreamWorld::close(const std::shared_ptr<Link>& link, unsigned side) {
    Link::End& end = link->ends[side];
    end.is_open = false;
    if (end.in.here != 0) return abort(link, side);
    link->out_of(side).ends = true;
    move(link, 1 - side);
}

void StreamWorld::abort(const std::shared_ptr<Link>& link, unsigned side) {
    link->out_of(side).lose_under_way();
    schedule(draw(options_.delay_most), Action::Kind::reset, link, 1 - side);
}

void StreamWorld::kill(unsigned process) noexcept {
    if (hosts_[process] != nullptr) hosts_[process]->drop_all();
}

void StreamWorld::part(unsigned one, unsigned other, bool silently) noexcept {
    std::erase_if(links_, [](const std::weak_ptr<Link>& link) { return link.expired(); });
    if (silently) cut_.emplace_back(one, other);
    for (const std::weak_ptr<Link>& weak : links_) {
        const std::shared_ptr<Link> link = weak.lock();
        const unsigned caller = link->ends[0].process, called = link->ends[1].process;
        if (std::minmax(caller, called) != std::minmax(one, other)) continue;
        link->is_silent = silently;
        for (unsigned side = 0; side < 2; ++side) {
            if (silently) {
                schedule(options_.silence_most, Action::Kind::time_out, link, side);
            } else {
                abort(link, side);
            }
        }
    }
}

bool StreamWorld::is_cut(unsigned one, unsigned other) const noexcept {
    return std::ranges::any_of(cut_, [&](const auto& pair) {
        return std::minmax(pair.first, pair.second) == std::minmax(one, other);
    });
}

}  // namespace fci::sim
