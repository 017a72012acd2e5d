// How processes meet: who calls, who answers, and what becomes of those who do neither.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "drivers/host/place.h"
#include "drivers/tcp/tcp_device.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/clock.h"
#include "fci_core/ddi/agreement.h"

namespace fci::tcp {

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kAnswerLimit = 10 * kSecond;  // of who listens
constexpr Nanoseconds kHelloLimit = 5 * kSecond;    // of who calls
constexpr Nanoseconds kCallEvery = kSecond / 50;    // while nobody listens at a typed place
constexpr std::size_t kCallersMost = 256;           // more wait at the kernel's door

sockaddr_in address_of(const ddi::Card& card) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = card.port;
    address.sin_addr.s_addr = card.host;
    return address;
}

/// Small things leave at once, and a peer whose host falls silent is noticed within 11 s.
void tune(int socket) noexcept {
    const auto set = [&](int level, int name, int value) {
        (void)setsockopt(socket, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

bool say(int socket, const Hello& hello) noexcept {
    return ::send(socket, &hello, sizeof hello, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof hello;
}

enum class Heard : std::uint8_t { all, part, closed };

Heard hear(int socket, Hello* hello, std::size_t* heard) noexcept {
    const ssize_t got = ::recv(socket, reinterpret_cast<char*>(hello) + *heard,
                               sizeof *hello - *heard, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::part;
    if (got <= 0) return Heard::closed;
    *heard += static_cast<std::size_t>(got);
    return *heard == sizeof *hello ? Heard::all : Heard::part;
}

ddi::Settings settings_of(const Hello& hello) {
    ddi::Settings settings;
    settings.job = hello.job;
    settings.layout_digest = hello.layout_digest;
    return settings;
}

}  // namespace

Hello TcpDevice::hello_to(const ddi::Card& to, Verdict verdict) const noexcept {
    return {Hello::kMagic,
            settings_.job,
            settings_.layout_digest,
            settings_.sizes,
            settings_.block_bytes,
            card_,
            to,
            static_cast<std::uint32_t>(getpid()),
            verdict};
}

// --- calling ---

Status TcpDevice::connect(nhi::PeerId id) {
    if (id >= peers_.size()) return Status::invalid;
    Peers::Entry& entry = peers_[id];
    if (entry.state >= State::ending) return Status::lost;
    if (entry.state != State::known) return Status::ok;
    calling_.reserve(calling_.size() + 1);
    if (entry.peer == nullptr) entry.peer = std::make_unique<Peer>();
    entry.state = State::connecting;
    const bool typed = entry.card.incarnation == 0;
    entry.peer->give_up =
        monotonic_now() + (typed ? Nanoseconds{settings_.connect_ms} * 1'000'000 : kAnswerLimit);
    calling_.push_back(id);
    call(id);
    return Status::ok;
}

void TcpDevice::call(nhi::PeerId id) noexcept {
    Peer& peer = *peers_[id].peer;
    peer.call_at = 0;
    peer.said_hello = false;
    peer.heard = 0;
    peer.calling =
        host::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!peer.calling) return call_again(id, errno);
    tune(peer.calling.get());
    ddi::Card here = card_;
    here.port = 0;
    const sockaddr_in from = address_of(here), to = address_of(peers_[id].card);
    if (bind(peer.calling.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) {
        return call_again(id, errno);
    }
    if (::connect(peer.calling.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
        errno != EINPROGRESS) {
        return call_again(id, errno);
    }
    watch(peer.calling.get(), id, EPOLLOUT);
}

/// The call went through, or failed.
void TcpDevice::go_on_calling(nhi::PeerId id) noexcept {
    Peer& peer = *peers_[id].peer;
    if (!peer.calling) return;
    if (peer.said_hello) return hear_answer(id);
    int error = 0;
    socklen_t bytes = sizeof error;
    (void)getsockopt(peer.calling.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return call_again(id, error);
    if (!say(peer.calling.get(), hello_to(peers_[id].card, Verdict::welcome))) {
        return call_again(id, errno);
    }
    peer.said_hello = true;
    watch(peer.calling.get(), id, EPOLLIN);
}

/// Later, where a process may still be on its way to a typed place; else it is lost.
void TcpDevice::call_again(nhi::PeerId id, int error) noexcept {
    Peers::Entry& entry = peers_[id];
    const Nanoseconds now = monotonic_now();
    entry.peer->calling.close();
    const bool shortage = error == EMFILE || error == ENFILE || error == ENOBUFS ||
                          error == ENOMEM || error == EADDRNOTAVAIL || error == EAGAIN;
    const bool may_come = entry.card.incarnation == 0 && error == ECONNREFUSED;
    if ((may_come || shortage) && now < entry.peer->give_up) {
        entry.peer->call_at = now + kCallEvery;
        return;
    }
    const std::string place = host::place_text(entry.card);
    lose(id, Status::unreachable,
         error == ECONNREFUSED
             ? "nobody listens at " + place + "; has the process ended, or never started?"
             : host::system_text("cannot connect to " + place, error) +
                   "; is it the right address, and does a firewall let TCP through?");
}

void TcpDevice::hear_answer(nhi::PeerId id) noexcept try {
    Peers::Entry& entry = peers_[id];
    Peer& peer = *entry.peer;
    const std::string place = host::place_text(entry.card);
    switch (hear(peer.calling.get(), &peer.answer, &peer.heard)) {
        case Heard::part:
            return;
        case Heard::closed:
            return lose(id, Status::unreachable,
                        "who listens at " + place + " hung up without a word; is it of this job?");
        case Heard::all:
            break;
    }
    const Hello& answer = peer.answer;
    if (answer.magic != Hello::kMagic) {
        return lose(id, Status::mismatch,
                    "who listens at " + place +
                        " speaks another language or version of it; start "
                        "all processes with the same FCI library");
    }
    peer.pid = answer.pid;
    const std::string why = ddi::difference(settings_, settings_of(answer));
    if (!why.empty()) {
        return lose(id, Status::mismatch,
                    "This process and " + describe(id) + " " + why +
                        "; start them by one launcher, with the same FCI_ options");
    }
    if (!entry.card.names(answer.from)) {
        return lose(id, Status::unreachable, "another process is at " + place + " now");
    }
    if (answer.verdict == Verdict::crossing) {
        peer.calling.close();
        peer.give_up = monotonic_now() + kAnswerLimit;
        return;
    }
    if (answer.verdict != Verdict::welcome) {
        return lose(id, Status::unreachable, describe(id) + " gave this process up");
    }
    attach(id, std::move(peer.calling), answer);
} catch (const std::bad_alloc&) {
    lose(id, Status::exhausted, "out of memory");
}

// --- answering ---

void TcpDevice::accept_callers() noexcept try {
    while (callers_.size() < kCallersMost) {
        host::Descriptor socket(
            ::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) return;
        tune(socket.get());
        const int name = socket.get();
        callers_.push_back({std::move(socket), {}, 0, monotonic_now() + kHelloLimit});
        watch(name, kCaller | static_cast<std::uint32_t>(name), EPOLLIN);
    }
} catch (const std::bad_alloc&) {
    // Who called calls again.
}

void TcpDevice::hear_caller(std::list<Caller>::iterator caller) noexcept {
    const Heard heard = hear(caller->socket.get(), &caller->hello, &caller->heard);
    if (heard == Heard::part) return;
    const Hello& hello = caller->hello;
    sockaddr_in there{};
    socklen_t bytes = sizeof there;
    const bool is_known =
        heard == Heard::all && hello.magic == Hello::kMagic && hello.from.incarnation != 0 &&
        hello.from.port != 0 && hello.verdict == Verdict::welcome && hello.block_bytes != 0 &&
        hello.block_bytes <= nhi::kPairLimit &&
        getpeername(caller->socket.get(), reinterpret_cast<sockaddr*>(&there), &bytes) == 0 &&
        there.sin_addr.s_addr == hello.from.host;
    if (is_known) {
        answer(*caller);
    } else if (listener_ != nullptr) {
        listener_->stranger_came();
    }
    callers_.erase(caller);
}

void TcpDevice::answer(Caller& caller) noexcept try {
    const Hello& hello = caller.hello;
    const auto reply = [&](Verdict verdict) {
        return say(caller.socket.get(), hello_to(hello.from, verdict));
    };
    if (!ddi::difference(settings_, settings_of(hello)).empty()) {
        return static_cast<void>(reply(Verdict::mismatch));
    }
    if (!hello.to.names(card_)) return static_cast<void>(reply(Verdict::gone));
    ddi::Card card = hello.from;
    card.family = AF_INET;
    const nhi::PeerId id = peers_.find_or_add(card);
    Peers::Entry& entry = peers_[id];
    switch (entry.state) {
        case State::known:
            break;
        case State::connecting:
            if (entry.peer->calling && card_.incarnation > card.incarnation) {
                return static_cast<void>(reply(Verdict::crossing));
            }
            break;
        case State::joined:
        case State::attached:
            return;  // it has a connection
        case State::ending:
        case State::lost:
            return static_cast<void>(reply(Verdict::gone));
    }
    if (entry.peer == nullptr) entry.peer = std::make_unique<Peer>();
    if (!reply(Verdict::welcome)) return;
    attach(id, std::move(caller.socket), hello);
} catch (const std::bad_alloc&) {
    // The caller hears nothing, and gives up.
}

// --- both ---

void TcpDevice::attach(nhi::PeerId id, host::Descriptor socket, const Hello& hello) {
    Peers::Entry& entry = peers_[id];
    Peer& peer = *entry.peer;
    FCI_ASSERT(entry.state <= State::connecting && !peer.connection);
    Pages block(settings_.block_bytes);
    auto memory = std::make_unique<Memory>(*this, id);
    connected_.reserve(connected_.size() + 1);
    notices_.push_back({id, Status::ok, {}});
    peer.block = std::move(block);
    peer.memory = std::move(memory);
    peer.calling.close();
    peer.connection.emplace(std::move(socket), *peer.memory);
    peer.sizes = hello.sizes;
    peer.block_bytes = hello.block_bytes;
    peer.pid = hello.pid;
    entry.card = hello.from;
    entry.state = State::joined;
    std::erase(calling_, id);
    connected_.push_back(id);
    // Nothing is read before the listener knows of it.
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer.connection->socket(), nullptr);
}

void TcpDevice::lose(nhi::PeerId id, Status why, std::string reason) noexcept try {
    Peers::Entry& entry = peers_[id];
    FCI_ASSERT(entry.state < State::ending && id != nhi::kSelf);
    entry.state = State::ending;
    std::erase(calling_, id);
    std::erase(connected_, id);
    std::erase(waiting_, id);
    entry.peer->calling.close();
    entry.peer->connection.reset();
    notices_.push_back({id, why, std::move(reason)});
    eventfd_write(bell_.get(), 1);  // perhaps outside of poll()
} catch (const std::bad_alloc&) {
    // The listener never hears of it, and transfers say that it is lost.
}

void TcpDevice::look_at_clock(Nanoseconds now) noexcept {
    callers_.remove_if([&](const Caller& caller) {
        const bool gives_up = caller.give_up < now;
        if (gives_up && listener_ != nullptr) listener_->stranger_came();
        return gives_up;
    });
    for (std::size_t i = calling_.size(); i-- > 0;) {
        const nhi::PeerId id = calling_[i];
        Peer& peer = *peers_[id].peer;
        if (peer.give_up < now) {
            lose(id, Status::unreachable,
                 host::place_text(peers_[id].card) +
                     " does not answer; is its host down, or does a firewall drop TCP?");
        } else if (peer.call_at != 0 && peer.call_at <= now) {
            call(id);
        }
    }
}

}  // namespace fci::tcp
