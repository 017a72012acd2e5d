// SPDX-License-Identifier: BSD-3-Clause
// The calls of the random program, and what it makes of the answers.
#include <cstring>

#include "fci_core/mp/fast_path.h"
#include "test/simulation/simulation.h"

namespace fci::simulation {

namespace {

constexpr std::byte kUntouched{0xa5};

std::byte byte_of(std::size_t message, std::uint64_t i) {
    return static_cast<std::byte>(message * 37 + i * 5 + (i >> 8));
}

/// How an operation ends whose peer died, or was gone before it could be reached.
bool peer_gone(int result) {
    return result == mp::kPeerLost || result == mp::kUnreachable;
}

/// One to three ranges over the buffer, one of them perhaps empty.
std::vector<iovec> ranges_of(Prng& prng, Buffer& buffer, std::uint64_t bytes) {
    std::vector<iovec> ranges;
    std::uint64_t done = 0;
    while (prng.chance(15) && ranges.size() < 3) {
        const std::uint64_t n = prng.below(bytes - done + 1);
        ranges.push_back({buffer.data() + done, n});
        done += n;
    }
    ranges.push_back({buffer.data() + done, bytes - done});
    return ranges;
}

}  // namespace

mp::Completion Simulation::completion(std::size_t number, bool of_send) {
    tickets_.push_back({this, number});
    if (of_send) {
        return {[](void* user, void*, const mp::Outcome* outcome) {
                    const auto* const ticket = static_cast<Ticket*>(user);
                    ticket->simulation->send_completed(ticket->number, outcome);
                },
                &tickets_.back(), nullptr};
    }
    return {[](void* user, void*, const mp::Outcome* outcome) {
                const auto* const ticket = static_cast<Ticket*>(user);
                ticket->simulation->receive_completed(ticket->number, outcome);
            },
            &tickets_.back(), nullptr};
}

// --- sends ---

std::size_t Simulation::new_message(unsigned at, bool active) {
    const std::size_t number = reference_.messages.size();
    auto message = std::make_unique<Message>();
    message->from = at;
    message->to = some_process();
    message->active = active;
    message->space = static_cast<std::uint32_t>(prng_.chance(20));
    message->match = prng_.below(tags_) | static_cast<std::uint64_t>(number) << 32;
    message->has_immediate = prng_.chance(30);
    message->immediate = prng_.next();
    message->synchronous = prng_.chance(20);
    message->bytes = some_length();
    message->buffer.resize(message->bytes + 1);
    for (std::uint64_t i = 0; i < message->bytes; ++i) message->buffer[i] = byte_of(number, i);
    message->sent = ++moment_;
    reference_.messages.push_back(std::move(message));
    return number;
}

void Simulation::send(unsigned at) {
    const std::size_t number = new_message(at, false);
    Message& message = *reference_.messages[number];
    std::uint32_t flags = (message.has_immediate ? mp::kSendImmediate : 0) |
                          (message.synchronous ? mp::kSendSynchronous : 0);
    const bool buffered = !message.synchronous && prng_.chance(15);
    if (buffered) flags |= mp::kSendBuffered;
    const nhi::PeerId to = id_of(at, message.to);
    const mp::Completion done = completion(number, true);
    mp::MessagePassing& mp = *ends_[at].mp;
    const bool in_one = prng_.chance(50);
    const auto ranges = in_one ? std::vector{iovec{message.buffer.data(), message.bytes}}
                               : ranges_of(prng_, message.buffer, message.bytes);
    int result = 0;
    if (in_one && (mp::fast::send_line(mp.engine(), to, message.space, flags, message.match,
                                       message.immediate, message.buffer.data(), message.bytes) ||
                   mp::fast::send_eager(mp.engine(), to, message.space, flags, message.match,
                                        message.immediate, message.buffer.data(), message.bytes))) {
        result = mp::kDone;
    } else {
        result = mp.send({to, message.space, flags, message.match, message.immediate, ranges}, done,
                         &message.handle);
    }
    if ((result == mp::kAgain || result == mp::kHeld) && buffered) {  // nothing happened
        reference_.messages.pop_back();
        return;
    }
    if (peer_gone(result) && lost_is_fair(at, message.to)) {
        message.completed = ++moment_;
        message.error = result;
        return;
    }
    if (result == mp::kAccepted && buffered) fail("a buffered send keeps its buffer");
    if (result == mp::kDone) {
        const mp::Outcome outcome{};
        send_completed(number, &outcome);
    } else if (result != mp::kAccepted) {
        fail("send answers " + std::to_string(result));
    }
}

void Simulation::send_active(unsigned at) {
    const std::size_t number = new_message(at, true);
    Message& message = *reference_.messages[number];
    // The header: the message's number, and more of it that can be checked.
    std::vector<std::byte> header(8 + (prng_.chance(50) ? prng_.below(40) : prng_.below(1000)));
    const std::uint64_t name = number;
    std::memcpy(header.data(), &name, 8);
    for (std::size_t i = 8; i < header.size(); ++i) header[i] = byte_of(number + 1, i);
    const auto ranges = ranges_of(prng_, message.buffer, message.bytes);
    const std::uint32_t flags = message.synchronous ? mp::kSendSynchronous : 0;
    const int result = ends_[at].mp->send(
        mp::active_message(id_of(at, message.to), kHandler, flags, header, ranges),
        completion(number, true), &message.handle);
    if (result == mp::kDone || (peer_gone(result) && lost_is_fair(at, message.to))) {
        mp::Outcome outcome{};
        if (result != mp::kDone) outcome.error = result;
        send_completed(number, &outcome);
    } else if (result != mp::kAccepted) {
        fail("an active message answers " + std::to_string(result));
    }
}

void Simulation::send_completed(std::size_t number, const mp::Outcome* outcome) {
    Message& message = *reference_.messages[number];
    if (message.completed != kNever) return fail(reference_.text(number) + " completed twice");
    message.completed = ++moment_;
    note(moment_);
    message.error = outcome->error;
    message.handle = 0;
    if (outcome->error == mp::kCanceled) {
        if (message.cancel_asked == kNever) fail(reference_.text(number) + " was never cancelled");
    } else if (peer_gone(outcome->error) && lost_is_fair(message.from, message.to)) {
    } else if (outcome->error != mp::kSuccess) {
        fail(reference_.text(number) + " ended with " + std::to_string(outcome->error));
    }
    Buffer().swap(message.buffer);  // it is the program's again: nobody may read it
    if (!finishing_ && prng_.chance(10)) act(message.from);
}

// --- receives ---

void Simulation::receive(unsigned at) {
    const std::size_t number = reference_.receives.size();
    reference_.receives.push_back(std::make_unique<Receive>());
    Receive& receive = *reference_.receives.back();
    receive.at = at;
    receive.pattern = some_pattern(at);
    receive.capacity = prng_.chance(75) ? some_length() + 200 : some_length();
    if (prng_.chance(20)) receive.capacity += limits_.offer_bytes;
    receive.buffer.assign(receive.capacity + 1, kUntouched);
    receive.posted = ++moment_;
    const auto ranges = ranges_of(prng_, receive.buffer, receive.capacity);
    const mp::Pattern pattern = in_ranks(at, receive.pattern);
    const mp::Completion done = completion(number, false);
    mp::Outcome outcome{};
    mp::MessagePassing& mp = *ends_[at].mp;
    if (fast_path_ && ranges.size() == 1 && mp.engine().arrived.known_absent(pattern)) {
        receive.handle =
            mp::fast::post(mp.engine(), pattern, ranges[0].iov_base, ranges[0].iov_len, done);
        if (receive.handle != 0) return;
    }
    const int result = mp.receive(pattern, ranges, done, &receive.handle, &outcome);
    if (peer_gone(result)) outcome.error = result;
    if (result == mp::kDone || peer_gone(result)) {
        receive_completed(number, &outcome);
    } else if (result != mp::kAccepted) {
        fail("receive answers " + std::to_string(result));
    }
}

void Simulation::check_data(std::size_t message, const std::byte* data, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (data[i] != byte_of(message, i)) {
            return fail(reference_.text(message) + ": byte " + std::to_string(i) + " is wrong");
        }
    }
}

