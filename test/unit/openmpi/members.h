// SPDX-License-Identifier: BSD-3-Clause
// The members of a communicator's groups: those that are far say what they take part in, and do so
// in their turns, one after the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {

class Members : public Ends {
protected:
    /// One collective of one far member, and how it ended.
    struct Part {
        fci_icl_collective what{};
        std::string own, data;
        bool done = false;
        int answer = FCI_ICL_OK;
        unsigned long lost = 0;
    };

    explicit Members(int size = 3, int rank = 0)
        : Ends(size, rank), called_(as_many()), begun_(as_many()) {
        near_note_below(comm_, &below_);
    }

    /// The far members form the two groups, which the near one does in its first collective.
    void form() {
        for (const int rank : others()) {
            far(rank).then([=, this] { return form(rank, key(), SIZE_MAX, &called_[at(rank)]); });
            far(rank).then([=, this] {
                return form(rank, std::uint64_t{1} << 40 | key(), 56, &begun_[at(rank)]);
            });
        }
    }
    /// All members have both.
    void have_groups() {
        form();
        for (const int rank : others()) barrier(rank);
        ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
        all_took_part();
        ASSERT_EQ(below_.calls, 0);
        fci_icl_group_limits(called_[at(others().front())], &limits_);
    }
    void all_took_part() {
        for (const int rank : others()) {
            ASSERT_TRUE(until("a far member", [&] { return far(rank).idle(); }));
        }
    }

    std::vector<int> others() const {
        std::vector<int> ranks;
        for (int rank = 0; rank < size_; ++rank) {
            if (rank != rank_) ranks.push_back(rank);
        }
        return ranks;
    }
    std::uint64_t key() const { return context_id_; }
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

    /// A far member takes part in one of these, in its turn.
    Part& barrier(int rank) { return call(rank, FCI_ICL_BARRIER, 0, "", "", 0); }
    Part& broadcast(int rank, int root, const std::string& data) {
        return call(rank, FCI_ICL_BROADCAST, root, "", data, data.size());
    }
    Part& gather(int rank, int root, const std::string& own) {
        return call(rank, FCI_ICL_GATHER, root, own, std::string(own.size() * at(size_), '?'),
                    own.size());
    }
    /// -1: all are roots. Numbers, which are added.
    Part& sum(int rank, int root, const std::vector<int>& own) {
        Part& it = call(rank, FCI_ICL_REDUCE, root, bytes_of(own),
                        std::string(own.size() * sizeof(int), '?'), own.size() * sizeof(int));
        it.what.reduction = {add, &it};
        return it;
    }
    /// The same, but begun in the other group.
    Part& begin(Part& it) {
        it.what.completion = {has_ended, &it, nullptr};
        return it;
    }
    static std::string bytes_of(const std::vector<int>& numbers) {
        return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int)};
    }
    static std::vector<int> numbers_of(const std::string& bytes) {
        std::vector<int> numbers(bytes.size() / sizeof(int));
        std::memcpy(numbers.data(), bytes.data(), bytes.size());
        return numbers;
    }
    bool until_done(const Part& part) {
        return until("a far member", [&] { return part.done; });
    }

    struct fci_icl_group_limits limits_ {};
    near_below below_{};
    std::vector<fci_icl_group*> called_, begun_;  // by rank

private:
    std::deque<Part> parts_;

    std::vector<fci_icl_group*> as_many() const {
        return std::vector<fci_icl_group*>(at(size_), nullptr);
    }
    int form(int rank, std::uint64_t key, std::size_t most, fci_icl_group** group) {
        std::vector<fci_icl_peer> members;
        for (int other = 0; other < size_; ++other) {
            fci_icl_peer peer = 0;
            if (other == rank_) {
                peer = far(rank).near();
            } else if (other != rank) {
                fci_icl_add_peer(far(rank).context(), far(other).card().bytes, &peer);
            }
            members.push_back(peer);
        }
        return fci_icl_group_form(far(rank).context(), members.data(),
                                  static_cast<std::uint32_t>(size_),
                                  static_cast<std::uint32_t>(rank), key, most, group);
    }
    Part& call(int rank, int kind, int root, const std::string& own, const std::string& data,
               std::size_t bytes) {
        Part& it = parts_.emplace_back();
        it.own = own;
        it.data = data;
        it.what.kind = kind;
        it.what.root = root < 0 ? FCI_ICL_GROUP_ALL : static_cast<std::uint32_t>(root);
        it.what.own = it.own.data();
        it.what.data = it.data.data();
        it.what.bytes = bytes;
        far(rank).then([=, this, &it] {
            if (it.what.completion.done != nullptr) {
                const int answer =
                    fci_icl_group_start(far(rank).context(), begun_[at(rank)], &it.what);
                if (answer != FCI_ICL_OK) it.done = true, it.answer = answer;
                return static_cast<int>(FCI_ICL_DONE);
            }
            it.answer = fci_icl_group_call(far(rank).context(), called_[at(rank)], &it.what);
            it.done = it.answer != FCI_ICL_OK && it.answer != FCI_ICL_EAGAIN;
            return it.answer;
        });
        return it;
    }
    static void has_ended(void* user, void*, const fci_icl_status* status) {
        auto& it = *static_cast<Part*>(user);
        it.done = true;
        it.answer = status->error;
    }
    static void add(void* user, const void* in, void* inout) {
        const auto& it = *static_cast<const Part*>(user);
        for (std::size_t i = 0; i < it.own.size() / sizeof(int); ++i) {
            int one = 0, other = 0;
            std::memcpy(&one, static_cast<const char*>(in) + i * sizeof one, sizeof one);
            std::memcpy(&other, static_cast<char*>(inout) + i * sizeof other, sizeof other);
            other += one;
            std::memcpy(static_cast<char*>(inout) + i * sizeof other, &other, sizeof other);
        }
    }
};

}  // namespace fci::openmpi
