// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/endpoint.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "netmod/libfabric/address_vector.h"
#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/errors.h"
#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/fork.h"
#include "netmod/libfabric/log.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

namespace {

constexpr std::uint64_t caps_of(const fi_info& info) noexcept {
    const std::uint64_t caps = info.caps == 0 ? kAllCaps : info.caps;
    return (caps & (FI_SEND | FI_RECV)) != 0 ? caps : caps | FI_SEND | FI_RECV;
}

Card card_of(const fi_info& info) noexcept {
    if (info.src_addr == nullptr || info.src_addrlen != sizeof(Card)) return any_card();
    Card card;
    std::memcpy(&card, info.src_addr, sizeof card);
    std::memset(card.sin_zero, 0, sizeof card.sin_zero);
    return card;
}

}  // namespace

Endpoint::Endpoint(Domain& domain, const fi_info& info, void* context)
    : channel_(
          domain.lock(), [](void* self) noexcept { static_cast<Endpoint*>(self)->resume(); }, this),
      receives_(completions_, (info.mode & kContextModes) != 0,
                (caps_of(info) & FI_DIRECTED_RECV) != 0),
      server_(completions_, domain.regions, caps_of(info)),
      domain_(domain),
      caps_(caps_of(info)),
      wanted_(card_of(info)) {
    static fi_ops fid_operations = fid_ops(close, bind, control);
    fid = {FI_CLASS_EP, context, &fid_operations};
    ops = &option_calls;
    cm = &name_calls;
    msg = &early_message;
    tagged = &early_tagged;
    rma = (caps_ & FI_RMA) != 0 ? &rma_calls : &no_rma;
    atomic = (caps_ & FI_ATOMIC) != 0 ? &atomic_calls : &no_atomic;
    collective = &no_collective;
    if (info.tx_attr != nullptr) completions_.transmit.op_flags = info.tx_attr->op_flags;
    if (info.rx_attr != nullptr) completions_.receive.op_flags = info.rx_attr->op_flags;
    ++domain.children;
}

int Endpoint::open(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
    if (info == nullptr) return -FI_EINVAL;
    if (info->ep_attr != nullptr && info->ep_attr->type != FI_EP_RDM &&
        info->ep_attr->type != FI_EP_UNSPEC) {
        return -FI_EINVAL;
    }
    if ((info->caps & ~kAllCaps) != 0) return -FI_EINVAL;
    return no_throw([&] {
        Domain& owner = Domain::of(domain);
        Guard guard(owner.lock());
        *endpoint = new Endpoint(owner, *info, context);
        return 0;
    });
}

int Endpoint::bind(fid_t object, fid_t other, std::uint64_t flags) {
    Endpoint& self = of(object);
    if (self.channel_.icl() != nullptr) return -FI_EOPBADSTATE;
    return no_throw([&] {
        Guard guard(self.domain_.lock());
        switch (other->fclass) {
            case FI_CLASS_CQ: return self.bind_queue(CompletionQueue::of(other), flags);
            case FI_CLASS_CNTR: return self.bind_counter(Counter::of(other), flags);
            case FI_CLASS_AV:
                if (self.addresses_ != nullptr) return -FI_EINVAL;
                AddressVector::of(other).add_user(self.peers_);
                self.addresses_ = &AddressVector::of(other);
                return 0;
            case FI_CLASS_EQ:
                if (self.events_ != nullptr) return -FI_EINVAL;
                self.events_ = &EventQueue::of(other);
                self.events_->use(+1);
                return 0;
            default: return -FI_EINVAL;
        }
    });
}

void Endpoint::feed(Waiter& waiter) {
    waiters_.push_back(&waiter);
    waiter.add(channel_);
    ++waiter.users;
}

int Endpoint::bind_queue(CompletionQueue& queue, std::uint64_t flags) {
    constexpr std::uint64_t kDirections = FI_TRANSMIT | FI_RECV;
    if ((flags & ~(kDirections | FI_SELECTIVE_COMPLETION)) != 0) return -FI_EBADFLAGS;
    if ((flags & kDirections) == 0) return -FI_EBADFLAGS;
    if (&queue.domain() != &domain_) return -FI_EINVAL;
    Direction *const transmit = &completions_.transmit, *const receive = &completions_.receive;
    if ((flags & FI_TRANSMIT) != 0 && transmit->queue != nullptr) return -FI_EINVAL;
    if ((flags & FI_RECV) != 0 && receive->queue != nullptr) return -FI_EINVAL;
    feed(queue.waiter());
    for (const auto& [bit, direction] :
         {std::pair{FI_TRANSMIT, transmit}, std::pair{FI_RECV, receive}}) {
        if ((flags & bit) == 0) continue;
        direction->queue = &queue;
        direction->selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
    }
    return 0;
}

