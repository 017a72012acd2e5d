// SPDX-License-Identifier: BSD-3-Clause
// Notes: what members of a group tell each other outside of its collectives (§2.6.11), a kind and
// its record in an active message of the core's own.
//
//   kind          | sent by     | to         | says
//   table_offer   | owner       | a member   | the table is there; or there is none
//   cannot_join   | member      | the owner  | it cannot join that table
//   hint_unheard  | last leader | the root's | nobody had a hint of that broadcast
//   hint_lacking  | leader      | the sender | it lacks that broadcast, whose message may linger
//   hint_follows  | the sender  | the leader | answer: it pushes what lingers there
//   long_progress | leader      | the root's | how far it has come with a long broadcast
//   long_lossy    | the root's  | the root   | too much of long broadcasts is lost
//
// A leader speaks for its host: `the root's` is that of the root's host, `last leader` the last one
// of a chain, and `the sender` the one before in it.
// To add a kind: its row and its record here, a case in kind_of() and one in Groups::on_note.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/match.h"
#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/table/offers.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

enum class NoteKind : std::uint64_t {
    none, table_offer, cannot_join, hint_unheard, hint_lacking, hint_follows, long_progress,
    long_lossy
};

/// Whether a member hears hints of its group, whichever broadcast they are of.
enum class Hears : std::uint16_t { never, formerly, lately };

// The sender of a note sets all fields of its record, its receiver reads them. `key` is that of the
// group; `number` is that of a broadcast, counted alike by all members, from 1.

[[nodiscard]] constexpr bool is_key(std::uint64_t key) noexcept {
    return key >> (64 - kNumberBits) == 0;
}

/// The receiver keeps it until the group is formed there, and checks it against what is there.
struct TableOffer {
    static constexpr NoteKind kKind = NoteKind::table_offer;
    std::uint64_t key;
    Table table;  // of name 0: there is none, for anybody

    [[nodiscard]] constexpr bool is_sound() const noexcept {
        return is_key(key) && (table.name != 0 || table.at == 0);
    }
};
/// The owner takes it from the member of that rank only.
struct CannotJoin {
    static constexpr NoteKind kKind = NoteKind::cannot_join;
    std::uint64_t name;  // of the table
    std::uint64_t rank;  // of the sender, in the group of the table

    [[nodiscard]] constexpr bool is_sound() const noexcept {
        return name != 0 && rank < kMembersMost;
    }
};
struct HintUnheard {
    static constexpr NoteKind kKind = NoteKind::hint_unheard;
    std::uint64_t key, number;
    Hears hears;  // the most that any member hears
    std::array<std::uint16_t, 3> reserved;  // 0; checked, and of no meaning

    [[nodiscard]] constexpr bool is_sound() const noexcept {
        return is_key(key) && number != 0 && hears <= Hears::lately &&
               (reserved[0] | reserved[1] | reserved[2]) == 0;
    }
};
struct HintLacking {
    static constexpr NoteKind kKind = NoteKind::hint_lacking;
    std::uint64_t key, number;

    [[nodiscard]] constexpr bool is_sound() const noexcept { return is_key(key) && number != 0; }
};
/// The message that lingered comes in front of it; the note itself changes nothing.
struct HintFollows {
    static constexpr NoteKind kKind = NoteKind::hint_follows;
    std::uint64_t key, number;  // as in the note that it answers

    [[nodiscard]] constexpr bool is_sound() const noexcept { return is_key(key) && number != 0; }
};
struct LongProgress {
    static constexpr NoteKind kKind = NoteKind::long_progress;
    std::uint64_t key, number;
    std::uint32_t at;      // bytes before are all there; or what the sender wants begins here
    std::uint32_t wanted;  // bytes from `at` on that are to come as a message; 0: none
    std::uint64_t heard;   // bytes that came by hints; what came twice is counted twice

    [[nodiscard]] constexpr bool is_sound() const noexcept {
        return is_key(key) && number != 0 && std::uint64_t{at} + wanted <= UINT32_MAX;
    }
};
struct LongLossy {
    static constexpr NoteKind kKind = NoteKind::long_lossy;
    std::uint64_t key;

    [[nodiscard]] constexpr bool is_sound() const noexcept { return is_key(key); }
};

template <class T>
concept NoteRecord = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                     std::has_unique_object_representations_v<T> &&
                     std::same_as<decltype(T::kKind), const NoteKind>;

/// A note as it travels.
template <NoteRecord R>
struct PackedNote {
    NoteKind kind;
    R record;

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return std::as_bytes(std::span(this, 1));
    }
};
template <NoteRecord R>
[[nodiscard]] constexpr PackedNote<R> pack(const R& record) noexcept {
    static_assert(std::has_unique_object_representations_v<PackedNote<R>>);
    return {R::kKind, record};
}

/// none: of no kind, or of another size than the kind has, or a field is out of its range.
[[nodiscard]] NoteKind kind_of(std::span<const std::byte> note) noexcept;

/// kind_of() has said that it is one.
template <NoteRecord R>
[[nodiscard]] R unpack(std::span<const std::byte> note) noexcept {
    FCI_ASSERT(note.size() == sizeof(PackedNote<R>));
    R record;
    std::memcpy(&record, note.data() + sizeof(NoteKind), sizeof record);
    return record;
}

/// It fails only where the peer is lost, which is seen by all that wait for that peer. May throw
/// bad_alloc.
template <NoteRecord R>
void send_note(mp::MessagePassing& messages, nhi::PeerId peer, const R& record) {
    (void)messages.send(
        mp::active_message(peer, mp::ActiveMessages::kOfGroups, 0, pack(record).bytes(), {}), {},
        nullptr);
}

}  // namespace fci::group
