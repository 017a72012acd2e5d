// SPDX-License-Identifier: BSD-3-Clause
// Groups of the C face.
#include "fci_core/api/icl.h"
#include "fci_core/api/icl_context.h"
#include "fci_core/base/assert.h"

using fci::api::guarded;
using fci::api::Process;
using fci::api::process_of;
using fci::group::Group;
using fci::group::TableGroup;
using fci::progress::Step;
using fci::progress::Wait;

namespace {

static_assert(FCI_ICL_GROUP_MEMBERS == fci::group::kMembersMost);
static_assert(FCI_ICL_GROUP_HOSTS == fci::group::kHostsMost);
static_assert(FCI_ICL_GROUP_KEY_BITS + fci::group::kNumberBits == 64);
static_assert(FCI_ICL_GROUP_ALL == TableGroup::kAll);

Group& group_of(fci_icl_group* group) noexcept { return *reinterpret_cast<Group*>(group); }
const Group& group_of(const fci_icl_group* group) noexcept {
    return *reinterpret_cast<const Group*>(group);
}

/// Of one that need not wait: others may want to speak to a process that does nothing else.
constexpr std::uint64_t kTurnEvery = 256;
[[gnu::noinline]] void take_turn(Process& process) noexcept {
    (void)guarded([&] { return process.loop().turn_apart(); });
}

/// A step of the wait for what is not here yet.
Step wait_on(Process& process, Group& group, Wait* waiting) noexcept {
    group.sleep_only_over(waiting);
    if (waiting == nullptr) return process.progress() > 0 ? Step::over : Step::turn;
    return process.loop().step(*waiting);
}

int not_yet(Step step) noexcept { return step == Step::turn ? FCI_ICL_EAGAIN : FCI_ICL_OK; }

/// Such a step, and the next call where that is over.
template <class Call>
[[gnu::noinline]] int go_on(Process& process, Group& group, Wait* waiting,
                            const Call& call) noexcept {
    const Step step = wait_on(process, group, waiting);
    if (step != Step::over) return not_yet(step);
    const int answer = call();
    return answer == FCI_ICL_EAGAIN ? FCI_ICL_OK : answer;  // the next part of it
}

/// call(), and while that is not through a step of the wait for it. waiting(): for what.
template <class Call, class Waiting>
int collective(Process& process, Group& group, const Call& call,
               const Waiting& waiting) noexcept {
    const int answer = call();
    if (answer == FCI_ICL_EAGAIN) [[unlikely]] return go_on(process, group, waiting(), call);
    // What it slept over may have come while the caller made progress.
    if (!process.loop().sleeper().waits().empty()) [[unlikely]] group.sleep_only_over(nullptr);
    if (++group.ended % kTurnEvery == 0) [[unlikely]] take_turn(process);
    return answer;
}

}  // namespace

extern "C" {

int fci_icl_group_form(fci_icl_context* context, const fci_icl_peer* members, uint32_t count,
                       uint32_t self, uint64_t key, size_t most, fci_icl_group** group) {
    if (self >= count || members[self] != fci::nhi::kSelf || key >> FCI_ICL_GROUP_KEY_BITS != 0) {
        return FCI_ICL_EINVAL;
    }
    Process& process = process_of(context);
    if (process.fork().is_here()) return FCI_ICL_EUNREACHABLE;
    if (*group == nullptr) {
        const int begun = guarded([&] {
            Group& it = process.groups().begin({{members, members + count}, self, key, most});
            *group = reinterpret_cast<fci_icl_group*>(&it);
            return FCI_ICL_OK;
        });
        if (begun != FCI_ICL_OK) return begun;
    }
    Group& it = group_of(*group);
    return collective(
        process, it,
        [&] {
            const auto& loop = process.loop();
            return process.groups().form(it, loop.core().gives_core_away(), loop.looks());
        },
        [&] { return it.waiting_to_form(); });
}

void fci_icl_group_leave(fci_icl_context* context, fci_icl_group* group) {
    process_of(context).groups().leave(group_of(group));
}

void fci_icl_group_limits(const fci_icl_group* group, struct fci_icl_group_limits* limits) {
    const auto& own = group_of(group);
    const bool is_on_one_host = own.table != nullptr;
    *limits = {own.longest(), own.longest_broadcast(), own.longest_gather(), is_on_one_host};
    FCI_ASSERT(limits->gather <= limits->longest && limits->longest <= limits->broadcast);
}

int fci_icl_group_call(fci_icl_context* context, fci_icl_group* group,
                       fci_icl_collective* it) {
    Process& process = process_of(context);
    Group& any = group_of(group);
    if (process.fork().is_here()) [[unlikely]] return FCI_ICL_EUNREACHABLE;
    if (any.first != nullptr) [[unlikely]] {  // what was begun before comes first
        (void)process.groups().outstanding().advance(0);
        return any.first == nullptr ? FCI_ICL_OK
                                    : not_yet(wait_on(process, any, any.waiting(*any.first)));
    }
    return collective(
        process, any, [&] { return any.call(*it, process.loop().looks()); },
        [&] { return any.waiting(*it); });
}

int fci_icl_group_start(fci_icl_context* context, fci_icl_group* group,
                        fci_icl_collective* it) {
    Process& process = process_of(context);
    if (process.fork().is_here()) [[unlikely]] return FCI_ICL_EUNREACHABLE;
    Group& any = group_of(group);
    const int answer = process.groups().outstanding().start(any, *it);
    if (answer == FCI_ICL_OK) process.loop().look_at_each_turn();
    return answer;
}

}  // extern "C"
