// MessagePassing: tagged and active messages between processes (§2.6), by one engine whose protocol
// is a policy. Used by one thread; driven by turn().
//
// The files: message_passing.cc (dispatch, losses, how orders end), turn.cc, peers.cc, send.cc,
// receive.cc, long_message.cc (announced messages and their data), offers.cc (one-sided receives),
// active.cc, cancel.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/base/counters.h"
#include "fci_core/base/handle_pool.h"
#include "fci_core/base/memory_use.h"
#include "fci_core/ddi/device.h"
#include "fci_core/gcs/layout.h"
#include "fci_core/mp/arrived_pool.h"
#include "fci_core/mp/copy.h"
#include "fci_core/mp/limits.h"
#include "fci_core/mp/line_pool.h"
#include "fci_core/mp/matching.h"
#include "fci_core/mp/order.h"
#include "fci_core/mp/peer.h"
#include "fci_core/mp/protocol.h"

namespace fci::mp {

struct SendArguments {
    nhi::Rank peer;
    std::uint32_t space, flags;
    std::uint64_t match, immediate;
    std::span<const iovec> data;
    std::span<const std::byte> header{};  // of an active message
};

struct ReceiveTarget {
    std::span<const iovec> to{};
    Completion completion{};
};
using ActiveHandler = void (*)(void* user, nhi::Rank source, const void* header,
                               std::size_t header_bytes, const void* data, std::uint64_t bytes,
                               ReceiveTarget* target);

class MessagePassing final : public ddi::PeerListener {
public:
    MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits);
    ~MessagePassing() override;

    /// The next request of a peer.
    struct Arrival {
        Peer& peer;
        const gcs::Line& line;
        bool is_here;
    };

