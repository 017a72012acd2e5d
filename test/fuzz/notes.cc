// SPDX-License-Identifier: BSD-3-Clause
// notes: any bytes as notes to a process, from members of its groups and from strangers, while it
// forms a group, or is in a long broadcast. No peer is given up for them, and a group whose members
// have joined goes on.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/group/groups.h"
#include "fci_core/mp/message_passing.h"

namespace {

using namespace fci;

constexpr unsigned kProcesses = 6, kTurnsMost = 10'000;
constexpr std::size_t kLongBytes = 5000;

void require(bool holds) {
    if (!holds) std::abort();
}

mp::Limits limits() {
    mp::Limits limits;
    limits.layout = {32, 64 * 1024};
    limits.eager_bytes = 4096;
    limits.offer_bytes = 8192;
    limits.unexpected_bytes = 64 * 1024;
    return limits;
}

struct Process {
    std::unique_ptr<ddi::Device> device;
    std::unique_ptr<mp::MessagePassing> messages;
    std::unique_ptr<group::Groups> groups;
    std::vector<nhi::PeerId> peers;
};

/// Two on each of three hosts, which have all met.
class World {
public:
    World() {
        for (unsigned number = 0; number < kProcesses; ++number) {
            ddi::Settings settings;
            settings.block_bytes = limits().layout.block_bytes();
            settings.sizes = limits().layout.sizes();
            settings.communication_bytes =
                limits().layout.pool_bytes + 4 * gcs::Layout::kBoardLeast;
            settings.wanted.host = htonl(0x0a00'0001 + number / 2);
            Process& one = all[number];
            one.device = world_.open(settings);
            one.messages = std::make_unique<mp::MessagePassing>(*one.device, mp::kEnhancedMixed,
                                                                limits());
            one.groups = std::make_unique<group::Groups>(*one.messages);
        }
        for (Process& one : all) {
            for (Process& other : all) {
                require(one.device->add_peer(other.device->card(), &one.peers.emplace_back()) ==
                        Status::ok);
            }
            for (const nhi::PeerId peer : one.peers) {
                if (peer != nhi::kSelf) (void)one.messages->meetings().connected(peer);
            }
        }
        settle();
    }
    ~World() {
        for (Process& one : all) one.groups.reset();
        for (Process& one : all) one.messages.reset();
    }

    /// Until nothing is on its way any more.
    void settle() {
        unsigned turns = 0;
        for (unsigned quiet = 0; quiet < 3; world_.step()) {
            unsigned work = 0;
            for (Process& one : all) {
                work += one.device->network().poll(0);
                const int done = one.messages->turn();
                require(done >= 0);
                work += static_cast<unsigned>(done);
            }
            quiet = work == 0 && world_.idle() ? quiet + 1 : 0;
            require(++turns < kTurnsMost);
        }
    }
    void pass(Nanoseconds time) { world_.run_until(world_.now() + time); }
    void send(unsigned from, std::span<const std::byte> note) {
        (void)all[from].messages->send(
            mp::active_message(all[from].peers[0], mp::ActiveMessages::kOfGroups, 0, note, {}), {},
            nullptr);
        settle();
    }

private:
    sim::World world_{{.per_host = 2, .mapped = true, .hints = {.work = true}}};

public:
    std::array<Process, kProcesses> all;
};

/// A group as each of its members has it, by rank.
class Job {
public:
    Job(World& world, std::vector<unsigned> processes, std::uint64_t key)
        : world_(world), processes_(std::move(processes)) {
        for (unsigned rank = 0; rank < processes_.size(); ++rank) {
            group::Members members{{}, rank, key, kLongBytes};
            for (const unsigned other : processes_) {
                members.peers.push_back(at(rank).peers[other]);
            }
            groups_.push_back(&at(rank).groups->begin(std::move(members)));
        }
    }
    int form(unsigned rank) { return at(rank).groups->form(*groups_[rank], false, 1); }
    void form_all() {
        run([&](unsigned rank) { return form(rank); });
    }
    /// The root's word comes to all.
    void broadcast_word(unsigned root, std::uint64_t word) {
        std::vector<std::uint64_t> words(processes_.size());
        words[root] = word;
        run([&](unsigned rank) { return broadcast(rank, root, &words[rank], sizeof word); });
        for (const std::uint64_t one : words) require(one == word);
    }
    int broadcast(unsigned rank, unsigned root, void* data, std::size_t bytes) {
        group::Collective it{};
        it.kind = FCI_ICL_BROADCAST;
        it.root = root;
        it.own = it.data = data;
        it.bytes = bytes;
        return groups_[rank]->call(it, 1);
    }
    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(processes_.size()); }
    void leave(unsigned rank) { at(rank).groups->leave(*groups_[rank]); }

private:
    Process& at(unsigned rank) { return world_.all[processes_[rank]]; }
    /// A call made again and again, until it is done at all.
    template <class Call>
    void run(const Call& call) {
        std::vector<int> answers(size(), FCI_ICL_EAGAIN);
        for (unsigned turn = 0; std::count(answers.begin(), answers.end(), FCI_ICL_EAGAIN) != 0;
             ++turn) {
            require(turn < 100);
            for (unsigned rank = 0; rank < size(); ++rank) {
                if (answers[rank] == FCI_ICL_EAGAIN) answers[rank] = call(rank);
            }
            world_.settle();
            world_.pass(1'000'000);
        }
        for (const int answer : answers) require(answer == FCI_ICL_DONE);
    }

