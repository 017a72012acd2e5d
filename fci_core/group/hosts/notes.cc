// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/notes.h"

namespace fci::group {

namespace {

template <NoteRecord R>
NoteKind check(std::span<const std::byte> note) noexcept {
    const bool is_one = note.size() == sizeof(PackedNote<R>) && unpack<R>(note).is_sound();
    return is_one ? R::kKind : NoteKind::none;
}

}  // namespace

NoteKind kind_of(std::span<const std::byte> note) noexcept {
    NoteKind kind = NoteKind::none;
    if (note.size() >= sizeof kind) std::memcpy(&kind, note.data(), sizeof kind);
    switch (kind) {
        case NoteKind::table_offer: return check<TableOffer>(note);
        case NoteKind::cannot_join: return check<CannotJoin>(note);
        case NoteKind::hint_unheard: return check<HintUnheard>(note);
        case NoteKind::hint_lacking: return check<HintLacking>(note);
        case NoteKind::hint_follows: return check<HintFollows>(note);
        case NoteKind::long_progress: return check<LongProgress>(note);
        case NoteKind::long_lossy: return check<LongLossy>(note);
        case NoteKind::none: break;
    }
    return NoteKind::none;  // also of a kind that is unknown
}

}  // namespace fci::group
