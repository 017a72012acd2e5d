// SPDX-License-Identifier: BSD-3-Clause
// The random program itself: its choices, its calls, and the end of the run.
#include "test/simulation/simulation.h"

#include <algorithm>
#include <utility>

namespace fci::simulation {

namespace {

constexpr std::uint64_t kIdMask = 0xffffffffull << 32;  // most receives do not look at these bits
constexpr unsigned kRoundsMost = 200000;
constexpr unsigned kQuietRounds = 8;
constexpr Nanoseconds kSilentBy = 1'000'000;
constexpr Nanoseconds kPutOffMost = 100'000;  // a read by the tcp driver
constexpr unsigned kQuietMixedRounds = 150;  // what goes through a socket is not seen here

}  // namespace

Simulation::Simulation(std::uint64_t seed, Network network, const mp::Protocol* protocol)
    : seed_(seed),
      network_(network),
      fast_path_(seed % 5 != 0),
      prng_(seed),
      world_options_(world_options(seed, network)),
      faults_(faults(seed)),
      world_(world_options_),
      streams_(stream_options(seed)),
      clock_(seed ^ 0x74696d65) {
    streams_.set_meanwhile([this] { turn_others(); });
    choose();
    find_places();
    if (protocol != nullptr) protocol_ = protocol;
    ends_.resize(processes_);
    for (unsigned at = 0; at < processes_; ++at) {
        mp::Limits limits = limits_of(at);
        limits.fast_path = fast_path_;
        ddi::Settings settings;
        settings.block_bytes = limits.layout.block_bytes();
        settings.sizes = limits.layout.sizes();
        settings.layout_digest = gcs::Layout::digest(limits.eager_bytes);
        settings.job = 1;
        settings.communication_bytes = limits.layout.pool_bytes;
        Endpoint& end = ends_[at];
        end.device = std::make_unique<tap::FaultDevice>(open(at, settings), faults_);
        end.card = end.device->card();
        // Whom nothing wakes polls, and a driver may rely on that.
        nhi::NetworkInterface& network = end.device->network();
        if (seed % 2 == 0) (void)network.mask_event_interrupt(gcs::kWakeEvent, true);
        end.mp = std::make_unique<mp::MessagePassing>(*end.device, *protocol_, limits);
        end.left = operations_;
        tickets_.push_back({this, at});
        end.mp->active_messages().set_handler(
            kHandler,
            [](void* user, nhi::PeerId source, const void* header, std::size_t header_bytes,
               const void* data, std::uint64_t bytes, mp::ReceiveTarget* landing) {
                const auto* const ticket = static_cast<Ticket*>(user);
                ticket->simulation->handle(static_cast<unsigned>(ticket->number), source, header,
                                           header_bytes, data, bytes, landing);
            },
            &tickets_.back());
        if (at + 1 == processes_) let_strangers_call(settings);
    }
}

/// A process that closes must not wait for ever, not even for a host that has just fallen silent.
Simulation::~Simulation() {
    if (falls_silent_) streams_.part(0, 1, true);
    for (Endpoint& end : ends_) end.close();
}

Counters Simulation::counters() const {
    Counters sum;
    auto* const to = reinterpret_cast<std::uint64_t*>(&sum);
    for (const Endpoint& end : ends_) {
        if (end.mp == nullptr) continue;
        for (unsigned i = 0; i < kCounters; ++i)
            to[i] += counter_value(end.mp->engine().counters, i);
    }
    return sum;
}

/// Of what the seed makes happen; other runs of it have the same.
std::uint64_t Simulation::digest() const {
    std::uint64_t digest = world_.digest() ^ streams_.digest() ^ course_;
    const Counters sum = counters();
    for (unsigned i = 0; i < kCounters; ++i) digest = Prng(digest ^ counter_value(sum, i)).next();
    return digest;
}

/// Something has come to an end.
void Simulation::note(std::uint64_t word) {
    course_ = Prng(course_ ^ word).next() + static_cast<std::uint64_t>(now());
}

void Simulation::fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
}

