// SPDX-License-Identifier: BSD-3-Clause
// How the ConnectionManager receives callers. A few are asked in at a time; then the door is
// closed, and other callers wait in the kernel's queue, at no cost.
#include <sys/epoll.h>

#include <cerrno>
#include <utility>

#include "drivers/shm/connection_manager.h"
#include "fci_core/ddi/crossing.h"

namespace fci::shm {

namespace {

// Any program on this host may connect, as often as it likes. When so many callers were turned
// away, the door stays closed for a while: they cost some percent of the time at most.
constexpr unsigned kStrangersMost = 8;
constexpr unsigned kVisitorsPerTurn = 32;
static_assert(kStrangersMost <= kVisitorsPerTurn, "a turn of strangers alone closes the door");
constexpr Nanoseconds kRestFromStrangers = 1'000'000;
constexpr Nanoseconds kRestWithoutDescriptors = 50'000'000;

}  // namespace

void ConnectionManager::rest(Nanoseconds duration) noexcept {
    door_.rest_until = clock_.now() + duration;
    door_.strangers = 0;
}

void ConnectionManager::note_stranger() noexcept {
    if (listener_ != nullptr) listener_->stranger_came();
    if (++door_.strangers == kStrangersMost) rest(kRestFromStrangers);
}

/// Each round either takes in a guest, or turns a stranger away, or is the last one. A rest that
/// begins here ends it, also where the processor was away until it was over.
unsigned ConnectionManager::answer_door() {
    const std::size_t most = share().guests;
    const Nanoseconds rested = door_.rest_until;
    unsigned came = 0;
    if (clock_.now() < rested) return 0;
    while (came < kVisitorsPerTurn && door_.rest_until == rested) {
        const bool full = guests_.size() >= most;
        const int late = full ? overdue(guests_) : -1;
        if (full && late < 0) break;
        host::Descriptor socket = accept_from(own_.listening.get());
        if (!socket && (errno == EMFILE || errno == ENFILE)) {
            // A caller that waits at an open door would keep this process from sleeping.
            rest(kRestWithoutDescriptors);
            if (!shortage_.lasts(clock_.now())) break;
            door_.spare.close();
            socket = accept_from(own_.listening.get());
            const Refusal refusal = make_refusal(own_.settings, Objection::resources);
            if (socket) (void)send_record(socket.get(), &refusal, sizeof refusal, {});
            socket.close();
            door_.spare = host::Descriptor(dup(own_.waker.get()));
            break;
        }
        if (!socket) break;
        ++came;
        Identity identity;
        const bool known = identify(socket.get(), &identity);
        const bool proven = known && is_own_user(identity, own_.user) && geteuid() == own_.user;
        // Strangers are not answered before they have said a Hello.
        if (!known || (!proven && door_.unproven >= 0)) {
            note_stranger();
            continue;
        }
        if (proven && late >= 0) drop(late);
        const int guest = socket.get();
        open_link(std::move(socket), nhi::kNoPeer, Step::silent, identity);
        link_of(guest).until = clock_.now() + patience_with(0);
        if (proven) {
            guests_.push_back(guest);
        } else {
            door_.unproven = guest;
        }
        on_link(guest);
    }
    return came;
}

void ConnectionManager::tend_door(Nanoseconds now) {
    for (const int guest : std::vector<int>(guests_)) {
        if (link_of(guest).step != Step::silent || now < link_of(guest).until) continue;
        note_stranger();
        drop(guest);
    }
    if (const int guest = door_.unproven; guest >= 0 && now >= link_of(guest).until) {
        note_stranger();
        drop(guest);
    }
    const bool has_place = guests_.size() < share().guests || now >= first_until(guests_);
    const bool open = now >= door_.rest_until && has_place;
    if (open == door_.open) return;
    door_.open = open;
    epoll_event event{};
    event.events = open ? EPOLLIN : 0u;
    event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(Source::listening)} << 32;
    (void)epoll_ctl(own_.epoll.get(), EPOLL_CTL_MOD, own_.listening.get(), &event);
}

/// The caller names itself. Nothing of that is remembered: its second Hello says all of it again.
void ConnectionManager::on_knock(int fd, const Hello& hello, Objection objection) {
    FCI_ASSERT(link_of(fd).step == Step::silent && !link_of(fd).outgoing);
    if (objection == Objection::malformed) {
        note_stranger();
        return drop(fd);
    }
    if (fd == door_.unproven) {
        // Only a rank of this job knows the incarnation; others cost no more than this.
        Proof proof = Proof::none;
        if (hello.expects == own_.card.incarnation) {
            proof = ask_for_proof(hello.card, own_.user, link_of(fd).identity);
        }
        if (proof == Proof::later) return drop(fd);
        if (proof == Proof::none) {
            note_stranger();
            return refuse(fd, Objection::user);
        }
        door_.unproven = -1;
        guests_.push_back(fd);
    }
    if (objection != Objection::none) return refuse(fd, objection);
    const nhi::PeerId id = peers_.find_exactly(hello.card);
    const bool known = id != nhi::kNoPeer && peers_[id].peer;
    // The peer was met on another link meanwhile; it will see that itself.
    if (known && (peers_[id].peer->connected || peers_[id].peer->gone)) return drop(fd);
    if (known && !peers_[id].peer->links.empty()) {
        const int own = peers_[id].peer->links.front();
        if (link_of(own).step != Step::knocked ||
            ddi::is_own_way(own_.card.incarnation, hello.card.incarnation)) {
            (void)send_word(fd, Kind::crossed);
            return drop(fd);
        }
        (void)send_word(own, Kind::bye);  // a link that ends without it is a death
        await_call(own);
    }
    if (!send_word(fd, Kind::welcome)) {
        // The caller has gone. Its word that this process shall await it may still be unread, on
        // the link that this process opened.
        if (known) {
            link_of(fd).knocker = id;
            hear(id);
        }
        return on_left(fd);
    }
    if (id != nhi::kNoPeer) {
        // The peer is known, so its death is noticed also if it dies before it was met.
        (void)peer_of(peers_[id]);
        link_of(fd).knocker = id;
        if (!watch_process_of(id, link_of(fd).identity.pid)) return on_exit(id);
    }
    link_of(fd).step = Step::asked;
    link_of(fd).until = clock_.now() + patience_with(hello.tries);
}

