#include "fci_core/group/groups.h"

#include <algorithm>
#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::group {

using nhi::Ordering;

namespace {

/// Above so many, what one of them would read of the others takes longer than to wait for the one
/// who reads it for all.
constexpr unsigned kThrong = 17;

std::span<std::byte> behind_pool(mp::Engine& engine) noexcept {
    const std::span<std::byte> memory = engine.device.communication_memory();
    const std::uint64_t pool = engine.limits.layout.pool_bytes;
    return memory.size() < pool ? std::span<std::byte>{} : memory.subspan(pool);
}

std::uint64_t bit_of(unsigned rank) noexcept { return std::uint64_t{1} << rank; }

}  // namespace

Groups::Groups(mp::Engine& engine, mp::Meetings& meetings)
    : engine_(engine), meetings_(meetings), board_(engine.network, behind_pool(engine)) {}

Groups::Table Groups::offer(unsigned members, bool crowded) noexcept try {
    FCI_ASSERT(members <= kMembersMost);
    clear_away();
    std::size_t longest = Entry::kLong;
    std::span<std::byte> memory = board_.take(FlagTable::bytes(members, longest));
    if (memory.empty()) {
        longest = Entry::kShort;
        memory = board_.take(FlagTable::bytes(members, longest));
    }
    if (memory.empty()) return {};
    const FlagTable table(memory.data(), members, longest);
    table.clear();
    TableHead& head = table.head();
    head.members = members;
    head.longest = static_cast<std::uint32_t>(longest);
    head.throng = crowded && members >= kThrong;
    head.name = ++names_;
    places_.push_back({head.name, memory, {}, true});
    return {head.name, static_cast<std::uint64_t>(board_.address_of(memory.data()))};
} catch (const std::bad_alloc&) {
    return {};
}

/// What another process says of its table is checked against what is there.
std::byte* Groups::find(nhi::PeerId owner, const Table& table, std::size_t bytes) noexcept {
    if (table.name == 0 || table.at % sizeof(Entry) != 0) return nullptr;
    return engine_.network.map(owner, nhi::LcsAddress{table.at}, bytes);
}

Status Groups::join(std::span<const nhi::PeerId> members, unsigned self, unsigned owner,
                    const Table& table, Group** group) {
    const auto count = static_cast<unsigned>(members.size());
    if (owner != self) {
        const mp::Peer* const peer = meetings_.connected(members[owner]);
        if (peer == nullptr || *engine_.peers.reason(members[owner]) != '\0') {
            return Status::unreachable;
        }
        if (!peer->attached) return Status::again;
    }
    std::byte* memory = find(members[owner], table, sizeof(TableHead));
    if (memory == nullptr) return Status::unreachable;
    const TableHead& told = *reinterpret_cast<const TableHead*>(memory);
    if (told.name != table.name || told.members != count) return Status::unreachable;
    const std::size_t longest = told.longest == Entry::kLong ? Entry::kLong : Entry::kShort;
    memory = find(members[owner], table, FlagTable::bytes(count, longest));
    if (memory == nullptr) return Status::unreachable;
    const FlagTable flags(memory, count, longest);
    groups_.push_back(std::make_unique<Group>(engine_, meetings_, flags, members, self));
    if (owner == self) {
        const auto place = std::find_if(places_.begin(), places_.end(), [&](const Place& one) {
            return one.name == table.name;
        });
        FCI_ASSERT(place != places_.end());
        place->members.assign(members.begin(), members.end());
    }
    TableHead& head = flags.head();
    if (engine_.network.ordering() == Ordering::by_all) flag::store_relaxed(head.fenced, 1u);
    flag::set_bits(head.inside, bit_of(self));
    *group = groups_.back().get();
    return Status::ok;
}

/// All who are inside have gone, in one way or another.
bool Groups::is_free(const Place& place) const noexcept {
    if (place.taken) return false;
    std::uint64_t inside =
        flag::load_acquire(reinterpret_cast<const TableHead*>(place.memory.data())->inside);
    for (unsigned rank = 0; rank < place.members.size(); ++rank) {
        if (*engine_.peers.reason(place.members[rank]) != '\0') inside &= ~bit_of(rank);
    }
    return inside == 0;
}

void Groups::clear_away() noexcept {
    std::erase_if(places_, [&](const Place& place) {
        if (!is_free(place)) return false;
        board_.give_back(place.memory);
        return true;
    });
}

void Groups::leave(Group& group) noexcept {
    const auto at = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const auto& one) { return one.get() == &group; });
    FCI_ASSERT(at != groups_.end());
    if (!engine_.peers.severed()) {  // else the table is not there any more
        TableHead& head = group.table().head();
        const auto* const memory = reinterpret_cast<const std::byte*>(&head);
        for (Place& place : places_) {
            if (place.memory.data() == memory) place.taken = false;
        }
        flag::clear_bits(head.inside, bit_of(group.rank()));
        clear_away();
    }
    groups_.erase(at);
}

}  // namespace fci::group
