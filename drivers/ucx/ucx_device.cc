// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/ucx_device.h"

#include <new>
#include <utility>

#include "drivers/tcp/tcp.h"
#include "drivers/ucx/hello.h"
#include "drivers/ucx/library.h"
#include "fci_core/base/assert.h"

namespace fci::ucx {

namespace {

// A process of another driver has other options, as TCP compares them.
constexpr std::uint64_t kDigest = 0x5543'0000;
// TCP's blocks have so many bytes where all peers go by UCX: hellos are written behind them.
constexpr std::size_t kLeast = 64;

}  // namespace

// --- opening and closing ---

ddi::Settings UcxDevice::of_tcp(const ddi::Settings& settings, bool or_tcp) {
    ddi::Settings its = settings;
    its.network.tail_bytes = kTail;
    its.block_first_bytes = 0;
    if (or_tcp) return its;
    its.layout_digest ^= kDigest;
    its.block_bytes = kLeast;
    its.communication_bytes = 0;
    its.communication_spare = 0;
    its.communication = {};
    return its;
}

std::unique_ptr<ddi::Device> UcxDevice::open(const ddi::Settings& settings, Status* status,
                                             std::string* error) {
    return open_with_tcp(settings, false, status, error);
}

std::unique_ptr<ddi::Device> UcxDevice::open_beside_tcp(const ddi::Settings& settings,
                                                        Status* status, std::string* error) {
    return open_with_tcp(settings, true, status, error);
}

std::unique_ptr<ddi::Device> UcxDevice::open_with_tcp(const ddi::Settings& settings, bool or_tcp,
                                                      Status* status, std::string* error) try {
    if (settings.block_bytes == 0 || settings.block_bytes > nhi::kPairLimit) {
        *error = "request blocks of " + std::to_string(settings.block_bytes) + " bytes";
        *status = Status::invalid;
        return nullptr;
    }
    auto tcp = tcp::open_tcp(of_tcp(settings, or_tcp), status, error);
    if (tcp == nullptr) {
        *error = "cannot open TCP, by which processes meet: " + *error;
        return nullptr;
    }
    *status = Status::unsupported;
    const Library* const library = Library::open(error);
    if (library == nullptr) return nullptr;
    return open(*library, std::move(tcp), settings, or_tcp, status, error);
} catch (const std::bad_alloc&) {
    *status = Status::exhausted;
    *error = "out of memory";
    return nullptr;
}

std::unique_ptr<ddi::Device> UcxDevice::open(const Library& library,
                                             std::unique_ptr<ddi::Device> tcp,
                                             const ddi::Settings& settings, bool or_tcp,
                                             Status* status, std::string* error) {
    std::unique_ptr<UcxDevice> device(new UcxDevice(settings, std::move(tcp), or_tcp));
    *status = device->start(library, error);
    return *status == Status::ok ? std::move(device) : nullptr;
}

UcxDevice::UcxDevice(const ddi::Settings& settings, std::unique_ptr<ddi::Device> tcp, bool or_tcp)
    : settings_(settings),
      tcp_(std::move(tcp)),
      own_memory_(settings.communication.empty() && !or_tcp ? settings.communication_bytes : 0),
      communication_(or_tcp                           ? tcp_->communication_memory()
                     : settings.communication.empty() ? own_memory_.span()
                                                      : settings.communication),
      turn_(peers_, *tcp_, or_tcp),
      network_(peers_, turn_, communication_) {
    network_choice_ = tcp_->network_choice();
}

Status UcxDevice::start(const Library& library, std::string* error) {
    const Status status = turn_.open(library, network_.arrivals(), settings_, error);
    if (status != Status::ok) return status;
    FCI_ASSERT(peers_.size() == nhi::kSelf);
    Peer& self = peers_.make(nhi::kSelf);
    self.state = PeerState::attached;
    self.block = tcp::Pages(settings_.block_bytes);
    self.block_bytes = settings_.block_bytes;
    fork_watch_.emplace(
        [](void* device) noexcept { static_cast<UcxDevice*>(device)->turn_.abandon(); }, this);
    return Status::ok;
}

/// Frames may come until the device is closed.
UcxDevice::~UcxDevice() {
    fork_watch_.reset();
    turn_.close();
}

// --- peers ---

Status UcxDevice::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    const Status status = tcp_->add_peer(card, id);
    if (status == Status::ok) peers_.know(*id);
    return status;
}

Status UcxDevice::connect(nhi::PeerId id) {
    if (id >= tcp_->peers()) return Status::invalid;
    if (peers_.state(id) >= PeerState::ending) return Status::lost;
    const bool begins = peers_.state(id) == PeerState::known;
    const Status status = tcp_->connect(id);
    if (status != Status::ok || !begins) return status;
    turn_.begin_call(id);
    return Status::ok;
}

std::uint64_t UcxDevice::sizes(nhi::PeerId id) const noexcept {
    return peers_.state(id) >= PeerState::attached ? tcp_->sizes(id) : 0;
}

std::span<std::byte> UcxDevice::block(nhi::PeerId id) noexcept {
    if (peers_.state(id) < PeerState::attached) return {};
    if (peers_.find(id)->is_by_tcp) {
        FCI_ASSERT(tcp_->block(id).size() == settings_.block_bytes + kTail);
        return tcp_->block(id).first(settings_.block_bytes);
    }
    FCI_ASSERT(peers_.find(id)->block.span().size() == settings_.block_bytes);
    return peers_.find(id)->block.span();
}

ddi::About UcxDevice::about(nhi::PeerId id) const noexcept {
    ddi::About about = tcp_->about(id);
    const Peer* const peer = peers_.find(id);
    if (peer == nullptr || !peer->is_by_tcp) about.way = "ucx";
    return about;
}

MemoryUse UcxDevice::memory() const noexcept {
    MemoryUse use = tcp_->memory();
    use.fixed += sizeof *this + own_memory_.span().size();
    use.known += peers_.memory();
    use.connected += turn_.road().ways() * (sizeof(Peer) + settings_.block_bytes);
    return use;
}

}  // namespace fci::ucx
