// SPDX-License-Identifier: BSD-3-Clause
// Contexts of one process that form groups, stepped one by one through the C face.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fci_core/api/icl.h"
#include "fci_core/group/groups.h"
#include "test/unit/api/context.h"
#include "test/unit/limit.h"

namespace fci {

inline constexpr std::uint64_t kJob = 0x4719;

inline std::uint64_t sleeps(const fci_icl_context* context) {
    for (unsigned i = 0;; ++i) {
        if (std::string_view(fci_icl_counter_name(i, nullptr)) == "sleeps") {
            return fci_icl_counter(context, i);
        }
    }
}

inline std::size_t longest_of(const fci_icl_group* group) {
    struct fci_icl_group_limits limits{};
    fci_icl_group_limits(group, &limits);
    return limits.longest;
}

inline bool is_waiting(int answer) {
    return answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN;
}

// One call of a collective each, to be repeated while it answers that it is waiting.

/// *lost: whom FCI_ICL_EPEER is about.
inline int group_call(fci_icl_context* context, fci_icl_group* group, fci_icl_collective it,
                      std::size_t* bytes, unsigned* lost = nullptr) {
    it.bytes = *bytes;
    const int answer = fci_icl_group_call(context, group, &it);
    *bytes = it.bytes;
    if (lost != nullptr && answer == FCI_ICL_EPEER) *lost = it.lost;
    return answer;
}

inline int group_barrier(fci_icl_context* context, fci_icl_group* group) {
    fci_icl_collective it{};
    it.kind = FCI_ICL_BARRIER;
    return fci_icl_group_call(context, group, &it);
}

inline int group_broadcast(fci_icl_context* context, fci_icl_group* group, std::uint32_t root,
                           void* data, std::size_t* bytes) {
    fci_icl_collective it{};
    it.kind = FCI_ICL_BROADCAST;
    it.root = root;
    it.data = data;
    return group_call(context, group, it, bytes);
}

inline int group_gather(fci_icl_context* context, fci_icl_group* group, std::uint32_t root,
                        const void* own, void* all, std::size_t* bytes) {
    fci_icl_collective it{};
    it.kind = FCI_ICL_GATHER;
    it.root = root;
    it.own = own;
    it.data = all;
    return group_call(context, group, it, bytes);
}

inline int group_reduce(fci_icl_context* context, fci_icl_group* group, std::uint32_t root,
                        const void* own, void* result, std::size_t* bytes,
                        const fci_icl_reduction* reduction) {
    fci_icl_collective it{};
    it.kind = FCI_ICL_REDUCE;
    it.root = root;
    it.own = own;
    it.data = result;
    it.reduction = *reduction;
    return group_call(context, group, it, bytes);
}

/// Processes that have all met.
class Job {
public:
    struct Member {
        Context context;
        std::vector<fci_icl_peer> peers;  // by rank
        fci_icl_group* group = nullptr;
    };

    explicit Job(unsigned size, std::uint32_t local_ranks = 0)
        : Job(open_all(size, local_ranks)) {}
    /// All at once, as processes do: one that closes waits until the others have taken what it says
    /// last, and a kernel whose process does not look any more takes 40 ms to tell.
    ~Job() {
        std::vector<std::jthread> all;
        for (Member& one : members) all.emplace_back([&one] { one.context.reset(); });
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    explicit Job(std::vector<Context> contexts) {
        const std::size_t size = contexts.size();
        for (Context& context : contexts) {
            members.push_back({std::move(context), {}, nullptr});
            // The others run when this one returns.
            fci_icl_set_idle(members.back().context.get(), FCI_ICL_KEEPS_CORE);
        }
        for (Member& one : members) {
            for (Member& other : members) one.peers.push_back(peer_of(one, other));
        }
        for (Member& one : members) {
            for (const fci_icl_peer peer : one.peers) {
                if (peer == 0) continue;
                EXPECT_GE(fci_icl_send_bytes(one.context.get(), peer, 0, 0, 1, 0, nullptr, 0,
                                             nullptr, nullptr),
                          0);
            }
        }
        for (Member& one : members) {
            for (std::size_t i = 1; i < size; ++i) take(one);
        }
    }

    void turn() {
        for (Member& one : members) {
            if (one.context) fci_icl_progress(one.context.get());
        }
    }
    /// A call of what all of them call together. By default of the next group.
    int form(unsigned rank, std::uint64_t key) {
        Member& one = members[rank];
        return fci_icl_group_form(one.context.get(), one.peers.data(),
                                  static_cast<std::uint32_t>(members.size()), rank, key,
                                  group::Entry::kLong, &one.group);
    }
    /// What it answers, the same at all. Groups of even keys have their table at rank 0 of two.
    int form_all(std::uint64_t key) {
        std::vector<int> answers(members.size(), FCI_ICL_OK);
        for (Member& one : members) one.group = nullptr;
        for (Limit limit("a group"); limit.holds();) {
            for (unsigned rank = 0; rank < members.size(); ++rank) {
                if (is_waiting(answers[rank])) answers[rank] = form(rank, key);
                if (answers[rank] == FCI_ICL_EAGAIN) fci_icl_progress(members[rank].context.get());
            }
            if (std::none_of(answers.begin(), answers.end(), is_waiting)) break;
        }
        for (const int answer : answers) EXPECT_EQ(answer, answers[0]);
        return answers[0];
    }
    void join() { ASSERT_EQ(form_all(key_++), FCI_ICL_DONE); }
    const group::Group& any_of(unsigned rank) const {
        return *reinterpret_cast<const group::Group*>(members[rank].group);
    }
    const group::TableGroup& group_of(unsigned rank) const { return *any_of(rank).table; }
    void leave() {
        for (Member& one : members) {
            if (one.context) fci_icl_group_leave(one.context.get(), one.group);
        }
    }
    int barrier(unsigned rank) {
        return group_barrier(members[rank].context.get(), members[rank].group);
    }

    std::vector<Member> members;

private:
    std::uint64_t key_ = 0;

    static std::vector<Context> open_all(unsigned size, std::uint32_t local_ranks) {
        std::vector<Context> contexts;
        while (contexts.size() < size) contexts.push_back(open_context(kJob, local_ranks));
        return contexts;
    }
    static fci_icl_peer peer_of(const Member& from, const Member& to) {
        unsigned char card[FCI_ICL_CARD_BYTES];
        fci_icl_card(to.context.get(), card);
        fci_icl_peer peer = 0;
        EXPECT_EQ(fci_icl_add_peer(from.context.get(), card, &peer), FCI_ICL_OK);
        return peer;
    }
    void take(Member& one) {
        fci_icl_status status{};
        const auto is_here = [&] {
            return fci_icl_probe(one.context.get(), FCI_ICL_ANY_SOURCE, 0, 1, 0, &status,
                                 nullptr) == FCI_ICL_OK;
        };
        for (Limit limit("a message of each to each"); !is_here() && limit.holds();) turn();
        EXPECT_EQ(fci_icl_receive_bytes(one.context.get(), FCI_ICL_ANY_SOURCE, 0, 1, 0, nullptr, 0,
                                        nullptr, nullptr, nullptr),
                  FCI_ICL_DONE);
    }
};

}  // namespace fci
