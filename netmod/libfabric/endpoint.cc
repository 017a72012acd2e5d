// An endpoint's life: open, bind, enable, close.
#include "netmod/libfabric/endpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "netmod/libfabric/address_vector.h"
#include "netmod/libfabric/errors.h"
#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/provider.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

namespace {

constexpr std::int64_t kLookEveryNs = 50'000'000;

}  // namespace

Endpoint::Endpoint(Domain& domain, const fi_info& info, void* context)
    : locked_(domain.lock().needed()), domain_(domain),
      caps_(info.caps == 0 ? kAllCaps : info.caps) {
    static fi_ops fid_operations = fid_ops(close, bind, control);
    fid = {FI_CLASS_EP, context, &fid_operations};
    ops = &option_operations;
    cm = &name_operations;
    msg = &early_message;
    tagged = &early_tagged;
    rma = (caps_ & FI_RMA) != 0 ? &rma_operations : &no_rma;
    atomic = (caps_ & FI_ATOMIC) != 0 ? &atomic_operations : &no_atomic;
    collective = &no_collective;
    if ((caps_ & (FI_SEND | FI_RECV)) == 0) caps_ |= FI_SEND | FI_RECV;
    directed_ = (caps_ & FI_DIRECTED_RECV) != 0;
    in_context_ = (info.mode & kContextModes) != 0;
    for (const Space space : {kTagged, kMessage}) {
        injected_[space] = {sent_call(space, false), nullptr, this};
    }
    if (info.tx_attr != nullptr) transmit_.op_flags = info.tx_attr->op_flags;
    if (info.rx_attr != nullptr) receive_.op_flags = info.rx_attr->op_flags;
    wanted_ = loopback_card();
    if (info.src_addr != nullptr && info.src_addrlen == sizeof(Card)) {
        std::memcpy(&wanted_, info.src_addr, sizeof wanted_);
        std::memset(wanted_.sin_zero, 0, sizeof wanted_.sin_zero);
    }
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
        ++owner.children;
        return 0;
    });
}