// --- choices ---

unsigned Simulation::some_process() {
    return partner_ != Reference::kNobody ? partner_
                                          : static_cast<unsigned>(prng_.below(processes_));
}

nhi::PeerId Simulation::id_of(unsigned at, unsigned process) {
    nhi::PeerId id = nhi::kNoPeer;
    ddi::Card card = ends_[process].card;
    if (prng_.chance(10)) card.incarnation = 0;  // as a user would type it
    if (ends_[at].device->add_peer(card, &id) != Status::ok) fail("add_peer failed");
    return id;
}

unsigned Simulation::process_of(unsigned at, nhi::PeerId id) const {
    const ddi::Card* const card = ends_[at].device->card_of(id);
    unsigned process = 0;
    while (process < processes_ && (card == nullptr || !card->names(ends_[process].card))) {
        ++process;
    }
    return process;
}

mp::Pattern Simulation::some_pattern(unsigned at) {
    static constexpr std::uint64_t kIgnored[] = {0, 0, 0, 1, 3, 0xffffffff};
    mp::Pattern pattern{mp::kAnySource, static_cast<std::uint32_t>(prng_.chance(20)),
                        prng_.below(tags_), kIdMask | one_of(prng_, kIgnored)};
    if (!prng_.chance(any_percent_)) {
        pattern.source = some_process();
    }
    // Now and then exactly one message is wanted, which may be gone, or never come.
    if (prng_.chance(5) && !reference_.messages.empty()) {
        const Message& wanted = *reference_.messages[prng_.below(reference_.messages.size())];
        if (wanted.to == at && !wanted.active) {
            pattern = {wanted.from, wanted.space, wanted.match, 0};
        }
    }
    return pattern;
}

mp::Pattern Simulation::in_ranks(unsigned at, mp::Pattern pattern) {
    if (pattern.source != mp::kAnySource) pattern.source = id_of(at, pattern.source);
    return pattern;
}

// --- the run ---

void Simulation::turn(unsigned at) {
    Endpoint& end = ends_[at];
    end.device->network().poll(end.device->now());
    end.mp->turn();
}

void Simulation::act(unsigned at) {
    Endpoint& end = ends_[at];
    std::uint64_t sum = 0, kind = 0;
    for (const std::uint64_t weight : weights_) sum += weight;
    for (std::uint64_t drawn = prng_.below(sum); drawn >= weights_[kind]; ++kind) {
        drawn -= weights_[kind];
    }
    const std::uint64_t times = prng_.chance(burst_percent_) ? prng_.between(2, 100) : 1;
    if (times > 1) partner_ = static_cast<unsigned>(prng_.below(processes_));
    for (std::uint64_t i = 0; i < times && end.left != 0 && !failed(); ++i) {
        --end.left;
        act(at, kind);
    }
    partner_ = Reference::kNobody;
}

void Simulation::act(unsigned at, std::uint64_t kind) {
    switch (kind) {
        case 0: return send(at);
        case 1: return send_active(at);
        case 2: return receive(at);
        case 3: return probe(at, false);
        default: return cancel(at);
    }
}

/// The victim stops between two of its calls: it dies, or closes without finishing its business, or
/// is parted from another one. Its buffers stay, as everybody's memory here is one.
void Simulation::bury() {
    if (victim_ == Reference::kNobody || died_ != kNever || now() < death_) return;
    // A host falls silent best while something is on its way there.
    const bool is_idle = ends_[victim_].device->network().is_idle();
    if (silently_ && is_idle && now() < death_ + kSilentBy) return;
    died_ = ++moment_;
    if (parted_from_ != Reference::kNobody) {
        reference_.parted = {victim_, parted_from_};
        return streams_.part(victim_, parted_from_, silently_);
    }
    reference_.killed = victim_;
    if (leaves_) {
        ends_[victim_].close();
    } else {
        network_ == Network::streams ? streams_.kill(victim_) : world_.kill(victim_);
    }
    ends_[victim_].left = 0;
}

