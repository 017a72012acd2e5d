// SPDX-License-Identifier: BSD-3-Clause
// How the ConnectionManager calls peers.
#include <sys/eventfd.h>

#include <algorithm>

#include "drivers/shm/connection_manager.h"
#include "fci_core/ddi/crossing.h"

namespace fci::shm {

namespace {

constexpr Nanoseconds kPauseFirst = 1'000'000, kPauseMost = 50'000'000;
// A peer whose call goes on comes, or ends, or says that it lets go; if it does none of these, this
// process calls again after:
constexpr Nanoseconds kCallAwaited = 500'000'000;
// Where all meet all, a call that would give way to the peer's call need not be begun: while this
// process has more than kManyAtOnce calls under way, the peer has kCallExpected to call first.
constexpr std::size_t kManyAtOnce = 8;
constexpr Nanoseconds kCallExpected = 100'000'000;
constexpr Nanoseconds kLooksPerLimit = 4;
static_assert(0 < kPauseFirst && kPauseFirst < kPauseMost);

bool is_of_files(int error) noexcept { return error == EMFILE || error == ENFILE; }

/// For the user, where the system lacks what `error` says.
const char* remedy(int error) noexcept {
    return is_of_files(error)
               ? "; raise the limit of open files (ulimit -n), and see that the program neither "
                 "lowers it nor uses all of them up before all ranks have met"
               : "; free some memory, or make FCI_RING_BYTES smaller";
}

}  // namespace

Peer& ConnectionManager::peer_of(Entry& entry) {
    if (!entry.peer) {
        entry.peer = std::make_unique<Peer>();
        peers_memory_.connected += sizeof(Peer);
    }
    return *entry.peer;
}

Status ConnectionManager::connect(nhi::PeerId id) {
    if (id >= peers_.size()) return Status::invalid;
    Entry& entry = peers_[id];
    if (entry.state() == State::lost) return Status::lost;
    if (entry.state() != State::known ||
        (entry.peer && (entry.peer->connected || entry.peer->gone))) {
        return Status::ok;
    }
    Peer& peer = peer_of(entry);
    peer.state = State::connecting;
    FCI_ASSERT(id != nhi::kSelf && !peer.call.asked);
    peer.call.asked = true;
    if (unsettled_++ == 0) look_at_ = clock_.now() + tuning_.answer_limit / kLooksPerLimit;
    if (!is_here(entry.card)) {
        lose({id, Status::unreachable,
              "cannot connect to " + describe(id) +
                  ": that is no address of this host, and this driver reaches no other; use one "
                  "that does (FCI_DRIVER=node), or start all processes on one host"});
        (void)eventfd_write(own_.waker.get(), 1);  // wakes a caller that sleeps on the descriptor
        return Status::ok;
    }
    peer.call.patience.begin(clock_.now(), tuning_.patience_for(entry.card), kPauseFirst,
                             kPauseMost);
    if (unsettled_ > kManyAtOnce &&
        !ddi::is_own_way(own_.card.incarnation, entry.card.incarnation)) {
        later(id);
        peer.call.patience.again_at(clock_.now() + kCallExpected);
        peer.call.gives_way = true;
    } else {
        reach(id);
        if (!notices_.empty()) (void)eventfd_write(own_.waker.get(), 1);  // wakes that caller, too
    }
    set_timer();
    return Status::ok;
}

void ConnectionManager::reach(nhi::PeerId id) {
    Entry& entry = peers_[id];
    FCI_ASSERT(entry.peer != nullptr && !entry.peer->connected && !entry.peer->gone);
    std::string error;
    errno = 0;
    if (const Status status = prepare(entry, &error); status != Status::ok) {
        const int failed = errno;
        if (is_of_files(failed) && !shortage_.lasts(clock_.now())) return later(id);
        if (is_of_files(failed)) error += remedy(failed);
        return lose({id, status, "cannot connect to " + describe(id) + ": " + error});
    }
    host::Descriptor socket = connect_to(entry.card, own_.user);
    if (!socket) return nobody_there(id, errno);
    Identity identity;
    if (!identify(socket.get(), &identity) || !is_own_user(identity, own_.user)) {
        return lose({id, Status::unreachable, describe(id) + " " + user_text(identity, own_.user)});
    }
    if (!watch_process_of(id, identity.pid)) {
        // It died, but a child of it holds the name.
        forget_process(*entry.peer);
        return nobody_there(id, ECONNREFUSED);
    }
    const int fd = socket.get();
    open_link(std::move(socket), id, Step::knocked, identity);
    if (send_hello(fd, entry, false)) return;
    if (is_shortage(errno)) return retreat(fd);
    on_link(fd);  // the peer may have said why before it closed
    on_closed(fd);
}

/// Tries again later, or gives up. If descriptors ran short, the program may close some meanwhile.
void ConnectionManager::nobody_there(nhi::PeerId id, int error) {
    Entry& entry = peers_[id];
    Peer& peer = *entry.peer;
    const bool full = error == EAGAIN;  // the peer lives, and its queue of callers is full
    const bool none_left = is_of_files(error) || error == ENOBUFS || error == ENOMEM;
    const Nanoseconds now = clock_.now();
    if (!full && error != ECONNREFUSED && error != EINTR && !none_left) {
        return lose({id, Status::unreachable,
                     host::system_text("cannot connect to " + describe(id), error)});
    }
    if (full || !(none_left ? shortage_.lasts(now) : peer.call.patience.is_over(now))) {
        return later(id);
    }
    if (none_left) {
        return lose({id, Status::exhausted,
                     host::system_text("cannot connect to " + describe(id), error) +
                         remedy(error)});
    }
    lose({id, Status::unreachable,
         "no process of user " + std::to_string(own_.user) + " listens at " +
             host::place_text(entry.card) + " (tried for " +
             std::to_string(tuning_.patience_for(entry.card) / 1'000'000) +
             " ms" + (entry.card.incarnation == 0 ? ", FCI_CONNECT_MS" : "") +
             "): it has exited, or runs in another container or network namespace, or as "
             "another user; start all processes of the job in one container and as one user, or "
             "use a driver that reaches between them"});
}

void ConnectionManager::later(nhi::PeerId id) {
    Peer& peer = *peers_[id].peer;
    FCI_ASSERT(!peer.connected && !peer.gone);  // others are not called any more
    peer.call.patience.again_later(clock_.now(), prng_);
    if (std::find(waiting_.begin(), waiting_.end(), id) == waiting_.end()) {
        waiting_.push_back(id);
    }
    rings_at_ = 0;  // to be set again
}

/// The peer calls this process as well, and its call goes on.
void ConnectionManager::await_call(int fd) {
    FCI_ASSERT(link_of(fd).outgoing && link_of(fd).step == Step::knocked);
    const nhi::PeerId id = link_of(fd).id;
    drop(fd);
    later(id);
    peers_[id].peer->call.patience.again_at(clock_.now() + kCallAwaited);
}

/// Lets a meeting go that has not come to its end, and begins it again later.
void ConnectionManager::retreat(int fd) {
    const nhi::PeerId id = link_of(fd).id;
    FCI_ASSERT(link_of(fd).outgoing && link_of(fd).step != Step::met);
    (void)send_word(fd, Kind::bye);  // a link that ends without it is a death
    drop(fd);
    ++peers_[id].peer->call.tries;
    later(id);
}

/// The other end has let a meeting go, or its process has ended.
void ConnectionManager::on_unmet(nhi::PeerId id) {
    Entry& entry = peers_[id];
    Peer& peer = *entry.peer;
    const bool ended = is_readable(peer.pidfd.get());
    if (ended && entry.card.incarnation != 0) {
        return lose({id, Status::lost, describe(id) + " ended before it answered"});
    }
    // At a typed place another process may have listened; the one that is meant may still come.
    if (ended) forget_process(peer);
    // The peer did listen until now. The sockets of a process that dies close a moment before the
    // kernel says that it is dead; meanwhile it must not pass for one that was never there.
    peer.call.patience.renew(clock_.now(), tuning_.patience_for(entry.card));
    ++peer.call.tries;
    later(id);
}

unsigned ConnectionManager::retry() noexcept {
    const Nanoseconds now = clock_.now();
    const std::size_t under_way = unsettled_ - std::min<std::size_t>(unsettled_, waiting_.size());
    std::vector<nhi::PeerId> ready;
    std::erase_if(waiting_, [&](nhi::PeerId id) {
        Peer& peer = *peers_[id].peer;
        if (peer.connected || peer.gone) return true;
        const bool begins = peer.call.gives_way && under_way + ready.size() < kManyAtOnce;
        if (!peer.call.patience.is_due(now) && !begins) return false;
        peer.call.gives_way = false;
        ready.push_back(id);
        return true;
    });
    for (const nhi::PeerId id : ready) reach(id);
    return static_cast<unsigned>(ready.size());
}

void ConnectionManager::on_welcome(int fd) {
    FCI_ASSERT(link_of(fd).outgoing && link_of(fd).id != nhi::kNoPeer);
    link_of(fd).step = Step::invited;
    invited_.push_back(fd);
}

/// Sends descriptors to a few peers at a time. A peer that does not answer, because it computes,
/// keeps the others waiting only for a while.
void ConnectionManager::accept_invitations() {
    while (!invited_.empty()) {
        const int fd = invited_.front();
        if (!link_of(fd).open || link_of(fd).step != Step::invited) {
            invited_.pop_front();  // the link was dropped, and maybe opened again
            continue;
        }
        if (awaited_.size() >= share().awaited) {
            const int late = overdue(awaited_);
            if (late >= 0) retreat(late);
            if (awaited_.size() >= share().awaited) return;
            continue;
        }
        invited_.pop_front();
        Entry& entry = peers_[link_of(fd).id];
        FCI_ASSERT(entry.peer != nullptr && !entry.peer->connected);
        if (send_hello(fd, entry, true)) {
            link_of(fd).step = Step::awaiting;
            link_of(fd).until = clock_.now() + patience_with(entry.peer->call.tries);
            awaited_.push_back(fd);
        } else if (is_shortage(errno)) {
            retreat(fd);
        } else {
            on_link(fd);
            on_closed(fd);
        }
    }
}

/// The other Hello on a link that this process opened.
void ConnectionManager::on_reply(int fd, Received& received, const Hello& hello,
                                 Objection objection) {
    const Link link = link_of(fd);
    FCI_ASSERT(link.outgoing && link.id != nhi::kNoPeer && link.id != nhi::kSelf);
    Entry& entry = peers_[link.id];
    if (objection == Objection::none && !hello.card.same_place(entry.card)) {
        objection = Objection::malformed;
    }
    if (objection == Objection::none && !hello.card.names(entry.card)) {
        objection = Objection::replaced;
    }
    if (objection == Objection::none) {
        Arrival arrival;
        std::string error;
        const Status status = examine(hello, received, &arrival, &error);
        if (status == Status::exhausted && !shortage_.lasts(clock_.now())) return retreat(fd);
        if (status != Status::ok) {
            return lose({link.id, status, describe(link.id) + ": " + error});
        }
        if (!send_word(fd, Kind::met)) {
            if (is_shortage(errno)) return retreat(fd);
            return on_closed(fd);
        }
        entry.card = hello.card;
        link_of(fd).step = Step::met;
        std::erase(awaited_, fd);
        return attach(link.id, hello, std::move(arrival), link.identity);
    }
    if (objection == Objection::resources && !shortage_.lasts(clock_.now())) {
        return retreat(fd);
    }
    Refusal theirs = make_refusal(own_.settings, objection);
    theirs.version = hello.prologue.version;
    theirs.layout_digest = hello.layout_digest;
    lose({link.id, objection_status(objection),
         objection_text(theirs, own_.settings,
                        objection == Objection::resources ? "this process" : describe(link.id))});
}

/// A peer that does not look leaves its records unread. A peer that has read one answers in the
/// same turn, or hangs.
void ConnectionManager::look_for_silence() {
    const Nanoseconds now = clock_.now();
    if (now < look_at_) return;
    look_at_ = now + tuning_.answer_limit / kLooksPerLimit;
    for (int fd = 0; fd < static_cast<int>(links_.size()); ++fd) {
        Link& link = link_of(fd);
        if (!link.open || (link.step != Step::knocked && link.step != Step::awaiting)) continue;
        if (!is_all_read(fd)) {
            link.read_at = 0;
        } else if (link.read_at == 0) {
            link.read_at = now;
        } else if (now - link.read_at >= tuning_.answer_limit) {
            lose({link.id, Status::unreachable,
                 describe(link.id) + " has read what it was told " +
                     std::to_string((now - link.read_at) / 1'000'000) +
                     " ms ago and does not answer: it hangs, or is stopped in the midst of it; "
                     "look at it with a debugger, or end it"});
        }
    }
}

}  // namespace fci::shm
