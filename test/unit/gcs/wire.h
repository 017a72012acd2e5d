// SPDX-License-Identifier: BSD-3-Clause
// Wire: a network between two blocks of one process's memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "test/unit/nhi/no_network.h"

namespace fci::gcs::test {

inline constexpr std::uint64_t kUnexpected = 1000;

/// Two blocks, applied at once; may refuse.
class Wire final : public fci::test::NoNetwork {
public:
    explicit Wire(std::vector<std::byte>& far) : far_(far) {}
    bool refuse = false;
    bool waits = false, lingers = false;  // the last transfer
    unsigned transfers = 0, parts = 0;
    std::uint32_t events = 0;
    nhi::Link current{};

    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override {
        if (refuse) return Status::again;
        ++transfers;
        events |= transfer.events();
        waits = transfer.may_wait();
        lingers = transfer.may_linger();
        for (unsigned i = 0; i < transfer.parts(); ++i, ++parts) {
            const nhi::Transfer::Part& part = transfer.part(i);
            EXPECT_LE(part.address + part.bytes, far_.size());
            std::memcpy(far_.data() + part.address, part.from, part.bytes);
        }
        return Status::ok;
    }
    nhi::Link link(nhi::PeerId) noexcept override { return current; }
    Status provide(nhi::PeerId, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        if (full) return Status::exhausted;
        provided.emplace_back(static_cast<std::uint64_t>(address), bytes);
        return Status::ok;
    }
    bool full = false;
    std::vector<std::pair<std::uint64_t, std::size_t>> provided;
    [[nodiscard]] std::uint64_t provided_bytes() const {
        std::uint64_t bytes = 0;
        for (const auto& each : provided) bytes += each.second;
        return bytes;
    }

private:
    std::vector<std::byte>& far_;
};

}  // namespace fci::gcs::test