    /// kDone, kAccepted with *handle, or an error. `handle` may be nullptr.
    int send(const SendArguments& send, const Completion& completion, std::uint32_t* handle);
    /// The fast paths, send_line() to be tried first: one line, or one line and the ring; no
    /// order, nothing allocated. False: nothing happened, use send().
    bool send_eager(nhi::Rank peer, std::uint32_t space, std::uint32_t flags, std::uint64_t match,
                    std::uint64_t immediate, const void* data, std::uint64_t bytes) noexcept;
    bool send_line(nhi::Rank peer, std::uint32_t space, std::uint32_t flags, std::uint64_t match,
                   std::uint64_t immediate, const void* data, std::uint64_t bytes) noexcept;
    int receive(const Pattern& pattern, std::span<const iovec> to, const Completion& completion,
                std::uint32_t* handle, Outcome* outcome);
    /// No message waits that this receive would take, as far as known without a search.
    [[nodiscard]] bool known_absent(const Pattern& pattern) const noexcept {
        return arrived_.known_absent(pattern);
    }
    /// The fast path of receive(), to be tried first where that is so: for one range that is
    /// not offered. The order's handle, or 0: nothing happened.
    std::uint32_t post(const Pattern& pattern, void* data, std::uint64_t bytes,
                       const Completion& completion) noexcept;
    /// The shortest path of receive() (awaited.h): takes what arrival() found, if that is a whole
    /// message in its line for this receive, and nothing else waits or is due.
    bool take_awaited(const Arrival& first, const Pattern& pattern, void* data,
                      std::uint64_t bytes, Outcome* outcome) noexcept;
    int cancel(std::uint32_t handle);
    int probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed);
    int receive_claimed(Arrived& message, std::span<const iovec> to, const Completion& completion,
                        std::uint32_t* handle, Outcome* outcome);
    void discard_claimed(Arrived& message);
    int send_active(nhi::Rank peer, std::uint32_t id, std::uint32_t flags,
                    std::span<const std::byte> header, std::span<const iovec> data,
                    const Completion& completion, std::uint32_t* handle);
    void set_handler(std::uint32_t id, ActiveHandler handler, void* user);
    /// Told of every peer that dies, after what it sent was delivered. Not of one that closed.
    void on_death(void (*died)(void* user, nhi::Rank peer), void* user) noexcept;

    /// A receive from any source is among the oldest that are posted.
    [[nodiscard]] bool waits_for_anybody() const noexcept;
    /// Somebody waits for what a message brings, or since this was last asked has probed for one,
    /// or tried to send to a peer that is not connected yet: all of that wakes who sleeps. A
    /// receive of whatever comes from anybody is a mailbox: nobody need stand at it.
    [[nodiscard]] bool is_waited_for() noexcept;
    /// Somebody is there to wait for. Until then, as in MPI_Init, whoever makes progress here waits
    /// for something else.
    [[nodiscard]] bool is_in_use() const noexcept {
        return !active_.empty() || orders_.used() != 0 || asked_in_vain_;
    }
    /// Connects to all of the first `peers` whose cards were given by themselves: only who met a
    /// process hears of its death.
    void meet(nhi::Rank peers);

    /// From now on no memory of a peer is touched, and operations with any fail: what was mapped is
    /// gone, as in a child of fork().
    void sever() noexcept;

    /// One bounded turn over requests and data; not over the network interface's own work. What was
    /// done, or an error: out of memory. A request that needs more than there is stays where it is,
    /// and the next turn tries it again; other peers are not held up.
    int turn() noexcept;
    /// The parts of a turn: a request of the peer that sent last, and all other things.
    [[nodiscard]] Arrival arrival() const noexcept {
        const gcs::Line& line = first_->in.next();
        return {*first_, line, first_->in.is_next(line)};
    }
    /// There is something of the other things.
    [[nodiscard]] bool is_more_due() const noexcept { return more_ != 0 && look_closely(); }
    int take_arrivals(Peer& peer, const gcs::Line& line) noexcept;
    int take_more() noexcept;
    /// Whenever credit goes back, now and then among arrivals, kCreditReturned is set in *word.
    static constexpr std::uint8_t kCreditReturned = 2;
    void mark_credit(std::uint8_t* word) noexcept { credit_mark_ = word; }
    /// Something would be done by the next turn, or there is room now for what was refused last.
    [[nodiscard]] bool ready() noexcept;
    /// Peers that sleep until a request wakes them, as far as can be seen without asking.
    [[nodiscard]] unsigned sleeping_peers() const noexcept;
    /// Nothing that could be written to a peer now is still to be written.
    [[nodiscard]] bool drained() noexcept;
    /// No announced message is still here: whoever asked for it after closing would find nobody.
    [[nodiscard]] bool sends_taken() noexcept;

    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
    [[nodiscard]] const Protocol& protocol() const noexcept { return protocol_; }
    [[nodiscard]] Counters& counters() noexcept { return counters_; }
    /// Messages that have gone out so far.
    [[nodiscard]] std::uint64_t sends() const noexcept {
        return counters_.sent_inline + counters_.sent_eager + counters_.sent_announced;
    }
    /// What is held here, the object itself not counted; looks at every connected peer.
    [[nodiscard]] MemoryUse memory() const noexcept;
    /// Without the process itself.
    [[nodiscard]] std::size_t connected_peers() const noexcept;
    /// Processes of this host that were met so far, with this one.
    [[nodiscard]] unsigned local_ranks() const noexcept { return here_; }
    /// Why operations to this peer fail; empty while they do not.
    [[nodiscard]] const char* reason(nhi::Rank rank) const noexcept;
    /// Orders that are not finished; 0 when nothing leaks.
    [[nodiscard]] std::size_t orders() const noexcept { return orders_.used(); }
    [[nodiscard]] std::size_t waiting_messages() const noexcept { return arrived_.size(); }

    /// Neither throws: what there is no memory for now is done by a later turn.
    void peer_attached(nhi::Rank rank) noexcept override;
    void peer_lost(nhi::Rank rank, Status why, const std::string& reason) noexcept override;
    void stranger_came() noexcept override { ++counters_.strangers; }