int Endpoint::bind_counter(Counter& counter, std::uint64_t flags) {
    Direction &transmit = completions_.transmit, &receive = completions_.receive;
    const std::pair<std::uint64_t, Counter**> places[] = {
        {FI_SEND, &transmit.counter},     {FI_RECV, &receive.counter},
        {FI_READ, &transmit.reads},       {FI_WRITE, &transmit.writes},
        {FI_REMOTE_READ, &receive.reads}, {FI_REMOTE_WRITE, &receive.writes}};
    if ((flags & ~(FI_SEND | FI_RECV | kRemoteDirections)) != 0) return -FI_EBADFLAGS;
    if (&counter.domain() != &domain_) return -FI_EINVAL;
    for (const auto& [bit, place] : places) {
        if ((flags & bit) != 0 && *place != nullptr) return -FI_EINVAL;
    }
    feed(counter.waiter());
    for (const auto& [bit, place] : places) {
        if ((flags & bit) != 0) *place = &counter;
    }
    return 0;
}

int Endpoint::control(fid_t object, int command, void* argument) {
    Endpoint& self = of(object);
    return no_throw([&] {
        Guard guard(self.domain_.lock());
        switch (command) {
            case FI_ENABLE: return self.enable();
            case FI_GETOPSFLAG:
                return self.operation_flags(static_cast<std::uint64_t*>(argument), false);
            case FI_SETOPSFLAG:
                return self.operation_flags(static_cast<std::uint64_t*>(argument), true);
            default: return -FI_ENOSYS;
        }
    });
}

int Endpoint::operation_flags(std::uint64_t* flags, bool set) noexcept {
    const bool transmit = (*flags & FI_TRANSMIT) != 0;
    if (transmit == ((*flags & FI_RECV) != 0)) return -FI_EINVAL;
    Direction& direction = transmit ? completions_.transmit : completions_.receive;
    if (!set) {
        *flags = direction.op_flags;
        return 0;
    }
    const std::uint64_t wanted = *flags & ~(FI_TRANSMIT | FI_RECV);
    if ((wanted & ~(transmit ? kTransmitFlags : kReceiveFlags)) != 0) return -FI_EBADFLAGS;
    direction.op_flags = wanted;
    settle_flags();
    return 0;
}

void Endpoint::settle_flags() noexcept {
    sends_.settle_flags();
    multi_receives_.settle_flags();
}

int Endpoint::enable() {
    if (channel_.icl() != nullptr) return 0;
    if (addresses_ == nullptr) return -FI_ENOAV;
    const auto& [transmit, receive] =
        std::pair{completions_.transmit.queue, completions_.receive.queue};
    if ((caps_ & FI_SEND) != 0 && transmit == nullptr) return -FI_ENOCQ;
    // Peers' access to memory needs no queue here.
    const bool may_be_passive = (caps_ & (FI_RMA | FI_ATOMIC)) != 0;
    if ((caps_ & FI_RECV) != 0 && receive == nullptr && !may_be_passive) return -FI_ENOCQ;
    fci_icl_config config{};
    config.version = FCI_ICL_VERSION;
    std::memcpy(config.card, &wanted_, sizeof config.card);
    config.user_agent = "libfabric provider fci";
    char* error = nullptr;
    fci_icl_context* opened = nullptr;
    const int result = fci_icl_open(&config, &opened, &error);
    if (result != FCI_ICL_OK) {
        // Also where nobody set FI_LOG_LEVEL: an MPI would only say that it found no network.
        const char* const why = error != nullptr ? error : fci_icl_strerror(result);
        FCI_WARN(FI_LOG_EP_CTRL, "%s\n", why);
        std::fprintf(stderr, "fci: %s\n", why);
        std::free(error);
        return -error_of(result);
    }
    channel_.open(opened);
    FCI_INFO(FI_LOG_EP_CTRL, "%s\n", fci_icl_summary(opened));
    sends_.begin();
    settle_flags();
    const auto& entries = addresses_->entries();
    for (fi_addr_t number = 0; number < entries.size(); ++number) {
        if (entries[number].present) peers_.learn(number, entries[number].card);
    }
    for (Waiter* waiter : waiters_) waiter->watch(channel_);
    operations_.begin();
    server_.begin();
    domain_.add(channel_);
    msg = &message_calls;
    tagged = &tagged_calls;
    fci_icl_on_death(
        opened,
        [](void* self, fci_icl_peer peer) {
            static_cast<Endpoint*>(self)->completions_.peer_died(peer);
        },
        this);
    fci_icl_on_fork(
        opened, [](void* self) { static_cast<Endpoint*>(self)->enter_fork_child(); }, this);
    return 0;
}

