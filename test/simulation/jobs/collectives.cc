// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/jobs/collectives.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::jobs {

namespace {

using Kind = Collective::Kind;

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kBehind = 2;  // words behind the data, which nobody may touch
constexpr std::uint64_t kUntouched = 0xa5a5'a5a5'a5a5'a5a5;

std::size_t words(std::size_t bytes) { return (bytes + kWord - 1) / kWord; }

int kind_of(const Collective& one) {
    switch (one.kind) {
        case Kind::broadcast: return FCI_ICL_BROADCAST;
        case Kind::gather: return FCI_ICL_GATHER;
        case Kind::reduce: return FCI_ICL_REDUCE;
        default: return FCI_ICL_BARRIER;
    }
}

bool is_one_of(int answer, std::initializer_list<int> answers) {
    return std::find(answers.begin(), answers.end(), answer) != answers.end();
}

}  // namespace

Collectives::Collectives(const std::vector<Collective>& all, const JobOptions& job)
    : all_(all),
      per_host_(job.world.per_host),
      members_(job.processes),
      answers_(all.size()) {
    for (std::size_t number = 0; number < all.size(); ++number) {
        forms_.push_back(all[number].kind == Kind::form ? number : forms_.back());
    }
}

std::string Collectives::describe(std::size_t number) const {
    static constexpr const char* kTexts[] = {"a new group", "a barrier", "a broadcast", "a gather",
                                             "a reduction"};
    const Collective& one = all_[number];
    const auto text = [](auto value) { return std::to_string(value); };
    return kTexts[static_cast<unsigned>(one.kind)] + std::string(", collective ") + text(number) +
           (one.kind < Kind::broadcast         ? ""
            : one.root == FCI_ICL_GROUP_ALL ? " to all"
                                            : ", root " + text(one.root)) +
           (one.kind < Kind::broadcast ? "" : ", " + text(one.bytes) + " bytes") +
           (one.long_bytes == 0 ? "" : ", or " + text(one.long_bytes)) +
           (one.odd == kNobody ? "" : ", " + text(one.odd_bytes) + " at " + text(one.odd));
}

// --- who they are ---

const std::vector<unsigned>& Collectives::members_of(std::size_t number) const {
    return all_[forms_[number]].members;
}

unsigned Collectives::rank_of(std::size_t number, unsigned process) const {
    const std::vector<unsigned>& members = members_of(number);
    const auto at = std::find(members.begin(), members.end(), process);
    return static_cast<unsigned>(at - members.begin());
}

unsigned Collectives::host_of(unsigned process) const {
    return per_host_ != 0 ? process / per_host_ : 0;
}

bool Collectives::leads(std::size_t number, unsigned process) const {
    const std::vector<unsigned>& members = members_of(number);
    return *std::find_if(members.begin(), members.end(), [&](unsigned other) {
        return host_of(other) == host_of(process);
    }) == process;
}

// --- what they bring ---

std::uint64_t Collectives::word_of(std::size_t number, unsigned process, std::size_t i) {
    return (number + 1) * 0x9e3779b97f4a7c15ull ^ (process + 1) * 0xc2b2ae3d27d4eb4full ^ i;
}

std::size_t Collectives::bytes_of(const Member& member, const Collective& one,
                                  unsigned process) const {
    if (one.kind == Kind::barrier) return 0;
    const bool takes_long = one.kind == Kind::broadcast &&
                            member.limits.broadcast > member.limits.longest;
    const std::size_t most = takes_long                  ? member.limits.broadcast
                             : one.kind == Kind::gather ? member.limits.gather
                                                        : member.limits.longest;
    const std::size_t bytes = process == one.odd                      ? one.odd_bytes
                              : takes_long && one.long_bytes != 0 ? one.long_bytes
                                                                  : one.bytes;
    return std::min(bytes, most) / kWord * kWord;
}

/// One of several members has another length than the others.
bool Collectives::has_odd(const Member& member, std::size_t number) const {
    const Collective& one = all_[number];
    const bool is_there = one.odd != kNobody && one.kind != Kind::form &&
                          members_of(number).size() > 1;
    return is_there && bytes_of(member, one, one.odd) != bytes_of(member, one, kNobody);
}