/// The caller goes without having been met, and may call again. Its end matters only if this
/// process calls it, too.
void ConnectionManager::on_left(int fd) {
    const nhi::PeerId id = link_of(fd).knocker;
    FCI_ASSERT(id == nhi::kNoPeer || peers_[id].peer != nullptr);
    drop(fd);
    if (id == nhi::kNoPeer) return;
    Peer& peer = *peers_[id].peer;
    if (peer.connected || peer.gone || !peer.links.empty()) return;
    forget_process(peer);
    if (peer.call.asked) later(id);
}

/// The caller has brought its descriptors; only now does it get an id.
void ConnectionManager::on_visitor(int fd, Received& received, const Hello& hello,
                                   Objection objection) {
    FCI_ASSERT(link_of(fd).step == Step::asked && link_of(fd).id == nhi::kNoPeer);
    if (objection == Objection::malformed) return drop(fd);
    if (objection != Objection::none) return refuse(fd, objection);
    Answered visitor{nhi::kNoPeer, hello, {}};
    std::string error;
    if (const Status status = examine(hello, received, &visitor.arrival, &error);
        status != Status::ok) {
        return refuse(fd, status == Status::exhausted ? Objection::resources
                                                      : Objection::malformed);
    }
    visitor.id = seat(fd, hello);
    if (visitor.id == nhi::kNoPeer) return drop(fd);
    Entry& entry = peers_[visitor.id];
    if (entry.peer && entry.peer->connected) return drop(fd);
    if (prepare(entry, &error) != Status::ok) return refuse(fd, Objection::resources);
    if (!send_hello(fd, entry, true)) {
        // Nothing has happened yet. A caller that lives calls again; of one that has gone the last
        // word is read next, or its death is seen.
        if (is_shortage(errno)) drop(fd);
        return;
    }
    link_of(fd).step = Step::answered;
    std::erase(guests_, fd);
    const bool is_first = answered_.emplace(fd, std::move(visitor)).second;
    FCI_ASSERT(is_first);  // drop() forgot the caller that had this descriptor before
}

void ConnectionManager::on_met(int fd) {
    auto found = answered_.extract(fd);
    FCI_ASSERT(!found.empty() && link_of(fd).step == Step::answered);
    Answered& visitor = found.mapped();
    Peer& peer = *peers_[visitor.id].peer;
    Link& link = link_of(fd);
    const bool is_another =
        peer.connected && peer.copies.incarnation != visitor.hello.card.incarnation;
    if (peer.gone || is_another) {
        return drop(fd);
    }
    FCI_ASSERT(link.id == nhi::kNoPeer && visitor.id != nhi::kSelf);
    link.step = Step::met;
    link.id = visitor.id;
    peer.links.push_back(fd);
    // If both have called each other at the same time, this is one more link and nothing else.
    if (!peer.connected) {
        attach(visitor.id, visitor.hello, std::move(visitor.arrival), link.identity);
    }
}

/// The id of a process that came by itself; kNoPeer: it is not wanted.
nhi::PeerId ConnectionManager::seat(int fd, const Hello& hello) {
    nhi::PeerId id = peers_.find(hello.card);
    if (id == nhi::kSelf) return nhi::kNoPeer;
    if (id != nhi::kNoPeer) {
        const Entry& entry = peers_[id];
        return entry.peer && entry.peer->gone ? nhi::kNoPeer : id;
    }
    const nhi::PeerId before = peers_.replaced_by(hello.card);
    if (before == nhi::kSelf) return nhi::kNoPeer;
    if (before != nhi::kNoPeer) {
        // Which of the two is the new one? The one that lives.
        if (is_hung_up(fd)) return nhi::kNoPeer;
        // The earlier process may have met this one and said goodbye, still unread. One that was
        // never met counts as unreachable, not as dead.
        if (peers_[before].peer) hear(before);
        const bool met = peers_[before].peer && peers_[before].peer->connected;
        lose({before, met ? Status::lost : Status::unreachable,
             describe(before) + " has exited; another process took its place"});
    }
    return peers_.add(hello.card);
}

}  // namespace fci::shm
