// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/hello.h"

#include "fci_core/base/assert.h"

namespace fci::tcp {

int say(Stream& stream, const Hello& hello) noexcept {
    const iovec all{const_cast<Hello*>(&hello), sizeof hello};
    const ssize_t sent = stream.send({&all, 1});
    if (sent < 0) return static_cast<int>(-sent);
    return sent == sizeof hello ? 0 : ENOBUFS;
}

HelloReader::Heard HelloReader::hear(Stream& stream) noexcept {
    FCI_ASSERT(bytes_ < sizeof hello_);  // it is asked for once
    const iovec rest{reinterpret_cast<char*>(&hello_) + bytes_, sizeof hello_ - bytes_};
    const ssize_t got = stream.receive({&rest, 1});
    if (got == -EAGAIN || got == -EINTR) return Heard::part;
    if (got <= 0) return Heard::closed;
    bytes_ += static_cast<std::size_t>(got);
    return bytes_ == sizeof hello_ ? Heard::all : Heard::part;
}

}  // namespace fci::tcp
