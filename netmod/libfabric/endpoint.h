// Endpoint: one context of the core, with the queues and the address vector it reports through.
//
// The files: endpoint.cc (open, bind, enable, close), endpoint_names.cc (addresses and options),
// completion.cc (what becomes of a completion), send.cc, receive.cc, peek.cc, multi_receive.cc,
// rma.cc and atomic.cc (which leave the work to RemoteOperations and RegionServer).
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/address.h"
#include "netmod/libfabric/completion_queue.h"
#include "netmod/libfabric/counter.h"
#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/guard.h"
#include "netmod/libfabric/multi_receive.h"
#include "netmod/libfabric/receive_records.h"
#include "netmod/libfabric/region_server.h"
#include "netmod/libfabric/remote_operations.h"
#include "netmod/libfabric/space.h"
#include "netmod/libfabric/waiter.h"

namespace fci::libfabric {

class AddressVector;
class EventQueue;

class Endpoint final : public fid_ep {
public:
    static int open(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);
    ~Endpoint() = default;

    [[nodiscard]] static Endpoint& of(fid_ep* endpoint) noexcept {
        return *static_cast<Endpoint*>(endpoint);
    }
    [[nodiscard]] static Endpoint& of(fid_t object) noexcept {
        return of(reinterpret_cast<fid_ep*>(object));
    }

    // For the queues and the address vector, under the domain's lock.
    void progress() noexcept {
        if (icl_ == nullptr) [[unlikely]] return;
        fci_icl_progress(icl_);
        if (stalled_) [[unlikely]] resume();
    }
    bool arm() noexcept { return icl_ == nullptr || fci_icl_arm(icl_) == FCI_ICL_OK; }
    void disarm() noexcept {
        if (icl_ != nullptr) fci_icl_disarm(icl_);
    }
    /// False: not possible, the caller sleeps by itself.
    bool wait(std::int64_t timeout_ns) noexcept;
    [[nodiscard]] int wait_descriptor() const noexcept {
        return icl_ == nullptr ? -1 : fci_icl_wait_fd(icl_);
    }
    int learn(fi_addr_t number, const Card& card);
    void forget(fi_addr_t number) noexcept;
    /// This process is a child of fork().
    void enter_fork_child() noexcept;

private:
    friend class MultiReceive;
    friend struct Sends;
    friend struct Receives;
    friend struct RmaCalls;
    friend struct AtomicCalls;
    friend class RemoteOperations;
    friend class RegionServer;

    static constexpr fci_icl_peer kNobody = 0xfffffffe;

    // Defaults of the calls without flags, per direction.
    struct Direction {
        CompletionQueue* queue = nullptr;
        Counter* counter = nullptr;
        std::uint64_t op_flags = 0;
        bool selective = false;
        bool report = false;  // of the calls without flags

        [[nodiscard]] bool reports(std::uint64_t flags) const noexcept {
            return queue != nullptr && (!selective || (flags & FI_COMPLETION) != 0);
        }
    };

    Endpoint(Domain& domain, const fi_info& info, void* context);

    // endpoint.cc
    static int close(fid_t object);
    static int bind(fid_t object, fid_t other, std::uint64_t flags);
    static int control(fid_t object, int command, void* argument);
    int bind_queue(CompletionQueue& queue, std::uint64_t flags);
    int bind_counter(Counter& counter, std::uint64_t flags);
    int enable();
    int operation_flags(std::uint64_t* flags, bool set) noexcept;
    void settle_flags() noexcept;
    void release() noexcept;

    // endpoint_names.cc
    static int set_name(fid_t object, void* address, std::size_t bytes);
    static int get_name(fid_t object, void* address, std::size_t* bytes);
    std::size_t* size_option(int name, int* refusal) noexcept;
    static int get_option(fid_t object, int level, int name, void* value, std::size_t* bytes);
    static int set_option(fid_t object, int level, int name, const void* value, std::size_t bytes);
    static fi_ops_cm name_operations;
    static fi_ops_ep option_operations;

    [[nodiscard]] fci_icl_peer peer_of(fi_addr_t number) const noexcept {
        return number < known_ ? peers_[number] : kNobody;
    }
    /// FCI_ICL_ANY_SOURCE unless the program receives by source.
    [[nodiscard]] fci_icl_peer source_wanted(fi_addr_t number) const noexcept {
        return !directed_ || number == FI_ADDR_UNSPEC ? FCI_ICL_ANY_SOURCE : peer_of(number);
    }
    [[nodiscard]] fi_addr_t number_of(fci_icl_peer peer) const noexcept {
        return peer < numbers_.size() ? numbers_[peer] : FI_ADDR_NOTAVAIL;
    }