void Simulation::check_outcome(const Receive& receive, const mp::Outcome& outcome) {
    const std::size_t number = outcome.match >> 32;
    const Message& message = *reference_.messages[number];
    const std::string what = reference_.text(number) + ": wrong ";
    const std::uint64_t fitting = std::min(message.bytes, receive.capacity);
    const int error = fitting < message.bytes ? mp::kTruncated : mp::kSuccess;
    if (outcome.match != message.match) fail(what + "match word");
    if (process_of(receive.at, outcome.source) != message.from) fail(what + "source");
    if (outcome.length != message.bytes) fail(what + "length");
    if (outcome.received != fitting) fail(what + "number of bytes received");
    if (outcome.error != error) fail(what + "error " + std::to_string(outcome.error));
    if (outcome.flags != (message.has_immediate ? mp::kSendImmediate : 0)) fail(what + "flags");
    if (message.has_immediate && outcome.immediate != message.immediate) fail(what + "immediate");
}

/// Who a receive that failed had to do with: the sender of its message if it was matched, or whom
/// it named. kNobody: anybody could have sent.
unsigned Simulation::partner_of(const Receive& receive, const mp::Outcome& outcome) const {
    if (receive.message != kNone) return reference_.messages[receive.message]->from;
    if (receive.pattern.source != mp::kAnySource) return receive.pattern.source;
    const std::size_t number = outcome.match >> 32;
    if (number >= reference_.messages.size()) return Reference::kNobody;
    const Message& message = *reference_.messages[number];
    const bool matched = message.match == outcome.match && message.bytes == outcome.length &&
                         process_of(receive.at, outcome.source) == message.from &&
                         Reference::fits(receive, message);
    return matched ? message.from : Reference::kNobody;
}

