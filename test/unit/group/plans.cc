// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/group/plans.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fci::group::test {

Job::Job(const Case& its) : case_(its) {
    const auto parts = static_cast<unsigned>(its.members.size());
    for (unsigned part = 0; part < parts; ++part) {
        ranks_.emplace_back();
        for (unsigned place = 0; place < its.members[part]; ++place) {
            const auto rank = static_cast<unsigned>(all_.size());
            ranks_[part].push_back(rank);
            all_.push_back({rank, part, place, {}});
        }
        first_.push_back(ranks_[part][0]);
        tables_.push_back({std::vector<std::optional<Content>>(its.members[part]), {}});
    }
    tables_.push_back({std::vector<std::optional<Content>>(parts), {}});
    messages_.resize(all_.size());
    ignored_.resize(all_.size());
    if (its.has_root()) root_ = ranks_[its.root][its.root_place];
    for (Process& it : all_) begin(it);
}

/// As Run does it.
void Job::begin(Process& it) {
    const Flow flow = case_.flow;
    const bool is_lost = it.part == case_.lost;
    const bool has_table = case_.members[it.part] > 1 && it.part != case_.refused;
    Way way = case_.way;
    if (way != Way::plain && it.place != 0) way = Way::by_chain;  // only leaders know more
    if (it.place == 0 && it.part == case_.unsure) way = Way::is_unsure;
    it.plan = Plan::of(flow, {static_cast<unsigned>(case_.members.size()), it.part, case_.root,
                              case_.has_root() && case_.root_place == 0, it.place == 0,
                              it.rank == root_, has_table, case_.by_messages, is_lost, way});
    const bool brings = flow == Flow::from_root ? it.rank == root_
                                                : flow == Flow::forming || !has_table;
    if (it.plan.leads && brings) it.share = Content::of(it.rank);
    it.share.lacks = it.plan.ignores_input || it.part == case_.refused;
    ready_.push_back(it.rank);
}

// --- stages ---

void Job::go_on(Process& it) {
    while (it.stage < it.plan.count && !is_dead(it.rank)) {
        if (it.rank == case_.dead && done_ == case_.dies_after) {
            died_ = true;
            for (const auto& part : ranks_) wake(part);
        } else if (!act(it)) {
            return;
        } else if (it.rank == case_.dead) {
            ++done_;
        }
    }
}

/// False: it waits.
bool Job::act(Process& it) {
    bool is_through = false;
    switch (it.plan.stages[it.stage]) {
        case Stage::up:
            is_through = meet(it, tables_[it.part], it.place, ranks_[it.part]);
            break;
        case Stage::between: is_through = meet(it, tables_.back(), it.part, first_); break;
        case Stage::hand:
            is_through = tell(it, it.rank == root_);
            if (is_through && it.plan.ignores_input) it.share.lacks = true;
            break;
        case Stage::down: is_through = tell(it, it.plan.leads); break;
        case Stage::across: return across(it);
        case Stage::chain: return chain(it);
    }
    it.stage += is_through;
    return is_through;
}

bool Job::across(Process& it) {
    if (it.step == it.plan.steps.count()) {
        ++it.stage;
        const unsigned first = ranks_[case_.root][0];
        const bool is_vain = it.part == case_.lost && case_.flow == Flow::from_root;
        if (is_vain && !is_of_root(it) && first != root_) ignored_[it.rank].push_back(first);
        return true;
    }
    const Step& step = it.plan.steps[it.step];
    const unsigned other = leader(it, step.host);
    if (step.sends && !it.has_sent) {
        send(it, other);
        it.has_sent = true;
        return true;
    }
    if (step.receives && it.plan.ignores_input) {
        ignored_[it.rank].push_back(other);
    } else if (step.receives && !receive(it, other, step.takes)) {
        return false;
    }
    // The leader that is to have this message may have died before.
    if (step.sends && is_dead(other)) it.share.lacks = true;
    ++it.step;
    it.has_sent = false;
    return true;
}

/// Without hints, and so with all messages.
bool Job::chain(Process& it) {
    const auto parts = static_cast<unsigned>(case_.members.size());
    if (it.step == 0) {
        const unsigned before = leader(it, Steps::before(parts, it.part));
        if (it.part != case_.root && !receive(it, before, true)) return false;
        ++it.step;
        return true;
    }
    const unsigned next = Steps::next(parts, it.part);
    if (next != case_.root) send(it, leader(it, next));
    ++it.stage;
    return true;
}

void Job::send(Process& it, unsigned to) {
    messages_[to].push_back({it.rank, it.share});
    ready_.push_back(to);
}

bool Job::receive(Process& it, unsigned from, bool replaces) {
    auto& messages = messages_[it.rank];
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const Message& one) { return one.from == from; });
    if (found == messages.end()) {
        if (is_dead(from)) it.share.lacks = true;
        return is_dead(from);
    }
    if (replaces) it.share.word = 0;
    it.share.add(found->what);
    messages.erase(found);
    return true;
}

/// The leader of a part, or each of the leaders in their table, waits for all the others.
bool Job::meet(Process& it, Table& table, unsigned place, const std::vector<unsigned>& ranks) {
    const bool is_between = &table == &tables_.back();
    if (!table.brought[place]) {
        table.brought[place] = is_between ? it.share : Content::of(it.rank);
        wake(ranks);
    }
    if (!it.plan.leads) return true;
    Content sum{0, it.share.lacks};
    for (unsigned other = 0; other < ranks.size(); ++other) {
        if (table.brought[other]) {
            sum.add(*table.brought[other]);
        } else if (is_dead(ranks[other])) {
            sum.lacks = true;
        } else {
            return false;
        }
    }
    it.share = sum;
    return true;
}

