// SPDX-License-Identifier: BSD-3-Clause
// door: any bytes from somebody who calls a process over TCP on loopback. Who does not name it by
// its incarnation hears nothing, or of one that answers typed addresses no more than that where he
// does not know its job; whoever does may be answered and then says what he likes.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "drivers/host/descriptor.h"
#include "drivers/tcp/hello.h"
#include "drivers/tcp/tcp.h"

namespace {

using fci::tcp::Hello;

constexpr unsigned kCallsMost = 500;  // then the next device, as each may leave a peer behind

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "door: %s (%s)\n", what, std::strerror(errno));
    abort();
}

fci::ddi::Settings settings(bool answers_typed) {
    fci::ddi::Settings settings;
    settings.answers_typed = answers_typed;
    settings.block_bytes = 4096;
    settings.layout_digest = 0x1234;
    settings.job = 77;
    settings.communication_bytes = 4096;
    settings.wanted.host = htonl(INADDR_LOOPBACK);
    return settings;
}

std::unique_ptr<fci::ddi::Device> open_device(bool answers_typed) {
    auto status = fci::Status::ok;
    std::string error;
    auto device = fci::tcp::open_tcp(settings(answers_typed), &status, &error);
    if (device == nullptr) fail(error.c_str());
    return device;
}

fci::host::Descriptor call(const fci::ddi::Card& to) {
    fci::host::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // No port waits after this for packets that are late.
    const linger at_once{1, 0};
    (void)setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = to.port;
    address.sin_addr.s_addr = to.host;
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        return socket;
    }
    if (errno == EINTR) return call(to);  // libFuzzer's alarm
    fail("nobody is at the door");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::unique_ptr<fci::ddi::Device> devices[2];
    static unsigned calls = 0;
    if (size < 1 || size > 16 * 1024) return 0;
    const bool answers_typed = data[0] % 8 >= 4;
    auto& device = devices[answers_typed];
    if (device == nullptr || ++calls % kCallsMost == 0) device = open_device(answers_typed);
    const bool names = data[0] % 2 != 0, is_cut = data[0] % 4 >= 2;
    std::string said(reinterpret_cast<const char*>(data) + 1, size - 1);
    const bool is_whole = said.size() >= sizeof(Hello);
    Hello hello{};
    if (is_whole) {
        std::memcpy(&hello, said.data(), sizeof hello);
        if (names) hello.to.incarnation = device->card().incarnation;
        std::memcpy(said.data(), &hello, sizeof hello);
    }
    const fci::host::Descriptor socket = call(device->card());
    const auto turns = [&] {
        for (unsigned i = 0; i < 4; ++i) device->network().poll(device->now());
    };
    turns();
    const std::size_t first = is_cut ? said.size() / 2 : said.size();
    for (const auto& [from, bytes] :
         {std::pair{std::size_t{0}, first}, std::pair{first, said.size() - first}}) {
        (void)!send(socket.get(), said.data() + from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        turns();
    }
    char answer[256];
    const ssize_t heard = recv(socket.get(), answer, sizeof answer, MSG_DONTWAIT);
    const bool named_it = is_whole && hello.to.incarnation == device->card().incarnation;
    if (heard > 0 && !named_it && !answers_typed) {
        fail("somebody who did not name this process was answered");
    }
    const bool knows = named_it || (hello.to.incarnation == 0 && hello.job == settings(true).job);
    Hello told{};
    if (heard > 0) {
        std::memcpy(&told, answer, std::min(sizeof told, static_cast<std::size_t>(heard)));
    }
    if (told.from.incarnation != 0 && !knows) fail("a process was named to somebody of no job");
    if (heard > static_cast<ssize_t>(sizeof(Hello))) fail("more than a hello was said");
    return 0;
}
