#include "test/simulation/jobs/collectives.h"

#include <algorithm>
#include <cstring>

namespace fci::jobs {

namespace {

using Kind = Collective::Kind;

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t words(std::size_t bytes) { return (bytes + kWord - 1) / kWord; }

int kind_of(const Collective& one) {
    switch (one.kind) {
        case Kind::broadcast: return FCI_ICL_BROADCAST;
        case Kind::gather: return FCI_ICL_GATHER;
        case Kind::reduce: return FCI_ICL_REDUCE;
        default: return FCI_ICL_BARRIER;
    }
}

}  // namespace

Collectives::Collectives(const std::vector<Collective>& all, unsigned processes)
    : all_(all), members_(processes), answers_(all.size()) {}

std::string Collectives::describe(std::size_t number) const {
    static constexpr const char* kTexts[] = {"a new group", "a barrier", "a broadcast", "a gather",
                                             "a reduction"};
    return kTexts[static_cast<unsigned>(all_[number].kind)] + std::string(", collective ") +
           std::to_string(number);
}

std::uint64_t Collectives::word_of(std::size_t number, unsigned process, std::size_t i) {
    return (number + 1) * 0x9e3779b97f4a7c15ull ^ (process + 1) * 0xc2b2ae3d27d4eb4full ^ i;
}

std::size_t Collectives::bytes_of(const Member& member, const Collective& one) const {
    const bool is_long =
        one.long_bytes != 0 && member.limits.broadcast > member.limits.longest;
    if (is_long) return one.long_bytes / kWord * kWord;
    const bool is_gather = one.kind == Kind::gather;
    const std::size_t most = is_gather ? member.limits.gather : member.limits.longest;
    return std::min(one.bytes, most) / kWord * kWord;
}

bool Collectives::begin(fci_icl_context* context, unsigned at, std::size_t number) {
    Member& member = members_[at];
    const Collective& one = all_[number];
    if (one.kind == Kind::form) leave(context, at);
    if (one.kind != Kind::form && member.limits.longest == 0) return false;
    member.bytes = bytes_of(member, one);
    const std::size_t count = words(member.bytes);
    member.own.assign(count, 0);
    member.all.assign(count * members_.size(), 0);
    if (one.kind == Kind::broadcast && one.root != at) return true;
    for (std::size_t i = 0; i < count; ++i) member.own[i] = word_of(number, at, i);
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
    const Collective& one = all_[number];
    if (one.kind == Kind::form) {
        const auto count = static_cast<std::uint32_t>(members_.size());
        member.peers.resize(count);
        for (unsigned i = 0; i < count; ++i) member.peers[i] = Job::id_of(at, i);
        return fci_icl_group_form(context, member.peers.data(), count, at, number,
                                  number % 3 == 0 ? 8 : SIZE_MAX, &member.group);
    }
    fci_icl_collective it = arguments(member, one);
    const int answer = fci_icl_group_call(context, member.group, &it);
    member.bytes = it.bytes;
    return answer;
}

int Collectives::start(fci_icl_context* context, unsigned at, std::size_t number) {
    Member& member = members_[at];
    member.answer = FCI_ICL_OK;
    member.started = arguments(member, all_[number]);
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

fci_icl_collective Collectives::arguments(Member& member, const Collective& one) {
    fci_icl_collective it{};
    it.kind = kind_of(one);
    it.root = one.root;
    it.own = member.own.data();
    it.data = one.kind == Kind::broadcast ? member.own.data() : member.all.data();
    it.bytes = member.bytes;
    it.reduction = {[](void* user, const void* in, void* inout) {
                        const auto& own = *static_cast<const Member*>(user);
                        const auto* const from = static_cast<const std::uint64_t*>(in);
                        auto* const to = static_cast<std::uint64_t*>(inout);
                        for (std::size_t i = 0; i < own.own.size(); ++i) {
                            to[i] = combined(own, from[i], to[i]);
                        }
                    },
                    &member};
    return it;
}

bool Collectives::end(unsigned at, std::size_t number, int answer) {
    Member& member = members_[at];
    const bool forms = all_[number].kind == Kind::form;
    if (forms) {
        member.limits = {};
        if (answer == FCI_ICL_DONE || answer == FCI_ICL_EPEER) {
            fci_icl_group_limits(member.group, &member.limits);
        }
    } else if (answer == FCI_ICL_DONE && !is_right(at, number)) {
        return false;
    }
    if (answer == FCI_ICL_EPEER) return true;
    // Of those who hear, all hear the same: also that a broadcast is to go another way.
    int& first = answers_[number];
    if (first == 0) first = answer;
    return first == answer;
}

bool Collectives::is_right(unsigned at, std::size_t number) const {
    const Member& member = members_[at];
    const Collective& one = all_[number];
    const std::size_t count = words(bytes_of(member, one));
    if (member.bytes != count * kWord) return false;
    if (one.kind == Kind::broadcast) {
        for (std::size_t i = 0; i < count; ++i) {
            if (member.own[i] != word_of(number, one.root, i)) return false;
        }
    }
    if (one.kind < Kind::gather || (one.root != at && one.root != FCI_ICL_GROUP_ALL)) return true;
    const auto processes = static_cast<unsigned>(members_.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t sum = word_of(number, processes - 1, i);
        for (unsigned process = processes; process-- > 0;) {
            const std::uint64_t word = word_of(number, process, i);
            if (process != processes - 1) sum = combined(member, word, sum);
            if (one.kind == Kind::gather && member.all[process * count + i] != word) return false;
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