private:
    // peers.cc
    Peer* peer(nhi::Rank rank);
    Peer* connected(nhi::Rank rank);
    template <class Question>
    bool posted_before(Question question) const noexcept;

    // turn.cc
    [[nodiscard]] bool look_closely() const noexcept;
    int go_on();
    template <std::uint32_t kFlags>
    bool take_message(Peer& peer, const gcs::Line& line, std::uint32_t kind);
    template <std::uint32_t kFlags>
    int take_first(Peer& peer, const gcs::Line& line, std::uint32_t kind) noexcept;
    int take_first_with_immediate(Peer& peer, const gcs::Line& line) noexcept;
    void offer_credit(Peer& peer);
    bool take_other(Peer& peer);
    bool take_request(Peer& peer);
    bool take_one(Peer& peer);
    unsigned drain(Peer& peer, unsigned most);
    int take_rest(Peer& peer);
    unsigned push();
    bool push(Peer& peer);
    unsigned tell_finished();

    // message_passing.cc
    void set_busy() noexcept { more_ |= kBusy; }
    bool has_room(const gcs::Layout& layout) const noexcept;
    void order_peers() noexcept;
    void attach(nhi::Rank rank);
    void attach_missed();
    void depart(Peer& peer);
    void set_starved() noexcept;
    void dispatch(Peer& peer, const gcs::Line& line);
    void bad_request(Peer& peer);
    void explain(const Peer& peer, const char* what) noexcept;
    void fail_peer(Peer& peer, bool died);
    // Before each of these, which cannot fail, lines_.reserve() has succeeded.
    void put_control(Peer& peer, const gcs::Line& line) noexcept;
    void tell(Peer& peer, Kind kind, std::uint64_t handle, std::uint8_t flags = 0) noexcept;
    void return_credit(Peer& peer);
    Order* find(std::uint32_t handle, const Peer& from, bool is_send) noexcept;
    void finish(Order& order);
    void finish(Order& order, const Outcome& outcome);
    static void unpack_bounce(const Order& order, std::uint64_t bytes) noexcept;
    void finish_later(Order& order, int error);
    void unlink(Order& order) noexcept;
    void give_back(Order& order);

    // send.cc
    bool may_send_data(Peer& peer, std::uint64_t charge) noexcept;
    bool has_room_for_refused() noexcept;
    int send_order(Peer& peer, const SendArguments& send, std::uint64_t bytes,
                   const Completion& completion, std::uint32_t* handle);
    Status put_send(Peer& peer, const SendArguments& send, std::uint64_t bytes, Order* order);
    Status put_in_ring(Peer& peer, const SendArguments& send, Control control,
                       std::uint64_t bytes);
    Status put_in_pool(Peer& peer, const SendArguments& send, Control control, unsigned word);
    Status emit(Peer& peer, Order& order);
    Status emit_announce(Peer& peer, Order& order);
    void send_one_sided(Peer& peer, Order& order, const OfferRecord& offer);
    void start_sending(Order& order, Peer& peer, std::uint16_t claim);
    void on_unsend(Peer& peer, const gcs::Line& line);
    void on_unsent(Peer& peer, const gcs::Line& line);

    // receive.cc
    void on_send(Peer& peer, const gcs::Line& line);
    struct Short;
    void take_short(Peer& peer, const Short& message);
    void on_announce(Peer& peer, const gcs::Line& line);
    int take_arrived(Arrived& message, std::span<const iovec> to, const Completion& completion,
                     std::uint32_t* handle, Outcome* outcome);
    void dispose(Arrived& message);
    void fill(Outcome* outcome, const Arrived& message, std::uint64_t received);
    Order* new_receive(std::span<const iovec> to, const Completion& completion);
    static std::unique_ptr<OrderExtras> extras_for(std::span<const iovec> to) noexcept;
    static void land(Order& order, std::span<const iovec> to, const Completion& completion,
                     std::unique_ptr<OrderExtras> extras) noexcept;

    // long_message.cc
    void begin_long(Order& order, Peer& peer, std::uint32_t send, std::uint64_t address);
    void ask(Order& order, Peer& peer);
    void begin_one_sided(Order& order, const AnnounceRecord& record);
    void on_request(Peer& peer, const gcs::Line& line);
    void on_piece(Peer& peer, const gcs::Line& line);
    void on_sent(Peer& peer, const gcs::Line& line);
    void on_taken(Peer& peer, const gcs::Line& line);
    bool stream(Peer& peer, Order& order);
    std::uint64_t piece_in_pool(Peer& peer, const Order& order,
                                const gcs::PiecePool::Piece& piece);
    std::uint64_t piece_in_ring(Peer& peer, const Order& order);
    void give_back_piece(Peer& peer);
    bool copy_piece(Order& order);
    void own_share_done(Order& order, Peer& peer);
    void receive_done(Order& order);
    void copy_failed(Order& order, Peer& peer, Status status);
    void join_copy(Order& order);
    bool may_copy(Peer& peer);
    bool hold_claim(Order& order, Peer& peer);
    void release_claim(Order& order);
    static std::uint32_t ring_piece(const Peer& peer) noexcept;
    std::uint32_t shared_piece(std::uint64_t bytes) const noexcept;
    std::uint32_t pulled_piece(std::uint64_t bytes) const noexcept;
    void choose_path(Order& order, Peer& peer, std::uint64_t bytes);
    void begin_transfer(Order& order, Peer& peer);

    // offers.cc
    bool should_offer(Order& order, Peer& peer);
    void offer(Order& order, Peer& peer);
    void on_offer(Peer& peer, const gcs::Line& line);
    void on_decline(Peer& peer, const gcs::Line& line);
    void on_withdraw(Peer& peer, const gcs::Line& line);
    void on_withdrawn(Peer& peer, const gcs::Line& line);
    static std::vector<Offer>::iterator find_offer(Peer& peer, std::uint32_t space,
                                                   std::uint64_t match);
    static bool use_offer(Peer& peer, std::uint32_t space, std::uint64_t match);
    void offer_closed(Order& order);
    void decline(Peer& peer, std::uint8_t epoch);

    // active.cc
    void on_active(Peer& peer, Control control, std::uint64_t match, const std::byte* data,
                   std::uint32_t send);
    void on_active_announce(Peer& peer, const AnnounceRecord& record, const std::byte* header,
                            std::uint64_t header_bytes);

    ddi::Device& device_;
    nhi::NetworkInterface& network_;
    const Protocol& protocol_;
    Limits limits_;
    static constexpr std::uint8_t kBusy = 1;  // some peer has control, pending or streams, or owes
                                              // credit; or the lists below are not empty
    static constexpr std::uint8_t kSeveral = 2;  // peers are active
    static constexpr std::uint8_t kStarved = 4;  // something waits for memory; with kBusy

    const std::unique_ptr<Peer> nobody_;      // not present, never has a request
    Peer* first_;                             // of the active ones, or nobody_
    std::uint8_t more_ = 0;                   // kBusy, kSeveral, kStarved
    bool missed_ = false;                     // there was no memory for a peer that attached
    nhi::Rank known_ = 0;                     // peers_.size()
    unsigned here_ = 1;                       // see local_ranks()
    std::vector<Peer*> peers_;                // by rank; nobody_ where nothing is known
    std::vector<std::string> reasons_;        // by rank
    std::vector<Peer*> active_;               // attached, most recently used first
    std::vector<std::unique_ptr<Peer>> made_; // all but nobody_
    gcs::PiecePool pool_;
    HandlePool<Order> orders_;
    PostedList posted_;
    ArrivedList arrived_;
    ArrivedPool arrived_pool_;
    LinePool lines_;                 // of the peers' control
    IntrusiveList<Order> copies_;    // kernel copies with pieces left
    std::uint32_t push_ = 0;         // number of the last push
    IntrusiveList<Order> finished_;  // completions to be told in the next turn
    std::vector<std::byte> scratch_; // short messages of several ranges are gathered here

    std::uint8_t* credit_mark_ = nullptr;

    struct Handler {
        ActiveHandler call = nullptr;
        void* user = nullptr;
    };
    std::array<Handler, 256> handlers_{};
    void (*died_)(void* user, nhi::Rank peer) = nullptr;
    void* died_user_ = nullptr;
    bool severed_ = false;
    bool asked_in_vain_ = false;
    struct Refused {
        Peer* peer = nullptr;  // nobody was
        std::uint64_t bytes = 0;
    };
    Refused refused_;  // the caller comes again with this message when there is room
    nhi::Rank untold_ = kAnySource;  // died while nobody waited for anybody: the next one hears it
    // Last, so that an owner can put the object where they can be seen (api/process.cc).
    Counters counters_;
};

