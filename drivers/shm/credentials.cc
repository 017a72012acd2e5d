// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/credentials.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "drivers/host/descriptor.h"
#include "drivers/shm/handshake.h"
#include "drivers/shm/socket.h"
#include "fci_core/base/assert.h"

namespace fci::shm {

namespace {

/// The user id that the kernel shows for every user without a number in this user namespace.
uid_t read_nameless_user() noexcept {
    constexpr uid_t kUsual = 65534;
    const host::Descriptor file(open("/proc/sys/kernel/overflowuid", O_RDONLY | O_CLOEXEC));
    char text[16] = {};
    if (!file || read(file.get(), text, sizeof text - 1) <= 0) return kUsual;
    return static_cast<uid_t>(std::strtoul(text, nullptr, 10));
}

uid_t nameless_user() noexcept {
    static const uid_t user = read_nameless_user();
    return user;
}

}  // namespace

bool identify(int socket, Identity* identity) noexcept {
    ucred credentials{};
    socklen_t bytes = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return false;
    *identity = {credentials.pid, credentials.uid};
    return true;
}

// In a namespace where users have no numbers all of them look like the same one. Nothing but a
// process of the same user, or one with privileges over the other, may send it a signal; none is
// sent here.
bool is_own_user(const Identity& identity, uid_t user) noexcept {
    if (identity.uid != user) return false;
    return identity.uid != nameless_user() || identity.pid == getpid() ||
           (identity.pid > 0 && kill(identity.pid, 0) == 0);
}

std::string user_text(const Identity& identity, uid_t user) {
    const std::string number = std::to_string(identity.uid);
    if (identity.uid != user) {
        return "belongs to user " + number + ", this process to user " + std::to_string(user) +
               "; start both as the same user";
    }
    return "and this process both appear as user " + number +
           ", which stands for every user without a number in this user namespace, and the kernel "
           "does not take them for the same one; start both as one user in one container, in a "
           "user namespace that maps that user (unshare --map-user, podman --userns=keep-id)";
}

Proof ask_for_proof(const ddi::Card& card, uid_t user, const Identity& came) noexcept {
    FCI_ASSERT(card.port != 0);  // check_hello() has looked at it
    const host::Descriptor door = connect_to(card, user);
    Identity listens;
    if (!door) return errno == ECONNREFUSED ? Proof::none : Proof::later;
    if (!identify(door.get(), &listens)) return Proof::later;
    const Word bye = make_word(Kind::bye);
    (void)send_record(door.get(), &bye, sizeof bye, {});
    // Processes of other namespaces have no number here, all of them 0.
    const bool same = came.pid > 0 && came.pid == listens.pid;
    return same && is_own_user(listens, user) ? Proof::given : Proof::none;
}

}  // namespace fci::shm
