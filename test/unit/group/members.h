// SPDX-License-Identifier: BSD-3-Clause
// Processes of a simulated world, driven by hand, and groups of them. Time stands still but in
// pass() and settle(), so that a test says at which nanosecond a member looks, and what happens in
// the middle of its look (Clock::on_now), or just when it wakes another one (Clock::on_transfer).
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/line.h"
#include "fci_core/group/table/table_group.h"
#include "fci_core/group/groups.h"
#include "fci_core/mp/message_passing.h"
#include "test/unit/group/results.h"
#include "test/unit/limit.h"
#include "test/unit/mp/pair.h"
#include "test/unit/mp/shortage.h"

namespace fci::group::test {

struct Clock final : sim::Scheduler {
    std::function<void()> on_now;       // when somebody asks for the time next, once
    std::function<void()> on_transfer;  // when somebody has sent something next, once
    unsigned asked = 0;                 // for the time, so often
    void pass(unsigned, sim::Call call) noexcept override {
        if (call == sim::Call::transfer) {
            if (const auto meanwhile = std::exchange(on_transfer, {})) meanwhile();
        }
        if (call != sim::Call::now) return;
        ++asked;
        if (const auto meanwhile = std::exchange(on_now, {})) meanwhile();
    }
    void sleep(unsigned, Nanoseconds) noexcept override {}
};

/// One process.
struct Place {
    std::unique_ptr<ddi::Device> device;
    std::unique_ptr<mp::MessagePassing> messages;
    std::unique_ptr<Groups> groups;  // where the test wants them
    std::vector<nhi::PeerId> peers;  // by rank
    bool alive = true;

    [[nodiscard]] mp::Engine& engine() const { return messages->engine(); }
    [[nodiscard]] const Counters& counters() const { return engine().counters; }
};

/// All of them, by rank.
class Processes {
public:
    explicit Processes(unsigned count, const sim::WorldOptions& options = {.mapped = true},
                       std::size_t board = 4 * gcs::Layout::kBoardLeast)
        : world(options) {
        world.set_scheduler(&clock);
        mp::test::Shortage::plan(0, 0);  // that of a test before is over
        const mp::Limits limits = mp::test::small_limits();
        for (unsigned rank = 0; rank < count; ++rank) {
            ddi::Settings settings = mp::test::settings_for(limits);
            settings.communication_bytes += board;
            if (options.per_host != 0) {
                settings.wanted.host = htonl(0x0a00'0001 + rank / options.per_host);
            }
            Place& one = places_.emplace_back();
            one.device = std::make_unique<mp::test::SparedDevice>(world.open(settings));
            one.messages =
                std::make_unique<mp::MessagePassing>(*one.device, mp::kEnhancedMixed, limits);
            // Counted, and not slept over.
            (void)one.device->network().configure_event(gcs::kWakeEvent, {true, false});
        }
        for (Place& one : places_) {
            one.peers.resize(count);
            for (unsigned rank = 0; rank < count; ++rank) {
                EXPECT_EQ(one.device->add_peer(places_[rank].device->card(), &one.peers[rank]),
                          Status::ok);
            }
        }
        pass(1'000'000);  // since() == 0 says that nobody waits
    }
    ~Processes() {
        for (Place& one : places_) one.groups.reset();
        for (Place& one : places_) one.messages.reset();
    }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(places_.size()); }
    [[nodiscard]] Place& operator[](unsigned rank) { return places_.at(rank); }
    [[nodiscard]] Members members(unsigned rank, std::uint64_t key, std::size_t most) const {
        return {places_.at(rank).peers, rank, key, most};
    }