bool Job::tell(Process& it, bool tells) {
    Table& table = tables_[it.part];
    if (tells) {
        EXPECT_TRUE(it.place == source(it) && !table.told);
        table.told = it.rank == root_ && !it.plan.leads ? Content::of(root_) : it.share;
        it.share = *table.told;
        wake(ranks_[it.part]);
        return true;
    }
    const bool is_lacking = is_dead(ranks_[it.part][source(it)]);
    if (!table.told && !is_lacking) return false;
    it.share = table.told.value_or(Content{0, true});
    return true;
}

// --- the results ---

std::string Job::run() {
    while (!ready_.empty()) {
        const unsigned rank = ready_.back();
        ready_.pop_back();
        go_on(all_[rank]);
    }
    for (const Process& it : all_) {
        const std::string name = "rank " + std::to_string(it.rank);
        if (const std::string why = look_at_stages(it); !why.empty()) return name + why;
        if (it.rank == case_.dead) continue;
        if (it.stage != it.plan.count) return name + " waits in vain";
        const Must wanted = must(it);
        if (wanted == Must::have && it.share.lacks) return name + " lacks the result";
        if (wanted == Must::lack && !it.share.lacks) return name + " does not know of the lack";
        const bool is_told = case_.flow != Flow::to_root || it.rank == root_;
        if (is_told && !it.share.lacks && it.share.word != result()) return name + " has another";
        for (const Message& one : messages_[it.rank]) {
            const auto& ignored = ignored_[it.rank];
            // A leader that does not know by which way it is waited for sends by both.
            if (all_[one.from].plan.ignores_input ||
                std::find(ignored.begin(), ignored.end(), one.from) != ignored.end()) {
                continue;
            }
            return name + " leaves the message of rank " + std::to_string(one.from);
        }
    }
    return "";
}

std::string Job::look_at_stages(const Process& it) const {
    const Plan& plan = it.plan;
    const bool is_lost = it.part == case_.lost;
    const bool has_hints = case_.flow == Flow::from_root && case_.way != Way::plain && !is_lost;
    const bool is_handed = is_of_root(it) && has_hints && case_.root_place != 0;
    const bool has_table = case_.members[it.part] > 1 && !is_lost && it.part != case_.refused;
    int level = -1;
    bool crosses = false;
    for (unsigned i = 0; i < plan.count; ++i) {
        const Stage stage = plan.stages[i];
        const bool is_first = stage == Stage::up || stage == Stage::hand;
        const int next = is_first ? 0 : stage == Stage::down ? 2 : 1;
        if (next <= level) return ": its stages are in another order";
        if (next != 1 && !has_table) return ": has no table";
        if (stage == Stage::hand && !is_handed) return ": is handed what its leader has";
        level = next;
        crosses = crosses || next == 1;
    }
    if (plan.leads != crosses) return ": leads, or goes across, alone";
    if (plan.has_trailer != (plan.leads && has_hints)) return ": the trailer";
    const bool is_vain = is_lost && case_.flow == Flow::from_root;
    const bool root_leads = is_of_root(it) && !has_hints;
    const bool first_leads = !root_leads || is_vain;
    const bool must_lead = (root_leads && it.rank == root_) || (first_leads && it.place == 0);
    return plan.leads == must_lead ? "" : ": leads, and should not, or should";
}

std::uint64_t Job::result() const {
    if (case_.flow == Flow::from_root) return Content::of(root_).word;
    Content sum;
    for (const Process& it : all_) {
        if (case_.flow != Flow::forming || it.place == 0) sum.add(Content::of(it.rank));
    }
    return sum.word;
}

/// On the way between the root's part and another one lies the part `by`, or it is that one.
bool Job::passes(unsigned by, unsigned to) const {
    const auto parts = static_cast<unsigned>(case_.members.size());
    if (case_.way == Way::by_chain) {
        for (unsigned at = case_.root; at != to; at = Steps::next(parts, at)) {
            if (at == by) return true;
        }
        return by == to;
    }
    unsigned own = (to + parts - case_.root) % parts;
    const unsigned wanted = (by + parts - case_.root) % parts;
    for (; own != wanted; own &= own - 1) {
        if (own == 0) return false;
    }
    return true;
}

Job::Must Job::must(const Process& it) const {
    if (case_.dead != kNone) return must_with_death(it);
    const unsigned part = case_.lost != kNone     ? case_.lost
                          : case_.refused != kNone ? case_.refused
                                                   : case_.unsure;
    if (part == kNone) return Must::have;
    if (!case_.has_root() || it.part == case_.lost) return Must::lack;
    if (case_.flow == Flow::to_root) {
        return it.plan.leads && passes(it.part, part) ? Must::lack : Must::have;
    }
    // The root has told its part, but for the leader, which does not know how to go on.
    const bool is_handed = is_of_root(it) && case_.unsure == it.part && case_.root_place != 0;
    if (is_handed && it.place != 0) return Must::have;
    return passes(part, it.part) ? Must::lack : Must::have;
}

Job::Must Job::must_with_death(const Process& it) const {
    if (case_.dies_after != 0) return Must::have_or_lack;
    const Process& dead = all_[case_.dead];
    if (case_.flow == Flow::to_all) return Must::lack;
    if (case_.flow == Flow::forming) return dead.plan.leads ? Must::lack : Must::have;
    if (case_.flow == Flow::to_root) {
        if (!it.plan.leads) return Must::have;
        return passes(it.part, dead.part) ? Must::lack : Must::have_or_lack;
    }
    if (dead.rank == root_) return Must::lack;
    if (!dead.plan.leads) return Must::have;
    if (is_of_root(it) && dead.part == it.part) return Must::have;  // the root has told it
    return passes(dead.part, it.part) ? Must::lack : Must::have_or_lack;
}

}  // namespace fci::group::test
