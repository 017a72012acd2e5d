// SPDX-License-Identifier: BSD-3-Clause
// ConnectionManager: meets other processes and notices when they go (§3.2.3, §2.7.3). All of it
// happens in its turn and in connect(); nothing here is on the path of a message.
//
// Two processes meet by five records (handshake.h), and before the last one either may let the link
// go: the caller says so by a Bye, and tries again. If two call each other at the same time, one
// call goes on (ddi/crossing.h), and the other caller is told so; if that comes too late, there are
// two links, and the first that comes to its end attaches. A process is dead when a link on which
// it was met ends without a Bye, or when the kernel says so, also of one that has only knocked: a
// child that it forked may keep its sockets open.
//
// How long each step takes at most:
//  - Nobody listens there: Tuning::patience_*.
//  - A peer that does not look, because it computes or is stopped: no limit, while it lives.
//  - A peer that has taken a record out of its socket and does not answer it:
//    Tuning::answer_limit. It owes the answer in the very same turn.
//  - Descriptors or memory do not suffice to send a Hello: no limit, while the peer lives; the user
//    hears of it. If they do not suffice to call or to take a caller in: Tuning::short_untold; then
//    the peer is lost, or the caller is refused.
//  - A caller that says nothing: patience_with(0). Of callers of another user (credentials.h) there
//    is one at a time, and it takes nobody's place. A caller that has knocked and does not go on:
//    no limit, for it may compute; once its patience is over it makes room when another one comes.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/shm/clock.h"
#include "drivers/shm/credentials.h"
#include "drivers/shm/handshake.h"
#include "drivers/shm/meeting_rules.h"
#include "drivers/shm/peer.h"
#include "drivers/shm/region.h"
#include "drivers/shm/shm_interface.h"
#include "drivers/shm/shortage.h"
#include "drivers/shm/socket.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/prng.h"
#include "fci_core/ddi/notices.h"

namespace fci::shm {

struct Tuning {
    // How long a connection is tried where nobody listens.
    Nanoseconds patience_typed = 30'000'000'000;  // the user named the place: it may start later
    Nanoseconds patience_given = 300'000'000;     // a process gave its card: it did listen
    Nanoseconds answer_limit = 30'000'000'000;    // for what the peer has read
    Nanoseconds short_untold = 3'000'000'000;     // then the user hears of the shortage, and a
                                                  // caller that cannot be taken in is refused
    Barrier barrier = Barrier::system;
    std::size_t descriptors = 0;                  // 0: as many as this process may have open
    Clock* clock = nullptr;                       // that outlives the device; nullptr: the kernel's

    [[nodiscard]] Nanoseconds patience_for(const ddi::Card& card) const noexcept {
        return card.incarnation == 0 ? patience_typed : patience_given;
    }
};

/// The part of this process that others see.
struct Own {
    ddi::Card card;
    uid_t user = geteuid();  // that opened it (credentials.h)
    ddi::Settings settings;
    Region header, guard;
    host::Descriptor header_file, waker, listening, epoll;
};

/// The listening socket and its callers.
struct Door {
    bool open = true;            // the listening socket is watched
    Nanoseconds rest_until = 0;  // before then it is not
    unsigned strangers = 0;      // since the last rest
    int unproven = -1;           // a guest whose knock has to show that it is no stranger
    host::Descriptor spare;      // given up to turn somebody away when there are no others
};

class ConnectionManager final : public Pollable {
public:
    ConnectionManager(PeerTable& peers, Own& own, const Tuning& tuning, Clock& clock);
    ~ConnectionManager();
    ConnectionManager(const ConnectionManager&) = delete;
    ConnectionManager& operator=(const ConnectionManager&) = delete;

    void set_network(ShmInterface* network) noexcept { network_ = network; }
    void set_listener(ddi::PeerListener* listener) noexcept { listener_ = listener; }

    /// The process itself becomes a peer that is attached.
    Status attach_self(bool fence, std::string* error);
    Status connect(nhi::PeerId id);
    unsigned turn(Nanoseconds now) noexcept override;
    void sleep(Nanoseconds timeout) noexcept;
    [[nodiscard]] std::string describe(nhi::PeerId id) const;
    [[nodiscard]] MemoryUse memory() const noexcept;

private:
    enum class Source : std::uint32_t { listening, waker, link, process, timer };
    /// How far a meeting has come.
    enum class Step : std::uint8_t {
        knocked,   // outgoing: this process has sent its first Hello
        invited,   // outgoing: the peer has asked for the descriptors
        awaiting,  // outgoing: they were sent, and the peer's may come
        silent,    // incoming: the caller has said nothing yet
        asked,     // incoming: it has knocked, and was asked for its descriptors
        answered,  // incoming: they are here, and were answered
        met,       // either: done
    };
    struct Link {
        bool open = false;
        bool outgoing = false;
        Step step = Step::silent;
        nhi::PeerId id = nhi::kNoPeer;       // incoming: none before the caller was met
        nhi::PeerId knocker = nhi::kNoPeer;  // incoming: the peer that its first Hello names
        Identity identity;
        Nanoseconds read_at = 0;  // outgoing: since when the peer is known to have read it all
        Nanoseconds until = 0;    // of guests_ and awaited_: then others may have the place
    };
    /// The memory and the waker that came with a Hello, examined.
    struct Arrival {
        Region header, block;
        host::Descriptor wake;
    };
    /// A caller whose descriptors were answered, until its Met comes.
    struct Answered {
        nhi::PeerId id;
        Hello hello;
        Arrival arrival;
    };