    void pass(Nanoseconds time) { world.run_until(world.now() + time); }
    unsigned turn(unsigned rank) {
        Place& one = places_[rank];
        if (!one.alive) return 0;
        const unsigned work = one.device->network().poll(0);
        const int done = one.messages->turn();
        EXPECT_GE(done, 0);
        return work + static_cast<unsigned>(done);
    }
    /// Of all; what has come by now is heard, and nothing else comes.
    void turns(unsigned count = 4) {
        for (unsigned i = 0; i < count; ++i) {
            for (unsigned rank = 0; rank < size(); ++rank) turn(rank);
        }
    }
    /// Until nothing is on its way any more.
    void settle() {
        Limit limit("an end of what is on its way");
        for (unsigned quiet = 0; quiet < 3 && limit.holds();) {
            unsigned work = 0;
            for (unsigned rank = 0; rank < size(); ++rank) work += turn(rank);
            quiet = work == 0 && world.idle() ? quiet + 1 : 0;
            world.step();
        }
    }
    void meet(unsigned one, unsigned other) {
        EXPECT_NE(places_[one].messages->meetings().connected(places_[one].peers[other]), nullptr);
        settle();
    }
    void meet_all() {
        for (Place& one : places_) {
            for (const nhi::PeerId peer : one.peers) {
                if (peer != nhi::kSelf) (void)one.messages->meetings().connected(peer);
            }
        }
        settle();
    }
    /// It dies, and whoever has met it hears of that.
    void lose(unsigned rank) {
        world.kill(rank);
        places_[rank].alive = false;
        settle();
    }
    /// So often somebody was told to wake up.
    [[nodiscard]] unsigned raised(unsigned rank) {
        return places_[rank].device->network().event_count(gcs::kWakeEvent);
    }
    [[nodiscard]] bool is_met(unsigned one, unsigned other) {
        const mp::Peer& peer = places_[one].engine().peers.find(places_[one].peers[other]);
        return peer.connecting || peer.attached;
    }

    Clock clock;
    sim::World world;

private:
    std::vector<Place> places_;
};

/// A group of all of them whose table lies here. Nobody has come so far.
class Tabled {
public:
    explicit Tabled(Processes& all, std::size_t longest = Entry::kLong, std::uint64_t key = 0)
        : memory_(new Entry[FlagTable::bytes(all.size(), longest) / sizeof(Entry)]{}),
          table(reinterpret_cast<std::byte*>(memory_.get()), all.size(), longest) {
        for (unsigned rank = 0; rank < all.size(); ++rank) {
            groups_.push_back(std::make_unique<TableGroup>(all[rank].engine(),
                                                      all[rank].messages->meetings(), offers_,
                                                      all.members(rank, key, longest)));
            groups_.back()->open(table);
        }
    }
    [[nodiscard]] TableGroup& operator[](unsigned rank) { return *groups_.at(rank); }
    [[nodiscard]] progress::Wait& wait(unsigned rank) { return groups_.at(rank)->wait(); }
    [[nodiscard]] int barrier(unsigned rank) { return groups_.at(rank)->barrier(1); }
    /// Of a word.
    [[nodiscard]] int say(unsigned root, std::uint64_t word) {
        std::size_t bytes = sizeof word;
        return groups_.at(root)->broadcast(root, &word, &bytes, 1);
    }
    [[nodiscard]] int hear(unsigned rank, unsigned root, std::uint64_t* word) {
        std::size_t bytes = sizeof *word;
        return groups_.at(rank)->broadcast(root, word, &bytes, 1);
    }

private:
    std::unique_ptr<Entry[]> memory_;
    Offers offers_;
    std::vector<std::unique_ptr<TableGroup>> groups_;

public:
    FlagTable table;
};

/// The collectives of a run, called look by look.
class Calls {
public:
    explicit Calls(Run& of) : run(of) {}
    int barrier(unsigned looks) {
        std::size_t none = 0;
        return reduce(kAll, nullptr, nullptr, &none, kNothing, looks);
    }
    int broadcast(unsigned root, void* data, std::size_t* bytes, unsigned looks) {
        return call(FCI_ICL_BROADCAST, root, nullptr, data, bytes, {}, looks);
    }
    int reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
               const Reduction& reduction, unsigned looks) {
        return call(FCI_ICL_REDUCE, root, own, result, bytes, reduction, looks);
    }
    [[nodiscard]] TableGroup* here() const { return run.levels().here; }
    [[nodiscard]] TableGroup* between() const { return run.levels().between; }
    [[nodiscard]] progress::Wait* exchange() const { return run.waits()[2]; }