bool Collectives::begin(fci_icl_context* context, unsigned at, std::size_t number) {
    Member& member = members_[at];
    const Collective& one = all_[number];
    if (one.kind == Kind::form) {
        leave(context, at);
        return rank_of(number, at) < one.members.size();
    }
    if (member.limits.longest == 0) return false;
    member.bytes = bytes_of(member, one, at);
    member.count = words(member.bytes);
    const bool only_hears = one.kind == Kind::broadcast && one.root != at;
    member.own.assign(member.count + kBehind, kUntouched);
    member.all.assign(member.count * members_of(number).size() + kBehind, kUntouched);
    if (only_hears) return true;
    for (std::size_t i = 0; i < member.count; ++i) member.own[i] = word_of(number, at, i);
    return true;
}

/// Where order is kept it is seen: two functions x -> times * x + plus, one after the other.
std::uint64_t Collectives::combined(const Member& member, std::uint64_t in, std::uint64_t inout) {
    if (member.limits.keeps_order == 0) return in + inout;
    const auto times = static_cast<std::uint32_t>(in >> 32), plus = static_cast<std::uint32_t>(in);
    const auto next = static_cast<std::uint32_t>(inout >> 32);
    return std::uint64_t{times * next} << 32 |
           (plus * next + static_cast<std::uint32_t>(inout));
}

int Collectives::call(fci_icl_context* context, unsigned at, std::size_t number) {
    Member& member = members_[at];
    if (all_[number].kind == Kind::form) {
        const std::vector<unsigned>& members = members_of(number);
        member.peers.clear();
        for (const unsigned process : members) member.peers.push_back(Job::id_of(at, process));
        return fci_icl_group_form(context, member.peers.data(),
                                  static_cast<std::uint32_t>(members.size()), rank_of(number, at),
                                  number, number % 3 == 0 ? 8 : SIZE_MAX, &member.group);
    }
    fci_icl_collective it = arguments(member, number);
    const int answer = fci_icl_group_call(context, member.group, &it);
    member.bytes = it.bytes;
    return answer;
}

int Collectives::start(fci_icl_context* context, unsigned at, std::size_t number) {
    Member& member = members_[at];
    member.answer = FCI_ICL_OK;
    member.started = arguments(member, number);
    member.started.completion = {[](void* user, void*, const fci_icl_status* status) {
                                     auto& own = *static_cast<Member*>(user);
                                     const bool is_good = status->error == FCI_ICL_OK;
                                     own.answer = is_good ? FCI_ICL_DONE : status->error;
                                     own.bytes = own.started.bytes;
                                     own.goes_on = false;
                                 },
                                 &member, nullptr};
    const int answer = fci_icl_group_start(context, member.group, &member.started);
    member.goes_on = answer == FCI_ICL_OK;
    if (!member.goes_on) member.bytes = member.started.bytes;
    return answer;
}

fci_icl_collective Collectives::arguments(Member& member, std::size_t number) const {
    const Collective& one = all_[number];
    fci_icl_collective it{};
    it.kind = kind_of(one);
    it.root = one.root == FCI_ICL_GROUP_ALL ? one.root : rank_of(number, one.root);
    it.own = member.own.data();
    it.data = one.kind == Kind::broadcast ? member.own.data() : member.all.data();
    it.bytes = member.bytes;
    it.reduction = {[](void* user, const void* in, void* inout) {
                        const auto& own = *static_cast<const Member*>(user);
                        const auto* const from = static_cast<const std::uint64_t*>(in);
                        auto* const to = static_cast<std::uint64_t*>(inout);
                        for (std::size_t i = 0; i < own.count; ++i) {
                            to[i] = combined(own, from[i], to[i]);
                        }
                    },
                    &member};
    return it;
}

// --- what they get ---

const char* Collectives::end(unsigned at, std::size_t number, int answer, bool died) {
    Member& member = members_[at];
    const bool forms = all_[number].kind == Kind::form;
    if (forms) {
        member.limits = {};
        if (answer == FCI_ICL_DONE || answer == FCI_ICL_EPEER) {
            fci_icl_group_limits(member.group, &member.limits);
        }
    }
    if (!is_fair(at, number, answer, died)) return "a collective fails";
    if (!forms && answer == FCI_ICL_DONE && !is_right(at, number)) {
        return "a collective brings what it should not";
    }
    if (answer == FCI_ICL_EPEER || has_odd(member, number)) return nullptr;
    // Of those who hear, all hear the same: also that a broadcast is to go another way.
    int& first = answers_[number];
    if (first == 0) first = answer;
    return first == answer ? nullptr : "a collective ends in two ways";
}