void Simulation::receive_completed(std::size_t number, const mp::Outcome* outcome) {
    Receive& receive = *reference_.receives[number];
    if (receive.completed != kNever) {
        return fail(reference_.receive_text(number) + " completed twice");
    }
    receive.completed = ++moment_;
    note(moment_);
    receive.error = outcome->error;
    std::uint64_t written = 0;
    const unsigned source = partner_of(receive, *outcome);
    if (outcome->error == mp::kCanceled) {
        if (receive.cancel_asked == kNever) {
            fail(reference_.receive_text(number) + " was never cancelled");
        }
    } else if (outcome->error == mp::kSuccess || outcome->error == mp::kTruncated) {
        const std::size_t message = outcome->match >> 32;
        if (receive.message == kNone) {  // else: a claim, or an active message
            if (auto wrong = reference_.match(message, number); !wrong.empty()) return fail(wrong);
        }
        if (!reference_.messages[receive.message]->active) check_outcome(receive, *outcome);
        written = std::min(reference_.messages[receive.message]->bytes, receive.capacity);
        check_data(receive.message, receive.buffer.data(), written);
    } else if (peer_gone(outcome->error) && lost_is_fair(receive.at, source)) {
        Buffer().swap(receive.buffer);  // may hold part of the message
    } else {
        fail(reference_.receive_text(number) + " ended with " + std::to_string(outcome->error));
    }
    for (std::uint64_t i = written; i < receive.buffer.size(); ++i) {
        if (receive.buffer[i] != kUntouched) {
            return fail(reference_.receive_text(number) + ": written beyond the message at " +
                        std::to_string(i));
        }
    }
    Buffer().swap(receive.buffer);
    if (!finishing_ && prng_.chance(10)) act(receive.at);
}

// --- probes ---

void Simulation::probe(unsigned at, bool everything) {
    Receive like;
    like.at = at;
    like.pattern = some_pattern(at);
    like.posted = ++moment_;
    const bool claims = everything || prng_.chance(60);
    mp::Outcome outcome{};
    mp::Arrived* claimed = nullptr;
    int result = mp::kNoMessage;
    for (std::uint32_t space = 0; everything && space < 2 && result != mp::kSuccess; ++space) {
        like.pattern = {mp::kAnySource, space, 0, ~0ull};
        result = ends_[at].mp->probe(like.pattern, &outcome, &claimed);
    }
    if (!everything) {
        result = ends_[at].mp->probe(in_ranks(at, like.pattern), &outcome,
                                     claims ? &claimed : nullptr);
    }
    if (result == mp::kNoMessage) return;
    const bool names = like.pattern.source != mp::kAnySource;
    if (names && peer_gone(result) && lost_is_fair(at, like.pattern.source)) return;
    if (result != mp::kSuccess) return fail("probe answers " + std::to_string(result));
    const std::size_t message = outcome.match >> 32;
    if (auto wrong = reference_.check_probe(like, message, like.posted); !wrong.empty()) {
        return fail(wrong);
    }
    if (outcome.length != reference_.messages[message]->bytes ||
        process_of(at, outcome.source) != reference_.messages[message]->from) {
        return fail("probe tells a wrong length or source");
    }
    if (claims) take_claimed(at, like, message, claimed);
}

