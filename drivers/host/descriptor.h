// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: a file descriptor that closes itself.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace fci::host {

class Descriptor {
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~Descriptor() { close(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// The caller closes it.
    int release() noexcept { return std::exchange(fd_, -1); }
    void close() noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_ = -1;
};

/// How many descriptors this process may have open.
inline std::uint64_t descriptors_most() noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::uint64_t{limit.rlim_cur} : UINT64_MAX;
}

/// "what: why" of the system call that just failed.
inline std::string system_text(const std::string& what, int error = errno) {
    return what + ": " + std::generic_category().message(error);
}

}  // namespace fci::host
