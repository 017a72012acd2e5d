// Groups of the C face.
#include "fci_core/api/icl.h"
#include "fci_core/api/icl_context.h"

using fci::api::guarded;
using fci::api::Process;
using fci::api::process_of;
using fci::group::Group;
using fci::group::Reduction;
using fci::progress::Step;
using fci::progress::Waits;

namespace {

static_assert(FCI_ICL_GROUP_MEMBERS == fci::group::kMembersMost);
static_assert(FCI_ICL_GROUP_ALL == Group::kAll);

Group& group_of(fci_icl_group* group) noexcept { return *reinterpret_cast<Group*>(group); }

bool is_root(const Group& group, std::uint32_t root) noexcept {
    return root < group.size() || root == Group::kAll;
}

/// Of one that need not wait: others may want to speak to a process that does nothing else.
constexpr std::uint64_t kTurnEvery = 256;
[[gnu::noinline]] void take_turn(Process& process) noexcept {
    (void)guarded([&] { return process.turn_apart(); });
}

/// It is not here yet: a step of the wait for it, and the next call of it where that is over.
template <class Call>
[[gnu::noinline]] int go_on(Process& process, Group& group, const Call& call) noexcept {
    const Step step = process.step(group);
    if (step != Step::over) return step == Step::again ? FCI_ICL_OK : FCI_ICL_EAGAIN;
    const int answer = call();
    return answer == FCI_ICL_EAGAIN ? FCI_ICL_OK : answer;  // the next part of it
}

/// call(), and while that is not through a step of the wait for it.
template <class Call>
int collective(fci_icl_context* context, fci_icl_group* group, const Call& call) noexcept {
    Process& process = process_of(context);
    if (process.in_fork_child()) [[unlikely]] return FCI_ICL_EUNREACHABLE;
    const int answer = call(group_of(group), process.looks());
    if (answer != FCI_ICL_EAGAIN) [[likely]] {
        // What it slept over came while the caller made progress.
        if (group_of(group).linked()) [[unlikely]] Waits::remove(group_of(group));
        const std::uint64_t so_far = process.messages().engine().counters.table_collectives;
        if (so_far % kTurnEvery == 0) [[unlikely]] take_turn(process);
        return answer;
    }
    return go_on(process, group_of(group),
                 [&] { return call(group_of(group), process.looks()); });
}

}  // namespace

extern "C" {

int fci_icl_group_form(fci_icl_context* context, const fci_icl_peer* members, uint32_t count,
                       uint32_t self, uint64_t key, fci_icl_group** group) {
    if (count == 0 || count > FCI_ICL_GROUP_MEMBERS || self >= count ||
        members[self] != fci::nhi::kSelf) {
        return FCI_ICL_EINVAL;
    }
    Process& process = process_of(context);
    if (process.in_fork_child()) return FCI_ICL_EUNREACHABLE;
    if (*group == nullptr) {
        const int begun = guarded([&] {
            Group& it = process.groups().begin({{members, members + count}, self, key});
            *group = reinterpret_cast<fci_icl_group*>(&it);
            return FCI_ICL_OK;
        });
        if (begun != FCI_ICL_OK) return begun;
    }
    return collective(context, *group, [&](Group& it, unsigned looks) {
        return process.groups().form(it, process.policy().gives_core_away(), looks);
    });
}

void fci_icl_group_leave(fci_icl_context* context, fci_icl_group* group) {
    process_of(context).groups().leave(group_of(group));
}

size_t fci_icl_group_longest(const fci_icl_group* group) {
    return reinterpret_cast<const Group*>(group)->table().longest();
}

int fci_icl_group_barrier(fci_icl_context* context, fci_icl_group* group) {
    return collective(context, group,
                      [](Group& it, unsigned looks) { return it.barrier(looks); });
}

int fci_icl_group_broadcast(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                            void* data, size_t* bytes) {
    const Group& it = group_of(group);
    if (root >= it.size() || (root == it.members().self && *bytes > it.table().longest())) {
        return FCI_ICL_EINVAL;
    }
    return collective(context, group, [=](Group& it, unsigned looks) {
        return it.broadcast(root, data, bytes, looks);
    });
}

int fci_icl_group_gather(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                         const void* own, void* all, size_t* bytes) {
    if (!is_root(group_of(group), root) || *bytes > group_of(group).table().longest()) {
        return FCI_ICL_EINVAL;
    }
    return collective(context, group, [=](Group& it, unsigned looks) {
        return it.gather(root, own, all, bytes, looks);
    });
}

int fci_icl_group_reduce(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                         const void* own, void* result, size_t* bytes,
                         const fci_icl_reduction* reduction) {
    if (!is_root(group_of(group), root) || *bytes > group_of(group).table().longest()) {
        return FCI_ICL_EINVAL;
    }
    const Reduction how{reduction->apply, reduction->user};
    return collective(context, group, [=](Group& it, unsigned looks) {
        return it.reduce(root, own, result, bytes, how, looks);
    });
}

}  // extern "C"