int Endpoint::bind(fid_t object, fid_t other, std::uint64_t flags) {
    Endpoint& self = of(object);
    if (self.icl_ != nullptr) return -FI_EOPBADSTATE;
    return no_throw([&] {
        Guard guard(self.domain_.lock());
        switch (other->fclass) {
            case FI_CLASS_CQ: return self.bind_queue(CompletionQueue::of(other), flags);
            case FI_CLASS_CNTR: return self.bind_counter(Counter::of(other), flags);
            case FI_CLASS_AV:
                if (self.addresses_ != nullptr) return -FI_EINVAL;
                AddressVector::of(other).add_user(self);
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

int Endpoint::bind_queue(CompletionQueue& queue, std::uint64_t flags) {
    constexpr std::uint64_t kDirections = FI_TRANSMIT | FI_RECV;
    if ((flags & ~(kDirections | FI_SELECTIVE_COMPLETION)) != 0) return -FI_EBADFLAGS;
    if ((flags & kDirections) == 0) return -FI_EBADFLAGS;
    if (&queue.domain() != &domain_) return -FI_EINVAL;
    if ((flags & FI_TRANSMIT) != 0 && transmit_.queue != nullptr) return -FI_EINVAL;
    if ((flags & FI_RECV) != 0 && receive_.queue != nullptr) return -FI_EINVAL;
    queue.waiter().add(*this);
    for (const auto& [bit, direction] :
         {std::pair{FI_TRANSMIT, &transmit_}, std::pair{FI_RECV, &receive_}}) {
        if ((flags & bit) == 0) continue;
        direction->queue = &queue;
        direction->selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
        ++queue.users;
    }
    return 0;
}

int Endpoint::bind_counter(Counter& counter, std::uint64_t flags) {
    const std::pair<std::uint64_t, Counter**> places[] = {
        {FI_SEND, &transmit_.counter},        {FI_RECV, &receive_.counter},
        {FI_READ, &reads_},                   {FI_WRITE, &writes_},
        {FI_REMOTE_READ, &remote_reads_},     {FI_REMOTE_WRITE, &remote_writes_}};
    if ((flags & ~(FI_SEND | FI_RECV | kRemoteDirections)) != 0) return -FI_EBADFLAGS;
    if (&counter.domain() != &domain_) return -FI_EINVAL;
    for (const auto& [bit, place] : places) {
        if ((flags & bit) != 0 && *place != nullptr) return -FI_EINVAL;
    }
    counter.waiter().add(*this);
    counters_.push_back(&counter);
    ++counter.users;
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
    Direction& direction = transmit ? transmit_ : receive_;
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
    transmit_.report = transmit_.reports(transmit_.op_flags);
    receive_.report = receive_.reports(receive_.op_flags);
    // A completion of the core means at least "the peer's FCI has it or will fetch it": that covers
    // every level below the match.
    transmit_flags_ = (transmit_.op_flags & FI_MATCH_COMPLETE) != 0 ? FCI_ICL_SYNCHRONOUS : 0;
    update_slow();
}

int Endpoint::enable() {
    if (icl_ != nullptr) return 0;
    if (addresses_ == nullptr) return -FI_ENOAV;
    if ((caps_ & FI_SEND) != 0 && transmit_.queue == nullptr) return -FI_ENOCQ;
    // What peers do to memory needs no queue here.
    const bool may_be_passive = (caps_ & (FI_RMA | FI_ATOMIC)) != 0;
    if ((caps_ & FI_RECV) != 0 && receive_.queue == nullptr && !may_be_passive) return -FI_ENOCQ;
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
    icl_ = opened;
    if (locked_) fci_icl_share(icl_);
    FCI_INFO(FI_LOG_EP_CTRL, "%s\n", fci_icl_summary(icl_));
    struct fci_icl_limits limits{};
    fci_icl_limits(icl_, &limits);
    inject_room_ = limits.inject_bytes == 0 ? 0 : limits.inject_bytes + 1;
    settle_flags();
    const auto& entries = addresses_->entries();
    for (fi_addr_t number = 0; number < entries.size(); ++number) {
        if (entries[number].present) learn(number, entries[number].card);
    }
    for (Direction* direction : {&transmit_, &receive_}) {
        if (direction->queue != nullptr) direction->queue->waiter().enabled(*this);
    }
    for (Counter* counter : counters_) counter->waiter().enabled(*this);
    operations_.begin();
    server_.begin();
    domain_.add(*this);
    msg = &message_operations;
    tagged = &tagged_operations;
    fci_icl_on_fork(
        icl_, [](void* self) { static_cast<Endpoint*>(self)->enter_fork_child(); }, this);
    return 0;
}

bool Endpoint::wait(std::int64_t timeout_ns) noexcept {
    if (icl_ == nullptr) return false;
    // What waits for a peer has to see whether it is still there.
    if (stalled_ && (timeout_ns < 0 || timeout_ns > kLookEveryNs)) timeout_ns = kLookEveryNs;
    fci_icl_wait(icl_, timeout_ns);
    if (stalled_) resume();
    return true;
}

/// What the core holds stays untouched, and is never freed: it belongs to the parent.
void Endpoint::enter_fork_child() noexcept {
    if (icl_ == nullptr) return;  // and was one of a child
    parents_icl_ = std::exchange(icl_, nullptr);
    msg = &fork_child_message;
    tagged = &fork_child_tagged;
    for (Direction* direction : {&transmit_, &receive_}) {
        if (direction->queue != nullptr) direction->queue->enter_fork_child();
    }
    for (Counter* counter : counters_) counter->enter_fork_child();
    for (Counter* counter : domain_.region_counters()) counter->enter_fork_child();
}

int Endpoint::learn(fi_addr_t number, const Card& card) {
    if (icl_ == nullptr) return 0;  // enable() does it
    peers_.resize(std::max<std::size_t>(peers_.size(), number + 1), kNobody);
    known_ = peers_.size();
    fci_icl_peer peer = kNobody;
    const int result =
        fci_icl_add_peer(icl_, reinterpret_cast<const unsigned char*>(&card), &peer);
    if (result != FCI_ICL_OK) return -error_of(result);
    numbers_.resize(std::max<std::size_t>(numbers_.size(), std::size_t{peer} + 1),
                    FI_ADDR_NOTAVAIL);
    peers_[number] = peer;
    // From here on what this peer sent before is known by its number, waiting messages included.
    if (numbers_[peer] == FI_ADDR_NOTAVAIL) numbers_[peer] = number;
    return 0;
}

void Endpoint::forget(fi_addr_t number) noexcept {
    const fci_icl_peer peer = peer_of(number);
    if (peer == kNobody) return;
    peers_[number] = kNobody;
    if (numbers_[peer] != number) return;
    // The same process may be there under another number.
    const auto other = std::find(peers_.begin(), peers_.end(), peer);
    numbers_[peer] = other == peers_.end() ? FI_ADDR_NOTAVAIL
                                           : static_cast<fi_addr_t>(other - peers_.begin());
}

int Endpoint::close(fid_t object) {
    Endpoint* const self = &of(object);
    Domain& domain = self->domain_;
    {
        Guard guard(domain.lock());
        self->release();
        --domain.children;
    }
    delete self;
    return 0;
}

/// Posted receives vanish; what was sent is written out, within the time to linger.
void Endpoint::release() noexcept {
    if (parents_icl_ != nullptr) fci_icl_on_fork(parents_icl_, nullptr, nullptr);
    domain_.remove(*this);
    if (icl_ != nullptr) {
        for (const Claim& claim : claims_) fci_icl_discard_claimed(icl_, claim.message);
    }
    for (Direction* direction : {&transmit_, &receive_}) {
        if (direction->queue == nullptr) continue;
        direction->queue->waiter().remove(*this);
    }
    for (Counter* counter : counters_) counter->waiter().remove(*this);
    if (icl_ != nullptr) {
        fci_icl_close(icl_, FCI_ICL_LINGER);
        icl_ = nullptr;
    }
    free_copies();
    for (Direction* direction : {&transmit_, &receive_}) {
        if (direction->queue != nullptr) --direction->queue->users;
    }
    for (Counter* counter : counters_) --counter->users;
    if (addresses_ != nullptr) addresses_->remove_user(*this);
    if (events_ != nullptr) events_->use(-1);
}

}  // namespace fci::libfabric
