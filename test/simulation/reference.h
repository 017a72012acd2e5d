// SPDX-License-Identifier: BSD-3-Clause
// Reference: what happened in one simulated run, and whether MPI's rules allow it (§2.6.2).
//
// With several senders the order of arrival is open, so no single outcome is right. What is fixed:
//  A  of two messages of one sender that both fit a receive, the receive gets the older one, unless
//     an older receive had that (messages do not overtake);
//  B  of two receives that a message fits, the older one gets it, unless that got another message
//     or was cancelled (receives do not overtake);
//  C  at rest no receive is left waiting for a message that is left waiting for it.
// Together with "every message once, to a receive it fits" these are what MPI promises.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fci_core/mp/match/matching.h"
#include "test/simulation/guarded.h"

namespace fci::simulation {

/// Grows with every call and every completion of the run, at whatever process.
using Moment = std::uint64_t;
inline constexpr Moment kNever = ~0ull;
inline constexpr std::size_t kNone = ~std::size_t{0};

struct Message {
    unsigned from = 0, to = 0;  // process numbers
    std::uint32_t space = 0;
    std::uint64_t match = 0, immediate = 0, bytes = 0;
    bool has_immediate = false, synchronous = false, active = false;
    Buffer buffer{};
    Moment sent = 0, completed = kNever, cancel_asked = kNever, handled = kNever;
    int error = 0;
    std::uint32_t handle = 0;
    std::size_t receive = kNone;  // what it was matched with
};

/// A posted receive, a claimed message, or a discarded one: whatever takes a message.
struct Receive {
    unsigned at = 0;
    mp::Pattern pattern{};  // source: a process number, or kAnySource
    Buffer buffer{};
    std::uint64_t capacity = 0;
    Moment posted = 0, completed = kNever, cancel_asked = kNever;
    bool claim = false;
    int error = 0;
    std::uint32_t handle = 0;
    std::size_t message = kNone;  // what it got
};

class Reference {
public:
    // Stable addresses: the core holds pointers into buffers.
    std::vector<std::unique_ptr<Message>> messages;
    std::vector<std::unique_ptr<Receive>> receives;
    static constexpr unsigned kNobody = ~0u;

    unsigned killed = kNobody;  // the process that died in this run
    std::pair<unsigned, unsigned> parted{kNobody, kNobody};  // live on without each other

    [[nodiscard]] bool is_parted(unsigned process) const {
        return process == parted.first || process == parted.second;
    }
    [[nodiscard]] bool are_parted(unsigned one, unsigned other) const {
        return one != other && is_parted(one) && is_parted(other);
    }
    /// What its sender sent may not have come.
    [[nodiscard]] bool may_be_lost(const Message& message) const {
        return message.from == killed || are_parted(message.from, message.to);
    }

    [[nodiscard]] static bool fits(const Receive& receive, const Message& message) {
        return !message.active && message.to == receive.at &&
               receive.pattern.fits({message.from, message.space, message.match});
    }
    [[nodiscard]] static bool cancelled(const Message& message) {
        return message.cancel_asked != kNever && message.receive == kNone;
    }

    /// `message` goes to `receive`. The text of what is wrong with that, or nothing.
    [[nodiscard]] std::string match(std::size_t message, std::size_t receive) {
        if (message >= messages.size()) return "receive got a message that was never sent";
        Message& m = *messages[message];
        Receive& r = *receives[receive];
        if (m.receive != kNone) return text(message) + " was received twice";
        if (!fits(r, m)) return text(message) + " does not fit " + receive_text(receive);
        m.receive = receive;
        r.message = message;
        return {};
    }

    /// A probe at `now` saw `message`: rules A and B as far as they are known by now.
    [[nodiscard]] std::string check_probe(const Receive& probe, std::size_t message, Moment now) {
        if (message >= messages.size()) return "probe saw a message that was never sent";
        const Message& seen = *messages[message];
        if (!fits(probe, seen)) return "probe saw " + text(message) + ", which does not fit";
        if (seen.receive != kNone) return "probe saw " + text(message) + ", which was received";
        probes_.push_back({message, now, probe.pattern});
        return {};
    }

