// SPDX-License-Identifier: BSD-3-Clause
// The turn, the sleep, and the steps that meeting and leaving share.
#include "drivers/shm/connection_manager.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "drivers/host/epoll.h"
#include "fci_core/base/log.h"

namespace fci::shm {

namespace {

// A turn costs a system call, so not every one that is offered is taken.
constexpr Nanoseconds kTurnEvery = 20'000;
constexpr unsigned kSkipsMost = 15;
constexpr int kEventsPerTurn = 32;

std::size_t descriptor_limit() noexcept {
    rlimit files{};
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
}

host::Descriptor open_spare() noexcept {
    return host::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Nanoseconds ConnectionManager::first_until(const std::vector<int>& links) noexcept {
    Nanoseconds first = Clock::kNever;
    for (const int fd : links) first = std::min(first, link_of(fd).until);
    return first;
}

/// A link whose peer has not gone on for longer than it may, or -1.
int ConnectionManager::overdue(const std::vector<int>& links) {
    const Nanoseconds now = clock_.now();
    for (const int fd : std::vector<int>(links)) {
        if (!link_of(fd).open || now < link_of(fd).until) continue;
        on_link(fd);  // it may have gone on just now
        if (std::find(links.begin(), links.end(), fd) != links.end()) return fd;
    }
    return -1;
}

ConnectionManager::ConnectionManager(PeerTable& peers, Own& own, const Tuning& tuning, Clock& clock)
    : peers_(peers),
      own_(own),
      tuning_(tuning),
      clock_(clock),
      prng_(own.card.incarnation),
      owner_(getpid()),
      send_shortage_(tuning.short_untold),
      shortage_(tuning.short_untold) {
    door_.spare = open_spare();
    if (tuning_.descriptors == 0) tuning_.descriptors = descriptor_limit();
    FCI_ASSERT(own_.listening && own_.waker && own_.epoll);
    FCI_ASSERT(own_.card.incarnation != 0 && peers_.size() == 1);
    watch(own_.listening.get(), Source::listening, 0);
    watch(own_.waker.get(), Source::waker, 0, true);
    watch(clock_.fd(), Source::timer, 0);
}

ConnectionManager::~ConnectionManager() {
    if (getpid() != owner_) return;  // the sockets belong to the parent of this child
    for (int link = 0; link < static_cast<int>(links_.size()); ++link) {
        if (link_of(link).open) (void)send_word(link, Kind::bye);
    }
    // Callers that still wait in the kernel's queue hear it, too: they would take it for a death.
    (void)shutdown(own_.listening.get(), SHUT_RD);
    while (const host::Descriptor visitor = accept_from(own_.listening.get())) {
        (void)send_word(visitor.get(), Kind::bye);
    }
    for (int link = 0; link < static_cast<int>(links_.size()); ++link) drop(link);
}

Status ConnectionManager::attach_self(bool fence, std::string* error) {
    Entry& entry = peers_[nhi::kSelf];
    FCI_ASSERT(entry.state() == State::known && own_.header.size() >= kSharedHeaderBytes);
    Peer& self = peer_of(entry);
    const Status status =
        Region::create_private(own_.settings.block_bytes, &self.own_block, error);
    if (status != Status::ok) return status;
    self.own_block.hide_from_children(self.own_block.size());
    self.block = self.own_block.data();
    self.block_bytes = own_.settings.block_bytes;
    self.said.sizes = own_.settings.sizes;
    self.header = reinterpret_cast<SharedHeader*>(own_.header.data());
    self.communication = own_.header.data() + kSharedHeaderBytes;
    self.communication_bytes = own_.header.size() - kSharedHeaderBytes;
    self.wake_fd = own_.waker.get();
    self.fence = fence;
    self.pid = owner_;
    self.copies.incarnation = own_.card.incarnation;
    self.copies.guard_address = reinterpret_cast<std::uint64_t>(own_.guard.data());
    self.connected = true;
    self.state = State::attached;
    return Status::ok;
}

std::string ConnectionManager::describe(nhi::PeerId id) const {
    if (id >= peers_.size()) return "no known process";
    const Entry& entry = peers_[id];
    const pid_t pid = entry.peer ? entry.peer->pid : 0;
    if (pid > 0) return "pid " + std::to_string(pid) + " on this host";
    return "the process at " + host::place_text(entry.card);
}

/// Bytes of a block that are there from the start.
std::size_t ConnectionManager::block_first_bytes() const noexcept {
    const ddi::Settings& settings = own_.settings;
    const bool all = settings.block_first_bytes == 0 || !Region::provides();
    return page_round(all ? settings.block_bytes : settings.block_first_bytes);
}

MemoryUse ConnectionManager::memory() const noexcept {
    MemoryUse use = peers_memory_;
    const bool later = own_.settings.communication_later && Region::provides();
    use.shared = (later ? page_round(kSharedHeaderBytes) : own_.header.size()) + use.shared_peers;
    use.fixed += sizeof *this;
    use.known += peers_.memory();
    use.connected += links_.capacity() * sizeof(Link);
    return use;
}

// --- the turn ---

bool ConnectionManager::due(Nanoseconds now) noexcept {
    if (!hurry_ && unsettled_ == 0 && notices_.empty() && now - last_turn_ < kTurnEvery &&
        now >= last_turn_ && skipped_ < kSkipsMost) {
        ++skipped_;
        return false;
    }
    hurry_ = false;
    skipped_ = 0;
    last_turn_ = now;
    return getpid() == owner_;  // a child would take away what the parent waits for
}

unsigned ConnectionManager::turn(Nanoseconds now) noexcept {
    if (!due(now)) return 0;
    unsigned work = 0;
    epoll_event happened[kEventsPerTurn];
    const int count = epoll_wait(own_.epoll.get(), happened, kEventsPerTurn, 0);
    for (int i = 0; i < count; ++i) work += handle(happened[i].data.u64);
    if (count == kEventsPerTurn) hurry_ = true;
    if (!waiting_.empty()) work += retry();
    if (count != 0 || rings_at_ != Clock::kNever) {
        tend();
        network_->set_meeting(unsettled_ != 0 || !guests_.empty() || !answered_.empty());
    }
    return notices_.empty() ? work : work + tell();
}

/// Goes on with all that waits for a time or for a free place.
void ConnectionManager::tend() noexcept {
    accept_invitations();
    if (unsettled_ != 0) look_for_silence();
    if (!guests_.empty() || door_.unproven >= 0 || door_.rest_until != 0 || !door_.open) {
        tend_door(clock_.now());
    }
    set_timer();
}

/// Sets the timer, so that a caller that sleeps, or watches Device::wait_fd(), comes back in time.
void ConnectionManager::set_timer() noexcept {
    Nanoseconds first = Clock::kNever;
    for (const nhi::PeerId id : waiting_) {
        FCI_ASSERT(peers_[id].peer != nullptr);
        first = std::min(first, peers_[id].peer->call.patience.due());
    }
    if (!door_.open) {
        const bool full = guests_.size() >= share().guests;
        first = std::min(first, std::max(door_.rest_until, full ? first_until(guests_) : 0));
    }
    for (const int fd : guests_) {
        if (link_of(fd).step == Step::silent) first = std::min(first, link_of(fd).until);
    }
    if (door_.unproven >= 0) first = std::min(first, link_of(door_.unproven).until);
    if (!invited_.empty()) first = std::min(first, first_until(awaited_));
    if (unsettled_ != 0) first = std::min(first, look_at_);
    first = std::max<Nanoseconds>(first, 1);
    if (first == rings_at_) return;
    rings_at_ = first;
    clock_.ring_at(first);
}

/// An event may be stale: an earlier one may have dropped its link. Everything is looked up, and a
/// look that finds nothing is harmless.
unsigned ConnectionManager::handle(std::uint64_t what) noexcept {
    const auto detail = static_cast<std::uint32_t>(what);
    switch (static_cast<Source>(what >> 32)) {
        case Source::listening: return answer_door();
        case Source::waker: network_->woken(); return 0;
        case Source::link: on_link(static_cast<int>(detail)); return 1;
        case Source::process: on_exit(detail); return 1;
        case Source::timer: rings_at_ = 0; return 0;  // it is set again, and no longer readable
    }
    return 0;
}

unsigned ConnectionManager::tell() noexcept {
    return notices_.tell(listener_, [&](const ddi::Notice& notice) {
        FCI_ASSERT(peers_[notice.id].peer != nullptr);
        Peer& peer = *peers_[notice.id].peer;
        FCI_ASSERT(peer.state != State::lost);  // nothing is told of a lost peer
        if (notice.why == Status::ok) {
            FCI_ASSERT(peer.state != State::attached && peer.connected);
            peer.state = State::attached;
            return true;
        }
        FCI_ASSERT(peer.gone && peer.links.empty());
        peer.state = State::lost;
        peer.wake_fd = -1;
        peer.wake.close();
        if (!peer.connected && peer.own_block.data() != nullptr) {
            FCI_ASSERT(peers_memory_.shared_peers >= block_first_bytes());
            peers_memory_.shared_peers -= block_first_bytes();
            peer.own_block = Region();
            peer.own_block_fd.close();
        }
        return true;
    });
}

void ConnectionManager::sleep(Nanoseconds timeout) noexcept {
    if (network_->take_woken() || !notices_.empty() || getpid() != owner_) return;
    epoll_event happened[4];
    const int count = host::wait_for(own_.epoll.get(), happened, timeout);
    hurry_ = true;
    for (int i = 0; i < count; ++i) {
        if (static_cast<Source>(happened[i].data.u64 >> 32) != Source::waker) continue;
        network_->woken();
        (void)network_->take_woken();  // returning tells the caller
    }
}

// --- descriptors ---

void ConnectionManager::watch(int fd, Source source, std::uint32_t detail, bool edge) noexcept {
    epoll_event event{};
    event.events = EPOLLIN | (edge ? EPOLLET : 0u);
    event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | detail;
    (void)epoll_ctl(own_.epoll.get(), EPOLL_CTL_ADD, fd, &event);
}

void ConnectionManager::open_link(host::Descriptor socket, nhi::PeerId id, Step step,
                                  const Identity& identity) {
    const int fd = socket.release();  // drop() closes it
    const auto at = static_cast<std::size_t>(fd);
    if (links_.size() <= at) links_.resize(at + 16);
    FCI_ASSERT(!links_[at].open);  // drop() alone closes them
    FCI_ASSERT(step == (id == nhi::kNoPeer ? Step::silent : Step::knocked));
    links_[at] = {true, step == Step::knocked, step, id, nhi::kNoPeer, identity};
    if (id != nhi::kNoPeer) peers_[id].peer->links.push_back(fd);
    watch(fd, Source::link, static_cast<std::uint32_t>(fd));
}

/// Closing alone would not do: a child of fork() may hold the same socket, and the kernel would
/// go on reporting it.
void ConnectionManager::drop(int fd) {
    Link& link = link_of(fd);
    if (!link.open) return;
    if (link.id != nhi::kNoPeer) {
        const std::size_t erased = std::erase(peers_[link.id].peer->links, fd);
        FCI_ASSERT(erased == 1);  // else the loop in lose() would not end
    }
    std::erase(guests_, fd);
    if (door_.unproven == fd) door_.unproven = -1;
    std::erase(awaited_, fd);
    answered_.erase(fd);
    link = {};
    (void)epoll_ctl(own_.epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
    close(fd);
}

bool ConnectionManager::watch_process_of(nhi::PeerId id, pid_t pid) {
    Peer& peer = *peers_[id].peer;
    if (peer.pid != pid) forget_process(peer);
    peer.pid = pid;
    if (pid == owner_) return true;
    if (!peer.pidfd) {
        peer.pidfd = watch_process(pid);
        if (!peer.pidfd) return errno != ESRCH;  // without a pidfd its end cannot be told
        watch(peer.pidfd.get(), Source::process, id);
    }
    return !is_readable(peer.pidfd.get());
}

void ConnectionManager::forget_process(Peer& peer) noexcept {
    if (peer.pidfd) (void)epoll_ctl(own_.epoll.get(), EPOLL_CTL_DEL, peer.pidfd.get(), nullptr);
    peer.pidfd.close();
    peer.pid = 0;
}

// --- going away ---

void ConnectionManager::settle(Peer& peer) noexcept {
    FCI_ASSERT(!peer.call.asked || unsettled_ != 0);
    if (peer.call.asked) --unsettled_;
    peer.call.asked = false;
}

void ConnectionManager::lose(ddi::Notice notice) {
    const nhi::PeerId id = notice.id;
    const Status why = notice.why;
    Entry& entry = peers_[id];
    Peer& peer = peer_of(entry);
    if (peer.gone) return;
    FCI_ASSERT(id != nhi::kSelf && why != Status::ok && why != Status::again);
    peer.gone = true;
    // Few MPIs show the reason of an error, and this one the user can mend.
    if (why == Status::exhausted) log::line(shortage_.is_news(), notice.reason);
    settle(peer);
    while (!peer.links.empty()) drop(peer.links.back());
    const pid_t pid = peer.pid;
    forget_process(peer);
    peer.pid = pid;  // for messages
    std::erase(waiting_, id);
    FCI_ASSERT(!peer.call.asked && peer.links.empty());
    notices_.add(std::move(notice));
}

void ConnectionManager::on_closed(int fd, bool in_order) {
    const Link link = link_of(fd);
    if (!link.open) return;
    const nhi::PeerId id = link.id;
    drop(fd);
    if (link.step == Step::silent) note_stranger();  // left without a word
    if (id == nhi::kNoPeer || peers_[id].peer->gone) return;
    if (link.step != Step::met) {
        if (!in_order || peers_[id].card.incarnation == 0) return on_unmet(id);
        hear(id);
        if (peers_[id].peer->connected) return;  // its end comes on the link on which it was met
    }
    lose(in_order ? ddi::closed(id, describe(id)) : ddi::died(id, describe(id)));
}

void ConnectionManager::on_exit(nhi::PeerId id) {
    if (id >= peers_.size() || !peers_[id].peer) return;
    Peer& peer = *peers_[id].peer;
    if (peer.gone || !is_readable(peer.pidfd.get())) return;
    // The peer may have said goodbye before, and a child of it may hold its sockets open.
    hear(id);
    while (!peer.gone && !peer.links.empty()) on_closed(peer.links.back());
    if (!peer.gone && !peer.connected && peer.pidfd) on_unmet(id);
}

}  // namespace fci::shm
