// SPDX-License-Identifier: BSD-3-Clause
// The seed's choices for the groups of a job: on how many hosts they are, what their members do
// together, who of them is late, or brings another length, or dies in the midst, and how many hints
// are lost.
#include <algorithm>

#include "fci_core/api/icl.h"
#include "test/simulation/jobs/draw.h"
#include "test/simulation/jobs/plan.h"

namespace fci::jobs {

namespace {

using Kind = Collective::Kind;

constexpr std::size_t kTableMost = 1088;  // what a table takes of one member
constexpr std::size_t kLongMost = 200'000;
constexpr std::size_t kAnnouncement = 16;      // of a long broadcast; nobody else says so much
constexpr Nanoseconds kRest = 10'500'000'000;  // longer than anything is remembered
constexpr unsigned kLooksMost = 40;
constexpr Nanoseconds kLooksOfAll = 200'000;

std::vector<unsigned> shuffled(Prng& prng, unsigned count) {
    std::vector<unsigned> all(count);
    for (unsigned i = 0; i < count; ++i) std::swap(all[i] = i, all[prng.below(i + 1)]);
    return all;
}

std::size_t some_length(Prng& prng) {
    static constexpr std::size_t kEdges[] = {0, 8, 56, 64, kTableMost};
    if (prng.chance(30)) return one_of(prng, kEdges);
    return prng.below(prng.chance(60) ? 57 : kTableMost + 1);
}

/// A few pieces as often as more than a window of them.
std::size_t some_long_length(Prng& prng, std::size_t window) {
    if (prng.chance(50)) return prng.between(kTableMost + 1, 6'000);
    return prng.between(6'000, prng.chance(50) ? 60'000 : std::min(2 * window, kLongMost));
}

std::size_t other_length(Prng& prng, const Collective& one) {
    const std::size_t length = one.long_bytes != 0 ? one.long_bytes : one.bytes;
    const std::size_t others[] = {length + 8, length - std::min<std::size_t>(length, 8), 0,
                                  prng.below(kTableMost + 1), length + prng.below(4'000)};
    const std::size_t other = one_of(prng, others);
    return other / 8 * 8 == kAnnouncement ? other + 8 : other;
}

}  // namespace

/// Half of the jobs have some, on one to five hosts.
void Plan::choose_groups(Prng prng) {
    static constexpr unsigned kHosts[] = {1, 1, 2, 3, 3, 4, 5};
    has_groups_ = prng.chance(50);
    if (!has_groups_) return;
    const unsigned hosts = one_of(prng, kHosts);
    job.world.per_host = hosts == 1 ? 0 : (job.processes + hosts - 1) / hosts;
    if (!job.world.mapped && prng.chance(80)) job.world.mapped = job.world.stores = true;
    if (victim != kNobody || long_wait != 0 || !prng.chance(15)) return;
    victim = drawn(prng, 0, job.processes - 1);
    forks = prng.chance(30);
    death = static_cast<Nanoseconds>(prng.below(5'000'000));
}

/// Between hosts: mostly some, of which many are lost, or all, and a member may be deaf.
void Plan::choose_hints(Prng prng) {
    sim::HintOptions& hints = job.world.hints;
    hints.work = prng.chance(85);
    hints.lost_percent = prng.chance(40) ? 0 : prng.chance(20) ? 100 : drawn(prng, 0, 60);
    hints.twice_percent = prng.chance(60) ? 0 : drawn(prng, 0, 60);
    hints.late_percent = prng.chance(60) ? 0 : drawn(prng, 0, 60);
    hints.late_max = scaled(prng, 10'000, 5'000'000);
    // As little as a process must have room for, and as much as it has.
    if (prng.chance(60)) hints.room = 2 * nhi::Hints::kMost / nhi::Hints::kPieceMost;
    const auto some = [&] { return std::uint64_t{1} << prng.below(job.processes); };
    if (prng.chance(5)) hints.without = some();
    if (prng.chance(8)) hints.unheard = some();
    if (prng.chance(70)) return;
    hints.deaf = prng.chance(30) ? ~std::uint64_t{0} : some() | some();
    hints.deaf_from = prng.chance(50) ? 0 : static_cast<Nanoseconds>(prng.below(5'000'000));
    if (prng.chance(50)) hints.deaf_until = hints.deaf_from + scaled(prng, 20'000, 5'000'000);
}

/// Rows of such that are alike, in several groups, one after the other.
void Plan::choose_collectives(Prng prng) {
    if (!has_groups_) return;
    const unsigned again_percent = prng.chance(10) ? 60 : 15;
    for (unsigned left = drawn(prng, 1, 6); left != 0; --left) {
        if (collectives.empty() || prng.chance(again_percent)) add_group(prng);
        add_row(prng);
    }
    choose_rests(prng);
    choose_death(prng);
    // A program that is wrong may hang where one of its processes dies.
    if (victim != kNobody) {
        for (Collective& one : collectives) one.odd = kNobody;
    }
    // While one is late each look of all others is simulated.
    const Nanoseconds most = kLooksOfAll / job.processes * (job.host.call + look);
    for (Collective& one : collectives) one.late_by = std::min(one.late_by, most);
}

/// Mostly of all processes.
void Plan::add_group(Prng& prng) {
    members_ = shuffled(prng, job.processes);
    if (prng.chance(25)) members_.resize(drawn(prng, 1, job.processes));
    if (prng.chance(70)) std::sort(members_.begin(), members_.end());
    Collective one;
    one.members = members_;
    if (prng.chance(15)) one.late = members_[prng.below(members_.size())];
    one.late_by = scaled(prng, 1'000, 500'000);
    collectives.push_back(one);
}

void Plan::add_row(Prng& prng) {
    static constexpr Kind kKinds[] = {Kind::broadcast, Kind::broadcast, Kind::broadcast,
                                      Kind::barrier,   Kind::gather,    Kind::reduce,
                                      Kind::reduce};
    Collective one;
    one.kind = one_of(prng, kKinds);
    const bool is_broadcast = one.kind == Kind::broadcast;
    const std::size_t window = job.world.hints.room / 2 * nhi::Hints::kPieceMost;
    if (is_broadcast && prng.chance(55)) one.long_bytes = some_long_length(prng, window);
    one.bytes = some_length(prng);
    unsigned count = drawn(prng, 1, 5);
    // So many that a root which nobody hears has to wait, and what was unheard is forgotten.
    if (is_broadcast && prng.chance(30)) count = drawn(prng, 6, one.long_bytes > 6'000 ? 9 : 40);
    const bool is_throng = members_.size() > 16;  // there are few of them
    const bool has_one_root = prng.chance(60), has_odd = prng.chance(is_throng ? 60 : 10);
    if (has_odd && one.bytes / 8 * 8 == kAnnouncement) one.bytes += 8;
    const bool is_to_all = one.kind >= Kind::gather && prng.chance(50);
    const auto some = [&] { return members_[prng.below(members_.size())]; };
    const unsigned root = some();
    const unsigned late_at = prng.chance(30) ? drawn(prng, 0, count - 1) : count;
    for (unsigned i = 0; i < count; ++i) {
        one.root = is_to_all ? FCI_ICL_GROUP_ALL : has_one_root ? root : some();
        one.starts = prng.chance(25);
        one.late = i == late_at ? some() : kNobody;
        one.late_by =
            prng.chance(15) ? drawn(prng, 10'000'000, 30'000'000) : scaled(prng, 1'000, 2'000'000);
        one.odd = has_odd && prng.chance(60) ? some() : kNobody;
        one.odd_bytes = other_length(prng, one);
        collectives.push_back(one);
    }
}

void Plan::choose_rests(Prng& prng) {
    if (long_wait != 0 || !prng.chance(8)) return;
    for (unsigned left = drawn(prng, 1, 2); left != 0; --left) {
        collectives[prng.below(collectives.size())].rest = kRest;
    }
}

/// Where there are collectives most deaths are in one of them, and half of these are its root's.
void Plan::choose_death(Prng& prng) {
    if (victim == kNobody || prng.chance(30)) return;
    death_in = prng.below(collectives.size());
    death = kNoTime;
    death_looks = prng.chance(40) ? 0 : drawn(prng, 1, prng.chance(60) ? 3 : kLooksMost);
    Collective& one = collectives[death_in];
    const bool has_root = one.kind >= Kind::broadcast && one.root != FCI_ICL_GROUP_ALL;
    if (has_root && prng.chance(50)) victim = one.root;
    if (one.late == kNobody && prng.chance(40)) one.late = drawn(prng, 0, job.processes - 1);
}

}  // namespace fci::jobs
