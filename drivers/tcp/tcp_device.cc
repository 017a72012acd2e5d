// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/tcp_device.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "drivers/host/descriptor.h"
#include "drivers/host/draw.h"
#include "drivers/host/networks.h"
#include "fci_core/base/assert.h"

namespace fci::tcp {

std::unique_ptr<ddi::Device> TcpDevice::open(const ddi::Settings& settings, bool of_kernel,
                                             std::unique_ptr<Streams> streams, Status* status,
                                             std::string* error) {
    if (settings.block_bytes == 0 || settings.block_bytes > nhi::kPairLimit ||
        settings.network.tail_bytes > nhi::kPairLimit - settings.block_bytes) {
        *error = "request blocks of " + std::to_string(settings.block_bytes) + " bytes";
        *status = Status::invalid;
        return nullptr;
    }
    Own own{settings, settings.wanted};
    own.card.family = AF_INET;
    ddi::NetworkChoice choice = host::place_to_listen(own.card.host, settings.network, error);
    own.card.host = choice.host;
    if (choice.host == 0) {
        *status = Status::invalid;
        return nullptr;
    }
    own.card.incarnation = settings.incarnation;
    while (own.card.incarnation == 0) {
        if (host::draw(&own.card.incarnation)) continue;
        *error = host::system_text("no random numbers (getrandom)");
        *status = Status::unsupported;
        return nullptr;
    }
    try {
        const std::size_t bytes = settings.communication.empty() ? settings.communication_bytes : 0;
        std::unique_ptr<TcpDevice> device(new TcpDevice(own, std::move(streams), Pages(bytes)));
        device->network_choice_ = std::move(choice);
        *status = device->start(error);
        if (*status == Status::ok && of_kernel && settings.multicast) device->open_hints();
        if (*status == Status::ok) return device;
    } catch (const std::bad_alloc&) {
        *status = Status::exhausted;
        *error = "out of memory";
    }
    return nullptr;
}

TcpDevice::TcpDevice(const Own& own, std::unique_ptr<Streams> streams, Pages memory)
    : streams_(std::move(streams)),
      own_(own),
      own_memory_(std::move(memory)),
      communication_(own.settings.communication.empty() ? own_memory_.span()
                                                        : own.settings.communication),
      network_(peers_, connections_, turn_, communication_),
      connections_(peers_, *streams_, notices_, network_.target(),
                   Nanoseconds{own.settings.silence_ms} * 1'000'000),
      meeting_(own_, peers_, *streams_, connections_, notices_),
      turn_(peers_, *streams_, connections_, meeting_, notices_) {}

Status TcpDevice::start(std::string* error) {
    if (const Status status = streams_->open(error); status != Status::ok) return status;
    if (const Status status = meeting_.door().open(&own_.card, own_.settings.ports, error);
        status != Status::ok) {
        return status;
    }
    FCI_ASSERT(own_.card.host != 0 && own_.card.incarnation != 0);
    const nhi::PeerId self = peers_.add(own_.card);
    FCI_ASSERT(self == nhi::kSelf);
    auto peer = std::make_unique<Peer>();
    peer->state = PeerState::attached;
    peer->block = Pages(own_.peer_bytes());
    peer->block_bytes = own_.settings.block_bytes;
    peer->sizes = own_.settings.sizes;
    peer->pid = static_cast<std::uint32_t>(getpid());
    peers_[self].peer = std::move(peer);
    fork_watch_.emplace(
        [](void* self) noexcept { static_cast<TcpDevice*>(self)->enter_fork_child(); }, this);
    return Status::ok;
}

void TcpDevice::open_hints() {
    const auto watch = [this](int descriptor, unsigned lane, bool on) {
        if (on) {
            streams_->watch(descriptor, Streams::Source::hints, lane, Streams::kIn);
        } else {
            streams_->forget(descriptor);
        }
    };
    const std::uint64_t job = own_.settings.job ^ own_.settings.launch;
    hints_ = std::make_unique<multicast::Multicast>(
        multicast::Place::of(job, own_.settings.ports), own_.card.host, watch);
    turn_.set_hints(hints_.get());
}

/// A child gives up its parent's connections, which would otherwise outlive the parent in it.
void TcpDevice::enter_fork_child() noexcept {
    if (hints_) hints_->close();
    streams_->close();
    meeting_.close();
    connections_.close();
}

TcpDevice::~TcpDevice() {
    fork_watch_.reset();
    meeting_.say_goodbye();
    connections_.say_goodbye();
}

Status TcpDevice::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    ddi::Card named = card;
    named.family = AF_INET;
    if (named.host == 0) named.host = own_.card.host;
    if (named.port == 0) return Status::invalid;
    *id = peers_.find_or_add(named);
    return Status::ok;
}

Status TcpDevice::connect(nhi::PeerId id) { return meeting_.connect(id, streams_->now()); }

/// A peer that is attached, or was; else nullptr.
const Peer* TcpDevice::met(nhi::PeerId id) const noexcept {
    const bool is_met = id < peers_.size() && peers_[id].state() >= PeerState::attached;
    return is_met ? peers_[id].peer.get() : nullptr;
}

std::uint64_t TcpDevice::sizes(nhi::PeerId id) const noexcept {
    const Peer* const peer = met(id);
    return peer != nullptr ? peer->sizes : 0;
}

std::span<std::byte> TcpDevice::block(nhi::PeerId id) noexcept {
    const Peer* const peer = met(id);
    return peer != nullptr && peer->block_bytes != 0 ? peer->block.span() : std::span<std::byte>();
}

ddi::About TcpDevice::about(nhi::PeerId id) const noexcept {
    const Peer* const peer = id < peers_.size() ? peers_[id].peer.get() : nullptr;
    if (peer == nullptr) return {"tcp"};
    return {"tcp", peer->pid, peer->rank, peer->loss,
            static_cast<std::uint32_t>(peer->tail_bytes)};
}

MemoryUse TcpDevice::memory() const noexcept {
    MemoryUse use;
    use.fixed = sizeof *this + communication_.size();
    use.known = peers_.memory();
    use.connected = connections_.size() * (sizeof(Peer) + own_.peer_bytes());
    return use;
}

Nanoseconds TcpDevice::now() const noexcept { return streams_->now(); }

}  // namespace fci::tcp
