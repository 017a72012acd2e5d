// How the Attacher meets: going out, coming in, and the Hello.
#include <sys/timerfd.h>

#include <algorithm>
#include <cstring>

#include "drivers/shm/attacher.h"
#include "fci_core/base/flag.h"

namespace fci::shm {

namespace {

constexpr Nanoseconds kPauseFirst = 1'000'000, kPauseMost = 50'000'000;
constexpr int kRecordsPerLook = 8;
constexpr std::size_t kHubMost = std::size_t{1} << 46;

}  // namespace

// --- going out ---

Peer& Attacher::peer_of(Entry& entry) {
    if (!entry.peer) {
        entry.peer = std::make_unique<Peer>();
        peers_memory_.connected += sizeof(Peer);
    }
    return *entry.peer;
}

/// The block in which the peer will write, once.
Status Attacher::prepare(Entry& entry, std::string* error) {
    Peer& peer = peer_of(entry);
    if (peer.own_block.data() != nullptr) return Status::ok;
    const Status status = Region::create("fci-block", own_.settings.block_bytes, &peer.own_block,
                                         &peer.own_block_fd, error, block_first_bytes());
    if (status != Status::ok) return status;
    peer.own_block.hide_from_children(peer.own_block.size());
    peers_memory_.shared_peers += block_first_bytes();
    return status;
}

Status Attacher::connect(nhi::Rank rank) {
    if (rank >= roster_.size()) return Status::invalid;
    Entry& entry = roster_[rank];
    if (entry.state == State::lost) return Status::lost;
    if (entry.state != State::known || (entry.peer && (entry.peer->greeted || entry.peer->gone))) {
        return Status::ok;
    }
    std::string error;
    Status status = prepare(entry, &error);
    if (!is_here(entry.card)) {
        status = Status::unreachable;
        error = "that is no address of this host, and this driver reaches no other; use one that "
                "does, or start all processes on one host";
    }
    entry.state = State::connecting;
    Peer& peer = *entry.peer;
    peer.asked = true;
    ++unsettled_;
    if (status != Status::ok) {
        lose(rank, status, "cannot connect to " + describe(rank) + ": " + error);
        return Status::ok;
    }
    peer.give_up = monotonic_now() +
                   (entry.card.incarnation == 0 ? tuning_.patience_typed : tuning_.patience_given);
    peer.pause = kPauseFirst;
    reach(rank);
    return Status::ok;
}

void Attacher::reach(nhi::Rank rank) {
    Entry& entry = roster_[rank];
    Descriptor socket = connect_to(entry.card);
    if (!socket) return (void)nobody_there(rank, errno);
    Identity identity;
    if (!identify(socket.get(), &identity) || identity.uid != geteuid()) {
        return lose(rank, Status::unreachable,
                    describe(rank) + " belongs to user " + std::to_string(identity.uid) +
                        ", this process to user " + std::to_string(geteuid()) +
                        "; start both as the same user");
    }
    if (!watch_process_of(rank, identity.pid)) {
        // It died, but a child of it holds the name.
        forget_process(*entry.peer);
        return (void)nobody_there(rank, ECONNREFUSED);
    }
    const int fd = socket.get();
    open_link(std::move(socket), rank, true, identity);
    if (send_hello(fd, entry)) return;
    on_link(fd);  // it may have said why before it closed
    on_closed(fd);
}

/// Tries again later, or gives up. False: given up.
bool Attacher::nobody_there(nhi::Rank rank, int error) {
    Entry& entry = roster_[rank];
    Peer& peer = *entry.peer;
    const bool full = error == EAGAIN;  // it lives, and too many want to meet it just now
    const bool none_left = error == EMFILE || error == ENFILE || error == ENOBUFS ||
                           error == ENOMEM;
    if (!full && error != ECONNREFUSED && error != EINTR && !none_left) {
        lose(rank, Status::unreachable, system_text("cannot connect to " + describe(rank), error));
        return false;
    }
    if (full || monotonic_now() < peer.give_up) {
        later(rank);
        return true;
    }
    if (none_left) {
        lose(rank, Status::exhausted,
             system_text("cannot connect to " + describe(rank), error) +
                 "; raise the limit of open files (ulimit -n)");
        return false;
    }
    const Nanoseconds waited =
        entry.card.incarnation == 0 ? tuning_.patience_typed : tuning_.patience_given;
    lose(rank, Status::unreachable,
         "no process of user " + std::to_string(geteuid()) + " listens at " +
             place_text(entry.card) + " (tried for " + std::to_string(waited / 1'000'000) +
             " ms" + (entry.card.incarnation == 0 ? ", FCI_CONNECT_MS" : "") +
             "): it has exited, or runs in another container or network namespace, or as "
             "another user; start all processes of the job in one container and as one user, or "
             "use a driver that reaches between them");
    return false;
}

void Attacher::later(nhi::Rank rank) {
    Peer& peer = *roster_[rank].peer;
    peer.next_try = monotonic_now() + peer.pause / 2 +
                    static_cast<Nanoseconds>(prng_.below(static_cast<std::uint64_t>(peer.pause)));
    peer.pause = std::min(2 * peer.pause, kPauseMost);
    if (std::find(waiting_.begin(), waiting_.end(), rank) == waiting_.end()) {
        waiting_.push_back(rank);
    }
    set_timer();
}

/// So that a sleeper, or whoever watches Device::wait_fd(), comes back for the next attempt.
void Attacher::set_timer() noexcept {
    Nanoseconds first = 0;  // no attempt, no timer
    for (const nhi::Rank rank : waiting_) {
        const Nanoseconds next = roster_[rank].peer->next_try;
        if (first == 0 || next < first) first = next;
    }
    itimerspec when{};
    when.it_value = {first / 1'000'000'000, first % 1'000'000'000};
    (void)timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

unsigned Attacher::retry() noexcept {
    const Nanoseconds now = monotonic_now();
    std::vector<nhi::Rank> ready;
    std::erase_if(waiting_, [&](nhi::Rank rank) {
        const Peer& peer = *roster_[rank].peer;
        if (peer.greeted || peer.gone) return true;
        if (peer.next_try > now) return false;
        ready.push_back(rank);
        return true;
    });
    set_timer();
    for (const nhi::Rank rank : ready) reach(rank);
    return static_cast<unsigned>(ready.size());
}

bool Attacher::send_hello(int link, Entry& entry) {
    const auto& hub = *reinterpret_cast<const Hub*>(own_.hub.data());
    const Hello hello =
        make_hello(own_.settings, own_.card, entry.card.incarnation, &hub.incarnation);
    const int files[kHelloFiles] = {own_.hub_file.get(), entry.peer->own_block_fd.get(),
                                    own_.waker.get()};
    return send_record(link, &hello, sizeof hello, files);
}

// --- coming in ---

unsigned Attacher::accept_all() {
    unsigned accepted = 0;
    for (;;) {
        Descriptor socket = accept_from(own_.listening.get());
        if (!socket && (errno == EMFILE || errno == ENFILE) && spare_) {
            // Otherwise it would stay at the door, and no sleep would last any more.
            spare_.close();
            socket = accept_from(own_.listening.get());
            if (socket) {
                const Refusal refusal = make_refusal(own_.settings, Objection::resources);
                (void)send_record(socket.get(), &refusal, sizeof refusal, {});
            }
            socket.close();
            spare_ = Descriptor(dup(own_.waker.get()));
            return accepted;
        }
        if (!socket) return accepted;
        ++accepted;
        Identity identity;
        // Strangers are not answered.
        if (!identify(socket.get(), &identity) || identity.uid != geteuid()) continue;
        const int fd = socket.get();
        open_link(std::move(socket), nhi::kNoRank, false, identity);
        on_link(fd);
    }
}

void Attacher::on_link(int fd) {
    for (int i = 0; i < kRecordsPerLook; ++i) {
        if (static_cast<std::size_t>(fd) >= links_.size() ||
            !links_[static_cast<std::size_t>(fd)].open) {
            return;
        }
        Received received;
        switch (receive_record(fd, &received)) {
            case Reception::nothing: return on_silence(fd);
            case Reception::closed: return on_closed(fd);
            case Reception::record: on_record(fd, received); break;
        }
    }
}

/// All that was said has been heard. The dead say no more, whoever still holds their sockets.
void Attacher::on_silence(int fd) {
    const nhi::Rank rank = links_[static_cast<std::size_t>(fd)].rank;
    if (rank != nhi::kNoRank && roster_[rank].peer->ended) on_closed(fd);
}

void Attacher::on_record(int fd, Received& received) {
    const nhi::Rank rank = links_[static_cast<std::size_t>(fd)].rank;
    Prologue prologue{};
    const bool ours = read_prologue(received.bytes.data(), received.length, &prologue);
    if (ours && prologue.kind == Kind::hello) return on_hello(fd, received);
    if (rank == nhi::kNoRank) return drop(fd);
    if (ours && prologue.kind == Kind::refusal) return on_refusal(fd, received);
    if (ours && prologue.kind == Kind::bye) return on_closed(fd, true);
    lose(rank, Status::mismatch,
         describe(rank) + " does not speak the protocol of this driver; is it another program?");
}

void Attacher::on_hello(int fd, Received& received) {
    const Link link = links_[static_cast<std::size_t>(fd)];
    Hello hello{};
    Objection objection = check_hello(received.bytes.data(), received.length, own_.settings,
                                      own_.card, &hello);
    if (objection == Objection::none && received.files_cut) objection = Objection::resources;
    if (objection == Objection::none && received.file_count != kHelloFiles) {
        objection = Objection::malformed;
    }
    if (link.outgoing) return on_reply(fd, received, hello, objection);
    if (link.rank != nhi::kNoRank) return;  // said twice
    if (objection == Objection::malformed) return drop(fd);
    if (objection != Objection::none) return refuse(fd, objection);
    nhi::Rank rank = roster_.find_exactly(hello.card);
    if (rank == nhi::kNoRank || !roster_[rank].peer || !roster_[rank].peer->greeted) {
        // Only a visitor that brought all that it takes gets a rank, or takes one over.
        Arrival arrival;
        std::string error;
        if (const Status status = examine(hello, received, &arrival, &error);
            status != Status::ok) {
            return refuse(fd, status == Status::exhausted ? Objection::resources
                                                          : Objection::malformed);
        }
        if ((rank = seat(fd, hello)) == nhi::kNoRank) return drop(fd);
        if (prepare(roster_[rank], &error) != Status::ok) return refuse(fd, Objection::resources);
        attach(rank, hello, std::move(arrival), link.identity);
        (void)send_hello(fd, roster_[rank]);  // failing is noticed as the end of the link
        roster_[rank].peer->own_block_fd.close();
    }
    const Peer& peer = *roster_[rank].peer;
    if (rank == nhi::kSelf || peer.gone) return drop(fd);
    links_[static_cast<std::size_t>(fd)].rank = rank;
    roster_[rank].peer->links.push_back(fd);
}

/// The rank of a process that came by itself; kNoRank: it is not wanted.
nhi::Rank Attacher::seat(int fd, const Hello& hello) {
    nhi::Rank rank = roster_.find(hello.card);
    if (rank == nhi::kSelf) return nhi::kNoRank;
    if (rank != nhi::kNoRank) {
        const Entry& entry = roster_[rank];
        return entry.peer && entry.peer->gone ? nhi::kNoRank : rank;
    }
    const nhi::Rank before = roster_.replaced_by(hello.card);
    if (before == nhi::kSelf) return nhi::kNoRank;
    if (before != nhi::kNoRank) {
        // Which of the two is the new one? The one that lives.
        if (is_hung_up(fd)) return nhi::kNoRank;
        // Who was met may have said goodbye, unheard yet. Who was never met has not died for us.
        const bool met = roster_[before].peer && roster_[before].peer->greeted;
        if (met) {
            for (const int link : std::vector<int>(roster_[before].peer->links)) on_link(link);
        }
        lose(before, met ? Status::lost : Status::unreachable,
             describe(before) + " has exited; another process took its place");
    }
    return roster_.add(hello.card);
}

/// The answer on a link that this process opened.
void Attacher::on_reply(int fd, Received& received, const Hello& hello, Objection objection) {
    const Link link = links_[static_cast<std::size_t>(fd)];
    Entry& entry = roster_[link.rank];
    if (entry.peer->greeted) {  // it came in by the other door before
        links_[static_cast<std::size_t>(fd)].answered =
            objection == Objection::none && hello.card.incarnation == entry.card.incarnation;
        return;
    }
    if (objection == Objection::none && !hello.card.same_place(entry.card)) {
        objection = Objection::malformed;
    }
    if (objection == Objection::none && !hello.card.names(entry.card)) {
        objection = Objection::replaced;
    }
    if (objection == Objection::none) {
        Arrival arrival;
        std::string error;
        if (const Status status = examine(hello, received, &arrival, &error);
            status != Status::ok) {
            return lose(link.rank, status, describe(link.rank) + ": " + error);
        }
        entry.card = hello.card;
        attach(link.rank, hello, std::move(arrival), link.identity);
        entry.peer->own_block_fd.close();
        links_[static_cast<std::size_t>(fd)].answered = true;
        return;
    }
    Refusal theirs = make_refusal(own_.settings, objection);
    theirs.version = hello.prologue.version;
    theirs.layout_digest = hello.layout_digest;
    lose(link.rank, objection_status(objection),
         objection_text(theirs, own_.settings,
                        objection == Objection::resources ? "this process" : describe(link.rank)));
}

void Attacher::on_refusal(int fd, const Received& received) {
    const nhi::Rank rank = links_[static_cast<std::size_t>(fd)].rank;
    Refusal refusal{};
    if (roster_[rank].peer->greeted ||
        !read_refusal(received.bytes.data(), received.length, &refusal)) {
        return;
    }
    lose(rank, objection_status(refusal.objection),
         objection_text(refusal, own_.settings, describe(rank)));
}

void Attacher::refuse(int fd, Objection objection) {
    const Refusal refusal = make_refusal(own_.settings, objection);
    (void)send_record(fd, &refusal, sizeof refusal, {});
    drop(fd);
}

/// Nothing is believed before this has looked at it.
Status Attacher::examine(const Hello& hello, Received& received, Arrival* arrival,
                         std::string* error) {
    const std::size_t block = page_round(hello.block_bytes);
    Status status =
        Region::adopt(received.files[0].get(), kHubBytes, kHubMost, &arrival->hub, error,
                      kHubBytes);
    if (status == Status::ok) {
        status = Region::adopt(received.files[1].get(), block, block, &arrival->block, error,
                               block_first_bytes());
    }
    if (status != Status::ok) return status;
    const auto& hub = *reinterpret_cast<const Hub*>(arrival->hub.data());
    if (hub.magic != kHubMagic || hub.incarnation != hello.card.incarnation ||
        !is_waker(received.files[2].get())) {
        *error = "the peer sent memory that does not look like this driver's";
        return Status::mismatch;
    }
    arrival->hub.hide_from_children(arrival->hub.size());
    arrival->block.hide_from_children(block);
    arrival->wake = std::move(received.files[2]);
    return Status::ok;
}

/// From here on it counts as attached, as soon as that is told.
void Attacher::attach(nhi::Rank rank, const Hello& hello, Arrival arrival,
                      const Identity& identity) {
    Peer& peer = *roster_[rank].peer;
    peer.its_hub = std::move(arrival.hub);
    peer.its_block = std::move(arrival.block);
    peer.wake = std::move(arrival.wake);
    peers_memory_.mapped += peer.its_hub.size() + peer.its_block.size();
    peer.block = peer.its_block.data();
    peer.block_bytes = hello.block_bytes;
    peer.sizes = hello.sizes;
    peer.hub = reinterpret_cast<Hub*>(peer.its_hub.data());
    peer.communication = peer.its_hub.data() + kHubBytes;
    peer.communication_bytes = peer.its_hub.size() - kHubBytes;
    peer.wake_fd = peer.wake.get();
    peer.fence = peer.hub->senders_fence != 0 || roster_[nhi::kSelf].peer->fence;
    peer.incarnation = hello.card.incarnation;
    peer.incarnation_address = hello.incarnation_address;
    peer.greeted = true;
    settle(peer);
    peer.ended = !watch_process_of(rank, identity.pid);
    notices_.push_back({rank, Status::ok, {}});
}

}  // namespace fci::shm
