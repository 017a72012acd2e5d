// SPDX-License-Identifier: BSD-3-Clause
// LastRequest: the last request on a stream (§2.6.8). The next one leaves out words of its line
// that are the same, and addresses that begin where the last one ended, as RFC 1144 does with the
// headers of TCP. A message of 64 bytes takes 88 on the wire, where all of it would take 168. Both
// ends keep a LastRequest, and both see the same requests in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/tcp/frame.h"
#include "fci_core/nhi/transfer.h"

namespace fci::tcp {

class LastRequest {
public:
    /// The transfer is a line, or data and then a line. Only these can be requests.
    [[nodiscard]] static bool is_one(const nhi::Transfer& transfer) noexcept;

    /// Writes all but the data, and returns how many bytes. There is room for kRequestHeadsMost.
    std::size_t say(const nhi::Transfer& transfer, std::byte* to) noexcept;

    /// Bytes between such a head and the data.
    [[nodiscard]] static std::size_t bytes_behind(const RequestHead& head) noexcept;
    /// Takes in the bytes that follow the head.
    void hear(const RequestHead& head, const std::byte* from) noexcept;

    /// The addresses of data and line, as the writer says.
    [[nodiscard]] std::uint64_t data_at() const noexcept { return data_.at; }
    [[nodiscard]] std::uint64_t line_at() const noexcept { return line_.at; }
    [[nodiscard]] const void* line() const noexcept { return words_; }

private:
    static constexpr unsigned kWords = kLineBytes / sizeof(std::uint64_t);

    struct Place {
        std::uint64_t at = 0, next = 0;  // the last address, and the one that need not be sent

        void move(std::uint64_t to, std::uint64_t bytes) noexcept;
    };

    Place data_, line_;
    std::uint64_t words_[kWords] = {};
};

}  // namespace fci::tcp
