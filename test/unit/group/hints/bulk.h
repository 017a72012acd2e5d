// SPDX-License-Identifier: BSD-3-Clause
// Ends of a group that has hints, driven by hand: hints are recorded and brought by the test; notes
// and messages go over the ideal network, whose time is the tests' time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fci_core/group/hosts/match.h"
#include "fci_core/group/hosts/notes.h"
#include "fci_core/group/hosts/send_nothing.h"
#include "fci_core/nhi/index_table.h"
#include "test/unit/mp/pair.h"

namespace fci::group::test {

using Bytes = std::vector<std::byte>;
using mp::test::pattern;

inline constexpr std::uint64_t kName = 77, kGroupKey = 5;  // of hints, and of the group
inline constexpr std::size_t kPiece = nhi::Hints::kPieceMost, kOne = nhi::Hints::kMost;

class HandHints final : public nhi::Hints {
public:
    struct Hinted {
        nhi::Hint hint;
        Bytes bytes;
    };
    std::vector<Hinted> hinted;
    std::vector<nhi::HintMember> joined;
    std::size_t room = 2 * kOne;
    Status answer = Status::ok;  // to a hint
    Status to_join = Status::ok;
    unsigned draws = 2;  // so many groups can be drawn
    std::uint64_t looked = 0, latest = 0;

    [[nodiscard]] std::size_t window() noexcept override { return room; }
    Status draw(nhi::HintGroup* group) noexcept override {
        if (draws == 0) return Status::unsupported;
        group->name = 100 + draws--;
        return Status::ok;
    }
    Status join(const nhi::HintMember& member, nhi::HintListener& listener) noexcept override {
        if (to_join != Status::ok) return to_join;
        joined.push_back(member);
        return table_.join(member.group.name, listener);
    }
    void leave(std::uint64_t name) noexcept override { table_.leave(name); }
    Status expect(std::uint64_t name, std::uint64_t number,
                  std::span<std::byte> to) noexcept override {
        return table_.expect(name, number, to);
    }
    void withdraw(std::uint64_t name, std::uint64_t number) noexcept override {
        table_.withdraw(name, number);
    }
    [[nodiscard]] std::uint64_t looks() const noexcept override { return looked; }
    [[nodiscard]] std::uint64_t heard(std::uint64_t) const noexcept override { return latest; }
    Status hint(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept override {
        if (answer == Status::ok) hinted.push_back({hint, Bytes(bytes.begin(), bytes.end())});
        return answer;
    }

    /// It comes, as a driver would bring it. False: it goes nowhere.
    bool bring(const nhi::Hint& hint, std::span<const std::byte> bytes) {
        const nhi::IndexTable::Place place = table_.find(hint, bytes.size());
        if (place.listener == nullptr) return false;
        if (!bytes.empty()) std::memcpy(place.at, bytes.data(), bytes.size());
        place.listener->arrived(hint, bytes.size());
        return true;
    }
    /// Where the hints that were sent since begin.
    [[nodiscard]] std::vector<std::size_t> offsets() const {
        std::vector<std::size_t> all;
        for (const Hinted& one : hinted) all.push_back(one.hint.offset);
        return all;
    }

private:
    nhi::IndexTable table_;
};

/// Processes that have all met, each on a host of its own.
class Ends {
public:
    struct Noted {
        unsigned from;
        Bytes bytes;

        /// It is of that kind.
        template <NoteRecord R>
        [[nodiscard]] R as() const {
            EXPECT_EQ(kind_of(bytes), R::kKind);
            return unpack<R>(bytes);
        }
    };
    struct Message {
        Bytes data;
        bool is_nothing;  // send_nothing()
    };

    explicit Ends(unsigned count) : world({.per_host = 1}) {
        for (unsigned end = 0; end < count; ++end) {
            ends_.push_back(std::make_unique<End>(world));
        }
        for (unsigned one = 0; one < count; ++one) {
            for (unsigned other = 0; other < count; ++other) {
                nhi::PeerId id = nhi::kNoPeer;
                const ddi::Card& card = ends_[other]->device->card();
                EXPECT_EQ(ends_[one]->device->add_peer(card, &id), Status::ok);
                ends_[one]->peers.push_back(id);
                if (one == other) continue;
                EXPECT_NE(messages(one).meetings().connected(id), nullptr);
            }
        }
        settle();
    }

    [[nodiscard]] mp::MessagePassing& messages(unsigned end) { return *ends_[end]->messages; }
    [[nodiscard]] HandHints& hints(unsigned end) { return ends_[end]->hints; }
    [[nodiscard]] const Counters& counters(unsigned end) { return messages(end).engine().counters; }
    /// By end, as that one numbers them.
    [[nodiscard]] const std::vector<nhi::PeerId>& peers(unsigned end) const {
        return ends_[end]->peers;
    }
    [[nodiscard]] std::vector<Noted>& notes(unsigned end) { return ends_[end]->notes; }
    /// The notes of members on long broadcasts go to `to`, in turn; else notes() has them.
    template <class T>
    void report(unsigned end, T& to) {
        ends_[end]->user = &to;
        ends_[end]->on_progress = [](void* user, nhi::PeerId source, const LongProgress& note) {
            static_cast<T*>(user)->on_progress(source, note);
        };
    }

