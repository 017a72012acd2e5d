// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/shm_device.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <new>

#include "drivers/host/draw.h"
#include "drivers/host/mark.h"
#include "drivers/shm/guard.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::shm {

namespace {

constexpr std::uint16_t kFirstPort = 1024;
constexpr unsigned kPortTries = 4096;
static_assert(kFirstPort != 0, "a card without a port is nobody's");

}  // namespace

std::unique_ptr<ddi::Device> ShmDevice::open(const ddi::Settings& settings,
                                             const Tuning& tuning, Status* status,
                                             std::string* error) {
    try {
        std::unique_ptr<ShmDevice> device(new ShmDevice);
        *status = device->start(settings, tuning, error);
        if (*status == Status::ok) return device;
    } catch (const std::bad_alloc&) {
        *status = Status::exhausted;
        *error = "out of memory";
    }
    return nullptr;
}

ShmDevice::~ShmDevice() {
    if (own_.guard.is_mapped()) {
        lower_guard(own_.card.incarnation, &own_.guard, peers_, *clock_);
    }
}

Status ShmDevice::start(const ddi::Settings& settings, const Tuning& tuning,
                        std::string* error) {
    if (settings.block_bytes == 0 || settings.block_bytes > nhi::kPairLimit) {
        *error = "request blocks of " + std::to_string(settings.block_bytes) + " bytes";
        return Status::invalid;
    }
    if (tuning.clock == nullptr) kernel_clock_ = std::make_unique<KernelClock>();
    clock_ = tuning.clock != nullptr ? tuning.clock : kernel_clock_.get();
    barrier_ = SystemBarrier(tuning.barrier);
    own_.settings = settings;
    if (settings.communication_later && Region::provides()) {
        own_.settings.communication_bytes += settings.communication_spare;
    }
    own_.card = place_here(settings.wanted);
    if (!is_here(own_.card)) {
        *error = "cannot listen at " + host::place_text(own_.card) + ": no address of this host";
        return Status::invalid;
    }
    own_.card.incarnation = settings.incarnation;
    if (own_.card.incarnation == 0 &&
        !host::draw_incarnation(host::own_mark(), &own_.card.incarnation)) {
        *error = host::system_text("no random numbers (getrandom)");
        return Status::unsupported;
    }

    Status status = Region::create(
        "fci-header", kSharedHeaderBytes + own_.settings.communication_bytes, &own_.header,
        &own_.header_file, error, settings.communication_later ? kSharedHeaderBytes : Region::kAll);
    if (status != Status::ok) return status;
    own_.header.hide_from_children(kSharedHeaderBytes);
    auto& header = *reinterpret_cast<SharedHeader*>(own_.header.data());
    header.magic = kSharedHeaderMagic;
    header.incarnation = own_.card.incarnation;
    header.header_bytes = sizeof(SharedHeader);
    header.senders_fence = barrier_.works() ? 0 : 1;
    status = raise_guard(own_.card.incarnation, &own_.guard, error);
    if (status != Status::ok) return status;

    own_.waker = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    own_.epoll = host::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!own_.waker || !own_.epoll) {
        *error = host::system_text("no descriptor left");
        return Status::exhausted;
    }
    if ((status = listen(error)) != Status::ok) return status;
    const nhi::PeerId self = peers_.add(own_.card);
    FCI_ASSERT(self == nhi::kSelf);
    connections_ = std::make_unique<ConnectionManager>(peers_, own_, tuning, *clock_);
    if ((status = connections_->attach_self(!barrier_.works(), error)) != Status::ok) return status;
    const std::span<std::byte> memory(own_.header.data(),
                                      kSharedHeaderBytes + own_.settings.communication_bytes);
    network_ = std::make_unique<ShmInterface>(peers_, *connections_, memory, barrier_);
    connections_->set_network(network_.get());
    return Status::ok;
}

Status ShmDevice::listen(std::string* error) {
    const bool chosen = own_.settings.wanted.port != 0;
    for (unsigned i = 0; i < kPortTries; ++i) {
        if (!chosen) {
            std::uint64_t number = 0;
            (void)host::draw(&number);
            own_.card.port = htons(
                static_cast<std::uint16_t>(kFirstPort + number % (65536 - kFirstPort)));
        }
        own_.listening = listen_at(own_.card, own_.user);
        if (own_.listening || chosen || errno != EADDRINUSE) break;
    }
    if (own_.listening) return Status::ok;
    const int failed = errno;
    *error = host::system_text("cannot listen at " + host::place_text(own_.card), failed);
    if (failed != EADDRINUSE) {
        *error += "; this driver needs local sockets with abstract names";
        return Status::unsupported;
    }
    *error += chosen ? "; another process has this port" : "; all ports are taken";
    return Status::exhausted;
}

Status ShmDevice::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    const ddi::Card named = place_here(card);
    if (named.port == 0) return Status::invalid;
    if (host::are_apart(own_.card.incarnation, named.incarnation)) {
        log::hint_once(true, host::kApart);
        return Status::unreachable;
    }
    *id = peers_.find(named);
    if (*id == nhi::kNoPeer) *id = peers_.add(named);
    return Status::ok;
}

const ddi::Card* ShmDevice::card_of(nhi::PeerId id) const noexcept {
    return id < peers_.size() ? &peers_[id].card : nullptr;
}

std::uint64_t ShmDevice::sizes(nhi::PeerId id) const noexcept {
    const bool known = id < peers_.size() && peers_[id].state() >= State::attached;
    return known && peers_[id].peer != nullptr ? peers_[id].peer->said.sizes : 0;
}

ddi::About ShmDevice::about(nhi::PeerId id) const noexcept {
    const Peer* const peer = id < peers_.size() ? peers_[id].peer.get() : nullptr;
    if (peer == nullptr) return {"memory"};
    return {"memory", static_cast<std::uint32_t>(peer->pid), peer->said.rank};
}

std::span<std::byte> ShmDevice::block(nhi::PeerId id) noexcept {
    if (id >= peers_.size() || peers_[id].state() < State::attached) return {};
    const Peer* const peer = peers_[id].peer.get();
    if (peer == nullptr || !peer->connected) return {};
    FCI_ASSERT(peer->own_block.size() >= own_.settings.block_bytes);
    return {peer->own_block.data(), own_.settings.block_bytes};
}

std::span<std::byte> ShmDevice::communication_memory() noexcept {
    FCI_ASSERT(own_.header.size() >= kSharedHeaderBytes + own_.settings.communication_bytes);
    return {own_.header.data() + kSharedHeaderBytes, own_.settings.communication_bytes};
}

MemoryUse ShmDevice::memory() const noexcept {
    MemoryUse use = connections_->memory();
    use.shared += network_->provided() + network_->provided_here();
    use.shared_peers += network_->provided();
    use.fixed += own_.guard.size();
    return use;
}

}  // namespace fci::shm
