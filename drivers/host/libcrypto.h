// SPDX-License-Identifier: BSD-3-Clause
// Libcrypto: OpenSSL's cryptography, 1.1 or 3, opened when it is needed first. Nothing is linked to
// it, so a process that seals nothing does without (docs/decisions/0019-sealed-hints.md).
#pragma once

#include <memory>
#include <span>
#include <string>

namespace fci::host {

class Libcrypto {
public:
    /// The library's types, which are complete there only.
    struct Context;
    struct Cipher;
    struct Engine;
    struct Library;

    static constexpr const char* kNames[] = {"libcrypto.so.3", "libcrypto.so.1.1"};
    /// Opens the first of `names` that is here and has AES-128-GCM. nullptr, and *why.
    static std::unique_ptr<Libcrypto> open(std::string* why,
                                           std::span<const char* const> names = kNames);
    Libcrypto(const Libcrypto&) = delete;
    Libcrypto& operator=(const Libcrypto&) = delete;
    ~Libcrypto();

    [[nodiscard]] const Cipher* cipher() const noexcept { return cipher_; }

    // OpenSSL's functions that use a cipher (EVP_EncryptInit(3)).
    Context* (*context_new)() = nullptr;
    void (*context_free)(Context*) = nullptr;
    int (*context_ctrl)(Context*, int what, int value, void* pointer) = nullptr;
    int (*init)(Context*, const Cipher*, Engine*, const unsigned char* key,
                const unsigned char* nonce, int seals) = nullptr;
    int (*update)(Context*, unsigned char* out, int* out_bytes, const unsigned char* in,
                  int in_bytes) = nullptr;
    int (*final)(Context*, unsigned char* out, int* out_bytes) = nullptr;

private:
    Libcrypto() noexcept = default;
    [[nodiscard]] bool find(void* library);

    // OpenSSL 3 only: a library context of FCI's own, so that the program's settings are neither
    // used nor changed.
    Library* own_ = nullptr;
    const Cipher* cipher_ = nullptr;
    void (*cipher_free_)(Cipher*) = nullptr;
    void (*own_free_)(Library*) = nullptr;
};

}  // namespace fci::host
