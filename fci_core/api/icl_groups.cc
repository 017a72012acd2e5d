// Groups of the C face.
#include "fci_core/api/icl.h"
#include "fci_core/api/icl_context.h"

using fci::api::guarded;
using fci::api::Process;
using fci::api::process_of;
using fci::group::AnyGroup;
using fci::group::Group;
using fci::group::Reduction;
using fci::progress::Step;
using fci::progress::Wait;

namespace {

static_assert(FCI_ICL_GROUP_MEMBERS == fci::group::kMembersMost);
static_assert(FCI_ICL_GROUP_HOSTS == fci::group::kHostsMost);
static_assert(FCI_ICL_GROUP_KEY_BITS + fci::group::Exchange::kNumberBits == 64);
static_assert(FCI_ICL_GROUP_ALL == Group::kAll);

AnyGroup& group_of(fci_icl_group* group) noexcept { return *reinterpret_cast<AnyGroup*>(group); }
const AnyGroup& group_of(const fci_icl_group* group) noexcept {
    return *reinterpret_cast<const AnyGroup*>(group);
}

unsigned size_of(const AnyGroup& group) noexcept {
    return group.table != nullptr ? group.table->size() : group.levels->size();
}

unsigned self_of(const AnyGroup& group) noexcept {
    return group.table != nullptr ? group.table->members().self : group.levels->self();
}

bool is_root(const AnyGroup& group, std::uint32_t root) noexcept {
    return root < size_of(group) || root == Group::kAll;
}

std::size_t longest_of(const AnyGroup& group) noexcept {
    return group.table != nullptr ? group.table->table().longest() : group.levels->longest();
}

/// Of one that need not wait: others may want to speak to a process that does nothing else.
constexpr unsigned kTurnEvery = 8;  // two to the power of this; the parts of one count as well
std::uint64_t turns_due(const fci::Counters& counters) noexcept {
    return (counters.table_collectives + counters.host_collectives) >> kTurnEvery;
}
[[gnu::noinline]] void take_turn(Process& process) noexcept {
    (void)guarded([&] { return process.turn_apart(); });
}

/// It is not here yet: a step of the wait for it, and the next call of it where that is over.
template <class Call>
[[gnu::noinline]] int go_on(Process& process, AnyGroup& group, Wait* waiting,
                            const Call& call) noexcept {
    group.sleep_only_over(waiting);
    if (waiting == nullptr) {
        if (process.progress() <= 0) return FCI_ICL_EAGAIN;
    } else if (const Step step = process.step(*waiting); step != Step::over) {
        return step == Step::again ? FCI_ICL_OK : FCI_ICL_EAGAIN;
    }
    const int answer = call();
    return answer == FCI_ICL_EAGAIN ? FCI_ICL_OK : answer;  // the next part of it
}

/// call(), and while that is not through a step of the wait for it. waiting(): for what.
template <class Call, class Waiting>
int collective(fci_icl_context* context, AnyGroup& group, const Call& call,
               const Waiting& waiting) noexcept {
    Process& process = process_of(context);
    if (process.in_fork_child()) [[unlikely]] return FCI_ICL_EUNREACHABLE;
    const fci::Counters& counters = process.messages().engine().counters;
    const std::uint64_t due = turns_due(counters);
    const int answer = call();
    if (answer == FCI_ICL_EAGAIN) [[unlikely]] return go_on(process, group, waiting(), call);
    // What it slept over came while the caller made progress.
    if (group.is_slept_over()) [[unlikely]] group.sleep_only_over(nullptr);
    if (turns_due(counters) != due) [[unlikely]] take_turn(process);
    return answer;
}

/// call(group, looks) in the table of all.
template <class Call>
int in_table(fci_icl_context* context, AnyGroup& any, const Call& call) noexcept {
    const unsigned looks = process_of(context).looks();
    return collective(context, any, [&] { return call(*any.table, looks); },
                      [&]() -> Wait* { return any.table; });
}

template <class Call>
int in_levels(fci_icl_context* context, AnyGroup& any, const Call& call) noexcept {
    const unsigned looks = process_of(context).looks();
    return collective(context, any, [&] { return call(*any.levels, looks); },
                      [&] { return any.levels->waiting(); });
}

/// What all members end together goes by levels where there are any.
template <class Call>
int among_all(fci_icl_context* context, fci_icl_group* group, const Call& call) noexcept {
    AnyGroup& any = group_of(group);
    return any.levels ? in_levels(context, any, call) : in_table(context, any, call);
}

/// What one member begins or ends: by the table of all, if they have one.
template <class Call>
int with_root(fci_icl_context* context, fci_icl_group* group, const Call& call) noexcept {
    AnyGroup& any = group_of(group);
    return any.table != nullptr ? in_table(context, any, call) : in_levels(context, any, call);
}

}  // namespace