    // completion.cc
    template <Space kSpace, bool kReport>
    static void sent(void* user, void* owner, const fci_icl_status* status);
    template <Space kSpace, bool kReport, bool kInContext>
    static void received(void* user, void* owner, const fci_icl_status* status);
    static fci_icl_done_fn sent_call(Space space, bool report) noexcept;
    static fci_icl_done_fn received_call(Space space, bool report, bool in_context) noexcept;
    [[gnu::always_inline]] void send_completed(Space space, void* context, bool report) noexcept {
        if (report) transmit_.queue->push({context, FI_SEND | kSpaceFlags[space], 0, nullptr, 0, 0,
                                           FI_ADDR_NOTAVAIL, nullptr});
        if (transmit_.counter != nullptr) transmit_.counter->count(true);
    }
    void receive_completed(Space space, void* context, const fci_icl_status& status,
                           bool report) noexcept {
        if (status.error != FCI_ICL_OK) [[unlikely]] {
            return receive_failed(received_entry(space, context, status), status);
        }
        if (report) report_received(space, context, status);
        if (receive_.counter != nullptr) receive_.counter->count(true);
    }
    void report_received(Space space, void* context, const fci_icl_status& status) noexcept {
        // Who reads just now does not ask for the source.
        if (receive_.queue->give(context, received_flags(space, status), status.received,
                                 received_data(status), status.match)) [[likely]] {
            return;
        }
        receive_.queue->push(received_entry(space, context, status));
    }
    [[nodiscard]] static std::uint64_t received_flags(Space space,
                                                      const fci_icl_status& status) noexcept {
        static_assert(FCI_ICL_IMMEDIATE == 1 && FI_REMOTE_CQ_DATA == 1u << 17);
        return FI_RECV | kSpaceFlags[space] |
               static_cast<std::uint64_t>(status.flags & FCI_ICL_IMMEDIATE) << 17;
    }
    [[nodiscard]] static std::uint64_t received_data(const fci_icl_status& status) noexcept {
        return (status.flags & FCI_ICL_IMMEDIATE) != 0 ? status.immediate : 0;
    }
    [[nodiscard]] CompletionEntry received_entry(Space space, void* context,
                                                 const fci_icl_status& status) const noexcept {
        return {context,
                received_flags(space, status),
                status.received,
                nullptr,
                received_data(status),
                status.match,
                number_of(status.source),
                nullptr};
    }
    void send_failed(Space space, void* context, const fci_icl_status& status) noexcept;
    void receive_failed(const CompletionEntry& entry, const fci_icl_status& status) noexcept;
    void peer_failed(fci_icl_peer peer, const char** reason) noexcept;
    Failure failure_of(int icl_code, fci_icl_peer peer) noexcept;
    /// A negative error for a call that the core did not take.
    ssize_t refused(int icl_code, fci_icl_peer peer) noexcept;

    /// Calls with the domain's lock held.
    template <class Call>
    ssize_t guarded(Call call) noexcept {
        if (!locked_) [[likely]] return call();
        const Call copy = call;  // so that only this way needs it in memory
        return locked(copy);
    }
    template <class Call>
    [[gnu::noinline]] ssize_t locked(const Call& call) noexcept {
        Guard guard(domain_.lock());
        return call();
    }

    // send.cc
    struct SendCopy;
    static constexpr std::size_t kCopiedMost = 1u << 20;  // then the program has to come again
    static constexpr int kStuckMs = 1000;
    ssize_t send_bytes(Space space, const void* data, std::size_t bytes, fi_addr_t to,
                       std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate,
                       void* context) noexcept;
    ssize_t inject(Space space, const void* data, std::size_t bytes, fi_addr_t to,
                   std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate) noexcept;
    ssize_t injected_late(Space space, const void* data, std::size_t bytes, fci_icl_peer peer,
                          std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate,
                          int result) noexcept;
    ssize_t send_ranges(Space space, const fi_msg_tagged& message, std::uint64_t flags,
                        bool report) noexcept;
    void free_copies() noexcept;
    bool may_copy() noexcept;
    ssize_t send_copy(const struct fci_icl_send& send, std::size_t bytes, void* context,
                      bool report) noexcept;
    static fi_ops_msg message_operations;
    static fi_ops_tagged tagged_operations;
    static fi_ops_msg fork_child_message;
    static fi_ops_tagged fork_child_tagged;