    World& world_;
    const std::vector<unsigned> processes_;
    std::vector<group::Group*> groups_;
};

/// Process 0 gets the notes; 3 and 5 are in none of its groups.
struct Scene {
    Scene() {
        for (Job* const one : {&joined, &hosts, &hints, &long_ones}) one->form_all();
        (void)offered.form(0);
        (void)awaited.form(0);
        world.settle();
        for (auto& room : rooms) room.resize(kLongBytes);
    }
    /// A member calls no more once its broadcast has ended.
    void broadcast_long() {
        for (unsigned rank = 0; rank < long_ones.size(); ++rank) {
            if ((rank == 0 && has_left) || has_ended[rank]) continue;
            const int answer = long_ones.broadcast(rank, 0, rooms[rank].data(), kLongBytes);
            has_ended[rank] = answer != FCI_ICL_EAGAIN;
        }
        world.settle();
    }
    void leave_long() {
        if (!std::exchange(has_left, true)) long_ones.leave(0);
        world.settle();
    }
    void end() {
        for (unsigned root = 0; root < hints.size(); ++root) hints.broadcast_word(root, 7 + root);
        hosts.broadcast_word(1, 11);
        for (const nhi::PeerId peer : world.all[0].peers) {
            require(*world.all[0].messages->engine().peers.reason(peer) == '\0');
        }
    }

    std::array<std::vector<std::byte>, 4> rooms;  // longer than whatever borrows it
    std::array<bool, 4> has_ended{};
    bool has_left = false;
    World world;
    Job offered{world, {0, 1}, 2};  // its table is here, and the other one has not come
    Job awaited{world, {0, 1}, 3};  // its table is to come
    Job joined{world, {0, 1}, 5};   // its table is at the other one
    Job hosts{world, {0, 2}, 4};
    Job hints{world, {0, 2, 4}, 6};
    Job long_ones{world, {0, 1, 2, 4}, 8};
};

}  // namespace

/// Each step is a byte, and behind that of a note its length and its bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr unsigned kStepsMost = 64;
    Scene scene;
    for (unsigned steps = 0; size != 0 && steps < kStepsMost; ++steps) {
        const std::uint8_t step = *data++;
        --size;
        if (step >= 0xc0) {
            if (step % 4 == 0) (void)scene.awaited.form(0);
            if (step % 4 == 1) scene.broadcast_long();
            if (step % 4 == 2) scene.world.pass(3'000'000);
            if (step % 4 == 3) scene.leave_long();
            continue;
        }
        if (size == 0) break;
        const std::size_t length = std::min<std::size_t>(*data++, --size);
        scene.world.send(1 + step % (kProcesses - 1), std::as_bytes(std::span(data, length)));
        data += length;
        size -= length;
    }
    scene.end();
    return 0;
}
