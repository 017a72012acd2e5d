// Attacher: meets other processes and notices when they go (§3.2.3, §2.7.3). All of it happens in
// its turn and in connect(); nothing here is on the path of a message.
//
// Whoever connects says Hello first and the other one answers with its own. Two that connect to
// each other at the same time get two sockets; the first Hello attaches, the second one is only
// one more socket to watch. A process is dead when a socket of it ends without a Bye, or when the
// kernel says so: a child that it forked may keep its sockets open.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "drivers/shm/descriptor.h"
#include "drivers/shm/greeting.h"
#include "drivers/shm/peer.h"
#include "drivers/shm/region.h"
#include "drivers/shm/shm_interface.h"
#include "drivers/shm/socket.h"
#include "fci_core/base/prng.h"
#include "fci_core/ddi/device.h"

namespace fci::shm {

struct Tuning {
    // How long a connection is tried where nobody listens.
    Nanoseconds patience_typed = 30'000'000'000;  // the user named the place: it may start later
    Nanoseconds patience_given = 300'000'000;     // a process gave its card: it did listen
    bool system_barrier = true;                   // false: as if the kernel had none
};

/// What this process shows to others.
struct Own {
    ddi::Card card;
    ddi::Settings settings;
    Region hub;
    Descriptor hub_file, waker, listening, epoll;
};

Nanoseconds monotonic_now() noexcept;

class Attacher final : public Turn {
public:
    Attacher(Roster& roster, Own& own, const Tuning& tuning);
    ~Attacher();
    Attacher(const Attacher&) = delete;
    Attacher& operator=(const Attacher&) = delete;

    void set_network(ShmInterface* network) noexcept { network_ = network; }
    void set_listener(ddi::PeerListener* listener) noexcept { listener_ = listener; }

    /// The process itself becomes a peer that is attached.
    Status attach_self(bool fence, std::string* error);
    Status connect(nhi::Rank rank);
    unsigned turn(Nanoseconds now) noexcept override;
    void sleep(Nanoseconds timeout) noexcept;
    [[nodiscard]] std::string describe(nhi::Rank rank) const;
    [[nodiscard]] MemoryUse memory() const noexcept;

private:
    enum class Source : std::uint32_t { listening, waker, link, process, timer };
    struct Link {
        bool open = false;
        bool outgoing = false;
        bool answered = false;          // outgoing: the Hello that came back was the peer's
        nhi::Rank rank = nhi::kNoRank;  // none: it has not said Hello yet
        Identity identity;
    };
    /// What came with a Hello, examined.
    struct Arrival {
        Region hub, block;
        Descriptor wake;
    };
    struct Notice {
        nhi::Rank rank;
        Status why;  // ok: attached
        std::string reason;
    };

    [[nodiscard]] bool due(Nanoseconds now) noexcept;
    unsigned handle(std::uint64_t what) noexcept;
    unsigned tell() noexcept;

    // Going out.
    Peer& peer_of(Entry& entry);
    Status prepare(Entry& entry, std::string* error);
    [[nodiscard]] std::size_t block_first_bytes() const noexcept;
    void reach(nhi::Rank rank);
    bool nobody_there(nhi::Rank rank, int error);
    void later(nhi::Rank rank);
    unsigned retry() noexcept;
    void set_timer() noexcept;
    bool send_hello(int link, Entry& entry);

    // Coming in.
    unsigned accept_all();
    void on_link(int link);
    void on_silence(int link);
    void on_record(int link, Received& received);
    void on_hello(int link, Received& received);
    void on_reply(int link, Received& received, const Hello& hello, Objection objection);
    void on_refusal(int link, const Received& received);
    void refuse(int link, Objection objection);
    nhi::Rank seat(int link, const Hello& hello);
    Status examine(const Hello& hello, Received& received, Arrival* arrival,
                   std::string* error);
    void attach(nhi::Rank rank, const Hello& hello, Arrival arrival, const Identity& identity);
    void on_closed(int link, bool in_order = false);
    void on_exit(nhi::Rank rank);

    // Going away.
    void lose(nhi::Rank rank, Status why, std::string reason);
    void drop(int link);
    void forget_process(Peer& peer) noexcept;
    void watch(int fd, Source source, std::uint32_t detail, bool edge = false) noexcept;
    /// False: it has ended already.
    bool watch_process_of(nhi::Rank rank, pid_t pid);
    Link& open_link(Descriptor socket, nhi::Rank rank, bool outgoing, const Identity& identity);
    void settle(Peer& peer) noexcept;

    Roster& roster_;
    Own& own_;
    Tuning tuning_;
    ShmInterface* network_ = nullptr;
    ddi::PeerListener* listener_ = nullptr;
    std::vector<Link> links_;          // by descriptor
    std::vector<nhi::Rank> waiting_;   // to try again
    std::deque<Notice> notices_;
    Descriptor timer_;                 // for the next of them
    Descriptor spare_;                 // given up to turn somebody away when there are no others
    Prng prng_;
    pid_t owner_;
    unsigned unsettled_ = 0;           // connections that were begun
    unsigned skipped_ = 0;
    MemoryUse peers_memory_;           // of all peers together
    Nanoseconds last_turn_ = 0;
    bool hurry_ = true;
};

}  // namespace fci::shm
