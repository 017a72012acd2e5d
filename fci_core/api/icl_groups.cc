// Waits and groups of the C face.
#include "fci_core/api/icl.h"
#include "fci_core/api/icl_context.h"

using fci::api::guarded;
using fci::api::Process;
using fci::api::process_of;
using fci::group::Group;
using fci::progress::Step;
using fci::progress::Wait;

namespace {

static_assert(FCI_ICL_GROUP_MEMBERS == fci::group::kMembersMost);
static_assert(FCI_ICL_GROUP_BYTES == fci::group::kBytesMost);

Group& group_of(fci_icl_group* group) noexcept {
    return *reinterpret_cast<Group*>(group);
}

/// What the caller of a plug waits for, for one step.
class PlugWait final : public Wait {
public:
    explicit PlugWait(fci_icl_condition& wait) noexcept : Wait(EndedBy::message), wait_(wait) {
        set_steps(wait.steps);
    }
    ~PlugWait() override { wait_.steps = steps(); }

private:
    bool is_over() noexcept override { return wait_.is_over(wait_.user) != 0; }
    bool needs_core() noexcept override { return wait_.needs_core(wait_.user) != 0; }

    fci_icl_condition& wait_;
};

int code_of(Step step) noexcept {
    return step == Step::over ? FCI_ICL_DONE : step == Step::again ? FCI_ICL_OK : FCI_ICL_EAGAIN;
}

/// A call of a collective, and while it waits a step of that.
template <class Call>
int collective(fci_icl_context* context, Group& group, Call call) noexcept {
    Process& process = process_of(context);
    if (process.in_fork_child()) return FCI_ICL_EUNREACHABLE;
    int answer = call();
    if (answer != FCI_ICL_EAGAIN) return answer;
    const Step step = process.step(group.wait());
    if (step != Step::over) return code_of(step);
    answer = call();
    return answer == FCI_ICL_EAGAIN ? FCI_ICL_OK : answer;  // the next part of it
}

}  // namespace

extern "C" {

int fci_icl_step(fci_icl_context* context, fci_icl_condition* condition) {
    PlugWait one(*condition);
    return code_of(process_of(context).step(one));
}

void fci_icl_group_offer(fci_icl_context* context, uint32_t members, fci_icl_table* table) {
    *table = {};
    if (process_of(context).in_fork_child() || members > FCI_ICL_GROUP_MEMBERS) return;
    const auto offered = process_of(context).groups().offer(members);
    *table = {offered.name, offered.number};
}

int fci_icl_group_join(fci_icl_context* context, const fci_icl_peer* members, uint32_t count,
                       uint32_t self, uint32_t owner, const fci_icl_table* table,
                       fci_icl_group** group) {
    *group = nullptr;
    if (count == 0 || count > FCI_ICL_GROUP_MEMBERS || self >= count || owner >= count ||
        members[self] != fci::nhi::kSelf) {
        return FCI_ICL_EINVAL;
    }
    if (process_of(context).in_fork_child()) return FCI_ICL_EUNREACHABLE;
    return guarded([&] {
        *group = reinterpret_cast<fci_icl_group*>(process_of(context).groups().join(
            {members, count}, self, owner, {table->name, table->number}));
        return *group != nullptr ? FCI_ICL_OK : FCI_ICL_EUNREACHABLE;
    });
}

void fci_icl_group_leave(fci_icl_context* context, fci_icl_group* group) {
    process_of(context).leave(group_of(group));
}

int fci_icl_group_barrier(fci_icl_context* context, fci_icl_group* group) {
    return collective(context, group_of(group), [&] { return group_of(group).barrier(); });
}

int fci_icl_group_broadcast(fci_icl_context* context, fci_icl_group* group, uint32_t root,
                            void* data, size_t* bytes) {
    if (root >= group_of(group).size()) return FCI_ICL_EINVAL;
    if (root == group_of(group).rank() && *bytes > FCI_ICL_GROUP_BYTES) return FCI_ICL_EINVAL;
    return collective(context, group_of(group),
                      [&] { return group_of(group).broadcast(root, data, bytes); });
}

int fci_icl_group_gather(fci_icl_context* context, fci_icl_group* group, const void* data,
                         size_t bytes) {
    if (bytes > FCI_ICL_GROUP_BYTES) return FCI_ICL_EINVAL;
    return collective(context, group_of(group),
                      [&] { return group_of(group).gather(data, bytes); });
}

const void* fci_icl_group_gathered(const fci_icl_group* group, uint32_t rank, size_t* bytes) {
    const auto data = reinterpret_cast<const Group*>(group)->gathered(rank);
    *bytes = data.size();
    return data.data();
}

}  // extern "C"
