// A device's life, and its side of the network interface.
#include "drivers/tcp/tcp_device.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "drivers/host/draw.h"
#include "drivers/host/place.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/clock.h"

namespace fci::tcp {

namespace {

constexpr int kBacklog = 4096;
constexpr Nanoseconds kFarewell = 500'000'000;  // for which closing waits for peers to hear of it

}  // namespace

std::unique_ptr<ddi::Device> TcpDevice::open(const ddi::Settings& settings, Status* status,
                                             std::string* error) {
    if (settings.block_bytes == 0 || settings.block_bytes > nhi::kPairLimit) {
        *error = "request blocks of " + std::to_string(settings.block_bytes) + " bytes";
        *status = Status::invalid;
        return nullptr;
    }
    try {
        const std::size_t own = settings.communication.empty() ? settings.communication_bytes : 0;
        std::unique_ptr<TcpDevice> device(new TcpDevice(settings, Pages(own)));
        *status = device->start(error);
        if (*status == Status::ok) return device;
    } catch (const std::bad_alloc&) {
        *status = Status::exhausted;
        *error = "out of memory";
    }
    return nullptr;
}

TcpDevice::TcpDevice(const ddi::Settings& settings, Pages memory)
    : Bookkeeping(settings.communication.empty() ? memory.span() : settings.communication),
      settings_(settings),
      own_memory_(std::move(memory)),
      communication_(settings.communication.empty() ? own_memory_.span() : settings.communication) {
}

Status TcpDevice::start(std::string* error) {
    card_ = settings_.wanted;
    card_.family = AF_INET;
    if (card_.host == 0) card_.host = htonl(INADDR_LOOPBACK);
    card_.incarnation = settings_.incarnation;
    while (card_.incarnation == 0) {
        if (host::draw(&card_.incarnation)) continue;
        *error = host::system_text("no random numbers (getrandom)");
        return Status::unsupported;
    }
    epoll_ = host::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    bell_ = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_ || !bell_) {
        *error = host::system_text("no descriptor left");
        return Status::exhausted;
    }
    if (const Status status = listen(error); status != Status::ok) return status;
    const nhi::PeerId self = peers_.find_or_add(card_);
    FCI_ASSERT(self == nhi::kSelf);
    peers_[self].state = State::attached;
    peers_[self].peer = std::make_unique<Peer>();
    peers_[self].peer->block = Pages(settings_.block_bytes);
    peers_[self].peer->block_bytes = settings_.block_bytes;
    peers_[self].peer->sizes = settings_.sizes;
    peers_[self].peer->pid = static_cast<std::uint32_t>(getpid());
    watch(listening_.get(), kListening, EPOLLIN);
    watch(bell_.get(), kBell, EPOLLIN);
    fork_watch_.emplace(
        [](void* self) noexcept { static_cast<TcpDevice*>(self)->enter_fork_child(); }, this);
    return Status::ok;
}

Status TcpDevice::listen(std::string* error) {
    listening_ = host::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!listening_) {
        *error = host::system_text("no socket");
        return Status::exhausted;
    }
    const int on = 1;
    (void)setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = card_.port;
    address.sin_addr.s_addr = card_.host;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    if (bind(listening_.get(), generic, bytes) != 0 || ::listen(listening_.get(), kBacklog) != 0 ||
        getsockname(listening_.get(), generic, &bytes) != 0) {
        const int failed = errno;
        *error = host::system_text("cannot listen at " + host::place_text(card_), failed);
        if (failed == EADDRINUSE) *error += "; another process has this port";
        if (failed == EADDRNOTAVAIL) *error += "; no interface of this host has that address";
        return failed == EADDRINUSE ? Status::exhausted : Status::invalid;
    }
    card_.port = address.sin_port;
    return Status::ok;
}

/// A child has none of its parent's connections, which would outlive the parent in it.
void TcpDevice::enter_fork_child() noexcept {
    for (host::Descriptor* own : {&listening_, &epoll_, &bell_}) own->close();
    for (Caller& caller : callers_) caller.socket.close();
    for (nhi::PeerId id = 0; id < peers_.size(); ++id) {
        Peer* const peer = peers_[id].peer.get();
        if (peer == nullptr) continue;
        peer->calling.close();
        if (peer->connection) peer->connection->close();
    }
    connected_.clear();
    calling_.clear();
    waiting_.clear();
}

/// What was written is on its way, and peers that read on hear that this was no death.
TcpDevice::~TcpDevice() {
    fork_watch_.reset();
    for (const nhi::PeerId id : connected_) peers_[id].peer->connection->say_goodbye();
    const Nanoseconds end = monotonic_now() + kFarewell;
    while (!connected_.empty() && monotonic_now() < end) {
        std::erase_if(connected_, [&](nhi::PeerId id) {
            Connection& connection = *peers_[id].peer->connection;
            (void)connection.flush();
            // What is left unread would make the kernel throw away what is unsent.
            return connection.read() >= Connection::Reading::goodbye || connection.is_idle();
        });
        if (!connected_.empty()) usleep(100);
    }
}