    [[nodiscard]] bool due(Nanoseconds now) noexcept;
    unsigned handle(std::uint64_t what) noexcept;
    unsigned tell() noexcept;
    void tend() noexcept;
    void set_timer() noexcept;

    // Calls from here.
    Peer& peer_of(Entry& entry);
    Status prepare(Entry& entry, std::string* error);
    [[nodiscard]] std::size_t block_first_bytes() const noexcept;
    void reach(nhi::PeerId id);
    void nobody_there(nhi::PeerId id, int error);
    void later(nhi::PeerId id);
    void await_call(int link);
    void retreat(int link);
    void on_unmet(nhi::PeerId id);
    unsigned retry() noexcept;
    void on_welcome(int link);
    void accept_invitations();
    void on_reply(int link, Received& received, const Hello& hello, Objection objection);
    void look_for_silence();

    // Calls from peers.
    unsigned answer_door();
    void tend_door(Nanoseconds now);
    void rest(Nanoseconds duration) noexcept;
    void note_stranger() noexcept;
    void on_knock(int link, const Hello& hello, Objection objection);
    void on_visitor(int link, Received& received, const Hello& hello, Objection objection);
    void on_met(int link);
    void on_left(int link);

    // Both.
    bool send_hello(int link, Entry& entry, bool with_files);
    bool send_word(int link, Kind kind) noexcept;
    void on_link(int link);
    void hear(nhi::PeerId id);
    void on_silence(int link);
    void on_record(int link, Received& received);
    void on_hello(int link, Received& received);
    void on_refusal(int link, const Received& received);
    void refuse(int link, Objection objection);
    nhi::PeerId seat(int link, const Hello& hello);
    Status examine(const Hello& hello, Received& received, Arrival* arrival,
                   std::string* error);
    void attach(nhi::PeerId id, const Hello& hello, Arrival arrival, const Identity& identity);
    void on_closed(int link, bool in_order = false);
    void on_exit(nhi::PeerId id);

    // Going away.
    void lose(ddi::Notice notice);
    void drop(int link);
    void forget_process(Peer& peer) noexcept;
    void watch(int fd, Source source, std::uint32_t detail, bool edge = false) noexcept;
    /// False: it has ended already.
    bool watch_process_of(nhi::PeerId id, pid_t pid);
    void open_link(host::Descriptor socket, nhi::PeerId id, Step step, const Identity& identity);
    Link& link_of(int fd) {
        FCI_ASSERT(fd >= 0 && static_cast<std::size_t>(fd) < links_.size());
        return links_[static_cast<std::size_t>(fd)];
    }
    void settle(Peer& peer) noexcept;
    [[nodiscard]] MeetingShare share() const noexcept {
        return share_of(tuning_.descriptors, peers_.size());
    }
    [[nodiscard]] Nanoseconds first_until(const std::vector<int>& links) noexcept;
    [[nodiscard]] int overdue(const std::vector<int>& links);

    PeerTable& peers_;
    Own& own_;
    Tuning tuning_;
    Clock& clock_;
    ShmInterface* network_ = nullptr;
    ddi::PeerListener* listener_ = nullptr;
    std::vector<Link> links_;          // by descriptor
    std::vector<nhi::PeerId> waiting_;  // peers to be called again
    ddi::Notices notices_;
    std::deque<int> invited_;          // links that wait for a place among awaited_
    std::map<int, Answered> answered_; // by link
    Nanoseconds rings_at_ = 0;         // when the timer goes off next; 0: not known
    Door door_;
    Prng prng_;
    pid_t owner_;
    // Links by which a Hello may be under way to this process: at most share() of both.
    std::vector<int> guests_;          // callers that have not sent their descriptors
    std::vector<int> awaited_;         // on which this process has sent its own
    Nanoseconds look_at_ = 0;          // when to look next for peers that do not answer
    Shortage send_shortage_;           // no Hello could be sent
    Shortage shortage_;                // no peer could be called or taken in
    unsigned unsettled_ = 0;           // connections that were begun
    unsigned skipped_ = 0;
    MemoryUse peers_memory_;           // of all peers together
    Nanoseconds last_turn_ = 0;
    bool hurry_ = true;
};

}  // namespace fci::shm