    /// Rules A and B over the whole run, for all receives, claims and probes.
    [[nodiscard]] std::string check_order() const {
        for (std::size_t i = 0; i < receives.size(); ++i) {
            const Receive& r = *receives[i];
            if (r.message == kNone || r.at == killed) continue;
            if (auto wrong = overtaken(r, r.message, r.posted); !wrong.empty()) {
                return receive_text(i) + ": " + wrong;
            }
            if (auto wrong = receive_overtaken(r, r.message, r.posted, r.completed);
                !wrong.empty()) {
                return receive_text(i) + ": " + wrong;
            }
        }
        for (const Probe& probe : probes_) {
            if (messages[probe.message]->to == killed) continue;
            Receive as_receive;
            as_receive.at = messages[probe.message]->to;
            as_receive.pattern = probe.pattern;
            auto wrong = overtaken(as_receive, probe.message, probe.when);
            if (wrong.empty()) {
                wrong = receive_overtaken(as_receive, probe.message, probe.when, probe.when);
            }
            if (!wrong.empty()) return "probe: " + wrong;
        }
        return check_active();
    }

    /// Rule C. To be asked when nothing moves any more.
    [[nodiscard]] std::string check_rest() const {
        for (std::size_t i = 0; i < receives.size(); ++i) {
            const Receive& r = *receives[i];
            if (r.message != kNone || r.completed != kNever || r.at == killed) continue;
            for (std::size_t j = 0; j < messages.size(); ++j) {
                const Message& m = *messages[j];
                if (may_be_lost(m) || m.cancel_asked != kNever) continue;
                if (m.completed != kNever && m.error != 0) continue;  // it was never sent
                if (m.receive == kNone && fits(r, m)) {
                    return receive_text(i) + " and " + text(j) + " wait for each other";
                }
            }
        }
        return {};
    }

    [[nodiscard]] std::string text(std::size_t message) const {
        const Message& m = *messages[message];
        return "message " + std::to_string(message) + " (" + std::to_string(m.from) + "->" +
               std::to_string(m.to) + " space " + std::to_string(m.space) + " tag " +
               std::to_string(m.match & 0xffffffff) + ", " + std::to_string(m.bytes) + " bytes)";
    }
    [[nodiscard]] std::string receive_text(std::size_t receive) const {
        const Receive& r = *receives[receive];
        return std::string(r.claim ? "claim " : "receive ") + std::to_string(receive) + " at " +
               std::to_string(r.at) + " (source " +
               (r.pattern.source == mp::kAnySource ? "any" : std::to_string(r.pattern.source)) +
               " space " + std::to_string(r.pattern.space) + ", " + std::to_string(r.capacity) +
               " bytes)";
    }

private:
    struct Probe {
        std::size_t message;
        Moment when;
        mp::Pattern pattern;
    };

    /// Rule A: whoever took `message` at `when` should have had an older one of the same sender.
    [[nodiscard]] std::string overtaken(const Receive& taker, std::size_t message,
                                        Moment when) const {
        for (std::size_t j = 0; j < message; ++j) {  // numbered in the order of their sends
            const Message& older = *messages[j];
            if (older.from != messages[message]->from || !fits(taker, older)) continue;
            if (cancelled(older) || may_be_lost(older)) continue;
            if (older.receive != kNone && receives[older.receive]->posted <= when) continue;
            return text(message) + " overtook " + text(j);
        }
        return {};
    }
    /// Rule B: an older receive that `message` fits was still there. It was if it was posted before
    /// and its message, if any, is a later one of the same sender (that is rule A for it), or if
    /// its cancelling was asked for only after `known`, when this match was known already.
    [[nodiscard]] std::string receive_overtaken(const Receive& taker, std::size_t message,
                                                Moment when, Moment known) const {
        const Message& m = *messages[message];
        for (std::size_t i = 0; i < receives.size(); ++i) {
            const Receive& older = *receives[i];
            if (older.at != taker.at || older.posted >= when || !fits(older, m)) continue;
            if (older.message != kNone || older.cancel_asked < known) continue;
            if (older.error != 0) continue;  // it ended with the process that died
            return text(message) + " should have gone to " + receive_text(i);
        }
        return {};
    }
    /// Active messages of one sender are handled in order.
    [[nodiscard]] std::string check_active() const {
        for (std::size_t j = 0; j < messages.size(); ++j) {
            const Message& m = *messages[j];
            if (!m.active || m.handled == kNever) continue;
            for (std::size_t k = 0; k < j; ++k) {
                const Message& older = *messages[k];
                if (older.to == killed || are_parted(older.from, older.to)) continue;
                if (older.active && older.from == m.from && older.to == m.to &&
                    older.handled > m.handled && !cancelled(older)) {
                    return "active " + text(j) + " overtook " + text(k);
                }
            }
        }
        return {};
    }

    std::vector<Probe> probes_;
};

}  // namespace fci::simulation
