// SPDX-License-Identifier: BSD-3-Clause
// Collectives: those of a random job, by groups of its processes: what each brings, and what each
// must get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/simulation/jobs/plan.h"

namespace fci::jobs {

class Collectives {
public:
    Collectives(const std::vector<Collective>& all, const JobOptions& job);

    /// False: it is not for this process, which has no group.
    [[nodiscard]] bool begin(fci_icl_context* context, unsigned at, std::size_t number);
    /// One call of it.
    [[nodiscard]] int call(fci_icl_context* context, unsigned at, std::size_t number);
    /// Begins it, to go on in progress. FCI_ICL_OK: it has not ended yet.
    [[nodiscard]] int start(fci_icl_context* context, unsigned at, std::size_t number);
    /// How that has ended, as call() would answer; FCI_ICL_OK: not yet.
    [[nodiscard]] int answer(unsigned at) const { return members_[at].answer; }
    /// One has begun and not ended.
    [[nodiscard]] bool goes_on(unsigned at) const { return members_[at].goes_on; }
    /// It has answered so. `died`: somebody has. What is wrong with that, or nothing.
    [[nodiscard]] const char* end(unsigned at, std::size_t number, int answer, bool died);
    void leave(fci_icl_context* context, unsigned at);

    [[nodiscard]] std::string describe(std::size_t number) const;

private:
    struct Member {
        std::vector<fci_icl_peer> peers{};  // of the group that forms; a run may end in the call
        fci_icl_group* group = nullptr;
        struct fci_icl_group_limits limits{};
        std::size_t bytes = 0;  // of the collective that is under way, as it says
        std::size_t count = 0;  // of words that it brings, or has room for
        std::vector<std::uint64_t> own, all;
        fci_icl_collective started{};
        int answer = FCI_ICL_OK;
        bool goes_on = false;
    };

    [[nodiscard]] const std::vector<unsigned>& members_of(std::size_t number) const;
    [[nodiscard]] unsigned rank_of(std::size_t number, unsigned process) const;
    /// Of the process; `member` has the group, too.
    [[nodiscard]] std::size_t bytes_of(const Member& member, const Collective& one,
                                       unsigned process) const;
    [[nodiscard]] bool has_odd(const Member& member, std::size_t number) const;
    /// It speaks for its host.
    [[nodiscard]] bool leads(std::size_t number, unsigned process) const;
    [[nodiscard]] unsigned host_of(unsigned process) const;
    [[nodiscard]] fci_icl_collective arguments(Member& member, std::size_t number) const;
    [[nodiscard]] static std::uint64_t word_of(std::size_t number, unsigned process,
                                               std::size_t i);
    [[nodiscard]] static std::uint64_t combined(const Member& member, std::uint64_t in,
                                                std::uint64_t inout);
    [[nodiscard]] bool is_fair(unsigned at, std::size_t number, int answer, bool died) const;
    [[nodiscard]] bool is_fair_of_odd(unsigned at, std::size_t number, int answer) const;
    [[nodiscard]] bool is_right(unsigned at, std::size_t number) const;
    [[nodiscard]] bool is_broadcast_right(unsigned at, std::size_t number) const;

    const std::vector<Collective>& all_;
    const unsigned per_host_;
    std::vector<Member> members_;
    std::vector<std::size_t> forms_;  // by collective: the one that forms its group
    std::vector<int> answers_;  // by collective: how it ended; 0: nobody knows yet
};

}  // namespace fci::jobs