/// Who closes waits for the others to take what it has sent, and meanwhile they run.
void Simulation::turn_others() {
    for (unsigned at = 0; at < processes_; ++at) {
        if (ends_[at].device != nullptr && !dead(at)) turn(at);
    }
}

/// Whether an operation of `at` may end because a process died. kNobody: with anyone.
bool Simulation::lost_is_fair(unsigned at, unsigned other) {
    if (other < processes_ && strangers(at, other)) return true;
    const bool is_anybody = other == Reference::kNobody;
    if (reference_.is_parted(at) && (is_anybody || reference_.are_parted(at, other))) return true;
    if (reference_.killed == Reference::kNobody || dead(at)) return false;
    if (!is_anybody) return dead(other);
    // Who closes may leave one behind that is just calling, and that cannot know how it ended.
    return !leaves_ || (network_ == Network::streams && !has_met(at, reference_.killed));
}

bool Simulation::has_met(unsigned at, unsigned other) {
    return !ends_[at].device->block(id_of(at, other)).empty();
}

/// They never come to know each other.
bool Simulation::strangers(unsigned at, unsigned other) const {
    return tap::FaultDevice::refuses(faults_, ends_[at].card, ends_[other].card);
}

/// All connections are made before the program starts; otherwise they are made on the way.
void Simulation::meet() {
    for (unsigned at = 0; at < processes_; ++at) {
        for (unsigned other = 0; other < at; ++other) {
            if (ends_[at].device->connect(id_of(at, other)) != Status::ok) fail("connect failed");
            if (calls_cross_) (void)ends_[other].device->connect(id_of(other, at));
        }
    }
    const unsigned victim = std::exchange(victim_, Reference::kNobody);
    (void)rest();
    victim_ = victim;
    death_ += now();
}

std::string Simulation::run() {
    const auto more = [this] {
        return std::any_of(ends_.begin(), ends_.end(),
                           [](const Endpoint& end) { return end.left != 0; });
    };
    if (warm_) meet();
    while (more() && !failed()) {
        const auto at = static_cast<unsigned>(prng_.below(processes_));
        bury();
        if (dead(at)) continue;
        if (knocker_ && prng_.chance(knock_percent_)) knocker_->act(ends_[at].card);
        if (prng_.chance(act_percent_)) {
            act(at);
        } else {
            turn(at);
        }
    }
    finishing_ = true;
    if (!failed()) finish();
    return failure_;
}

/// Everything that can happen has happened.
bool Simulation::rest() {
    unsigned quiet = 0;
    bool is_later = network_ != Network::streams;  // than what was put off without a word
    // Where bytes come in small pieces it takes many.
    const unsigned most = network_ == Network::simulated ? kRoundsMost : 100 * kRoundsMost;
    for (unsigned round = 0; round < most && !failed(); ++round) {
        step();
        const Moment died = died_;
        bury();
        unsigned work = died_ != died ? 1 : 0;  // the others are still to hear of it
        bool drained = true;
        Nanoseconds due = tap::FaultInterface::kNever;
        for (unsigned at = 0; at < processes_; ++at) {
            if (dead(at)) continue;
            Endpoint& end = ends_[at];
            work += end.device->network().poll(end.device->now());
            work += end.mp->turn();
            drained = drained && end.mp->drained() && end.device->network().is_idle();
            due = std::min(due, end.device->due());
        }
        const bool late = due != tap::FaultInterface::kNever;
        if (late && idle()) run_until(due);
        quiet = work == 0 && !late && idle() ? quiet + 1 : 0;
        if (quiet == 0) is_later = network_ != Network::streams;
        if (quiet < (network_ == Network::simulated ? kQuietRounds : kQuietMixedRounds)) continue;
        const Nanoseconds ring = next_ring();
        if (is_later && drained && ring == shm::Clock::kNever) return true;
        run_until(ring != shm::Clock::kNever ? ring : now() + kPutOffMost);
        is_later = ring == shm::Clock::kNever;
        quiet = 0;
    }
    fail("the processes never come to rest");
    return false;
}

