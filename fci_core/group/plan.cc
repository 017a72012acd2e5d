// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/plan.h"

namespace fci::group {

namespace {

/// Each part of the group brings something, and the leaders combine it.
void plan_reduction(Plan& plan, Flow flow, const Standing& at) noexcept {
    const bool has_table = at.has_table && !at.is_lost;
    if (has_table && flow != Flow::forming) plan.add(Stage::up);
    if (plan.leads) {
        plan.add(at.by_messages ? Stage::across : Stage::between);
        plan.steps = flow == Flow::to_root ? Steps::up(at.parts, at.part, at.root_part)
                                           : Steps::all(at.parts, at.part);
    }
    if (has_table && flow != Flow::to_root) plan.add(Stage::down);
}

/// Data go from one member to all. With hints the first of each part leads it, and a root that does
/// not lead tells its own part first, and is through then.
void plan_broadcast(Plan& plan, const Standing& at) noexcept {
    const bool has_hints = at.way != Way::plain;
    const bool is_handed = has_hints && at.root_part == at.part && !at.root_is_first;
    if (is_handed) plan.add(Stage::hand);
    if (plan.leads) {
        plan.add(at.way == Way::by_chain ? Stage::chain : Stage::across);
        plan.has_trailer = has_hints;
        plan.steps = at.way == Way::is_unsure
                         ? Steps::tree_and_chain(at.parts, at.part, at.root_part)
                         : Steps::down(at.parts, at.part, at.root_part);
    }
    if (at.has_table && !is_handed) plan.add(Stage::down);
}

/// A broadcast of a group that this part lacks. It does not know whether the other parts have
/// hints, so it tells all that may wait for it, by either way.
void plan_vain_broadcast(Plan& plan, const Standing& at) noexcept {
    plan.leads = plan.leads || at.is_first;
    if (!plan.leads) return;
    plan.add(Stage::across);
    plan.steps = Steps::tree_and_chain(at.parts, at.part, at.root_part);
}

}  // namespace

Plan Plan::of(Flow flow, const Standing& at) noexcept {
    FCI_ASSERT(at.part < at.parts && at.root_part < at.parts);
    Plan plan;
    plan.flow = flow;
    const bool has_root = flow == Flow::to_root || flow == Flow::from_root;
    const bool has_hints = flow == Flow::from_root && at.way != Way::plain && !at.is_lost;
    const bool root_leads = has_root && at.root_part == at.part && !has_hints;
    plan.first_leads = has_hints || !has_root;
    plan.leads = root_leads ? at.is_root : at.is_first;
    plan.ignores_input = at.is_lost || (has_hints && at.way == Way::is_unsure);
    if (flow != Flow::from_root) {
        plan_reduction(plan, flow, at);
    } else if (at.is_lost) {
        plan_vain_broadcast(plan, at);
    } else {
        plan_broadcast(plan, at);
    }
    return plan;
}

}  // namespace fci::group