Status TcpDevice::add_peer(const ddi::Card& card, nhi::PeerId* id) {
    ddi::Card named = card;
    named.family = AF_INET;
    if (named.host == 0) named.host = card_.host;
    if (named.port == 0) return Status::invalid;
    *id = peers_.find_or_add(named);
    return Status::ok;
}

std::uint64_t TcpDevice::sizes(nhi::PeerId id) const noexcept {
    const bool met = id < peers_.size() && peers_[id].state >= State::attached;
    return met && peers_[id].peer != nullptr ? peers_[id].peer->sizes : 0;
}

std::span<std::byte> TcpDevice::block(nhi::PeerId id) noexcept {
    const bool met = id < peers_.size() && peers_[id].state >= State::attached;
    if (!met || peers_[id].peer == nullptr) return {};
    return peers_[id].peer->block.span();
}

Nanoseconds TcpDevice::now() const noexcept {
    return monotonic_now();
}

std::string TcpDevice::describe(nhi::PeerId id) const {
    if (id >= peers_.size()) return "no known process";
    const Peer* const peer = peers_[id].peer.get();
    const std::string place = host::place_text(peers_[id].card);
    if (peer == nullptr || peer->pid == 0) return "the process at " + place;
    return "pid " + std::to_string(peer->pid) + " at " + place;
}

// --- transfers ---

std::byte* TcpDevice::locate(nhi::PeerId writer, std::uint64_t address,
                             std::uint64_t bytes) noexcept {
    if (address >= nhi::kPairLimit) return windows().find(address, bytes);
    const std::span<std::byte> block = peers_[writer].peer->block.span();
    const bool fits = address <= block.size() && bytes <= block.size() - address;
    return fits ? block.data() + address : nullptr;
}

Status TcpDevice::check(const nhi::Transfer& transfer,
                        std::span<const nhi::PeerId> targets) const noexcept {
    if (targets.empty()) return Status::invalid;
    Status answer = Status::ok;
    for (const nhi::PeerId id : targets) {
        const Peer* const peer = peers_[id].peer.get();
        switch (peers_[id].state) {
            case State::attached:
                break;
            case State::ending:
            case State::lost:
                return Status::lost;
            case State::known:
                return Status::unreachable;
            case State::connecting:
            case State::joined:
                answer = Status::again;
                break;
        }
        const std::uint64_t room =
            peers_[id].state == State::attached ? peer->block_bytes : nhi::kPairLimit;
        for (unsigned i = 0; i < transfer.parts(); ++i) {
            const nhi::Transfer::Part& part = transfer.part(i);
            const bool fits = part.address <= room && part.bytes <= room - part.address;
            const bool possible = part.indirect ? part.address < nhi::kIndicesMax
                                                : part.address >= nhi::kPairLimit || fits;
            if (!possible) return Status::invalid;
        }
        if (answer == Status::ok && id != nhi::kSelf && !peer->connection->fits(transfer)) {
            answer = Status::again;
        }
    }
    return answer;
}

Status TcpDevice::initiate_transfer(const nhi::Transfer& transfer) noexcept try {
    const nhi::GroupId group = transfer.destination();
    const std::span<const nhi::PeerId> targets = members(group);
    if (const Status answer = check(transfer, targets); answer != Status::ok) return answer;
    for (const nhi::PeerId id : targets) {
        if (id == nhi::kSelf) continue;
        peers_[id].peer->connection->reserve(transfer);
    }
    waiting_.reserve(connected_.size());
    // From here on nothing fails.
    for (const nhi::PeerId id : targets) {
        if (id == nhi::kSelf) {
            write_here(transfer);
            continue;
        }
        Connection& connection = *peers_[id].peer->connection;
        const bool waited = connection.has_waiting();
        connection.write(transfer);
        if (waited || !connection.has_waiting()) continue;
        waiting_.push_back(id);
        watch(connection.socket(), id, EPOLLIN | EPOLLOUT);
    }
    return Status::ok;
} catch (const std::bad_alloc&) {
    return Status::again;
}

void TcpDevice::write_here(const nhi::Transfer& transfer) noexcept {
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const nhi::Transfer::Part& part = transfer.part(i);
        const std::uint64_t address =
            part.indirect ? windows().address(part.address) : part.address;
        const bool wraps = address + part.bytes < address;
        std::byte* const at = wraps ? nullptr : locate(nhi::kSelf, address, part.bytes);
        if (at != nullptr) std::memcpy(at, part.from, part.bytes);
    }
    raise(transfer.events());
}

nhi::Link TcpDevice::link(nhi::PeerId id) noexcept {
    if (id >= peers_.size() || peers_[id].state != State::attached) return {};
    return {.block_bytes = peers_[id].peer->block_bytes};
}

bool TcpDevice::is_idle() const noexcept {
    return std::ranges::all_of(
        connected_, [&](nhi::PeerId id) { return peers_[id].peer->connection->is_idle(); });
}

}  // namespace fci::tcp