[[gnu::always_inline]] inline bool MessagePassing::send_line(
    nhi::Rank rank, std::uint32_t space, std::uint32_t flags, std::uint64_t match,
    std::uint64_t immediate, const void* data, std::uint64_t bytes) noexcept {
    if (rank >= known_) [[unlikely]] return false;
    Peer& to = *peers_[rank];
    const std::uint32_t before = (flags & kSendImmediate) * 8;
    const std::uint64_t charge = kSlotCharge + bytes;
    if (!to.fast_path || before + bytes > kInlineBytes + 8 || (flags & kSendSynchronous) != 0 ||
        charge > to.room || !to.out.slot_known()) [[unlikely]] {
        return false;  // send() looks for room
    }
    // In hand from here on: for all the compiler knows, the data could be written over it.
    const gcs::LineWriter::Slot slot = to.out.slot();
    slot.line->word[0] = match;
    slot.line->word[1] = immediate;
    copy_short(reinterpret_cast<std::byte*>(slot.line->word + 1) + before,
               static_cast<const std::byte*>(data), bytes);
    to.room -= charge;
    to.note(slot.number, match, space, false);
    ++counters_.sent_inline;
    to.out.send(network_, slot, line_control(space, before, bytes));
    return true;
}

[[gnu::always_inline]] inline std::uint32_t MessagePassing::post(const Pattern& pattern,
                                                                 void* data, std::uint64_t bytes,
                                                                 const Completion& completion)
    noexcept {
    if (bytes >= limits_.announce_bytes || completion.done == nullptr) [[unlikely]] return 0;
    if (pattern.source != kAnySource) {
        if (pattern.source >= known_ || !peers_[pattern.source]->present) [[unlikely]] return 0;
    } else if (untold_ != kAnySource) [[unlikely]] {
        return 0;
    }
    Order* const order = orders_.take_free();
    if (order == nullptr) [[unlikely]] return 0;
    order->reset(false, OrderState::posted, completion);
    order->set_range(data, bytes);
    order->pattern.assign(pattern);
    order->announced = false;
    posted_.append(*order);
    return order->handle;
}

}  // namespace fci::mp