void Simulation::take_claimed(unsigned at, const Receive& like, std::size_t message,
                              mp::Arrived* claimed) {
    const std::size_t number = reference_.receives.size();
    reference_.receives.push_back(std::make_unique<Receive>(like));
    Receive& receive = *reference_.receives.back();
    receive.claim = true;
    if (auto wrong = reference_.match(message, number); !wrong.empty()) return fail(wrong);
    if (prng_.chance(20)) {
        ends_[at].mp->receives().discard(*claimed);
        receive.completed = ++moment_;
        return;
    }
    receive.capacity = prng_.chance(80) ? reference_.messages[message]->bytes : some_length();
    receive.buffer.assign(receive.capacity + 1, kUntouched);
    const auto ranges = ranges_of(prng_, receive.buffer, receive.capacity);
    mp::Outcome outcome{};
    const int result = ends_[at].mp->receive_claimed(*claimed, ranges, completion(number, false),
                                                     &receive.handle, &outcome);
    if (result == mp::kDone) {
        receive_completed(number, &outcome);
    } else if (result != mp::kAccepted) {
        fail("receive_claimed answers " + std::to_string(result));
    }
}

// --- cancelling ---

void Simulation::cancel(unsigned at) {
    // The newest operation of this process that is pending: a receive, or a send.
    mp::MessagePassing& mp = *ends_[at].mp;
    if (prng_.chance(70)) {
        for (std::size_t i = reference_.receives.size(); i-- > 0;) {
            Receive& receive = *reference_.receives[i];
            if (receive.at != at || receive.completed != kNever || receive.handle == 0) continue;
            if (prng_.chance(50)) continue;
            receive.cancel_asked = std::min(receive.cancel_asked, ++moment_);
            if (mp.cancel(receive.handle) != mp::kSuccess) fail("a receive cannot be cancelled");
            return;
        }
    }
    for (std::size_t i = reference_.messages.size(); i-- > 0;) {
        Message& message = *reference_.messages[i];
        if (message.from != at || message.completed != kNever || message.handle == 0) continue;
        if (message.active || prng_.chance(50)) continue;
        message.cancel_asked = std::min(message.cancel_asked, ++moment_);
        if (mp.cancel(message.handle) != mp::kSuccess) fail("a send cannot be cancelled");
        return;
    }
}

// --- active messages ---

void Simulation::handle(unsigned at, nhi::PeerId source, const void* header,
                        std::size_t header_bytes, const void* data, std::uint64_t bytes,
                        mp::ReceiveTarget* landing) {
    std::uint64_t number = 0;
    if (header_bytes < 8) return fail("an active message lost its header");
    std::memcpy(&number, header, 8);
    if (number >= reference_.messages.size()) return fail("an active message nobody sent");
    Message& message = *reference_.messages[number];
    if (!message.active || message.to != at || message.from != process_of(at, source) ||
        message.bytes != bytes || message.handled != kNever) {
        return fail("active " + reference_.text(number) + " was handled wrongly");
    }
    for (std::size_t i = 8; i < header_bytes; ++i) {
        if (static_cast<const std::byte*>(header)[i] != byte_of(number + 1, i)) {
            return fail("active " + reference_.text(number) + ": wrong header");
        }
    }
    message.handled = ++moment_;
    note(moment_);
    if (data != nullptr || bytes == 0) {
        check_data(number, static_cast<const std::byte*>(data), bytes);
    } else {
        const std::size_t to = reference_.receives.size();
        reference_.receives.push_back(std::make_unique<Receive>());
        Receive& receive = *reference_.receives.back();
        receive.at = at;
        receive.pattern.space = mp::kActiveSpace;
        receive.claim = true;
        receive.message = number;
        receive.capacity = bytes;
        receive.posted = moment_;
        receive.buffer.assign(bytes + 1, kUntouched);
        message.receive = to;
        landing_ranges_ = ranges_of(prng_, receive.buffer, bytes);
        landing->iov = landing_ranges_.data();
        landing->iov_count = landing_ranges_.size();
        landing->completion = completion(to, false);
    }
    if (!finishing_ && prng_.chance(10)) act(at);
}

}  // namespace fci::simulation