bool Collectives::is_fair(unsigned at, std::size_t number, int answer, bool died) const {
    // A group that was refused may lack one that has gone since.
    const bool may_lack = died || all_[number].kind == Kind::form;
    if (answer == FCI_ICL_EPEER && may_lack) return true;
    const bool is_odd = has_odd(members_[at], number);
    if (is_odd && !died) return is_fair_of_odd(at, number, answer);
    if (is_odd && answer == FCI_ICL_ETRUNC) return true;
    return is_one_of(answer, {FCI_ICL_DONE, FCI_ICL_EUNREACHABLE, FCI_ICL_EUNSUPPORTED});
}

/// All members of a collective for all hear that lengths differ, else its root. In a broadcast each
/// member of another length does, where there are long ones; else no more is copied than fits.
bool Collectives::is_fair_of_odd(unsigned at, std::size_t number, int answer) const {
    const Member& member = members_[at];
    const Collective& one = all_[number];
    if (one.kind != Kind::broadcast) {
        const bool hears = one.root == FCI_ICL_GROUP_ALL || one.root == at;
        return answer == FCI_ICL_ETRUNC || (!hears && answer == FCI_ICL_DONE);
    }
    if (member.limits.broadcast == member.limits.longest) return answer == FCI_ICL_DONE;
    const std::size_t length = bytes_of(member, one, one.root);
    if (bytes_of(member, one, at) != length) return answer == FCI_ICL_ETRUNC;
    // The speaker of the root's host, or of this one, hands on nothing in which it takes no part.
    const bool spoils = leads(number, one.odd) && one.odd != one.root &&
                        (host_of(one.odd) == host_of(at) || host_of(one.odd) == host_of(one.root));
    if (spoils && is_one_of(answer, {FCI_ICL_ETRUNC, FCI_ICL_EPEER})) return true;
    const bool may_be_refused = length > member.limits.longest;
    return answer == FCI_ICL_DONE || (may_be_refused && answer == FCI_ICL_EUNSUPPORTED);
}

bool Collectives::is_broadcast_right(unsigned at, std::size_t number) const {
    const Member& member = members_[at];
    const std::size_t came = bytes_of(member, all_[number], all_[number].root);
    if (member.bytes != came) return false;
    const std::size_t count = words(came) <= member.count ? words(came) : 0;
    for (std::size_t i = 0; i < member.own.size(); ++i) {
        const std::uint64_t wanted =
            i < count ? word_of(number, all_[number].root, i) : kUntouched;
        if (member.own[i] != wanted) return false;
    }
    return true;
}

bool Collectives::is_right(unsigned at, std::size_t number) const {
    const Member& member = members_[at];
    const Collective& one = all_[number];
    if (one.kind == Kind::broadcast) return is_broadcast_right(at, number);
    const std::size_t count = member.count;
    const std::vector<unsigned>& members = members_of(number);
    const bool hears = one.root == FCI_ICL_GROUP_ALL || one.root == at;
    if (one.kind < Kind::gather || !hears) return true;
    if (member.bytes != count * kWord) return false;
    const std::size_t most = one.kind == Kind::gather ? count * members.size() : count;
    if (member.all[most] != kUntouched) return false;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t sum = word_of(number, members.back(), i);
        for (std::size_t rank = members.size(); rank-- > 0;) {
            const std::uint64_t word = word_of(number, members[rank], i);
            if (rank != members.size() - 1) sum = combined(member, word, sum);
            if (one.kind == Kind::gather && member.all[rank * count + i] != word) return false;
        }
        if (one.kind == Kind::reduce && member.all[i] != sum) return false;
    }
    return true;
}

void Collectives::leave(fci_icl_context* context, unsigned at) {
    Member& member = members_[at];
    if (member.group != nullptr) fci_icl_group_leave(context, member.group);
    member.group = nullptr;
    member.limits = {};
}

}  // namespace fci::jobs
