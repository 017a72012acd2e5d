// SPDX-License-Identifier: BSD-3-Clause
// LastRequest: what went last over a stream of requests (§2.6.8), so that the next one need not
// say it again: words of its line that are the same, and addresses that follow on. RFC 1144 does so
// with the headers of TCP. A message of 64 bytes takes 88 on the wire, where all of it would take
// 168. Both ends keep one, and both see the same requests in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/tcp/frame.h"
#include "fci_core/nhi/transfer.h"

namespace fci::tcp {

class LastRequest {
public:
    /// A line, or data and then a line. Nothing else can be said so.
    [[nodiscard]] static bool is_one(const nhi::Transfer& transfer) noexcept;

    /// Writes all of it but its data; how many bytes. There is room for kRequestHeadsMost.
    std::size_t say(const nhi::Transfer& transfer, std::byte* to) noexcept;

    /// How much follows such a head in front of the data.
    [[nodiscard]] static std::size_t bytes_behind(const RequestHead& head) noexcept;
    /// That is what follows it.
    void hear(const RequestHead& head, const std::byte* from) noexcept;

    /// Where its data and its line belong, as its writer says.
    [[nodiscard]] std::uint64_t data_at() const noexcept { return data_.at; }
    [[nodiscard]] std::uint64_t line_at() const noexcept { return line_.at; }
    [[nodiscard]] const void* line() const noexcept { return words_; }

private:
    static constexpr unsigned kWords = kLineBytes / sizeof(std::uint64_t);

    struct Place {
        std::uint64_t at = 0, next = 0;  // of this one, and where one that follows on begins

        void move(std::uint64_t to, std::uint64_t bytes) noexcept;
    };

    Place data_, line_;
    std::uint64_t words_[kWords] = {};
};

}  // namespace fci::tcp
