// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/ucx.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "drivers/host/descriptor.h"
#include "drivers/ucx/library.h"
#include "drivers/ucx/ports.h"
#include "drivers/ucx/ucx_device.h"

namespace fci::ucx {

namespace {

/// Of the child: '1' or '0', and the note.
[[noreturn]] void try_and_tell(int told) noexcept {
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    std::string text;
    const bool works = open_ucx(settings, &status, &text) != nullptr;
    if (works) {
        const Library& library = *Library::open(&text);
        text = "UCX " + library.version + " (" + library.file + ")";
    }
    text = (works ? "1" : "0") + text;
    (void)!write(told, text.data(), text.size());
    for (;;) syscall(SYS_exit_group, 0);  // without what the program does when it ends
}

}  // namespace

std::unique_ptr<ddi::Device> open_ucx(const ddi::Settings& settings, Status* status,
                                      std::string* error) {
    return UcxDevice::open(settings, status, error);
}

std::unique_ptr<ddi::Device> open_ucx_beside_tcp(const ddi::Settings& settings, Status* status,
                                                 std::string* error) {
    return UcxDevice::open_beside_tcp(settings, status, error);
}

bool is_choice(std::string* why) {
    const bool is_up = std::ranges::any_of(ports(), &Port::is_up);
    why->clear();
    if (!is_up) return false;
    std::string missing;
    const Library* const library = Library::open(&missing);
    if (library != nullptr) missing = library->danger();
    if (!missing.empty()) *why = unused_note(missing);
    return why->empty();
}

std::string unused_note(const std::string& why) {
    return rdma_text(ports()) + " is up, but TCP is used: " + why;
}

std::string note_of_far(bool by_ucx) {
    if (!by_ucx) return unused_text(ports());
    std::string why;
    const Library* const library = Library::open(&why);
    return library == nullptr ? why : "other hosts by UCX " + library->version + ", " +
                                          rdma_text(ports());
}

bool probe_ucx(std::string* note) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *note = host::system_text("no pipe");
        return false;
    }
    const host::Descriptor told(ends[0]);
    host::Descriptor tells(ends[1]);
    const pid_t child = fork();
    if (child == 0) try_and_tell(tells.get());
    if (child < 0) {
        *note = host::system_text("no process to try UCX in");
        return false;
    }
    tells.close();
    std::string text;
    char piece[512];
    for (ssize_t got; (got = read(told.get(), piece, sizeof piece)) != 0;) {
        if (got > 0) text.append(piece, static_cast<std::size_t>(got));
        if (got < 0 && errno != EINTR) break;
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (text.empty()) text = "0UCX ended the process that tried it";
    const bool works = text[0] == '1';
    *note = text.substr(1) + (works ? ", " + rdma_text(ports()) : "");
    return works;
}

}  // namespace fci::ucx
