// SPDX-License-Identifier: BSD-3-Clause
// Credentials: which processes are of the user of this one, by the kernel's word.
//
// A process may give its rights away after it was opened (setuid). Its listening socket keeps the
// user that opened it, in its name and in the credentials that the kernel shows to callers; to a
// listener that the process calls, the kernel names the user of that moment. So:
//  - A process that calls looks for its own opening user, and believes the listener's socket:
//    no other user can have made that socket.
//  - A caller of the user that opened this process, while that is still its user, is let in.
//  - Any other caller has to say this process's incarnation, which only the cards of the job
//    tell, and to be the very process that listens at the card of its knock, which has to have been
//    opened by the same user as this one. So no third user gets in; neither do the other processes
//    of the user whose rights this process has taken on, which may not look into it by the kernel's
//    rules either; nor a process that has replaced a dead one, as the kernel keeps the pid of the
//    process that listened.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "fci_core/ddi/card.h"

namespace fci::shm {

/// The process at the other end, by the kernel's word: of a socket that was connected, the
/// listener; of one that was accepted, the caller. Each with its user at that time.
struct Identity {
    pid_t pid = 0;
    uid_t uid = static_cast<uid_t>(-1);
};
bool identify(int socket, Identity* identity) noexcept;
/// The other end belongs to `user`, which has opened this process.
bool is_own_user(const Identity& identity, uid_t user) noexcept;
/// Why it is not taken for that.
std::string user_text(const Identity& identity, uid_t user);

/// later: it cannot be asked for just now.
enum class Proof : std::uint8_t { given, none, later };
/// Whether the process at the other end of an accepted socket listens at `card` and was opened by
/// `user`.
Proof ask_for_proof(const ddi::Card& card, uid_t user, const Identity& came) noexcept;

}  // namespace fci::shm