/// Who waited for anybody when a process died that it had met must have heard of it. When one
/// closes, only those hear of it who wait for that one.
void Simulation::check_mourning() {
    for (std::size_t i = 0; i < reference_.receives.size(); ++i) {
        const Receive& receive = *reference_.receives[i];
        if (reference_.killed == Reference::kNobody || dead(receive.at)) continue;
        if (receive.completed != kNever || receive.posted > died_) continue;
        const bool met = has_met(receive.at, reference_.killed);
        const nhi::PeerId source = receive.pattern.source;
        if (met && ((source == mp::kAnySource && !leaves_) || source == reference_.killed)) {
            return fail(reference_.receive_text(i) + " still waits for a process that died");
        }
    }
}

/// What waits for a receive, by probes; the last one finds nothing.
void Simulation::take_all(unsigned at) {
    const std::size_t before = reference_.receives.size();
    for (std::size_t waiting = ends_[at].mp->engine().arrived.size() + 1; waiting != 0; --waiting) {
        probe(at, true);
    }
    if (ends_[at].mp->engine().arrived.size() != 0) {
        fail("probe misses messages: took " + std::to_string(reference_.receives.size() - before));
    }
}

void Simulation::finish() {
    if (!rest()) return;
    if (auto wrong = reference_.check_rest(); !wrong.empty()) return fail(wrong);
    check_mourning();
    // Receives that nothing came for are taken back, then messages that nobody asked for are taken.
    for (auto& receive : reference_.receives) {
        if (receive->completed != kNever || receive->claim || dead(receive->at)) continue;
        receive->cancel_asked = std::min(receive->cancel_asked, ++moment_);
        if (ends_[receive->at].mp->cancel(receive->handle) != mp::kSuccess) {
            return fail("a pending receive cannot be cancelled");
        }
    }
    if (!rest()) return;
    // Messages that wait at their senders come when somebody probes in vain.
    for (bool more = true; more && !failed();) {
        for (unsigned at = 0; at < processes_ && !failed(); ++at) {
            if (!dead(at)) take_all(at);
        }
        if (!rest()) return;
        more = false;
        for (unsigned at = 0; at < processes_; ++at) {
            more = more || (!dead(at) && !ends_[at].mp->engine().arrived.empty());
        }
    }
    if (auto wrong = reference_.check_order(); !wrong.empty()) return fail(wrong);
    for (std::size_t i = 0; i < reference_.messages.size(); ++i) {
        const Message& message = *reference_.messages[i];
        if (dead(message.from)) continue;
        if (message.completed == kNever) return fail(reference_.text(i) + " never completed");
        if (dead(message.to) || reference_.are_parted(message.from, message.to)) continue;
        const bool arrived = message.active ? message.handled != kNever : message.receive != kNone;
        if (!arrived && message.error == mp::kSuccess) {
            return fail(reference_.text(i) + " got lost");
        }
        if (arrived && message.error != mp::kSuccess) {
            return fail(reference_.text(i) + " arrived, but its send failed");
        }
        if (message.synchronous && !message.active && message.receive != kNone &&
            message.completed < reference_.receives[message.receive]->posted) {
            return fail(reference_.text(i) + " completed before it was matched");
        }
    }
    for (std::size_t i = 0; i < reference_.receives.size(); ++i) {
        if (reference_.receives[i]->completed == kNever && !dead(reference_.receives[i]->at)) {
            return fail(reference_.receive_text(i) + " never completed");
        }
    }
    for (unsigned at = 0; at < processes_; ++at) {
        if (dead(at)) continue;
        const Endpoint& end = ends_[at];
        if (end.mp->engine().orders.used() != 0) return fail("orders leak");
        if (end.mp->engine().arrived.size() != 0) return fail("messages leak");
        if (end.mp->engine().counters.bad_requests != 0) return fail("a request failed its checks");
    }
}

}  // namespace fci::simulation
