#include "drivers/tcp/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

namespace fci::tcp {

namespace {

sockaddr_in address_of(const ddi::Card& card, std::uint16_t port) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port;
    address.sin_addr.s_addr = card.host;
    return address;
}

void set(int socket, int level, int name, int value) noexcept {
    (void)setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

host::Descriptor call(const ddi::Card& from, const ddi::Card& to) noexcept {
    host::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return made;
    set(made.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);  // until tune()
    // Its port need only differ from those of other calls to the same place.
    set(made.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    const sockaddr_in here = address_of(from, 0), there = address_of(to, to.port);
    const bool is_under_way =
        bind(made.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 &&
        (::connect(made.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 ||
         errno == EINPROGRESS);
    if (is_under_way) return made;
    const int error = errno;
    made.close();
    errno = error;
    return {};
}

void tune(int socket) noexcept {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
    // The receive buffer grows with this, and stays. Else the first small value that is set later
    // (Connection::set_quiet()) would bound the window.
    set(socket, SOL_SOCKET, SO_RCVLOWAT, 2 << 20);
    set(socket, SOL_SOCKET, SO_RCVLOWAT, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 4);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
    // Since Linux 6.15; before, the kernel asks a peer without room less and less often, down to
    // every two minutes, and that its host fell silent is noticed at the next time.
    set(socket, IPPROTO_TCP, TCP_RTO_MAX_MS, 2'000);
}

bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
           error == EADDRNOTAVAIL || error == EAGAIN;
}

}  // namespace fci::tcp
