// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/meeting.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "drivers/host/descriptor.h"
#include "drivers/host/place.h"
#include "drivers/tcp/failure.h"
#include "drivers/tcp/frame.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"
#include "fci_core/ddi/agreement.h"
#include "fci_core/ddi/crossing.h"

namespace fci::tcp {

namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kPatience = 10'000 * kMillisecond;
constexpr Nanoseconds kPauseFirst = 10 * kMillisecond, kPauseMost = 1000 * kMillisecond;
// A peer whose own call goes on comes by that one. If it does not, this process calls again after:
constexpr Nanoseconds kCallAwaited = 500 * kMillisecond;
// The wait for a goodbye to arrive; the peer's kernel may say so 40 ms late.
constexpr Nanoseconds kGoodbyeMost = 100 * kMillisecond;
constexpr unsigned kRefusalsMost = 8;  // in 1 to 2 s
static_assert(kPauseFirst << kRefusalsMost < kPatience && kPauseMost < kPatience);

bool is_typed(const ddi::Card& card) noexcept { return card.incarnation == 0; }

}  // namespace

void Meeting::remind(Nanoseconds when) noexcept {
    if (due_ == 0 || when < due_) due_ = when;
}

/// Makes room for all that a meeting needs at its end, so that nothing can fail then. False: memory
/// is short.
bool Meeting::prepare(Peers::Entry& entry) noexcept try {
    if (entry.peer == nullptr) entry.peer = std::make_unique<Peer>();
    if (entry.peer->block.span().empty()) entry.peer->block = Pages(own_.peer_bytes());
    // Each peer that is being called, and one that calls, may need a connection and a notice.
    connections_.reserve(calling_.size() + 1);
    notices_.reserve(calling_.size() + 1);
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

// --- calling ---

Status Meeting::connect(nhi::PeerId id, Nanoseconds now) {
    if (id >= peers_.size()) return Status::invalid;
    Peers::Entry& entry = peers_[id];
    if (entry.state() >= PeerState::ending) return Status::lost;
    if (entry.state() != PeerState::known) return Status::ok;
    if (entry.peer == nullptr) entry.peer = std::make_unique<Peer>();
    calling_.reserve(calling_.size() + 1);
    calling_.push_back(id);
    entry.peer->state = PeerState::connecting;
    Call& call = entry.peer->call;
    call.began = now;
    call.patience.begin(
        now,
        is_typed(entry.card) ? own_.settings.connect_ms * kMillisecond : kPatience,
        kPauseFirst, kPauseMost);
    call_again(id, now);
    return Status::ok;
}

void Meeting::call_again(nhi::PeerId id, Nanoseconds now) noexcept {
    Peers::Entry& entry = peers_[id];
    Call& going = entry.peer->call;
    FCI_ASSERT(entry.state() == PeerState::connecting && !going.stream);
    going.patience.tried();
    going.said_hello = false;
    going.answer = {};
    if (!prepare(entry)) return failed(id, ENOMEM, now);
    const int stream = streams_.call(own_.card, entry.card);
    if (stream < 0) return failed(id, -stream, now);
    going.stream = Stream(streams_, stream);
    streams_.watch(stream, Streams::Source::peer, id, Streams::kOut);
    going.silent_at = is_typed(entry.card) ? going.patience.give_up()
                                           : now + own_.settings.silence_ms * kMillisecond;
    remind(going.silent_at);
}

void Meeting::go_on(nhi::PeerId id, Nanoseconds now) noexcept {
    Peer& peer = *peers_[id].peer;
    FCI_ASSERT(peer.state == PeerState::connecting);
    if (!peer.call.stream) return;
    if (peer.call.said_hello) return hear_answer(id, now);
    say_hello(id, now);
}

/// The call went through, or failed.
void Meeting::say_hello(nhi::PeerId id, Nanoseconds now) noexcept {
    Call& going = peers_[id].peer->call;
    FCI_ASSERT(going.stream && !going.said_hello);
    int error = -streams_.outcome(going.stream.get());
    if (error == 0) error = say(going.stream, own_.hello_to(peers_[id].card, Verdict::welcome));
    if (error != 0) return failed(id, error, now);
    going.said_hello = true;
    streams_.watch(going.stream.get(), Streams::Source::peer, id, Streams::kIn);
}

/// Tries again if nobody listens at a typed place yet, or descriptors ran short; else the peer is
/// lost.
void Meeting::failed(nhi::PeerId id, int error, Nanoseconds now) noexcept {
    Peers::Entry& entry = peers_[id];
    Call& going = entry.peer->call;
    going.stream.close();
    if (error == ECONNRESET || error == EPIPE) return refused(id, now);
    const bool may_come = is_typed(entry.card) && error == ECONNREFUSED;
    if ((may_come || is_shortage(error)) && !going.patience.is_over(now)) {
        going.patience.again_later(now, prng_);
        return remind(going.patience.due());
    }
    if (error == ECONNREFUSED && going.refusals != 0 && !is_typed(entry.card)) {
        return lose(id, Status::lost, name_of(peers_, id) + " ended before it answered");
    }
    lose(id, is_shortage(error) ? Status::exhausted : Status::unreachable,
         failure_of(own_.card, entry.card, error));
}

/// The listener hung up without a word: it has no room for now, or is another process.
void Meeting::refused(nhi::PeerId id, Nanoseconds now) noexcept {
    Peers::Entry& entry = peers_[id];
    Call& going = entry.peer->call;
    going.stream.close();
    if (++going.refusals < kRefusalsMost) {
        going.patience.again_later(now, prng_);
        return remind(going.patience.due());
    }
    // If the card is whole, the process that it names has gone, and another one hangs up.
    lose(id, is_typed(entry.card) ? Status::unreachable : Status::lost,
         "who listens at " + host::place_text(entry.card) + " hung up without a word: " +
             (is_typed(entry.card)
                  ? "it answers only who has its whole card, unless it is started with "
                    "FCI_ANSWER=typed"
                  : "it is another process than the one that is looked for, which has ended, or "
                    "has the same address on another network (FCI_NET)"));
}

void Meeting::hear_answer(nhi::PeerId id, Nanoseconds now) noexcept try {
    Call& going = peers_[id].peer->call;
    switch (going.answer.hear(going.stream)) {
        case HelloReader::Heard::part: return;
        case HelloReader::Heard::closed: return refused(id, now);
        case HelloReader::Heard::all: return judge_answer(id, now);
    }
} catch (const std::bad_alloc&) {
    lose(id, Status::exhausted, "out of memory");
}

void Meeting::judge_answer(nhi::PeerId id, Nanoseconds now) {
    Peers::Entry& entry = peers_[id];
    Call& going = entry.peer->call;
    const Hello& answer = going.answer.hello();
    const std::string place = host::place_text(entry.card);
    if (answer.magic != Hello::kMagic) {
        return lose(id, Status::mismatch,
                    "who listens at " + place + " has another version of FCI; install the same one "
                    "on all hosts");
    }
    if (answer.is_bare()) {
        return lose(id, Status::mismatch,
                    "who listens at " + place + " is of another job, or has another version or "
                    "other options of FCI, and says no more to those who typed its address; start "
                    "both by one launcher, or give both the same FCI_JOB and FCI_ variables");
    }
    entry.peer->pid = answer.pid;
    const std::string why = ddi::difference(own_.settings, answer.settings());
    if (!why.empty()) {
        return lose(id, Status::mismatch,
                    "This process and " + name_of(peers_, id) + " " + why);
    }
    // The answer names the place at which the listener itself sees that it listens: behind a
    // translation of addresses not the one that was called.
    const ddi::Card& card = entry.card;
    const bool is_it = is_typed(card) ? answer.from.same_place(card)
                                      : answer.from.incarnation == card.incarnation;
    if (!is_it || is_typed(answer.from) || !answer.has_sound_block()) {
        return lose(id, Status::unreachable, "another process is at " + place + " now");
    }
    if (answer.verdict == Verdict::crossing) {
        going.stream.close();
        going.patience.again_at(now + kCallAwaited);
        return remind(going.patience.due());
    }
    if (answer.verdict != Verdict::welcome) {
        return lose(id, Status::unreachable, name_of(peers_, id) + " gave this process up");
    }
    attach(id, std::move(going.stream), answer);
}

// --- answering ---

void Meeting::hear(int stream, Nanoseconds now) noexcept try {
    if (auto visitor = door_.hear(stream)) answer(*std::move(visitor), now);
} catch (const std::bad_alloc&) {
    // The caller hears nothing, and calls again.
}

/// The caller knows which process it calls.
bool Meeting::names_this(const Hello& hello) const noexcept {
    return own_.is_named_by(hello) || (is_typed(hello.to) && own_.settings.answers_typed);
}

/// The caller knows this process, and its hello is sound.
bool Meeting::is_welcome(const Hello& hello) const noexcept {
    return names_this(hello) && hello.magic == Hello::kMagic && !is_typed(hello.from) &&
           hello.from.incarnation != own_.card.incarnation && hello.from.port != 0 &&
           hello.verdict == Verdict::welcome && hello.has_sound_block();
}

/// The caller does not know the incarnation, or the job.
void Meeting::note_guess(Visitor& visitor, Nanoseconds now) {
    if (!door_.note_guess(now)) return;
    const std::uint32_t from = streams_.caller(visitor.stream.get());
    log::line(true, "somebody at " + host::address_text(from) + " has called this process, at " +
                        host::place_text(own_.card) + ", " + std::to_string(Guesses::kMost) +
                        " times in a second without knowing its secret, and heard nothing: it "
                        "guesses, or looks for a process that has ended. Such calls are heard "
                        "slowly from now on. A firewall keeps strangers from the ports that "
                        "FCI_PORTS names (SECURITY.md)");
}

void Meeting::answer(Visitor visitor, Nanoseconds now) {
    const Hello& hello = visitor.hello;
    const auto reply = [&](Verdict verdict) {
        return say(visitor.stream, own_.hello_to(hello.from, verdict)) == 0;
    };
    if (!is_welcome(hello) && !(names_this(hello) && hello.is_of_another_version())) {
        if (!names_this(hello)) note_guess(visitor, now);
        return door_.note_stranger();
    }
    if (hello.magic != Hello::kMagic || !ddi::difference(own_.settings, hello.settings()).empty()) {
        if (!own_.is_named_by(hello)) note_guess(visitor, now);
        return static_cast<void>(say(visitor.stream, own_.refusal_of(hello)));
    }
    ddi::Card card = hello.from;
    card.family = AF_INET;
    const nhi::PeerId id = peers_.find_or_add(card);
    Peers::Entry& entry = peers_[id];
    switch (entry.state()) {
        case PeerState::known: break;
        case PeerState::connecting:
            if (entry.peer->call.stream &&
                ddi::is_own_way(own_.card.incarnation, card.incarnation)) {
                return static_cast<void>(reply(Verdict::crossing));
            }
            break;
        case PeerState::joined:
        case PeerState::attached: return;  // the peer has a connection
        case PeerState::ending:
        case PeerState::lost: return static_cast<void>(reply(Verdict::gone));
    }
    if (prepare(entry) && reply(Verdict::welcome)) attach(id, std::move(visitor.stream), hello);
}

// --- both ---

/// All that this needs is there (prepare()).
void Meeting::attach(nhi::PeerId id, Stream stream, const Hello& hello) noexcept {
    Peers::Entry& entry = peers_[id];
    Peer& peer = *entry.peer;
    FCI_ASSERT(peer.state <= PeerState::connecting && !peer.connection && id != nhi::kSelf);
    FCI_ASSERT(!peer.block.span().empty() && hello.has_sound_block());
    streams_.tune(stream.get());
    peer.call.stream.close();
    peer.sizes = hello.sizes;
    peer.block_bytes = hello.block_bytes;
    peer.pid = hello.pid;
    peer.rank = hello.rank;
    peer.tail_bytes = own_.settings.network.tail_bytes != 0 ? hello.tail_bytes : 0;
    peer.state = PeerState::joined;
    entry.card.incarnation = hello.from.incarnation;
    std::erase(calling_, id);
    connections_.add(id, std::move(stream));
    notices_.add({id, Status::ok, {}});
}

void Meeting::lose(nhi::PeerId id, Status why, std::string reason) noexcept try {
    Peer& peer = *peers_[id].peer;
    FCI_ASSERT(peer.state == PeerState::connecting);
    peer.call.stream.close();
    peer.state = PeerState::ending;
    std::erase(calling_, id);
    streams_.ring();  // this may be outside of poll()
    notices_.add({id, why, std::move(reason)});
} catch (const std::bad_alloc&) {
    // The listener never hears of the peer's end, but transfers to it return Status::lost.
}

// --- by time ---

/// Looks at a peer that is connecting.
void Meeting::look_at(nhi::PeerId id, Nanoseconds now) noexcept {
    FCI_ASSERT(peers_[id].state() == PeerState::connecting);
    Call& going = peers_[id].peer->call;
    const ddi::Card& card = peers_[id].card;
    if (going.patience.is_due(now)) return call_again(id, now);
    if (going.patience.due() != 0) return remind(going.patience.due());
    const bool is_silent = now >= going.silent_at;
    if (is_silent && (!going.said_hello || is_typed(card))) {
        return lose(id, Status::unreachable,
                    host::place_text(card) +
                        " does not answer; is its host down, or does a firewall drop TCP? " +
                        remedy(card));
    }
    if (!is_silent) return remind(going.silent_at);
    if (std::exchange(going.told, true)) return;
    log::line(true, name_of(peers_, id) + " has not answered for " +
                        std::to_string((now - going.began) / (1000 * kMillisecond)) +
                        " s. Its host has: it computes, or is stopped");
}

void Meeting::tend(Nanoseconds now) noexcept {
    if (const Nanoseconds door = door_.due(); door != 0 && now >= door) door_.tend(now);
    if (due_ == 0 || now < due_) return;
    due_ = 0;
    for (std::size_t i = calling_.size(); i-- > 0;) {
        if (i < calling_.size()) look_at(calling_[i], now);
    }
}

Nanoseconds Meeting::due() const noexcept {
    const Nanoseconds door = door_.due();
    if (door == 0 || due_ == 0) return door + due_;
    return std::min(door, due_);
}

/// A listener that has answered a call takes this process for a peer, also if the answer is still
/// unread; the goodbye tells it that this is no death. True: it is at the peer's host, or never
/// will be.
bool Meeting::has_said_goodbye(Call& going) noexcept {
    if (!going.stream || !going.said_hello) return true;
    if (going.goodbye == sizeof kGoodbye) return streams_.under_way(going.stream.get()) == 0;
    std::byte word[sizeof kGoodbye];
    std::memcpy(word, &kGoodbye, sizeof word);
    const iovec rest{word + going.goodbye, sizeof word - going.goodbye};
    const ssize_t sent = going.stream.send({&rest, 1});
    if (sent > 0) going.goodbye += static_cast<std::size_t>(sent);
    return sent < 0 && !is_shortage(static_cast<int>(-sent));
}

void Meeting::say_goodbye() noexcept {
    const Nanoseconds most = streams_.now() + kGoodbyeMost;
    for (const nhi::PeerId id : calling_) {
        while (!has_said_goodbye(peers_[id].peer->call) && streams_.now() < most) {
            streams_.pause(kMillisecond / 10);
        }
    }
}

void Meeting::close() noexcept {
    door_.close();
    for (const nhi::PeerId id : calling_) peers_[id].peer->call.stream.close();
    calling_.clear();
    due_ = 0;
}

}  // namespace fci::tcp