extern "C" {

int fci_icl_group_form(fci_icl_context* context, const fci_icl_peer* members, uint32_t count,
                       uint32_t self, uint64_t key, fci_icl_group** group) {
    if (self >= count || members[self] != fci::nhi::kSelf || key >> FCI_ICL_GROUP_KEY_BITS != 0) {
        return FCI_ICL_EINVAL;
    }
    Process& process = process_of(context);
    if (process.in_fork_child()) return FCI_ICL_EUNREACHABLE;
    if (*group == nullptr) {
        const int begun = guarded([&] {
            AnyGroup& it = process.groups().begin({{members, members + count}, self, key});
            *group = reinterpret_cast<fci_icl_group*>(&it);
            return FCI_ICL_OK;
        });
        if (begun != FCI_ICL_OK) return begun;
    }
    AnyGroup& it = group_of(*group);
    return collective(
        context, it,
        [&] {
            return process.groups().form(it, process.policy().gives_core_away(), process.looks());
        },
        [&] { return it.waiting_to_form(); });
}

void fci_icl_group_leave(fci_icl_context* context, fci_icl_group* group) {
    process_of(context).groups().leave(group_of(group));
}

void fci_icl_group_limits(const fci_icl_group* group, struct fci_icl_group_limits* limits) {
    const bool is_on_one_host = group_of(group).table != nullptr;
    *limits = {longest_of(group_of(group)), is_on_one_host, is_on_one_host};
}

int fci_icl_group_barrier(fci_icl_context* context, fci_icl_group* group) {
    return among_all(context, group, [](auto& it, unsigned looks) { return it.barrier(looks); });
}

int fci_icl_group_broadcast(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                            void* data, size_t* bytes) {
    const AnyGroup& any = group_of(group);
    if (root >= size_of(any) || (root == self_of(any) && *bytes > longest_of(any))) {
        return FCI_ICL_EINVAL;
    }
    return with_root(context, group, [=](auto& it, unsigned looks) {
        return it.broadcast(root, data, bytes, looks);
    });
}

int fci_icl_group_gather(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                         const void* own, void* all, size_t* bytes) {
    AnyGroup& any = group_of(group);
    if (!is_root(any, root) || *bytes > longest_of(any)) return FCI_ICL_EINVAL;
    if (any.table == nullptr) return FCI_ICL_EUNSUPPORTED;
    return in_table(context, any, [=](Group& it, unsigned looks) {
        return it.gather(root, own, all, bytes, looks);
    });
}

int fci_icl_group_reduce(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                         const void* own, void* result, size_t* bytes,
                         const fci_icl_reduction* reduction) {
    const AnyGroup& any = group_of(group);
    if (!is_root(any, root) || *bytes > longest_of(any)) return FCI_ICL_EINVAL;
    const Reduction how{reduction->apply, reduction->user};
    const auto call = [=](auto& it, unsigned looks) {
        return it.reduce(root, own, result, bytes, how, looks);
    };
    return root == Group::kAll ? among_all(context, group, call) : with_root(context, group, call);
}

}  // extern "C"