    void turn() {
        for (const auto& end : ends_) {
            end->device->network().poll(0);
            EXPECT_GE(end->messages->turn(), 0);
        }
    }
    /// Until nothing moves any more.
    void settle() {
        for (unsigned quiet = 0; quiet < 4;) {
            unsigned work = 0;
            for (const auto& end : ends_) {
                work += end->device->network().poll(0);
                work += static_cast<unsigned>(end->messages->turn());
            }
            quiet = work == 0 && world.idle() ? quiet + 1 : 0;
        }
    }
    void wait(Nanoseconds how_long) { world.run_until(world.now() + how_long); }
    void kill(unsigned end) {
        world.kill(end);
        ends_[end]->is_dead = true;
        for (unsigned other = 0; other < ends_.size(); ++other) {
            if (ends_[other]->is_dead) continue;
            const nhi::PeerId id = peers(other)[end];
            for (Limit limit("a death"); limit.holds() && !is_lost(other, id);) turn();
        }
    }

    /// The hints that this end has given so far come to all others, piece by piece.
    void carry(unsigned from) {
        for (const auto& [hint, bytes] : std::exchange(hints(from).hinted, {})) {
            for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
                nhi::Hint piece = hint;
                piece.offset += static_cast<std::uint32_t>(at);
                const auto part = std::span(bytes).subspan(at, std::min(bytes.size() - at, kPiece));
                for (unsigned to = 0; to < ends_.size(); ++to) {
                    if (to != from) (void)hints(to).bring(piece, part);
                }
            }
        }
    }

    /// To be kept until the other end has it.
    void send(unsigned from, unsigned to, std::uint64_t match, std::span<std::byte> data) {
        const iovec range{data.data(), data.size()};
        EXPECT_GE(messages(from).send({peers(from)[to], mp::kGroupSpace, 0, match, 0, {&range, 1}},
                                      {}, nullptr),
                  0);
    }
    void send_nothing(unsigned from, unsigned to, std::uint64_t match) {
        group::send_nothing(messages(from), peers(from)[to], match);
    }
    /// A message that has come: the oldest with that match.
    std::optional<Message> take(unsigned at, unsigned from, std::uint64_t match) {
        settle();
        const mp::Pattern wanted{peers(at)[from], mp::kGroupSpace, match, 0};
        mp::Outcome outcome{};
        if (messages(at).probe(wanted, &outcome, nullptr) != mp::kSuccess) return {};
        Message message{Bytes(outcome.length), false};
        const iovec place{message.data.data(), message.data.size()};
        outcome.error = kUnderWay;
        const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                            *static_cast<mp::Outcome*>(user) = *status;
                                        },
                                        &outcome, nullptr};
        EXPECT_GE(messages(at).receive(wanted, {&place, 1}, completion, nullptr, &outcome), 0);
        for (Limit limit("a message"); limit.holds() && outcome.error == kUnderWay;) turn();
        EXPECT_EQ(outcome.error, mp::kSuccess);
        message.is_nothing = (outcome.flags & mp::kSendImmediate) != 0;
        settle();
        return message;
    }

    sim::World world;

private:
    static constexpr int kUnderWay = 12345;

    struct End {
        explicit End(sim::World& world)
            : device(world.open(mp::test::settings_for(mp::test::small_limits()))) {
            messages = std::make_unique<mp::MessagePassing>(*device, mp::kEnhancedMixed,
                                                            mp::test::small_limits());
            messages->active_messages().set_handler(
                mp::ActiveMessages::kOfGroups,
                [](void* its, nhi::PeerId source, const void* header, std::size_t bytes,
                   const void*, std::uint64_t, mp::ReceiveTarget*) {
                    static_cast<End*>(its)->on_note(
                        source, {static_cast<const std::byte*>(header), bytes});
                },
                this);
        }
        void on_note(nhi::PeerId source, std::span<const std::byte> note) {
            const NoteKind kind = kind_of(note);
            ASSERT_NE(kind, NoteKind::none);
            if (on_progress != nullptr && kind == NoteKind::long_progress) {
                return on_progress(user, source, unpack<LongProgress>(note));
            }
            const auto from = std::find(peers.begin(), peers.end(), source);
            notes.push_back({static_cast<unsigned>(from - peers.begin()),
                             Bytes(note.begin(), note.end())});
        }

        std::unique_ptr<ddi::Device> device;
        HandHints hints;
        std::unique_ptr<mp::MessagePassing> messages;
        bool is_dead = false;
        std::vector<nhi::PeerId> peers;
        std::vector<Noted> notes;
        void* user = nullptr;
        void (*on_progress)(void* user, nhi::PeerId source, const LongProgress& note) = nullptr;
    };

    [[nodiscard]] bool is_lost(unsigned at, nhi::PeerId id) {
        return messages(at).engine().peers.is_lost(id);
    }

    std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace fci::group::test
