// SPDX-License-Identifier: BSD-3-Clause
// A program of all kinds of messages between two processes, each call and each turn of which may
// find no memory. A call that fails is made again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fci_core/base/prng.h"
#include "test/unit/mp/pair.h"
#include "test/unit/mp/shortage.h"

namespace fci::mp::test {

inline constexpr std::uint32_t kHandler = 3;
inline constexpr unsigned kMessages = 70;
inline constexpr unsigned kTurnsMost = 20'000;
// What the receiver does is the tag's: so for each tag the k-th receive takes the k-th message.
enum Tag : std::uint64_t { early, late, probed, any, active, tags };
inline constexpr std::uint64_t kNeverSent = 100, kNeverReceived = 101;

struct Message {
    int from = 0;
    Tag tag = early;
    std::uint32_t flags = 0;
    bool in_parts = false;
    std::vector<std::byte> data, to;
    // What was heard of it.
    int sent = 0, received = 0;  // how often its ends were told
    bool asked_for = false, gone = false;
    Outcome outcome{};
};

/// A receive that nothing fits or a send that nobody takes, to be cancelled.
struct Vain {
    int at = 0;
    bool is_send = false;
    std::vector<std::byte> data;
    std::uint32_t handle = 0;
    int ended = 0, error = 0;
};

struct Program {
    Program(const Protocol& its_protocol, const sim::WorldOptions& options, CopyPath::Policy copy,
            std::uint64_t seed)
        : world(options), protocol(its_protocol), prng(seed) {
        Limits limits = small_limits();
        limits.layout = {8, 64 * 1024, 4 * gcs::Layout::kPieceBytes};
        limits.copy = copy;
        for (int i = 0; i < 2; ++i) {
            devices.push_back(std::make_unique<SparedDevice>(world.open(settings_for(limits))));
            ends.push_back(std::make_unique<MessagePassing>(*devices[i], protocol, limits));
            ends[i]->active_messages().set_handler(kHandler, arrived, this);
        }
        for (const int i : {0, 1}) {
            EXPECT_EQ(devices[i]->add_peer(devices[1 - i]->card(), &there[i]), Status::ok);
        }
        constexpr std::size_t kSizes[] = {0, 8, 40, 700, 4000, 20'000, 90'000};
        messages.resize(kMessages);
        for (Message& message : messages) {
            message.from = static_cast<int>(prng.below(2));
            message.tag = static_cast<Tag>(prng.below(tags));
            message.flags = prng.chance(40) ? kSendSynchronous : 0;
            message.in_parts = prng.chance(30);
            const std::size_t bytes = kSizes[prng.below(std::size(kSizes))];
            message.data = pattern(bytes, static_cast<unsigned>(prng.below(256)));
            message.to.resize(bytes);
        }
        vain.resize(16);
        for (unsigned i = 0; i < vain.size(); ++i) {
            vain[i] = {static_cast<int>(i % 2), i % 4 >= 2, pattern(i % 3 == 0 ? 8 : 20'000)};
        }
    }
    ~Program() {
        ends.clear();
        devices.clear();
    }

    /// Orders, and messages that wait.
    [[nodiscard]] auto held() const {
        const Engine &a = ends[0]->engine(), &b = ends[1]->engine();
        return std::pair(a.orders.used() + b.orders.used(), a.arrived.size() + b.arrived.size());
    }

    // --- calls, in the shortage: one that fails has done nothing, and is made again ---

    template <class Call>
    int insist(Call call) {
        for (unsigned tries = 0; tries < 100; ++tries) {
            const auto before = held();
            int result = kNoMemory;
            try {
                const InForce now;
                result = call();
            } catch (const std::bad_alloc&) {
            }
            if (result != kNoMemory) return result;
            ++refused;
            EXPECT_EQ(before, held());
        }
        ADD_FAILURE() << "there is never enough memory";
        return kNoMemory;
    }
    static std::vector<iovec> ranges(std::vector<std::byte>& of, bool in_parts) {
        if (!in_parts) return {{of.data(), of.size()}};
        const std::size_t part = of.size() / 3;
        return {{of.data(), part}, {of.data() + part, part},
                {of.data() + 2 * part, of.size() - 2 * part}};
    }
    static Completion told_sent(Message& message) {
        return {[](void*, void* owner, const Outcome* outcome) {
                    const InForce not_here(false);
                    EXPECT_EQ(outcome->error, kSuccess);
                    ++static_cast<Message*>(owner)->sent;
                },
                nullptr, &message};
    }
    static Completion told_received(Message& message) {
        return {[](void*, void* owner, const Outcome* outcome) {
                    auto& its = *static_cast<Message*>(owner);
                    ++its.received;
                    its.outcome = *outcome;
                },
                nullptr, &message};
    }
    void send(Message& message) {
        const auto from = ranges(message.data, message.in_parts);
        std::uint32_t handle = 0;
        const int result = insist([&] {
            MessagePassing& end = *ends[message.from];
            const nhi::PeerId peer = there[message.from];
            if (message.tag == active) {
                const Message* const self = &message;
                return end.send(active_message(peer, kHandler, message.flags,
                                               std::as_bytes(std::span(&self, 1)), from),
                                told_sent(message), &handle);
            }
            return end.send({peer, 0, message.flags, message.tag, 0, from}, told_sent(message),
                            &handle);
        });
        ASSERT_TRUE(result == kAccepted || result == kDone) << result;
        message.sent += result == kDone;
        message.gone = true;
    }
    void receive(Message& message) {
        const int at = 1 - message.from;
        const auto to = ranges(message.to, message.in_parts);
        const nhi::PeerId source = message.tag == any ? kAnySource : there[at];
        std::uint32_t handle = 0;
        Arrived* claimed = nullptr;
        const auto probe = [&] {
            return ends[at]->probe({source, 0, message.tag, 0}, nullptr, &claimed);
        };
        if (message.tag == probed && insist(probe) != kSuccess) return;
        const int result = insist([&] {
            if (claimed != nullptr) {
                return ends[at]->receive_claimed(*claimed, to, told_received(message), &handle,
                                                 &message.outcome);
            }
            return ends[at]->receive({source, 0, message.tag, 0}, to, told_received(message),
                                     &handle, &message.outcome);
        });
        ASSERT_TRUE(result == kAccepted || result == kDone) << result;
        message.received += result == kDone;
        message.asked_for = true;
    }
    static void arrived(void*, nhi::PeerId, const void* header, std::size_t, const void* data,
                        std::uint64_t bytes, ReceiveTarget* target) {
        Message* message = nullptr;
        std::memcpy(&message, header, sizeof message);
        message->asked_for = true;
        message->outcome.length = bytes;
        if (data != nullptr || bytes == 0) {
            ++message->received;
            if (bytes != 0) std::memcpy(message->to.data(), data, bytes);
            if (data != nullptr) return;
        }
        static thread_local iovec range;
        range = {message->to.data(), message->to.size()};
        target->iov = &range, target->iov_count = 1;
        if (bytes != 0) target->completion = told_received(*message);
    }
    void begin(Vain& it) {
        const iovec range{it.data.data(), it.data.size()};
        const Completion told{[](void*, void* owner, const Outcome* outcome) {
                                  ++static_cast<Vain*>(owner)->ended;
                                  static_cast<Vain*>(owner)->error = outcome->error;
                              },
                              nullptr, &it};
        MessagePassing& end = *ends[it.at];
        const nhi::PeerId to = there[it.at];
        const int result = insist([&] {
            return it.is_send ? end.send({to, 0, kSendSynchronous, kNeverReceived, 0, {&range, 1}},
                                         told, &it.handle)
                              : end.receive({to, 0, kNeverSent, 0}, {&range, 1}, told, &it.handle,
                                            nullptr);
        });
        ASSERT_EQ(result, kAccepted);
    }

    // --- the program ---

    void turns(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            for (const int who : {0, 1}) {
                devices[who]->network().poll(0);
                const InForce now;
                const int work = ends[who]->turn();
                EXPECT_TRUE(work >= 0 || work == kNoMemory) << work;
                starved += work == kNoMemory;
            }
        }
    }
    /// The k-th receive of a tag is asked for before the one behind it.
    void ask_for(int at, Tag tag) {
        for (Message& message : messages) {
            if (message.from == at || message.tag != tag || message.asked_for) continue;
            return receive(message);
        }
    }
    [[nodiscard]] bool is_over() {
        return std::all_of(messages.begin(), messages.end(),
                           [](const Message& m) { return m.sent != 0 && m.received != 0; }) &&
               std::all_of(vain.begin(), vain.end(), [](const Vain& v) { return v.ended != 0; });
    }
    void run() {
        for (unsigned i = 0; i < kMessages; ++i) {
            Message& message = messages[i];
            if (message.tag == early || message.tag == any) receive(message);
            if (prng.chance(50)) turns(1 + static_cast<unsigned>(prng.below(20)));
            send(message);
            if (i < vain.size()) begin(vain[i]);
            if (prng.chance(30)) turns(1 + static_cast<unsigned>(prng.below(5)));
            if (i >= 30 && i - 30 < vain.size()) {
                Vain& it = vain[i - 30];
                EXPECT_EQ(insist([&] { return ends[it.at]->cancel(it.handle); }), kSuccess);
            }
            if (prng.chance(30)) ask_for(static_cast<int>(prng.below(2)), probed);
        }
        for (unsigned i = 0; i < kTurnsMost && !is_over(); ++i) {
            for (const Tag tag : {late, probed}) ask_for(static_cast<int>(i % 2), tag);
            turns(1);
        }
        turns(200);
    }
    void check() {
        for (unsigned i = 0; i < kMessages; ++i) {
            const Message& m = messages[i];
            EXPECT_TRUE(m.sent == 1 && m.received == 1 && m.data == m.to &&
                        m.outcome.error == kSuccess && m.outcome.length == m.data.size())
                << "message " << i << " of tag " << m.tag << ", " << m.data.size() << " bytes"
                << (m.in_parts ? " in parts" : "") << ": its end was told " << m.sent << " and "
                << m.received << " times, error " << m.outcome.error;
        }
        for (const Vain& it : vain) EXPECT_TRUE(it.ended == 1 && it.error == kCanceled);
        EXPECT_EQ(held(), std::pair(std::size_t{0}, std::size_t{0}));
        for (const auto& end : ends) EXPECT_EQ(end->engine().counters.peers_lost, 0u);
    }

    sim::World world;
    const Protocol& protocol;
    Prng prng;
    std::vector<std::unique_ptr<ddi::Device>> devices;
    std::vector<std::unique_ptr<MessagePassing>> ends;
    nhi::PeerId there[2]{};
    std::vector<Message> messages;
    std::vector<Vain> vain;
    unsigned refused = 0, starved = 0;  // calls, turns that said so
};

}  // namespace fci::mp::test
