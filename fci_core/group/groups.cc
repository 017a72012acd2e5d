#include "fci_core/group/groups.h"

#include <algorithm>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::group {

using gcs::Layout;

Groups::Groups(mp::Engine& engine) : engine_(engine) {
    const std::span<std::byte> memory = engine_.device.communication_memory();
    if (memory.size() < Layout::kBoardBytes) return;
    // Where this fails there are no tables here, and offer() says so.
    (void)engine_.network.open_window(Layout::kBoardWindow, Layout::kBoard,
                                      memory.last(Layout::kBoardBytes));
}

/// The tables of that process, as this one sees them; nullptr: they cannot be mapped. Nobody pays
/// for their memory before its owner has asked for it.
FlagTable* Groups::board_of(nhi::PeerId id) noexcept {
    nhi::NetworkInterface& network = engine_.network;
    if (id == nhi::kSelf && !board_there_) {
        board_there_ = network.provide(id, Layout::kBoard, Layout::kBoardBytes) == Status::ok;
        if (!board_there_) return nullptr;
    }
    return reinterpret_cast<FlagTable*>(network.map(id, Layout::kBoard, Layout::kBoardBytes));
}

/// All who had it have left it.
bool Groups::is_free(unsigned place, const FlagTable& table) const noexcept {
    const Place& was = places_[place];
    if (was.taken) return false;
    const auto* const end = table.at + was.members;
    return std::all_of(table.at, end, [&](const std::uint64_t& at) {
        return flag::load_acquire(at) >= was.number;
    });
}

Groups::Table Groups::offer(unsigned members) noexcept {
    FCI_ASSERT(members <= kMembersMost);
    FlagTable* const tables = board_of(nhi::kSelf);
    if (tables == nullptr) return {};
    for (unsigned i = 0; i < kTablesMost; ++i) {
        FlagTable& table = tables[i];
        if (!is_free(i, table)) continue;
        Place& place = places_[i];
        place.taken = true;
        place.members = members;
        for (unsigned rank = 0; rank < kMembersMost; ++rank) {
            flag::store_release(table.at[rank], place.number);
            flag::store_relaxed(table.asleep[rank], std::uint8_t{0});
            flag::store_relaxed(table.core[rank], std::uint8_t{0});
        }
        flag::store_release(table.sleepers, 0u);
        return {i + 1, place.number};
    }
    return {};
}

Group* Groups::join(std::span<const nhi::PeerId> members, unsigned self, unsigned owner,
                    const Table& table) {
    if (table.name == 0 || table.name > kTablesMost) return nullptr;
    FlagTable* const tables = board_of(members[owner]);
    if (tables == nullptr) return nullptr;
    groups_.push_back(
        std::make_unique<Group>(engine_, tables[table.name - 1], members, self, table.number));
    return groups_.back().get();
}

void Groups::leave(Group& group) noexcept {
    const auto at = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const auto& one) { return one.get() == &group; });
    FCI_ASSERT(at != groups_.end());
    if (!engine_.peers.severed()) {  // else the table is not there any more
        const std::uint64_t number = group.leave();
        const std::ptrdiff_t place = &group.table() - board_of(nhi::kSelf);
        if (place >= 0 && place < std::ptrdiff_t{kTablesMost}) {
            FCI_ASSERT(places_[static_cast<std::size_t>(place)].taken);
            places_[static_cast<std::size_t>(place)].taken = false;
            places_[static_cast<std::size_t>(place)].number = number;
        }
    }
    groups_.erase(at);
}

}  // namespace fci::group
