#include "drivers/tcp/hello.h"

#include <sys/socket.h>

#include <cerrno>

#include "fci_core/base/assert.h"

namespace fci::tcp {

bool say(int socket, const Hello& hello) noexcept {
    const ssize_t sent = ::send(socket, &hello, sizeof hello, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 && sent < static_cast<ssize_t>(sizeof hello)) errno = ENOBUFS;
    return sent == sizeof hello;
}

HelloReader::Heard HelloReader::hear(int socket) noexcept {
    FCI_ASSERT(bytes_ < sizeof hello_);  // it is asked for once
    const ssize_t got = ::recv(socket, reinterpret_cast<char*>(&hello_) + bytes_,
                               sizeof hello_ - bytes_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::part;
    if (got <= 0) return Heard::closed;
    bytes_ += static_cast<std::size_t>(got);
    return bytes_ == sizeof hello_ ? Heard::all : Heard::part;
}

}  // namespace fci::tcp
