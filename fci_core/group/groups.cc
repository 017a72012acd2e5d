// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/groups.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/result.h"
#include "fci_core/group/hosts/match.h"
#include "fci_core/group/hosts/notes.h"
#include "fci_core/group/hosts/send_nothing.h"

namespace fci::group {

namespace {

/// With so many members, each of which reads an entry of each other, a reduction takes longer than
/// one in which the last to come reads for all.
constexpr unsigned kThrong = 17;

/// So many neighbours share a cache, most often, if they have a core each.
constexpr unsigned kNeighbours = 8;

std::span<std::byte> behind_pool(mp::Engine& engine) noexcept {
    const std::span<std::byte> memory = engine.device.communication_memory();
    const std::uint64_t pool = engine.limits.layout.pool_bytes;
    return memory.size() < pool ? std::span<std::byte>{} : memory.subspan(pool);
}

std::uint64_t bit_of(unsigned rank) noexcept { return std::uint64_t{1} << rank; }

std::uint64_t all_of(std::size_t members) noexcept {
    return ~std::uint64_t{0} >> (kMembersMost - members);
}

}  // namespace

Groups::Groups(mp::MessagePassing& messages)
    : messages_(messages), engine_(messages.engine()), board_(engine_.network,
                                                              behind_pool(engine_)) {
    messages_.active_messages().set_handler(
        mp::ActiveMessages::kOfGroups,
        [](void* user, nhi::PeerId source, const void* header, std::size_t bytes, const void*,
           std::uint64_t, mp::ReceiveTarget*) {
            static_cast<Groups*>(user)->on_note(source,
                                                {static_cast<const std::byte*>(header), bytes});
        },
        this);
}

/// A note of no kind, or of no group that is here, changes nothing.
void Groups::on_note(nhi::PeerId source, std::span<const std::byte> note) {
    switch (kind_of(note)) {
        case NoteKind::table_offer: {
            const auto offer = unpack<TableOffer>(note);
            return offers_.add(source, offer.key, offer.table);
        }
        case NoteKind::cannot_join:
            return on_cannot_join(source, unpack<CannotJoin>(note));
        case NoteKind::hint_unheard: {
            const auto unheard = unpack<HintUnheard>(note);
            for_levels(unheard.key, [&](Group& it) { it.run->hinting().on_unheard(unheard); });
            return;
        }
        case NoteKind::hint_lacking: {
            const auto lacking = unpack<HintLacking>(note);
            for_levels(lacking.key,
                       [&](Group& it) { it.run->hinting().on_lacking(source, lacking); });
            return;
        }
        case NoteKind::hint_follows:
            return;  // the message that it has pushed is here
        case NoteKind::long_progress:
            return on_progress(source, unpack<LongProgress>(note));
        case NoteKind::long_lossy:
            for_levels(unpack<LongLossy>(note).key,
                       [](Group& it) { it.run->hinting().on_lossy(); });
            return;
        case NoteKind::none:
            break;
    }
}

/// False: there is none with that key.
template <class Call>
bool Groups::for_levels(std::uint64_t key, const Call& call) {
    bool is_here = false;
    for (const auto& group : all_) {
        if (group->members.key != key || !group->run) continue;
        call(*group);
        is_here = true;
    }
    return is_here;
}

void Groups::on_progress(nhi::PeerId source, const LongProgress& note) {
    const bool is_here =
        for_levels(note.key, [&](Group& it) { it.on_progress(messages_, source, note); });
    // This process has left the group, and another one waits for what it would send.
    if (is_here || note.wanted == 0) return;
    send_nothing(messages_, source, match_of(note.key, note.number, true));
}

void Groups::on_cannot_join(nhi::PeerId source, const CannotJoin& note) {
    for (Place& place : places_) {
        if (place.name != note.name || note.rank >= place.members.size() ||
            place.members[note.rank] != source) {
            continue;
        }
        place.answered |= bit_of(static_cast<unsigned>(note.rank));
        for (const auto& group : groups_) {
            const FlagTable& table = group->table();
            if (!table.is_there() || table.memory() != place.memory.data()) continue;
            (void)table.decide(FlagTable::refused);
            group->wake_sleepers();
        }
    }
    clear_away();
}

TableGroup& Groups::add(Members members) {
    groups_.push_back(std::make_unique<TableGroup>(engine_, messages_.meetings(), offers_,
                                              std::move(members)));
    return *groups_.back();
}

/// A group of these members, if there is more than one; nullptr where this process is not of them.
TableGroup* Groups::add_part(const Members& members, const std::vector<unsigned>& ranks) {
    const auto own = std::find(ranks.begin(), ranks.end(), members.self);
    if (ranks.size() == 1 || own == ranks.end()) return nullptr;
    Members part{{}, static_cast<unsigned>(own - ranks.begin()), members.key, members.most};
    for (const unsigned rank : ranks) part.peers.push_back(members.peers[rank]);
    return &add(std::move(part));
}

Group& Groups::begin(Members members) {
    std::vector<std::uint32_t> addresses, eights;
    for (const nhi::PeerId peer : members.peers) {
        const ddi::Card* const card = engine_.device.card_of(peer);
        addresses.push_back(card != nullptr ? card->host : 0);
        eights.push_back(static_cast<std::uint32_t>(eights.size() / kNeighbours));
    }
    Parts parts(addresses);
    const auto is_too_large = [](const auto& ranks) { return ranks.size() > kMembersMost; };
    all_.push_back(std::make_unique<Group>(members));
    Group& any = *all_.back();
    if (parts.count() > kHostsMost ||
        std::any_of(parts.ranks.begin(), parts.ranks.end(), is_too_large)) {
        return any;
    }
    const bool is_on_one_host = parts.count() == 1;
    TableGroup* between = nullptr;
    if (is_on_one_host) {
        any.forming = any.table = &add(members);
        if (members.size() < kThrong) return any;
        parts = Parts(eights);
        std::vector<unsigned> first;
        for (const auto& ranks : parts.ranks) first.push_back(ranks.front());
        between = add_part(members, first);
    }
    TableGroup* const here = add_part(members, parts.ranks[parts.of[members.self]]);
    if (!is_on_one_host) any.forming = here;
    nhi::Hints* const hints = is_on_one_host ? nullptr : engine_.network.hints();
    std::vector<std::uint32_t> hosts;
    for (const auto& ranks : parts.ranks) hosts.push_back(addresses[ranks.front()]);
    any.run = std::make_unique<Run>(
        messages_, members.key, Levels(members, std::move(parts), !is_on_one_host, here, between),
        Hinting(messages_, members.key, hints, std::move(hosts)));
    return any;
}

// --- forming ---

int Groups::form(Group& group, bool crowded, unsigned looks) noexcept {
    if (group.table != nullptr) return form_on_host(group, crowded, looks);
    return group.run ? form_over_hosts(group, crowded, looks) : FCI_ICL_EUNREACHABLE;
}

int Groups::form_over_hosts(Group& group, bool crowded, unsigned looks) {
    if (group.forming != nullptr) {
        group.formed = form_table(*group.forming, crowded, looks);
        if (group.formed == FCI_ICL_EAGAIN) return group.formed;
        group.forming = nullptr;
    } else if (group.run->levels().here == nullptr) {
        group.formed = FCI_ICL_DONE;
    }
    const int answer = group.run->form(group.formed, looks);
    if (answer == FCI_ICL_DONE) group.begin_long();
    return answer;
}

/// First the table of all. Where they have a core each, parts of many get theirs: or none does, and
/// the table of all has to do.
int Groups::form_on_host(Group& group, bool crowded, unsigned looks) {
    if (group.forming == group.table) {
        group.formed = form_table(*group.table, crowded, looks);
        // Without a member that has gone there is no group; messages to that member tell its rank.
        if (group.formed == FCI_ICL_EPEER) group.formed = FCI_ICL_EUNREACHABLE;
        if (group.formed != FCI_ICL_DONE) return group.formed;
        if (group.table->table().head().throng != 0) leave_levels(group);
        if (!group.run) return group.formed;
        group.forming = group.run->levels().here;
        if (group.forming == nullptr) group.forming = group.run->levels().between;
    }
    while (group.forming != nullptr) {
        const int formed = form_table(*group.forming, crowded, looks);
        if (formed == FCI_ICL_EAGAIN) return formed;
        const bool is_short = formed == FCI_ICL_DONE &&
                              group.forming->table().longest() < group.table->table().longest();
        if (formed != FCI_ICL_DONE || is_short) group.formed = FCI_ICL_EUNREACHABLE;
        TableGroup* const between = group.run->levels().between;
        group.forming = group.forming == between ? nullptr : between;
    }
    std::uint64_t is_formed = group.formed == FCI_ICL_DONE;
    std::size_t bytes = sizeof is_formed;
    const int answer = group.table->reduce(TableGroup::kAll, &is_formed, &is_formed, &bytes, kLeast,
                                           looks);
    if (answer == FCI_ICL_DONE && is_formed == 0) leave_levels(group);
    return answer == FCI_ICL_EPEER ? FCI_ICL_EUNREACHABLE : answer;
}

int Groups::form_table(TableGroup& group, bool crowded, unsigned looks) noexcept try {
    if (!group.table().is_there()) {
        const int found = find(group, crowded);
        if (found != FCI_ICL_DONE) return found;
    }
    const FlagTable& table = group.table();
    const int answer = group.barrier(looks);
    auto outcome = table.outcome();
    if (answer == FCI_ICL_EAGAIN && outcome <= FlagTable::formed) return answer;
    if (answer != FCI_ICL_EAGAIN) {
        outcome = table.decide(answer == FCI_ICL_DONE ? FlagTable::formed : FlagTable::lost);
        group.wake_sleepers();
    }
    if (outcome == FlagTable::formed) meet_some(group);
    return outcome == FlagTable::formed ? FCI_ICL_DONE
           : outcome == FlagTable::lost ? FCI_ICL_EPEER
                                        : FCI_ICL_EUNREACHABLE;
} catch (const std::bad_alloc&) {
    return FCI_ICL_ENOMEM;
}

/// Meets the members that a barrier by messages would meet. A process hears of the death of those
/// that it has met, also while it receives from any source, and can then say which one it was.
void Groups::meet_some(const TableGroup& group) noexcept try {
    const Members& members = group.members();
    for (unsigned apart = 1; apart < members.size(); apart <<= 1) {
        const unsigned rank = (members.self + apart) % members.size();
        (void)messages_.meetings().connected(members.peers[rank]);
    }
} catch (const std::bad_alloc&) {  // it is a kindness only
}

/// The table, at its owner; elsewhere where the owner has said that it is.
int Groups::find(TableGroup& group, bool crowded) {
    const nhi::PeerId owner = group.members().peers[group.members().owner()];
    if (owner == nhi::kSelf) {
        const Table table = offer(group, crowded);
        const bool joined = table.name != 0 && join(group, table);
        FCI_ASSERT(joined == (table.name != 0));  // it is here
        for (const nhi::PeerId peer : group.members().peers) {
            if (peer == nhi::kSelf) continue;
            send_note(messages_, peer, TableOffer{group.members().key, table});
        }
        return joined ? FCI_ICL_DONE : FCI_ICL_EUNREACHABLE;
    }
    if (const int answer = group.await_offer(); answer != FCI_ICL_DONE) return answer;
    const Table table = offers_.take(owner, group.members().key);
    if (table.name == 0) return FCI_ICL_EUNREACHABLE;
    if (join(group, table)) return FCI_ICL_DONE;
    send_note(messages_, owner, CannotJoin{table.name, group.members().self});
    return FCI_ICL_EUNREACHABLE;
}

Table Groups::offer(const TableGroup& group, bool crowded) noexcept try {
    clear_away();
    const unsigned members = group.members().size();
    places_.reserve(places_.size() + 1);
    Place place{names_ + 1, {}, group.members().peers, 0, true};
    std::size_t longest = group.members().most <= Entry::kShort ? Entry::kShort : Entry::kLong;
    place.memory = board_.take(FlagTable::bytes(members, longest));
    if (place.memory.empty() && longest != Entry::kShort) {
        longest = Entry::kShort;
        place.memory = board_.take(FlagTable::bytes(members, longest));
    }
    if (place.memory.empty()) return {};
    const Table told{place.name,
                     static_cast<std::uint64_t>(board_.address_of(place.memory.data()))};
    if (map(nhi::kSelf, told, place.memory.size()) == nullptr) {  // nor can others
        board_.give_back(place.memory);
        return {};
    }
    const FlagTable table(place.memory.data(), members, longest);
    table.clear();
    TableHead& head = table.head();
    head.members = members;
    head.longest = static_cast<std::uint32_t>(longest);
    head.throng = crowded && members >= kThrong;
    head.name = ++names_;
    places_.push_back(std::move(place));
    return told;
} catch (const std::bad_alloc&) {
    return {};
}

std::byte* Groups::map(nhi::PeerId owner, const Table& table, std::size_t bytes) noexcept {
    if (table.at % sizeof(Entry) != 0) return nullptr;
    return engine_.network.map(owner, nhi::LcsAddress{table.at}, bytes);
}

/// Checks what another process says of its table against the table itself.
bool Groups::join(TableGroup& group, const Table& table) noexcept {
    const nhi::PeerId owner = group.members().peers[group.members().owner()];
    std::byte* memory = map(owner, table, sizeof(TableHead));
    if (memory == nullptr) return false;
    const TableHead& told = *reinterpret_cast<const TableHead*>(memory);
    if (told.name != table.name || told.members != group.members().size()) return false;
    const std::size_t longest = told.longest == Entry::kLong ? Entry::kLong : Entry::kShort;
    memory = map(owner, table, FlagTable::bytes(group.members().size(), longest));
    if (memory == nullptr) return false;
    group.open(FlagTable(memory, group.members().size(), longest));
    TableHead& head = group.table().head();
    if (engine_.network.ordering() == nhi::Ordering::by_all) flag::store_relaxed(head.fenced, 1u);
    flag::set_bits(head.inside, bit_of(group.members().self));
    flag::set_bits(head.joined, bit_of(group.members().self));
    return true;
}

// --- leaving ---

/// All members have said whether they join, and those that joined have left or died.
bool Groups::is_free(const Place& place) const noexcept {
    if (place.taken) return false;
    const auto& head = *reinterpret_cast<const TableHead*>(place.memory.data());
    std::uint64_t inside = flag::load_acquire(head.inside);
    std::uint64_t answered = place.answered | flag::load_acquire(head.joined);
    for (unsigned rank = 0; rank < place.members.size(); ++rank) {
        if (*engine_.peers.reason(place.members[rank]) == '\0') continue;
        inside &= ~bit_of(rank);
        answered |= bit_of(rank);
    }
    return inside == 0 && answered == all_of(place.members.size());
}

void Groups::clear_away() noexcept {
    std::erase_if(places_, [&](const Place& place) {
        if (!is_free(place)) return false;
        board_.give_back(place.memory);
        return true;
    });
    std::erase_if(all_, [](const auto& group) {
        return group->is_left && !group->is_busy();
    });
}

void Groups::leave(Group& group) noexcept {
    outstanding_.drop(group);
    leave_levels(group);
    if (group.table != nullptr) leave_table(*group.table);
    group.is_left = true;
    clear_away();
}

void Groups::leave_levels(Group& group) noexcept {
    if (!group.run) return;
    group.sleep_only_over(nullptr);
    if (group.run->levels().between != nullptr) leave_table(*group.run->levels().between);
    if (group.run->levels().here != nullptr) leave_table(*group.run->levels().here);
    group.run->hinting().close();
    if (!engine_.peers.severed()) group.give_up();
    if (group.is_busy()) return;
    group.long_broadcast.reset();
    group.run.reset();
}

void Groups::leave_table(TableGroup& group) noexcept {
    const auto at = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const auto& one) { return one.get() == &group; });
    FCI_ASSERT(at != groups_.end());
    progress::Waits::remove(group.wait());
    if (group.table().is_there() && !engine_.peers.severed()) {  // else it is not there any more
        for (Place& place : places_) {
            if (place.memory.data() == group.table().memory()) place.taken = false;
        }
        flag::clear_bits(group.table().head().inside, bit_of(group.members().self));
        clear_away();
    }
    groups_.erase(at);
}

}  // namespace fci::group
