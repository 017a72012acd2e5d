// SPDX-License-Identifier: BSD-3-Clause
// Aead: authenticated encryption with associated data, AES-128-GCM (NIST SP 800-38D), by libcrypto.
// One object seals, or opens, with one key.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "drivers/host/libcrypto.h"

namespace fci::host {

class Aead {
public:
    using Key = std::array<std::byte, 16>;
    using Nonce = std::array<std::byte, 12>;
    using Tag = std::array<std::byte, 16>;
    enum class Direction : int { opens = 0, seals = 1 };

    /// `library` is borrowed. Throws bad_alloc.
    Aead(const Libcrypto& library, const Key& key, Direction direction);
    Aead(const Aead&) = delete;
    Aead& operator=(const Aead&) = delete;
    ~Aead() { library_.context_free(context_); }

    /// `out` has as many bytes as `data`, and may be the same ones. A nonce must never come twice
    /// with one key: a stranger with two such texts can read both, and forge others.
    [[nodiscard]] bool seal(const Nonce& nonce, std::span<const std::byte> associated,
                            std::span<const std::byte> data, std::byte* out, Tag* tag) noexcept;
    /// False: the sealer had another key, or the bytes were changed; those at `out` are of no use.
    [[nodiscard]] bool open(const Nonce& nonce, std::span<const std::byte> associated,
                            std::span<const std::byte> data, std::byte* out,
                            const Tag& tag) noexcept;

private:
    [[nodiscard]] bool pass(const Nonce& nonce, std::span<const std::byte> associated,
                            std::span<const std::byte> data, std::byte* out) noexcept;
    [[nodiscard]] bool end(std::byte* out) noexcept;

    const Libcrypto& library_;
    Libcrypto::Context* const context_;
};

}  // namespace fci::host