/// Goes on with work that was left for after progress: a buffer that ended, sends for which the
/// core had no room, requests that peers have to answer.
void Endpoint::resume() noexcept {
    multi_receives_.resume();
    const bool waits = operations_.turn();
    if (server_.turn() || waits) channel_.stall();
}

void Endpoint::enter_fork_child() noexcept {
    if (channel_.icl() == nullptr) return;  // and was one of a child
    channel_.enter_fork_child();
    msg = &message_calls_of_child;
    tagged = &tagged_calls_of_child;
    for (Waiter* waiter : waiters_) waiter->enter_fork_child();
    for (Waiter* counter : domain_.region_counters()) counter->enter_fork_child();
}

// --- calls ---

ssize_t Endpoint::receive_ranges(Space space, const ReceiveCall& call) noexcept {
    const Direction& direction = completions_.receive;
    Guard guard(domain_.lock());
    if (!multi_receives_.is_needed(space)) [[likely]] {
        return receives_.post(call, space, direction.report);
    }
    return no_throw([&] {
        return multi_receives_.receive(space, call, direction.report,
                                       (direction.op_flags & FI_MULTI_RECV) != 0);
    });
}

ssize_t Endpoint::receive_flagged(Space space, const ReceiveCall& call,
                                  std::uint64_t flags) noexcept {
    constexpr std::uint64_t kSpecial = FI_PEEK | FI_CLAIM | FI_DISCARD | FI_MULTI_RECV;
    const bool report = completions_.receive.reports(flags);
    Guard guard(domain_.lock());
    if ((flags & kSpecial) == 0 && !multi_receives_.is_needed(space)) [[likely]] {
        return receives_.post(call, space, report);
    }
    return no_throw([&] {
        if ((flags & FI_PEEK) != 0) return claims_.peek(space, call, flags);
        if ((flags & FI_CLAIM) != 0) return claims_.receive(space, call, flags);
        return multi_receives_.receive(space, call, report, (flags & FI_MULTI_RECV) != 0);
    });
}

ssize_t Endpoint::cancel(void* context) noexcept {
    Guard guard(domain_.lock());
    if (channel_.icl() == nullptr) return -FI_EOPBADSTATE;
    const ssize_t result = multi_receives_.cancel(context);
    return result == -FI_ENOENT ? receives_.cancel(context) : result;
}

ssize_t Endpoint::access(const RemoteCall& call) noexcept {
    if ((call.flags & FI_FENCE) != 0) return -FI_EBADFLAGS;  // not among the capabilities
    return no_throw([&]() -> ssize_t {
        Guard guard(domain_.lock());
        if (channel_.icl() != nullptr) [[likely]] return operations_.start(call);
        return channel_.parents_icl() != nullptr ? post_in_child() : -FI_EOPBADSTATE;
    });
}

// --- its end ---

int Endpoint::close(fid_t object) {
    Endpoint* const self = &of(object);
    Guard guard(self->domain_.lock());
    delete self;
    return 0;
}

/// Posted receives vanish; what was sent is written out, within the time to linger.
Endpoint::~Endpoint() {
    if (channel_.parents_icl() != nullptr) {
        fci_icl_on_fork(channel_.parents_icl(), nullptr, nullptr);
    }
    domain_.remove(channel_);
    claims_.discard_all();
    for (Waiter* waiter : waiters_) waiter->remove(channel_);
    channel_.close();
    for (Waiter* waiter : waiters_) --waiter->users;
    if (addresses_ != nullptr) addresses_->remove_user(peers_);
    if (events_ != nullptr) events_->use(-1);
    --domain_.children;
}

}  // namespace fci::libfabric