    Run& run;

private:
    int call(int kind, unsigned root, const void* own, void* data, std::size_t* bytes,
             const Reduction& reduction, unsigned looks) {
        Collective it{};
        it.kind = kind;
        it.root = root;
        it.own = own;
        it.data = data;
        it.bytes = *bytes;
        it.reduction = reduction;
        const int answer = run.call(it, looks);
        *bytes = it.bytes;
        return answer;
    }
};

/// A group that all of them form.
class Formed {
public:
    explicit Formed(Processes& its, std::uint64_t key = 0, std::size_t most = Entry::kLong)
        : all(its) {
        for (unsigned rank = 0; rank < all.size(); ++rank) {
            Place& one = all[rank];
            if (!one.groups) one.groups = std::make_unique<Groups>(*one.messages);
            groups_.push_back(&one.groups->begin(all.members(rank, key, most)));
        }
    }
    [[nodiscard]] Group& operator[](unsigned rank) { return *groups_.at(rank); }
    [[nodiscard]] Run& run_of(unsigned rank) { return *groups_.at(rank)->run; }
    [[nodiscard]] Calls levels(unsigned rank) { return Calls(run_of(rank)); }
    [[nodiscard]] int form(unsigned rank, bool crowded = false) {
        return all[rank].groups->form(*groups_[rank], crowded, 1);
    }
    void leave(unsigned rank) { all[rank].groups->leave(*groups_[rank]); }
    void leave() {
        for (unsigned rank = 0; rank < all.size(); ++rank) {
            if (all[rank].alive) leave(rank);
        }
    }
    /// The answers of all in the end to a call made again and again; those of the dead: they wait.
    template <class Call>
    std::vector<int> run(const Call& call) {
        std::vector<int> answers(all.size(), FCI_ICL_EAGAIN);
        bool goes_on = true;
        for (unsigned i = 0; goes_on && i < 60; ++i, all.settle()) {
            goes_on = false;
            for (unsigned rank = 0; rank < all.size(); ++rank) {
                if (!all[rank].alive || answers[rank] != FCI_ICL_EAGAIN) continue;
                answers[rank] = call(rank);
                goes_on = goes_on || answers[rank] == FCI_ICL_EAGAIN;
            }
        }
        return answers;
    }
    std::vector<int> form_all(bool crowded = false) {
        return run([&](unsigned rank) { return form(rank, crowded); });
    }

    Processes& all;

private:
    std::vector<Group*> groups_;
};

/// A group of some processes, by rank; one after the other may begin it.
class Some {
public:
    Some(Processes& its, std::vector<unsigned> ranks, std::uint64_t key,
         std::size_t most = Entry::kLong)
        : all_(its), ranks_(std::move(ranks)), groups_(its.size()) {
        for (unsigned at = 0; at < ranks_.size(); ++at) {
            Place& one = all_[ranks_[at]];
            if (!one.alive) continue;
            if (!one.groups) one.groups = std::make_unique<Groups>(*one.messages);
            Members members{{}, at, key, most};
            for (const unsigned rank : ranks_) members.peers.push_back(one.peers[rank]);
            groups_[ranks_[at]] = &one.groups->begin(std::move(members));
        }
    }
    [[nodiscard]] Group& operator[](unsigned rank) { return *groups_[rank]; }
    [[nodiscard]] int form(unsigned rank) {
        return all_[rank].groups->form(*groups_[rank], false, 1);
    }
    std::vector<int> form_all() {
        std::vector<int> answers(all_.size(), FCI_ICL_EAGAIN);
        for (unsigned i = 0; i < 20; ++i) {
            for (const unsigned rank : ranks_) {
                if (all_[rank].alive && answers[rank] == FCI_ICL_EAGAIN) answers[rank] = form(rank);
            }
            all_.settle();
        }
        return answers;
    }
    void leave(unsigned rank) { all_[rank].groups->leave(*groups_[rank]); }
    void leave() {
        for (const unsigned rank : ranks_) {
            if (all_[rank].alive) leave(rank);
        }
    }

private:
    Processes& all_;
    std::vector<unsigned> ranks_;
    std::vector<Group*> groups_;
};

}  // namespace fci::group::test