    // receive.cc
    ssize_t receive(Space space, const ReceiveCall& call, bool report) noexcept;
    ssize_t receive_flagged(Space space, const ReceiveCall& call, std::uint64_t flags) noexcept;
    ssize_t receive_range(Space space, void* data, std::size_t bytes, fi_addr_t from,
                          std::uint64_t tag, std::uint64_t ignore, void* context) noexcept;
    ssize_t post(Space space, const ReceiveCall& call, bool report) noexcept;
    ssize_t answered(Space space, int result, fci_icl_peer source, void* context,
                     const fci_icl_status& status, bool report) noexcept;
    static ssize_t cancel(fid_t object, void* context);
    ssize_t cancel_pending(void* context) noexcept;

    // peek.cc
    struct Claim {
        void* context;
        fci_icl_message* message;
        fci_icl_status status;
    };
    ssize_t peek(Space space, const ReceiveCall& call, std::uint64_t flags);
    ssize_t receive_claimed(Space space, const ReceiveCall& call, std::uint64_t flags);

    // multi_receive.cc
    ssize_t receive_slowly(Space space, const ReceiveCall& call, bool report, bool multi);
    void start_multi(Space space, const ReceiveCall& call);
    void settle_multi() noexcept;
    void resume() noexcept;
    ssize_t cancel_slow(void* context) noexcept;
    void update_slow() noexcept;

    // rma.cc, atomic.cc
    ssize_t access(const RemoteCall& call) noexcept;
    static fi_ops_rma rma_operations;
    static fi_ops_atomic atomic_operations;

    // The fast calls touch these.
    fci_icl_context* icl_ = nullptr;
    fi_addr_t known_ = 0;              // numbers in peers_
    const bool locked_;                // the domain's lock is needed
    /// A receive of one range goes straight to the core, its order is noted in the context, and
    /// this ends it. nullptr: not so.
    std::array<fci_icl_done_fn, FCI_ICL_SPACES> direct_done_{};
    fci_icl_completion injected_[FCI_ICL_SPACES];
    fci_icl_context* parents_icl_ = nullptr;  // in a child of fork(): of no use there
    std::vector<fci_icl_peer> peers_;  // by the program's number
    Domain& domain_;
    Direction transmit_, receive_;
    bool directed_ = false;            // FI_DIRECTED_RECV was asked for
    bool in_context_ = false;          // pending receives are noted in the program's contexts
    bool stalled_ = false;             // work is left for after progress
    std::array<bool, FCI_ICL_SPACES> slow_{};  // receives take receive_slowly()
    std::uint32_t transmit_flags_ = 0;         // FCI_ICL_... of every send
    std::size_t inject_room_ = 0;              // injects of less go straight to the core
    std::vector<fi_addr_t> numbers_;           // by the core's peer number
    ReceiveRecords records_;

    // And the rest not.
    AddressVector* addresses_ = nullptr;
    EventQueue* events_ = nullptr;
    std::vector<Counter*> counters_;
    Counter *reads_ = nullptr, *writes_ = nullptr;  // of this endpoint, to remote memory
    Counter *remote_reads_ = nullptr, *remote_writes_ = nullptr;  // of peers, through it
    RemoteOperations operations_{*this};
    RegionServer server_{*this};
    std::uint64_t caps_;
    Card wanted_{};
    std::size_t min_multi_receive_ = kMinMultiReceive;
    /// What the program promises to keep to; nothing depends on it.
    struct {
        std::size_t max_message = SIZE_MAX, max_tagged = SIZE_MAX;
        std::size_t max_rma = SIZE_MAX, max_atomic = kAtomicBytes;
        std::size_t inject_message = kInjectBytes, inject_tagged = kInjectBytes;
        std::size_t inject_rma = kInjectBytes, inject_atomic = kInjectBytes;
    } size_limits_;
    bool resuming_ = false;
    std::size_t copied_bytes_ = 0;  // of sends that are pending in a copy
    SendCopy* copies_ = nullptr;    // these
    std::size_t copied_most_ = kCopiedMost;
    std::optional<Deadline> stuck_;  // since a send was refused nobody has taken one of them
    std::vector<Claim> claims_;
    std::vector<bool> told_;  // peers whose failure was logged
    std::vector<std::unique_ptr<MultiReceive>> multi_;
    std::array<MultiReceive*, FCI_ICL_SPACES> covering_{};  // takes whatever comes in its space
    std::array<std::deque<HeldReceive>, FCI_ICL_SPACES> held_;
};

}  // namespace fci::libfabric
